"""PaddlePaddle in its dynamic graph: a step ends with Optimizer.step, or minimize, which Model.fit calls.

Shares of a step are by the clock of Python, which on a GPU is that of launching; a sample waits for the device. The loss
is what the step's only backward was called on.
"""

import weakref

from . import levers
from .hooks import Alternating, Events, hook


def install(name, paddle, session):
    session.install_levers("paddle", paddle)
    if session.environment.get("NOCTURNE_INJECT_LEARNING"):
        from .learning.paddle import Paddle
        session.learn("paddle", Paddle(paddle, session))
    if session.timing:
        Training(paddle, session)


class Training(object):
    def __init__(self, paddle, session):
        self.paddle = paddle
        self.session = session
        self.optimizers = weakref.WeakSet()  # that live
        self.events = Events(session, "paddle", lambda: {id(each) for each in self.optimizers})
        self.alternating = Alternating(session)
        self.losses = []       # of the backwards since the last step
        self.stepping = False
        self.loader = self.batch = None
        base = paddle.optimizer.Optimizer
        hook(session, base, "__init__", lambda arguments, named: self.optimizers.add(arguments[0]))
        for kind in {base} | {each for each in vars(paddle.optimizer).values()
                              if isinstance(each, type) and issubclass(each, base)}:
            for name in ("step", "minimize"):  # the latter is what Model.fit calls
                if name in kind.__dict__:
                    hook(session, kind, name, self.step_begins, self.step_ended, self.step_left)
        hook(session, paddle.Tensor, "backward", self.backward_begins, self.backward_ended)
        hook(session, paddle.io.DataLoader, "__iter__", self.events.data_begins, self.iterated)

    def lap(self, kind):
        if self.events.recorder and self.session.listening:
            self.events.recorder.lap(kind)

    def backward_begins(self, arguments, named):
        self.lap("forward")
        self.losses.append(arguments[0].detach())
        return True

    def backward_ended(self, token, result):
        self.lap("backward")

    def step_begins(self, arguments, named):
        if self.stepping or not self.session.listening or not self.paddle.in_dynamic_mode():
            return None
        self.stepping = True
        if self.events.learning:
            self.events.learning.step_begins(arguments[0])
        return arguments[0]

    def step_left(self, optimizer):
        self.stepping = False

    def step_ended(self, optimizer, result):
        losses, self.losses = self.losses, []
        if not self.events.speaks("optimizer step"):
            return
        self.lap("optimizer")
        if self.events.recorder.steps < 0:
            self.know()
        if self.events.event(id(optimizer), Loss(self.paddle, losses)):
            self.alternating.stepped()

    def iterated(self, loader, iterator):
        def came(batch):
            self.loader, self.batch = loader, batch
        return self.alternating.read(iterator, self.events, came),

    def know(self):
        facts = self.events.recorder.facts
        facts["versions"]["paddle"] = str(self.paddle.__version__)
        self.session.report.seen.device = "cuda" if self.paddle.device.get_device().startswith("gpu") else "cpu"
        loader, batch, self.loader, self.batch = self.loader, self.batch, None, None
        if loader is None:
            self.session.note("no DataLoader gave the batches: epochs and waiting for data are not known")
            return
        while isinstance(batch, (list, tuple, dict)) and len(batch):
            batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
        if len(getattr(batch, "shape", ())):
            facts["batch"] = int(batch.shape[0])
        try:
            facts["steps_per_epoch"] = len(loader)
        except (TypeError, RuntimeError):  # of an iterable data set
            pass
        self.session.report.seen.loaders = [levers.Loader(
            "map", facts.get("batch"), getattr(loader, "num_workers", None), None, None, None,
            facts.get("steps_per_epoch"), None, True, type(getattr(loader, "dataset", None)).__name__)]


class Loss(object):
    """float() waits for the device and gives what the only backward of a step was called on."""

    def __init__(self, paddle, losses):
        self.paddle, self.losses = paddle, losses

    def __float__(self):
        if self.paddle.device.get_device().startswith("gpu"):
            self.paddle.device.synchronize()
        if len(self.losses) != 1:
            raise TypeError("no loss, or more than one, was seen")
        return float(self.losses[0].mean())
