"""Tells Nocturne what the steps of a training take. One file, Python 3.6 or newer, nothing but the standard library.

    import nocturne_steps

    for images, labels in loader:
        ...                           # forward, backward, update: as ever
        nocturne_steps.step(loss)     # at the end of each training step; the loss may be left out

Started without Nocturne nothing here does anything: a script that imports this file runs as it did. (A script that
shall run where the file is not: `try: import nocturne_steps` / `except ImportError: nocturne_steps = None`.)

    with nocturne_steps.phase("data"):    what is read or made; also "compile", "evaluate", or any name
        images = load()
    nocturne_steps.epoch()                between two epochs: the time since the last step is no step

Times. What lies before the first step() counts once, as import (until this file is imported), as phases, and as the
first step. After it, a phase "data" is part of its step and is noted as waiting for data; any other phase is not part
of a step. step(loss) asks a loss for its number only after the first step and where a sample is reported; on a GPU that
waits for the device, which is what a clock needs. Without a loss, wait for the device yourself before step().

The end. Nocturne tells how many steps it wants; when they are done, step() raises SystemExit(0), so that `finally`
blocks and exit handlers run and the rest of the training does not. A script that catches that and trains on is ended at
its next step by os._exit(0). In the turns of a comparison step() waits until it is this process's turn.

Environment, set by Nocturne: NOCTURNE_STEPS_EVENTS (file that lines are appended to; not set: do nothing; removed: no more),
_PID_FILE (made by the first process that imports this; others, such as a loader's, are silent), _BEGAN_NS, _LIMIT, _PER_SAMPLE,
_TURNS.
"""

import contextlib
import json
import os
import sys
import time

__all__ = ["step", "phase", "epoch", "active"]


