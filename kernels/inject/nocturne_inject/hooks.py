"""Replaces a method of a framework by one that tells of its calls and is otherwise as it was."""

import functools
import sys

from . import hide, loops
from .periods import Periods


def hook(session, owner, name, begins, ended=None, left=None, failed=None):
    """Around each call of owner.name: begins(arguments, named) before it, which may change the list and the dictionary
    and returns a token; with a token, ended(token, result) after it, which may return (another result,), or
    failed(token, error), and before either left(token). An exception of theirs becomes a note. AutoGraph, which translates
    Python, and PyTorch's compiler call the method as it is.
    """
    original = getattr(owner, name)
    left, failed = left and session.guarded(left), failed and session.guarded(failed)
    ended = ended or (lambda token, result: None)

    @functools.wraps(original, updated=())
    def hooked(*arguments, **named):
        arguments = list(arguments)
        try:
            token = begins(arguments, named)
        except Exception as error:
            token = session.note_error(begins, error)
        try:
            result = original(*arguments, **named)
        except BaseException as error:
            if token is not None:
                if left:
                    left(token)
                if failed:
                    failed(token, error)
            hide(error)
            raise
        if token is not None:
            if left:
                left(token)
            try:
                other = ended(token, result)
            except Exception as error:
                other = session.note_error(ended, error)
            if other:
                return other[0]
        return result

    hooked.autograph_info__ = {}
    hooked._torchdynamo_disable = True
    setattr(owner, name, hooked)


def class_that_defines(kind, name):
    """The class to change, of those that `kind` is derived from; None where there is none."""
    return next((each for each in getattr(kind, "__mro__", ()) if name in each.__dict__), None)


class Events(object):
    """What ends with an optimizer's work in any framework: which event is a step, and the recorder that is told."""

    def __init__(self, session, framework, alive=lambda: ()):
        """`framework`: as the session names it. `alive`: the keys that may yet cause an event."""
        self.session = session
        self.framework = framework
        self.learning = session.learners.get(framework)  # what records for the training check; None: nothing does
        session.events.append(self)
        self.recorder = None
        self.several = False  # optimizers in a step, or who knows how many
        self.portions = 1     # how often what has ended trained on as many batches as the first step did
        self.periods = Periods(lambda: session.note(
            "the optimizers' steps follow no pattern: each of them counts as a step"), alive)

    def speaks(self, unit):
        """At the first sign of training. Returns whether this process is the one that is timed."""
        if self.recorder is None and self.session.listening and self.session.begin_to_speak():
            self.recorder = self.session.recorder
            self.session.about(self.framework)
            self.session.report.unit = unit
        return self.session.listening and self.recorder is not None

    def data_begins(self, arguments, named):
        """Before an iterator of a loader is made."""
        if self.learning:
            self.learning.seed()
        return arguments[0]

    def event(self, key, loss, count=1):
        """`key` caused an event. Returns whether a step has ended."""
        recorder, undecided = self.recorder, self.periods.pattern is None
        ends = self.periods.event(key)
        if self.learning and self.learning.records:
            self.happened(loss, count)
        if not ends:
            return False
        if undecided:
            self.session.report.events_per_step = self.periods.length
            self.several = self.periods.pattern != [key]
            if recorder.steps >= 0:  # a period that began anew: nobody knows where it began
                recorder.epoch()
                return True
        if recorder.steps < 0:
            self.session.guarded(self.first_step)()
        if self.several and loss is not None:
            self.session.note("loss not seen: a step is of several optimizers")
            loss = NotSeen(loss)
        recorder.step(loss, count * self.portions)
        return True

    def happened(self, loss, count):
        """An event has been counted, and the recorder does not know yet: the training check is told."""
        self.learning.event(self.periods, [loss], count)

    def first_step(self):
        """The first step ends, and the recorder does not know yet. For the file of a framework to fill in."""


class NotSeen(object):
    """A step of several losses: the device is waited for, and no number is told."""

    def __init__(self, loss):
        self.loss = loss

    def __float__(self):
        float(self.loss)
        raise TypeError("a step of several losses")


class Alternating(object):
    """Which time between two steps is an epoch's end, where training and evaluation read by iterators.

    It is where another iterator begins, and where training goes on after two or more batches of another. One that is
    made for each step says nothing.
    """

    def __init__(self, session):
        self.session = session
        self.last = None     # the iterator that was asked last: its id, and it is alive while it is asked
        self.batches = 0     # since the last step
        self.steps = 0       # since an iterator began

    def asked(self, iterator, new):
        """Before a batch is asked for; `new`: its first. Returns whether the time since the last step is no step's."""
        same, self.last = self.last == id(iterator), id(iterator)
        if new:
            self.loop_begins(sys._getframe(1))
            between, self.steps = self.steps != 1, 0
            return between
        return not same and self.batches >= 2

    def loop_begins(self, frame):
        """Until the first step: the last loader that began gives its batches."""
        report = self.session.report
        if report and report.path and self.session.recorder is None:
            report.length.epochs = loops.of_training(frame)

    def came(self):
        self.batches += 1

    def read(self, iterator, events, came):
        """What `iterator` yields, whose waiting is data's and whose epochs' ends are no step's; came(batch) hears of each."""
        iterator, new = iter(iterator), True
        while True:
            recorder = events.recorder if events.session.listening else None
            between, new = self.asked(iterator, new), False
            if recorder:
                if between:
                    recorder.epoch()
                recorder.lap("other")
            try:
                batch = next(iterator)
            except StopIteration:
                return
            if recorder:
                recorder.lap("data")
            self.came()
            came(batch)
            yield batch

    def stepped(self, count=1):
        self.steps += count
        self.batches = 0
