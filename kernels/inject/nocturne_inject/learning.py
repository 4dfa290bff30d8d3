"""What the training check records of a PyTorch training: losses, and how far its first steps move each parameter.

Mode start: two processes of one script do the same arithmetic, so that a lever alone makes a difference. The random
streams begin at the same place when the framework has been imported, before the first forward pass or batch, and again
behind each event; dropout is off; levers of loading are not installed. Five steps, then the process ends.

Mode run: everything is on, and the given seed begins the random streams at the import, and before the first forward pass
or batch, whatever the script did in between. NOCTURNE_STEPS_LIMIT steps, the first one included, then the process ends.
"""

import atexit
import json
import os
import random
import sys

STEPS = 5
_NO_DROPOUT = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


class Learning(object):
    def __init__(self, torch, session):
        environment = session.environment
        self.torch = torch
        self.session = session
        self.path = environment["NOCTURNE_INJECT_LEARNING"]
        self.mode = environment.get("NOCTURNE_INJECT_LEARNING_MODE", "start")
        self.first_seed = int(environment.get("NOCTURNE_INJECT_SEED", 1))
        self.limit = STEPS if self.mode == "start" else int(environment.get("NOCTURNE_STEPS_LIMIT") or 130)
        self.seeded = False
        self.modules = []        # in the order in which they are made
        self.before = None       # {name: copy}: parameters as they were before the first step
        self.moved = []          # [{name: norm}] behind each event, seen when the next backward begins
        self.events = []         # [[loss or None of each backward]] of each event
        self.period = None       # events of a step
        self.named = {}          # {"<model>.<name>": parameter}
        self.notes = []
        self.written = False

    def install(self):
        atexit.register(self.at_exit)
        self.random_streams(0)
        if self.mode == "start":
            self.no_chance()
            self.no_dropout()
            self.watch_modules()
        self.watch_first_forward()

    # --- the same numbers -------------------------------------------------------------------------------------------

    def random_streams(self, offset):
        seed = self.first_seed + offset
        random.seed(seed)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(seed % 2 ** 32)
        self.torch.manual_seed(seed)

    def seed(self):
        """Before the first forward pass or batch: what the script has drawn until then is its own."""
        if not self.seeded:
            self.seeded = True
            self.random_streams(1)

    def no_chance(self):
        """Generators that a script leaves to chance begin at the same place too."""
        self.torch.seed = self.torch.random.seed = lambda: self.torch.manual_seed(self.first_seed) and self.first_seed
        numpy = sys.modules.get("numpy")
        if numpy is not None and hasattr(numpy.random, "default_rng"):
            original = numpy.random.default_rng
            numpy.random.default_rng = lambda seed=None: original(self.first_seed if seed is None else seed)

    def watch_first_forward(self):
        module = self.torch.nn.Module
        original = module.__call__

        def call(made, *arguments, **named):
            if module.__call__ is call:
                module.__call__ = original
            self.seed()
            return made(*arguments, **named)
        call._torchdynamo_disable = True
        module.__call__ = call

    def watch_modules(self):
        module = self.torch.nn.Module
        original = module.__init__

        def __init__(made, *arguments, **named):
            original(made, *arguments, **named)
            self.modules.append(made)
        module.__init__ = __init__

    def no_dropout(self):
        functional = self.torch.nn.functional

        def same(input, p=0.5, training=True, inplace=False):
            return input
        for name in _NO_DROPOUT:
            if hasattr(functional, name):
                setattr(functional, name, same)
        self.torch.dropout = lambda input, p, train: input
        attention = getattr(functional, "scaled_dot_product_attention", None)
        if attention is not None:
            def without(query, key, value, attn_mask=None, dropout_p=0.0, *arguments, **named):
                return attention(query, key, value, attn_mask, 0.0, *arguments, **named)
            functional.scaled_dot_product_attention = without
        recurrent = self.torch.nn.RNNBase
        original = recurrent.__init__

        def __init__(made, *arguments, **named):
            original(made, *arguments, **named)
            made.dropout = 0.0
        recurrent.__init__ = __init__

    # --- what is recorded -------------------------------------------------------------------------------------------

    def begin(self, optimizers):
        """At the first backward: the parameters as they are."""
        if self.mode != "start":
            return
        self.find_parameters(optimizers)
        self.before = {name: parameter.detach().clone() for name, parameter in self.named.items()}
        if not self.before:
            self.notes.append("no parameters were found: how far they move is not known")

    def find_parameters(self, optimizers):
        """Models in the order in which they were made; then what optimizers have that belongs to none."""
        parts = {id(part) for module in self.modules for part in module.children()}
        models = [module for module in self.modules
                  if id(module) not in parts and next(module.parameters(), None) is not None]
        known = set()
        for index, model in enumerate(models):
            for name, parameter in model.named_parameters():
                if parameter.requires_grad and id(parameter) not in known:
                    known.add(id(parameter))
                    self.named["%d.%s" % (index, name)] = parameter
        left = [parameter for optimizer in optimizers for group in optimizer.param_groups
                for parameter in group["params"] if id(parameter) not in known]
        self.named.update(("optimizer.%d" % index, parameter) for index, parameter in enumerate(left))

    def look(self):
        """A backward begins: what the script does behind an event, such as an update of its own, is done."""
        missing = len(self.events) - len(self.moved)
        if self.before and missing:
            self.moved += [{name: float((parameter.detach().float() - self.before[name].float()).norm())
                            for name, parameter in self.named.items()}] * missing

    def event(self, periods, losses):
        """An event has happened behind backwards on `losses`, each detached or None."""
        self.events.append([self.number(each) for each in losses])
        if self.period is None and periods.length:
            self.period = periods.length
        if self.period and len(self.events) // self.period >= self.limit:
            self.write()
            self.session.recorder.leave(0)
        if self.mode == "start":
            self.random_streams(1 + len(self.events))

    def number(self, loss):
        if loss is None:
            return None
        value = float(loss)
        return value if value == value and abs(value) != float("inf") else str(value)

    def at_exit(self):
        if self.session.pid == os.getpid() and self.session.learning is self and self.events and not self.written:
            self.notes.append("the script ended before %d steps had been seen" % self.limit)
            self.write()

    def write(self):
        content = {"version": 1, "mode": self.mode, "losses": self.losses()}
        if self.mode == "start":
            content["updates"] = self.movements()
        content["notes"] = self.notes + self.session.notes
        beside = "%s.%d" % (self.path, os.getpid())
        with open(beside, "w") as file:
            file.write(json.dumps(content) + "\n")
        os.replace(beside, self.path)
        self.written = True

    def movements(self):
        """Of each step, how far it and those before it have moved each parameter; from the first one that moves any: one whose
        gradients overflow, or at a rate that begins at 0, does not. A fault that one step leaves to the next, such as
        gradients that are not zeroed, shows from the second on."""
        self.look()
        steps = self.moved[(self.period or 1) - 1::self.period or 1]
        return steps[next((index for index, each in enumerate(steps) if any(each.values())), 0):]

    def losses(self):
        period = self.period or 1
        count = min(self.limit, len(self.events) // period)
        if period > 1:
            self.notes.append("loss not seen: a step is %d optimizers' updates, each of a loss of its own" % period)
            return [None] * count
        if any(not each or None in each for each in self.events[:count]):
            self.notes.append("loss not seen: a backward was not called on one number")
        elif any(len(each) > 1 for each in self.events[:count]):
            self.notes.append("a loss is the mean of a step's backwards: whether they are its parts the script knows")
        return [None if not each or None in each else each[0] if len(each) == 1 else self.mean(each)
                for each in self.events[:count]]

    def mean(self, values):
        words = [each for each in values if isinstance(each, str)]
        return words[0] if words else sum(values) / len(values)