class _Recorder(object):
    """Writes the events of one process; measure/protocol/README.md describes them."""

    KINDS = ("data",)  # of what time is spent on

    def __init__(self, environment):
        self.pid = os.getpid()
        self.limit = int(environment.get("NOCTURNE_STEPS_LIMIT", 0))
        self.per_sample = max(1, int(environment.get("NOCTURNE_STEPS_PER_SAMPLE", 1)))
        self.pid_file = environment.get("NOCTURNE_STEPS_PID_FILE")
        self.turns_path = environment.get("NOCTURNE_STEPS_TURNS")
        self.turns = None
        self.room = 0 if self.turns_path else self.limit or float("inf")  # steps until a turn's end or the limit
        self.endless = self.room > self.limit
        self.steps = -1          # behind the first; -1: the first has not ended
        self.dropped = 0         # steps to come that are not timed
        self.open_phases = []
        self.ending = False
        self.began = int(environment.get("NOCTURNE_STEPS_BEGAN_NS", 0)) / 1e9
        self.file = os.open(environment["NOCTURNE_STEPS_EVENTS"], os.O_WRONLY | os.O_APPEND)
        self.begin()

    def begin(self):
        """What is known before the first step."""
        self.import_ended(time.monotonic(), time.process_time())
        self.write(event="ready", timing="steps", versions={"python": sys.version.split()[0]})
        self.write(event="phase_begin", name="first_step")
        self.restart()

    def import_ended(self, now, cpu):
        self.write(event="phase_begin", name="import")
        self.write(event="phase_end", name="import", wall_s=max(0.0, now - self.began) if self.began else 0.0, cpu_s=cpu)

    def write(self, **event):
        self.put(json.dumps(event))

    def put(self, line):
        line = (line + "\n").encode()
        while line:
            line = line[os.write(self.file, line):]

    def ours(self):
        return os.getpid() == self.pid  # a forked child, such as a loader's worker, has nothing to say

    def step(self, loss, count=1):
        """`count` steps have ended at once; those beyond what was asked for are left out, with their share of the time."""
        if self.ending:
            os._exit(0)
        if self.steps < 0:
            self.first_ended(loss)
        elif self.dropped:
            self.dropped = max(0, self.dropped - count)
        else:
            if count > self.room:
                self.leave_out(1 - self.room / float(count))
                count = self.room
            self.steps += count
            self.pending += count
            self.room -= count
            if self.room and self.pending < self.per_sample:
                self.step_ended()
                return
            self.sample(loss)
            if self.limit and self.steps >= self.limit:
                self.finish()
        if not self.room:
            self.wait_for_turn()
        self.restart()

    def first_ended(self, loss):
        _number(loss)  # what the device still has to do of it is not the first sample's
        self.steps = 0
        wall, cpu = self.spent()
        self.write(event="phase_end", name="first_step", wall_s=wall, cpu_s=cpu)

    def restart(self):
        """What comes now is the next sample's."""
        self.pending = 0                           # steps not yet in a sample
        self.outside, self.outside_cpu = 0.0, 0.0  # seconds of what is no part of a step
        self.spent_on = dict.fromkeys(self.KINDS, 0.0)  # seconds
        self.step_ended()
        self.mark, self.mark_cpu = self.last, self.last_cpu

    def step_ended(self):
        self.last = self.lapped = time.monotonic()
        self.last_cpu = time.process_time()
        self.before = self.outside, self.outside_cpu, self.spent_on.copy()

    def leave_out(self, share):
        """Leaves this share of the time since the last step out of the samples."""
        self.outside += share * (time.monotonic() - self.last)
        self.outside_cpu += share * (time.process_time() - self.last_cpu)
        for kind, before in self.before[2].items():
            self.spent_on[kind] -= share * (self.spent_on[kind] - before)

    def spent(self):
        """Seconds since the mark, of the clock and of the processor, without what is no part of a step."""
        cpu = time.process_time()  # first: on a busy machine Linux lets others run here, and that time is the step's
        return (max(0.0, time.monotonic() - self.mark - self.outside),
                max(0.0, cpu - self.mark_cpu - self.outside_cpu))

    def epoch(self):
        if self.steps >= 0 and self.pending:  # in the midst of a sample: all since the last step is left out of it
            outside, outside_cpu, self.spent_on = self.before
            self.outside = outside + time.monotonic() - self.last
            self.outside_cpu = outside_cpu + time.process_time() - self.last_cpu
            self.step_ended()
        elif self.steps >= 0:
            self.restart()

    def sample(self, loss):
        if self.endless and not os.fstat(self.file).st_nlink:  # who watched a deployment has seen enough
            self.fall_silent()
            return
        value = _number(loss)  # before the clock is read: a loss on a device is there only when the step has ended
        wall, cpu = self.spent()
        self.tell(self.steps - self.pending + 1, self.pending, wall, cpu, self.spent_on, value)

    def fall_silent(self):
        global _recorder
        _recorder = None

    def tell(self, first_step, steps, wall, cpu, spent_on, loss, **more):
        """Writes a sample, in seconds. `more`: further fields of its event, in nanoseconds."""
        # One format: json.dumps takes ten times as long, of which each step would pay a part.
        line = '{"event": "sample", "first_step": %d, "steps": %d, "wall_ns": %d, "cpu_ns": %d, "data_wait_ns": %d' % (
            first_step, steps, int(wall * 1e9) or 1, int(cpu * 1e9), int(min(spent_on["data"], wall) * 1e9))
        if loss is not None:
            line += ', "loss": %r' % loss if type(loss) is float else ', "loss": "%s"' % loss
        self.put(line + "".join([', "%s": %d' % each for each in more.items()]) + "}")

    def wait_for_turn(self):
        if self.turns is None:
            self.turns = open(self.turns_path, "rb", buffering=0)
        while not self.room:
            line = self.turns.readline()
            if not line:
                self.finish()
            self.room = int(line)
        if self.limit:
            self.room = min(self.room, self.limit - self.steps)

    def finish(self):
        self.say_ended()
        sys.stdout.flush()
        raise SystemExit(0)

    def say_ended(self):
        """What started this process need not end well: where several train together, the others fail without it."""
        self.ending = True
        if self.pid_file:
            with open(self.pid_file, "a") as file:
                file.write(" ended")

    @contextlib.contextmanager
    def phase(self, name):
        told = name != "data" or self.steps < 0
        told = told and name not in self.open_phases and name not in ("import", "first_step")
        nested = bool(self.open_phases)
        self.open_phases.append(name)
        begin, cpu = time.monotonic(), time.process_time()
        if told:
            self.write(event="phase_begin", name=name)
        try:
            yield
        finally:
            now, now_cpu = time.monotonic(), time.process_time()
            self.open_phases.pop()
            if told:
                self.write(event="phase_end", name=name, wall_s=now - begin, cpu_s=now_cpu - cpu)
            # What is nested is the outer one's time already; of one that steps ended in, what came after the last counts.
            if told and not nested:
                self.outside += now - max(begin, self.last)
                self.outside_cpu += now_cpu - max(cpu, self.last_cpu)
            elif name == "data" and not nested:
                self.spent_on["data"] += now - max(begin, self.last)


def _number(loss):
    """What JSON can say of a loss; None where it is not known."""
    if loss is None:
        return None
    try:
        value = float(loss)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # PyTorch raises the last, of more numbers than one
        return None
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return value


def _open_recorder(environment):
    if not environment.get("NOCTURNE_STEPS_EVENTS"):
        return None
    return _Recorder(environment) if _is_first(environment) else None


def _is_first(environment):
    """Whether this process is the one that speaks."""
    pid_file = environment.get("NOCTURNE_STEPS_PID_FILE")
    if pid_file:
        try:
            taken = os.open(pid_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return False  # another process of this training speaks
        os.write(taken, str(os.getpid()).encode())
        os.close(taken)
    return True


# Under its private name it serves the module in front of a script (kernels/inject), which begins to speak when it sees training.
_recorder = _open_recorder(os.environ) if __name__ != "_nocturne_steps" else None


def active():
    """Whether Nocturne listens to this process."""
    return _recorder is not None and _recorder.ours()


def step(loss=None):
    """Says that a training step has ended, and its loss: a number, or anything that float() understands."""
    if active():
        _recorder.step(loss)


@contextlib.contextmanager
def phase(name):
    """Names what is done in the `with` block: "data", "compile", "evaluate", …"""
    if not active():
        yield
        return
    with _recorder.phase(name):
        yield


def epoch():
    """Between two epochs: the time since the last step (evaluation, shuffling, a checkpoint) is no step's."""
    if active():
        _recorder.epoch()
