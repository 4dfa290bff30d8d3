"""What Nocturne does inside a script that it starts unchanged; ../README.md says how it gets there.

    recorder.py   the events of the one process that trains, on kernels/python/nocturne_steps.py
    periods.py    which events make a step
    loops.py      how long the script trains
    epoch_ends.py what stands between two epochs
    rounds.py     after how many steps a pause returns
    report.py     what the run has shown, for people and for the search
    watch.py      whether a deployed script is as fast as it was measured
    learning/     what the training check records
    levers/       what can be changed from outside
    pytorch.py, tensorflow.py, mxnet.py, paddle.py, jax.py, boosting.py, sklearn.py    what is hooked into a framework: install(name, module, session)

A framework's file hooks in only what it needs, and the hooks are as if they were not there: an error in them becomes a
note (session.guarded), a traceback does not show them (hide), and a forked child or a process that never trains says
nothing (session.listening is False there, or stays without a recorder).
"""

import importlib
import os
import sys
import time

_FILES = {"torch": "pytorch", "tensorflow": "tensorflow", "keras": "tensorflow", "tf_keras": "tensorflow",
          "mxnet": "mxnet", "paddle": "paddle", "jax": "jax", "xgboost": "boosting", "lightgbm": "boosting", "sklearn": "sklearn",
          "transformers.trainer": "evaluations"}


def hide(error):
    """Takes the frame that catches `error` out of its traceback; to be followed by a bare `raise` (from 3.11 on)."""
    error.__traceback__ = error.__traceback__.tb_next


class Session(object):
    """What is common to all frameworks of one process."""

    def __init__(self, environment, leave=lambda: None):
        self.environment = dict(environment)
        self.leave = leave          # called when nothing more is awaited
        self.pid = os.getpid()
        self.folder = os.getcwd()   # where it was started
        self.script = getattr(sys.modules.get("__main__"), "__file__", None)  # Python forgets it at the script's end
        self.notes = []
        self.failed_levers = {}     # name: (status, reason)
        self.recorder = None        # from begin_to_speak() on
        self.speaks = None          # whether begin_to_speak() succeeded; None: not tried
        self.imported_at = None     # (monotonic, process_time) when the last framework had been imported
        self.modules = {}           # {framework, as the levers' files name it: its module}, of those that were imported
        self.learners = {}          # {framework: what records for the training check}
        self.events = []            # Events of all frameworks
        self.report = None
        self.ends = None            # those of epochs (epoch_ends.py), where it is timed
        self.fits = 0               # calls of Keras's fit, evaluate and predict that are under way, on whatever backend
        self.listening = self.timing = any(environment.get(name) for name in (
            "NOCTURNE_STEPS_EVENTS", "NOCTURNE_INJECT_REPORT", "NOCTURNE_INJECT_LEARNING", "NOCTURNE_WATCH"))

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def guarded(self, function):
        """`function`, whose exceptions become a note; what it returns then is None."""
        def call(*arguments):
            try:
                return function(*arguments)
            except Exception as error:
                self.note_error(function, error)
        return call

    def note_error(self, function, error):
        self.note("%s: %s: %s" % (function.__name__, type(error).__name__, error))

    def forked(self):
        """In a child: what the parent has begun is the parent's, whose report and events this is not."""
        self.pid = os.getpid()
        if self.speaks is not None:
            self.listening = False
            self.recorder = self.report = None
            self.learners = {}
            for each in self.events:
                each.learning = None

    def begin_to_speak(self):
        """At the first sign of training. Returns whether this process is the one that speaks."""
        if self.speaks is None:
            self.speaks = False
            if self.listening:
                self.speaks = bool(self.guarded(self.begin)())
            self.listening = self.speaks
            self.leave()
        return self.speaks

    def begin(self):
        from . import recorder
        if not recorder.speaks(self):
            return False
        self.recorder = recorder.Recorder(self)
        if self.failed_levers:
            name, (status, reason) = sorted(self.failed_levers.items())[0]
            self.recorder.refuse(status, "lever %s: %s" % (name, reason))
        return True

    def write_report(self):
        if self.report:
            self.guarded(self.report.write)()

    def about(self, framework):
        """The report is about the framework that trains; until one does, about the last that was imported."""
        if self.report:
            seen, module = self.report.seen, self.modules[framework]
            seen.framework, seen.module, seen.framework_version = framework, module, str(module.__version__)

    def learn(self, framework, learner):
        """`learner` records, where this framework trains."""
        self.learners[framework] = learner
        for each in self.events:
            if each.framework == framework:
                each.learning = learner
        self.guarded(learner.install)()

    def know(self, framework, module, helps=False):
        """A framework has been imported. `helps`: trainings of other frameworks import it too, and are what the report is about."""
        self.modules[framework] = module
        if self.speaks is None and not (helps and len(self.modules) > 1):
            self.about(framework)

    def install_levers(self, framework, module, helps=False):
        """To be called once a framework; `framework` as the levers' files name it."""
        from . import levers
        self.know(framework, module, helps)
        self.failed_levers.update(levers.install(
            framework, module, self.environment, self.environment.get("NOCTURNE_INJECT_LEARNING_MODE") == "start"))
        if self.failed_levers and not self.timing:  # nobody else says so
            for name, (_, reason) in sorted(self.failed_levers.items()):
                sys.stderr.write("nocturne: %s is left as it is: %s\n" % (name, reason))


_session = None
_prepared = set()  # frameworks whose levers have set their variables


def importing(name):
    """The framework `name` is about to be imported."""
    from . import levers
    if _FILES[name] not in _prepared:
        _prepared.add(_FILES[name])
        os.environ.update(levers.variables(_FILES[name], os.environ))


def imported(name, module, leave):
    """The module `name`, which is a framework, has just been imported."""
    global _session
    if _session is None:
        _session = Session(os.environ, leave)
        if _session.timing:
            from . import epoch_ends, report
            _session.report = report.Report(_session)
            _session.ends = epoch_ends.Ends(_session)
            os.register_at_fork(after_in_child=_session.forked)
    if _session.speaks is None:
        _session.imported_at = time.monotonic(), time.process_time()
    importlib.import_module(__name__ + "." + _FILES[name]).install(name, module, _session)
