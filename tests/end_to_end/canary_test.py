"""Deployed trainings that are watched: one that was made slow falls back to the default within a minute, one beside two busy
processes is warned of and goes on, an undisturbed one is silent. Of a worker of ours (its events), of a script under `apply`
(the module in front of it), and of an exported script (the same module, without Nocturne).

    canary_test.py [--times N] [--kinds worker,command,script] [--cpu N]

Everything runs on one processor, so that two busy processes take two thirds of it whatever the machine has. A step is
processor time, so that nothing else makes it slower or faster."""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import time

from workspace import Workspace, campaign

FAKE_TORCH = pathlib.Path(__file__).resolve().parents[1] / "kernels" / "inject" / "fake"
DEFAULT_MS, BEST_MS, SLOW_MS, STEPS = 12, 10, 40, 250
WITHIN_S = 60
STOLEN, MOST_STOLEN = 0.04, 5  # share of the processor, repetitions
TRAIN = """
    import os, sys, time
    import torch
    work = int(sys.argv[1])
    if work == %d and os.environ.get("SLOW"):
        work = %d
    optimizer = torch.optim.SGD([torch.Tensor(1.0)])
    for step in range(int(os.environ.get("TRAIN_STEPS", 100000))):
        end = time.process_time() + work / 1000
        while time.process_time() < end:
            pass
        torch.Tensor(0.5).backward()
        optimizer.step()
    print("trained with", work)
""" % (BEST_MS, SLOW_MS)
TUNING = {"pairs": 3, "most_pairs": 3, "slices": 4, "slice_steps": 6}
RUN = {"steps": 40, "deadline": "60s"}


class Worker:
    """`apply` of a worker of ours."""

    def __init__(self, place):
        self.place = place
        step = {"name": "step_us", "stage": "run", "values": [1000 * DEFAULT_MS, 1000 * BEST_MS], "default": 1000 * DEFAULT_MS}
        batch = {"name": "batch", "stage": "run", "values": [128], "default": 128}
        document = campaign("canary", "labour", trials=2, strategy="exhaustive", parameters=[step, batch], run=RUN, verify=TUNING)
        tuned(place, document)
        profile = json.loads((place.data / "profiles" / "canary.json").read_text())
        assert profile["configuration"]["step_us"] == 1000 * BEST_MS, profile["configuration"]
        profile["configuration"]["step_us"] = 1000 * SLOW_MS
        self.slow = place.write(profile, "slow.json")

    def train(self, slow):
        out = self.place.folder / "out"
        done = self.place.run("apply", self.slow if slow else "canary", "--fall-back", "--steps", STEPS, "--output", out, check=0)
        events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
        assert events[-1]["event"] == "end", events[-1]
        trained = json.loads((out / "request.json").read_text())["configuration"]["step_us"] // 1000
        return trained, done.stderr


class Command:
    """`apply` of an unchanged script."""

    def __init__(self, place):
        self.place = place
        (place.folder / "train.py").write_text(textwrap.dedent(TRAIN))
        self.environment = {**os.environ, "PYTHONPATH": str(FAKE_TORCH), "PYTHONDONTWRITEBYTECODE": "1", "FAKE_TORCH_REAL_TIME": "1",
                            "XDG_CACHE_HOME": str(place.folder / "cache"), "NOCTURNE_DATA": str(place.data)}
        work = {"name": "work", "stage": "run", "values": [DEFAULT_MS, BEST_MS], "default": DEFAULT_MS}
        batch = {"name": "batch", "stage": "run", "values": [1], "default": 1}
        document = {"campaign": "canary", "worker": {"template": ["python3", "train.py", "{work}", "{batch}"], "time": "steps"},
                    "workload": {"training_examples": STEPS}, "space": {"parameters": [work, batch]},
                    "strategy": {"name": "exhaustive"}, "run": RUN,
                    "verify": {**TUNING, "finalists": 1, "simplify": False}}
        tuned(place, document, env=self.environment, cwd=place.folder)

    def start(self, environment):
        return self.place.run("apply", "canary", "--fall-back", env=environment, check=0)

    def train(self, slow):
        environment = {**self.environment, "TRAIN_STEPS": str(STEPS)}
        if slow:
            environment["SLOW"] = "1"
        done = self.start(environment)
        assert done.stdout.startswith("trained with "), (done.stdout, done.stderr)
        return int(done.stdout.split()[-1]), done.stderr


