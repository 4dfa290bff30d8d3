"""Writes the events of the process that trains, from what the hooks of a framework tell it.

A framework's hooks tell, of the process's main thread of training:

    recorder.mark(kind)     what has been done since the last mark: "data", "forward", "backward", "optimizer", "other"
    recorder.step(loss)     a step has ended. loss: None, or anything that float() understands; asked on samples alone
    recorder.epoch()        what was done since the last step is no part of a step
    recorder.ready(...)     once, before the first step(): batch, steps_per_epoch, examples_per_epoch where known

The time is that of nocturne_steps.py, whose recorder this is, with four differences: it begins at the first sign of
training; it ends by os._exit(0); it stops the process's descendants while it waits for a turn, and drops the steps that
follow; and it may be without a file, where only the report or the training check is asked for.
"""

import importlib.util
import os
import signal
import sys
import time

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_DROPPED = 5  # steps after a turn's wait: queues that a loader filled meanwhile made up to 14 look free
_QUIET_S = 60  # without a sign of training for so long, the report says so


def _load_steps():
    for path in (os.path.join(_FOLDER, "nocturne_steps.py"),
                 os.path.join(os.path.dirname(_FOLDER), "python", "nocturne_steps.py")):
        if os.path.exists(path):
            spec = importlib.util.spec_from_file_location("_nocturne_steps", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError("nocturne_steps.py is not beside %s" % _FOLDER)


steps = _load_steps()


def speaks(session):
    """Whether this process is the one that trains and is listened to; makes the claim."""
    environment = session.environment
    if any(environment.get(name, "0") not in ("", "0") for name in ("RANK", "LOCAL_RANK")):
        return False
    if getattr(sys.modules.get("nocturne_steps"), "_recorder", None) is not None:
        session.note("the script tells its steps itself, by nocturne_steps")
        return False
    if steps._claim(environment):
        return True
    session.report.another_trains()
    return False


class Recorder(steps._Recorder):
    def __init__(self, session):
        self.session = session
        self.spent_on = dict.fromkeys(("data", "forward", "backward", "optimizer", "other"), 0.0)
        self.spent_before = dict(self.spent_on)
        self.samples = []     # (steps, wall seconds, {kind: seconds})
        self.dropped = 0      # steps to come that are not timed
        self.marked = time.monotonic()
        self.told_ready = False
        environment = dict(session.environment)
        if not environment.get("NOCTURNE_STEPS_EVENTS"):
            environment["NOCTURNE_STEPS_EVENTS"] = os.devnull
        if session.learning:
            environment.pop("NOCTURNE_STEPS_TURNS", None)
        super(Recorder, self).__init__(environment)

    def begin(self):
        now, cpu = self.session.imported_at
        self.import_ended(now, cpu)
        self.write(event="phase_begin", name="first_step")
        self.restart()
        self.mark_time, self.first_mark = None, time.monotonic()
        self.mark, self.mark_cpu = now, cpu  # data and the first forward pass are the first step's
        if self.first_mark - now > _QUIET_S:
            self.session.note("the first step began %.0f s after the framework's import" % (self.first_mark - now))
