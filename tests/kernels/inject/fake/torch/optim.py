import functools

import torch

_before, _after = [], []


def register_optimizer_step_pre_hook(hook):
    _before.append(hook)


def register_optimizer_step_post_hook(hook):
    _after.append(hook)


def hooked(step):
    @functools.wraps(step)
    def call(self, *arguments, **named):
        for hook in _before:
            hook(self, arguments, named)
        result = step(self, *arguments, **named)
        for hook in _after:
            hook(self, arguments, named)
        return result
    return call


class Optimizer(object):
    def __init__(self, parameters=(), defaults=None):
        self.param_groups = [{"params": list(parameters)}]
        self.defaults = defaults or {"lr": 0.1}
        self.moves = 1.0

    @hooked
    def step(self, closure=None):
        if closure:
            closure()
        torch.clock.spend(1)
        for parameter in self.param_groups[0]["params"]:
            parameter.value += self.moves


class SGD(Optimizer):
    pass
