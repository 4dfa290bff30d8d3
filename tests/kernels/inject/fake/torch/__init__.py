"""As much of PyTorch as the hooks touch. Its work takes seconds of a clock that nothing else moves."""

import os as _os
import random as _random
import time

__version__ = "2.15.0+cpu"


class Clock(object):
    """Instead of time.monotonic and time.process_time; of each second the processor works a half."""

    now = 100.0
    scale = 1

    def spend(self, seconds):
        self.now += seconds * self.scale


clock = Clock()
if not _os.environ.get("FAKE_TORCH_REAL_TIME"):
    time.monotonic = lambda: clock.now
    time.process_time = lambda: clock.now / 2
grad_enabled = True


class Device(object):
    type = "cpu"


class Tensor(object):
    device = Device()
    dtype = "torch.float32"
    requires_grad = True

    def __init__(self, value=0.0, shape=(), seconds=2.0):
        self.value, self.shape, self.seconds = value, shape, seconds

    def numel(self):
        return 1 if not self.shape else 7

    def dim(self):
        return len(self.shape)

    def detach(self):
        return Tensor(self.value, self.shape)

    def clone(self):
        return Tensor(self.value, self.shape)

    def float(self):
        return self

    def __sub__(self, other):
        return Tensor(self.value - other.value)

    def norm(self):
        return abs(self.value)

    def __float__(self):
        return float(self.value)

    def backward(self):
        autograd.backward(self)


class no_grad(object):
    def __enter__(self):
        global grad_enabled
        self.before, grad_enabled = grad_enabled, False

    def __exit__(self, *_):
        global grad_enabled
        grad_enabled = self.before


class autocast(object):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def is_grad_enabled():
    return grad_enabled


def get_num_threads():
    return 2


def get_num_interop_threads():
    return 1


def load(file):
    return {}


def manual_seed(seed):
    _random.seed(seed)


from . import amp, autograd, nn, optim, random, utils  # noqa: E402,F401
