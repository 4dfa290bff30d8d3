"""Whether a deployed script is as fast as it was measured: what tuner/deploy/canary.hpp and watch.hpp do for `apply --watch`,
in scripts that are started where Nocturne is not. tests/tuner/deploy/canary_cases.json holds both to the same.

    NOCTURNE_WATCH             {"profile", "trial", "cpu", "expected_s", "limit_s", "default_limit_s", "window_s"} as JSON: seconds a
                               step, measured, and the most that is expected of a new process, of the profile and of the default
    NOCTURNE_WATCH_FALL_BACK   a file to make where the default shall be started instead; the process then ends. Not set: it goes on
    NOCTURNE_WATCH_JOB         the process of which all processes of this training come. Not set: this one
    NOCTURNE_WATCH_LOG         the folder in which what was seen is appended (tuner/deploy/deployment_log.hpp)
"""

import glob
import json
import os
import socket
import sys
import time

FEWEST = 10           # samples of a window
WINDOWS = 6           # that are looked at, where something may pass that slows the default as well
QUIET_OTHERS = 0.05   # measure/comparison/disturbance.hpp
QUIET_STEAL = 0.01

FINDINGS = ("as measured", "slower than measured", "slower than the default")


def median(values):
    values, middle = sorted(values), len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2.0


def judge(samples, load, limits, differences=()):
    """samples: [(steps, seconds, seconds of waiting for data)]; load: {"other_cpu", "steal", "held_back"}. Returns (finding,
    seconds a step, reasons, whether they would slow the default as well)."""
    step = median([wall / steps for steps, wall, _ in samples])
    if step <= limits["limit_s"]:
        return FINDINGS[0], step, [], False
    beyond = limits.get("default_limit_s")
    finding = FINDINGS[2 if beyond and step > beyond else 1]
    reasons = []
    if (load.get("other_cpu") or 0) > QUIET_OTHERS:
        reasons.append("other processes took %.0f %% of the machine" % (100 * load["other_cpu"]))
    if (load.get("steal") or 0) > QUIET_STEAL:
        reasons.append("the hypervisor took %.1f %% of the CPU time" % (100 * load["steal"]))
    if load.get("held_back"):
        reasons.append("a processor lowered its clock for heat")
    share = sum(waited for _, _, waited in samples) / sum(wall for _, wall, _ in samples)
    if step * (1 - share) <= limits["limit_s"]:
        reasons.append("it waits %.0f %% of a step for its data, which may be read for the first time" % (100 * share))
    return finding, step, reasons + list(differences), bool(reasons)


def sentence(finding, step, reasons, limits):
    text = "a step takes %.3g s; %.3g s were measured, and at most %.3g s are expected of a new process (99.9 %%)" % (
        step, limits["expected_s"], limits["limit_s"])
    if finding == FINDINGS[0]:
        return text
    if finding == FINDINGS[2]:
        text += ", at most %.3g s of the default" % limits["default_limit_s"]
    return text + "; " + ("; ".join(reasons) or "nothing that was looked at explains it")


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def _job_ticks():
    """Of the training's process and its descendants, with the children that they have waited for."""
    parents, ticks = {}, {}
    for name in os.listdir("/proc"):
        fields = _read("/proc/%s/stat" % name).rpartition(")")[2].split() if name.isdigit() else ()
        if len(fields) > 14:
            parents[int(name)] = int(fields[1])
            ticks[int(name)] = sum(map(int, fields[11:15]))
    ours = {int(os.environ.get("NOCTURNE_WATCH_JOB") or os.getpid())}
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in ours} - ours
        ours, grown = ours | more, bool(more)
    return sum(ticks.get(pid, 0) for pid in ours)


class Load(object):
    """What else has happened on the processors of this process since it was made."""

    def __init__(self):
        self.at = time.monotonic()
        self.held_back = self.throttled()
        self.own = _job_ticks()
        self.busy, self.stolen, self.all = self.ticks()

    @staticmethod
    def ticks():
        named = {"cpu%d" % cpu for cpu in os.sched_getaffinity(0)}
        busy = stolen = total = 0
        for line in _read("/proc/stat").splitlines():
            words = line.split()
            if words and words[0] in named:
                user, nice, system, idle, iowait, irq, softirq, steal = map(int, words[1:9])
                busy += user + nice + system + irq + softirq
                stolen += steal
                total += user + nice + system + irq + softirq + idle + iowait + steal
        return busy, stolen, total

    @staticmethod
    def throttled():
        return sum(int(_read(path) or 0) for path in glob.glob("/sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count"))

    def until_now(self):
        busy, stolen, total = self.ticks()
        passed = float(max(1, total - self.all))
        return {"other_cpu": max(0.0, (busy - self.busy - (_job_ticks() - self.own)) / passed),
                "steal": (stolen - self.stolen) / passed, "held_back": self.throttled() > self.held_back}


def differences(limits):
    """How this machine is another than the one that was measured."""
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            return [] if limits.get("cpu") in (None, "", model) else ["cpu.model is '%s' and was '%s'" % (model, limits["cpu"])]
    return []


class Watch(object):
    def __init__(self, recorder, environment):
        self.recorder = recorder
        self.limits = json.loads(environment["NOCTURNE_WATCH"])
        self.marker = environment.get("NOCTURNE_WATCH_FALL_BACK")
        self.log = environment.get("NOCTURNE_WATCH_LOG")
        self.windows, self.told = 0, False
        self.begin()

    def begin(self):
        self.samples, self.load = [], Load()

    def sample(self, steps, wall, cpu, spent_on):
        self.samples.append((steps, wall, min(wall, spent_on["data"])))
        if time.monotonic() - self.load.at < self.limits["window_s"] or len(self.samples) < FEWEST:
            return
        self.hear(*judge(self.samples, self.load.until_now(), self.limits, differences(self.limits)))
        if self.recorder.watch:
            self.begin()

    def hear(self, finding, step, reasons, explained):
        """A window has ended. The first may be slow because of the start: the second is the finding."""
        self.windows += 1
        slow, beyond = finding != FINDINGS[0], bool(self.marker) and finding == FINDINGS[2]
        if slow and self.windows == 1:
            return
        falls_back = beyond and not explained
        if not self.told or falls_back:
            self.told = True
            said = sentence(finding, step, reasons, self.limits)
            if slow:
                sys.stderr.write("nocturne: warning: %s%s\n" % (said, "; the default is started instead" if falls_back else ""))
            self.note("fell back" if falls_back else finding, step, said)
        if falls_back:
            with open(self.marker, "w") as file:
                file.write("1\n")
            self.recorder.leave(1)
        if not beyond or self.windows >= WINDOWS:
            self.recorder.watch = None
            if not self.recorder.session.environment.get("NOCTURNE_STEPS_EVENTS"):
                self.recorder.fall_silent()

    def note(self, finding, step, said):
        if not self.log:
            return
        host, limits = socket.gethostname(), self.limits
        line = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "host": host, "profile": limits["profile"],
                "trial": limits["trial"], "finding": finding, "step_s": step, "expected_s": limits["expected_s"],
                "limit_s": limits["limit_s"], "because": said}
        try:
            os.makedirs(self.log, exist_ok=True)
            name = "".join(each if each.isalnum() or each in "._-" else "-" for each in host) + ".jsonl"
            file = os.open(os.path.join(self.log, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(file, (json.dumps(line) + "\n").encode())  # one write: two that append do not mix
            os.close(file)
        except OSError as error:
            sys.stderr.write("nocturne: what was seen cannot be kept: %s\n" % error)
