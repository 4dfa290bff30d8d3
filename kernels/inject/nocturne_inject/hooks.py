"""Replaces a method of a framework by one that tells of its calls and is otherwise as it was."""

from . import hide
from .periods import Periods


def hook(session, owner, name, begins, ended=None, left=None):
    """Around each call of owner.name: begins(arguments, named) before it, which may change the list and the dictionary
    and returns a token; with a token, ended(token, result) after it, which may return (another result,), and
    left(token) however it ends. An exception of theirs becomes a note. AutoGraph, which translates Python, calls the
    method as it is.
    """
    original = getattr(owner, name)
    begins = session.guarded(begins)
    ended = session.guarded(ended or (lambda token, result: None))
    left = session.guarded(left or (lambda token: None))

    def hooked(*arguments, **named):
        arguments = list(arguments)
        token = begins(arguments, named)
        try:
            result = original(*arguments, **named)
        except BaseException as error:
            hide(error)
            raise
        finally:
            if token is not None:
                left(token)
        other = ended(token, result) if token is not None else None
        return other[0] if other else result

    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(hooked, attribute, getattr(original, attribute, None))
    hooked.__wrapped__ = original
    hooked.autograph_info__ = {}
    setattr(owner, name, hooked)


def class_that_defines(kind, name):
    """The class to change, of those that `kind` is derived from; None where there is none."""
    return next((each for each in getattr(kind, "__mro__", ()) if name in each.__dict__), None)


class Events(object):
    """What ends with an optimizer's work in any framework: which event is a step, and the recorder that is told."""

    def __init__(self, session, alive=lambda: ()):
        """`alive`: the keys that may yet cause an event."""
        self.session = session
        self.recorder = None
        self.periods = Periods(lambda: session.note(
            "the optimizers' steps follow no pattern: each of them counts as a step"), alive)

    def speaks(self, unit):
        """At the first sign of training. Returns whether this process is the one that is timed."""
        if self.recorder is None and self.session.listening and self.session.claim():
            self.recorder = self.session.recorder
            self.session.report.unit = unit
        return self.session.listening and self.recorder is not None

    def event(self, key, loss, count=1):
        """`key` caused an event. Returns whether a step has ended."""
        recorder = self.recorder
        undecided = self.periods.length is None
        if not self.periods.event(key):
            return False
        self.session.report.events_per_step = self.periods.length
        if undecided and recorder.steps >= 0:  # a period that began anew: nobody knows where it began
            recorder.epoch()
            return False
        if self.periods.length != 1 or not self.periods.regular:
            self.session.note("loss not seen: a step is of several optimizers")
            loss = NotSeen(loss)
        recorder.step(loss, count)
        return True


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

    def __init__(self):
        self.last = None     # the iterator that was asked last: its id, and it is alive while it is asked
        self.batches = 0     # since the last step
        self.steps = 0       # since an iterator began

    def asked(self, iterator, new):
        """Before a batch is asked for; `new`: its first. Returns whether the time since the last step is no step's."""
        same, self.last = self.last == id(iterator), id(iterator)
        if new:
            between, self.steps = self.steps != 1, 0
            return between
        return not same and self.batches >= 2

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
