"""Keeps images as (N, H, W, C) in memory: weights of modules with 2-D convolutions at their first call, inputs at each.

Optimizer state made before (by Adagrad at construction, by load_state_dict) follows its weight: fused optimizers walk
through memory, and silently mix up elements where weight and state are laid out differently.
"""

import sys
import weakref

from .. import outermost
from ..lever_error import LeverError

NAME = "channels_last"
FRAMEWORK = "pytorch"
CHANGES = "rounding, checkpoint"  # whose weights and optimizer state have these strides
DESCRIPTION = "images and convolutions' weights with channels last in memory; shapes stay as they are"
LINES = {"true": "model = model.to(memory_format=torch.channels_last)\n"
                 "images = images.to(memory_format=torch.channels_last)  # before each call of the model"}


def values(seen):
    if not any(each.classes & {"Conv2d", "ConvTranspose2d"} for each in seen.modules):
        return None, "no Conv2d was seen"
    if any(each.channels_last for each in seen.modules):
        return None, "the script uses channels_last itself"
    return ["script", "true"], None


def _has_convolutions(torch, module):
    return any(isinstance(each, (torch.nn.Conv2d, torch.nn.ConvTranspose2d)) for each in module.modules())


def install(value, torch):
    layout = _Layout(torch)
    outermost.add(torch, 10, layout.around)
    sys.modules[torch.optim.Optimizer.__module__].register_optimizer_step_pre_hook(layout.before_step)


class _Layout(object):
    def __init__(self, torch):
        self.torch = torch
        self.called = weakref.WeakKeyDictionary()    # module: whether it has 2-D convolutions
        self.followed = weakref.WeakKeyDictionary()  # optimizer: (its state, modules converted) when last looked at
        self.converted = 0

    def around(self, module, args, kwargs, proceed):
        if module not in self.called and not self.is_lazy(module):
            try:
                self.called[module] = self.convert(module)
            except Exception as error:
                raise LeverError(NAME, "cannot convert %s: %s" % (type(module).__name__, error))
        if self.called.get(module):
            args = tuple(self.last(each) for each in args)
            kwargs = {name: self.last(each) for name, each in kwargs.items()}
        return proceed(args, kwargs)

    def is_lazy(self, module):
        """Whether its first call, which is to come, makes weights yet."""
        return any(isinstance(each, self.torch.nn.parameter.UninitializedTensorMixin) for each in module.parameters())

    def convert(self, module):
        if not _has_convolutions(self.torch, module):
            return False
        for parameter in module.parameters():
            if parameter.dim() == 4:
                parameter.data = self.last(parameter.data)
                if parameter.grad is not None:
                    parameter.grad.data = self.last(parameter.grad.data)
        self.converted += 1
        return True

    def last(self, value):
        if isinstance(value, self.torch.Tensor) and value.dim() == 4 and value.layout is self.torch.strided:
            return value.contiguous(memory_format=self.torch.channels_last)
        return value

    def before_step(self, optimizer, args, kwargs):
        state, converted = self.followed.get(optimizer, (None, -1))
        if state is optimizer.state and converted == self.converted:
            return
        for parameter, its in optimizer.state.items():
            if not isinstance(parameter, self.torch.Tensor) or self.last(parameter) is not parameter:
                continue
            for key, value in its.items():
                if isinstance(value, self.torch.Tensor) and value.shape == parameter.shape:
                    its[key] = self.last(value)
        self.followed[optimizer] = (optimizer.state, self.converted)