class Script(Command):
    """The exported script of the same."""

    def start(self, environment):
        script = self.place.data / "profiles" / "canary.sh"
        done = subprocess.run(["sh", script], env={**environment, "FALL_BACK": "1"}, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return done


KINDS = {"worker": Worker, "command": Command, "script": Script}


def tuned(place, document, **keywords):
    place.run("tune", place.write(document), check=0, **keywords)
    place.run("export", "--force", check=0, **keywords)


@contextlib.contextmanager
def two_busy_processes():
    code = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"  # not for ever: this test may be killed
    busy = [subprocess.Popen([sys.executable, "-c", code], start_new_session=True) for _ in range(2)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


def ticks_of(cpu):
    """(busy, stolen by the hypervisor, all) of the processor so far."""
    line = next(line for line in pathlib.Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{cpu} "))
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, line.split()[1:9])
    busy = user + nice + system + irq + softirq + steal
    return busy, steal, busy + idle + iowait


def wait_for_quiet(cpu, patience=300):
    """Until nobody else computes on the processor: what is judged then is the canary, not the machine."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        before = ticks_of(cpu)
        time.sleep(1)
        after = ticks_of(cpu)
        if (after[0] - before[0]) < 0.03 * (after[2] - before[2]):
            return
    print("this machine is never quiet: nothing can be told")
    sys.exit(77)


def warnings_in(errors):
    return [line for line in errors.splitlines() if "warning" in line]


def last_seen(place):
    return place.json("list", "deployments")["deployments"][-1]


def check_slow(kind):
    began = time.monotonic()
    trained, errors = kind.train(slow=True)
    seconds = time.monotonic() - began
    assert trained == DEFAULT_MS, (trained, errors)
    assert "the default is started instead" in errors, errors
    assert last_seen(kind.place)["finding"] == "fell back", last_seen(kind.place)
    assert seconds < WITHIN_S, seconds


def check_busy(kind):
    with two_busy_processes():
        trained, errors = kind.train(slow=False)
    assert trained == BEST_MS, (trained, errors)
    warning, = warnings_in(errors)
    assert "other processes took" in warning and "were measured" in warning, errors
    assert last_seen(kind.place)["finding"].startswith("slower than"), last_seen(kind.place)


def check_undisturbed(kind):
    trained, errors = kind.train(slow=False)
    assert trained == BEST_MS, (trained, errors)
    assert not warnings_in(errors), errors
    assert last_seen(kind.place)["finding"] == "as measured", last_seen(kind.place)


CHECKS = {"made slow: falls back": check_slow, "two busy processes: a warning": check_busy,
          "undisturbed: silent": check_undisturbed}


def holds(check, kind, cpu):
    """Whether the canary is right; where it is not, and the hypervisor took the processor meanwhile, nothing was told."""
    for _ in range(MOST_STOLEN):
        wait_for_quiet(cpu)
        before = ticks_of(cpu)
        try:
            check(kind)
            return True
        except AssertionError as error:
            print(f"{type(kind).__name__}, {check.__name__}: {error}", file=sys.stderr)
        after = ticks_of(cpu)
        stolen = (after[1] - before[1]) / max(1, after[2] - before[2])
        if stolen < STOLEN:
            return False
        print(f"the hypervisor took {stolen:.0%} of the processor: once more", file=sys.stderr)
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.cpu})
    failures = 0
    for name in options.kinds.split(","):
        with Workspace() as place:
            kind = KINDS[name](place)
            for what, check in CHECKS.items():
                right = sum(holds(check, kind, options.cpu) for _ in range(options.times))
                print(f"{name}, {what}: {right} of {options.times}", flush=True)
                failures += options.times - right
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
