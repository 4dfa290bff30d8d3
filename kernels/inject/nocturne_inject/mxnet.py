"""MXNet's Gluon: a step ends with Trainer.step (or .update), whose argument is the batch.

MXNet works behind Python's back: a sample waits for all of it at its end; shares of a step would be those of launching
and are not told but for waiting for data. The loss is what the step's only backward was called on, its mean.
"""

import weakref

from . import levers
from .hooks import Alternating, Events, hook


def install(name, mxnet, session):
    session.install_levers("mxnet", mxnet)
    if session.environment.get("NOCTURNE_INJECT_LEARNING"):
        from .learning.mxnet import MXNet
        session.learn("mxnet", MXNet(mxnet, session))
    if session.timing:
        Training(mxnet, session)


class Training(object):
    def __init__(self, mxnet, session):
        self.mxnet = mxnet
        self.session = session
        self.trainers = weakref.WeakSet()  # that live
        self.events = Events(session, "mxnet", lambda: {id(each) for each in self.trainers})
        self.alternating = Alternating(session)
        self.heads = []        # of the backwards since the last step
        self.backwards = 0     # under way, one inside the other
        self.stepping = None   # the trainer whose step is under way
        self.loaders = {}
        session.report.looks["mxnet"] = self.look
        trainer = mxnet.gluon.Trainer
        hook(session, trainer, "__init__", lambda arguments, named: self.trainers.add(arguments[0]))
        for name in ("step", "update"):
            hook(session, trainer, name, self.step_begins, self.step_ended, self.step_left)
        hook(session, mxnet.nd.NDArray, "backward", self.backward_begins, None, self.backward_left)
        hook(session, mxnet.autograd, "backward", self.backward_begins, None, self.backward_left)
        hook(session, mxnet.gluon.data.DataLoader, "__iter__", self.events.data_begins, self.iterated)

    def backward_begins(self, arguments, named):
        if not self.session.listening:
            return None
        self.backwards += 1
        if self.backwards == 1:
            head = arguments[0] if arguments else named.get("heads")
            self.heads += head if isinstance(head, (list, tuple)) else [head]
        return True

    def backward_left(self, token):
        self.backwards -= 1

    def step_begins(self, arguments, named):
        if self.stepping is not None or not self.session.listening:
            return None
        self.stepping = arguments[0]
        if self.events.learning:
            self.events.learning.step_begins(arguments[0])
        return arguments[0], arguments[1] if len(arguments) > 1 else named.get("batch_size")

    def step_left(self, token):
        self.stepping = None

    def step_ended(self, token, result):
        trainer, batch = token
        heads, self.heads = self.heads, []
        if not self.events.speaks("optimizer step"):
            return
        if self.events.recorder.steps < 0:
            self.know(batch)
        if self.events.event(id(trainer), Loss(self.mxnet, heads)):
            self.alternating.stepped()

    def iterated(self, loader, iterator):
        def came(batch):
            self.loader = loader
        return self.alternating.read(iterator, self.events, came),

    loader = None  # that gave the last batch

    def know(self, batch):
        facts, context = self.events.recorder.facts, str(self.mxnet.context.current_context())
        facts["versions"]["mxnet"] = str(self.mxnet.__version__)
        self.session.report.seen.device = "cuda" if context.startswith("gpu") else "cpu"
        loader, self.loader = self.loader, None
        if loader is None:
            self.session.note("no DataLoader gave the batches: epochs and waiting for data are not known")
        else:
            facts["steps_per_epoch"] = len(loader)
            batch = getattr(getattr(loader, "_batch_sampler", None), "_batch_size", None) or batch
            self.loaders[id(loader)] = levers.Loader("map", batch, getattr(loader, "_num_workers", None), None, None, None,
                                                     len(loader), None, True, None)
        if isinstance(batch, int) and batch > 1:  # 1: of a loss that is a mean already
            facts["batch"] = batch

    def look(self, seen):
        seen.loaders = list(self.loaders.values())


class Loss(object):
    """float() waits for the device and gives the mean of what the only backward of a step was called on."""

    def __init__(self, mxnet, heads):
        self.mxnet, self.heads = mxnet, heads

    def __float__(self):
        self.mxnet.nd.waitall()
        if len(self.heads) != 1:
            raise TypeError("no loss, or more than one, was seen")
        return float(self.heads[0].mean().asscalar())
