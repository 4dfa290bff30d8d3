"""What the training check records of a training: losses, and how far its first steps move each parameter.

Mode start: two processes of one script do the same arithmetic, so that a lever alone makes a difference. The random
streams begin at the same place when the framework has been imported, before the first forward pass or batch, and again
behind each event; dropout is off; levers of loading are not installed. Five steps, then the process ends. Where no
parameter moves in the first step (its gradients are gathered, or a scaled loss was no number), the first step counts in
which one does.

Mode run: everything is on, and the given seed begins the random streams at the import, and before the first forward pass
or batch, whatever the script did in between. NOCTURNE_STEPS_LIMIT steps, the first one included, then the process ends.

Mode curve: as run, but nothing is recorded and nothing ends it: the caller reads how accurate the script says that it is.

    pytorch.py, tensorflow.py, mxnet.py, paddle.py    what is random in a framework, and which tensors a step moves
"""

import atexit
import json
import os
import pkgutil
import random
import sys

from ..hooks import hook

STEPS = 5


def frameworks():
    """Those whose trainings are recorded."""
    return {each.name for each in pkgutil.iter_modules(__path__)}


class Learning(object):
    """A framework's file derives from it: seed_framework(), no_dropout(), and array(), copy() and distance(), or told()."""

    UNSEEN = "a backward was not called on one number"  # where a step has no loss

    def __init__(self, session):
        environment = session.environment
        self.session = session
        self.path = environment["NOCTURNE_INJECT_LEARNING"]
        self.mode = environment.get("NOCTURNE_INJECT_LEARNING_MODE", "start")
        self.records = self.mode != "curve"
        self.first_seed = int(environment.get("NOCTURNE_INJECT_SEED", 1))
        self.limit = STEPS if self.mode == "start" else int(environment.get("NOCTURNE_STEPS_LIMIT") or 130)
        self.seeded = False
        self.named = {}          # {name: parameter}
        self.before = {}         # {name: copy} as they were before their first update
        self.optimizers = []     # ids of those whose parameters are known
        self.moved = []          # [{name: distance from before}] behind each event
        self.events = []         # [[loss or None of each backward]] of each event
        self.period = None       # events of a step
        self.notes = []
        self.why_not = None      # a start cannot be compared: a sentence
        self.written = False

    def install(self):
        atexit.register(self.at_exit)
        self.random_streams(0)
        if self.mode == "start":
            self.no_chance()
            try:
                self.no_dropout()
            except Exception as error:
                self.leave_out("dropout could not be put out: %s: %s" % (type(error).__name__, error))

    # --- the same numbers -------------------------------------------------------------------------------------------

    def random_streams(self, offset):
        seed = self.first_seed + offset
        random.seed(seed)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(seed % 2 ** 32)
        self.seed_framework(seed)

    def seed(self):
        """Before the first forward pass or batch: what the script has drawn until then is its own."""
        if not self.seeded:
            self.seeded = True
            self.random_streams(1)

    def no_chance(self):
        """Generators that a script leaves to chance begin at the same place too."""
        numpy = sys.modules.get("numpy")
        if numpy is not None and hasattr(numpy.random, "default_rng"):
            original = numpy.random.default_rng
            numpy.random.default_rng = lambda seed=None: original(self.first_seed if seed is None else seed)

    def without_argument(self, owner, name, place=1, called="p"):
        """owner.name drops nothing, as this argument says."""
        def begins(arguments, named):
            if len(arguments) > place:
                arguments[place] = 0.0
            else:
                named[called] = 0.0
        if hasattr(owner, name):
            hook(self.session, owner, name, begins)

    def without_attribute(self, kind, name):
        """What is made of `kind` drops nothing, as this attribute says."""
        hook(self.session, kind, "__init__", lambda arguments, named: arguments[0],
             lambda made, result: setattr(made, name, 0.0))

    def watch_first_call(self, kind):
        """Seeds before the first call of a model, whose class is derived from `kind`."""
        original = kind.__call__

        def call(made, *arguments, **named):
            if kind.__call__ is call:
                kind.__call__ = original
            self.seed()
            return made(*arguments, **named)
        call._torchdynamo_disable = True
        kind.__call__ = call

    # --- what is recorded -------------------------------------------------------------------------------------------

    def keep(self, name, parameter):
        """Before its first update."""
        self.named[name], self.before[name] = parameter, self.copy(parameter)

    def update_begins(self, optimizer, named):
        """Before each; `named`: its parameters by name, in a list."""
        if self.mode != "start" or id(optimizer) in self.optimizers:
            return
        known = {id(each) for each in self.named.values()}
        for name, parameter in named:
            if id(parameter) not in known:
                self.keep("%d.%s" % (len(self.optimizers), name), parameter)
        self.optimizers.append(id(optimizer))

    def copy(self, parameter):
        return self.array(parameter)

    def distance(self, parameter, before):
        return float(((self.array(parameter) - before) ** 2).sum()) ** 0.5

    def told(self, losses, count):
        """[(losses, {name: how far it has moved})] of each of the `count` events that have just ended; None: look() will."""
        return [(losses, {name: self.distance(parameter, self.before[name]) for name, parameter in self.named.items()})]

    def event(self, periods, losses, count=1):
        """An event has happened, or `count` in one call, behind backwards on `losses`: numbers, NotSeen's or None."""
        period = self.period or periods.length
        for each, moved in self.told(losses, count):
            self.events.append([self.number(loss) for loss in each])
            if moved is not None:
                self.moved.append(moved)
            self.period = period
            if self.period and len(self.events) // self.period >= self.limit:
                self.write()
                self.session.recorder.leave(0)
        if self.mode == "start":
            self.random_streams(1 + len(self.events))

    def number(self, loss):
        try:
            value = float(loss)
        except (TypeError, ValueError):  # None, or what says so itself
            return None
        return value if value == value and abs(value) != float("inf") else str(value)

    def look(self):
        """Before what moved is told: where a framework sees that later than at an event."""

    def movements(self):
        """How far each step and those before it have moved each parameter, from the first step that moves any: one whose
        gradients overflow, or at a rate that begins at 0, does not. A fault that one step leaves to the next, such as
        gradients that are not zeroed, shows from the second on."""
        self.look()
        period = self.period or 1
        steps = self.moved[period - 1::period][:self.limit]
        return steps[next((index for index, each in enumerate(steps) if any(each.values())), 0):]

    def leave_out(self, why):
        """What moves is not told, for that would be compared."""
        self.why_not = self.why_not or why

    def at_exit(self):
        if self.session.pid == os.getpid() and self in self.session.learners.values() and self.events and not self.written:
            self.notes.append("the script ended before %d steps had been seen" % self.limit)
            self.write()

    def write(self):
        content = {"version": 1, "mode": self.mode, "losses": self.losses()}
        if self.mode == "start":
            moved = [] if self.why_not else self.movements()
            content["updates"] = [{name: self.number(far) for name, far in each.items()} for each in moved]
            if not moved or not moved[0]:
                self.notes.insert(0, self.why_not or "no parameters were found: how far they move is not known")
        content["notes"] = self.notes + self.session.notes
        beside = "%s.%d" % (self.path, os.getpid())
        with open(beside, "w") as file:
            file.write(json.dumps(content) + "\n")
        os.replace(beside, self.path)
        self.written = True

    def losses(self):
        period = self.period or 1
        count = min(self.limit, len(self.events) // period)
        if period > 1:
            self.notes.append("loss not seen: a step is %d optimizers' updates, each of a loss of its own" % period)
            return [None] * count
        if any(not each or None in each for each in self.events[:count]):
            self.notes.append("loss not seen: " + self.UNSEEN)
        elif any(len(each) > 1 for each in self.events[:count]):
            self.notes.append("a loss is the mean of a step's backwards: whether they are its parts the script knows")
        return [None if not each or None in each else each[0] if len(each) == 1 else self.mean(each)
                for each in self.events[:count]]

    def mean(self, values):
        words = [each for each in values if isinstance(each, str)]
        return words[0] if words else sum(values) / len(values)
