"""A lever whose values are faults of a training, for tests: what the learning check must not let pass.

    rate:F      the learning rate times F: an optimizer's, or that of an update which the script writes itself
    frozen:N    the gradients of layer N (a module that owns parameters, in the order of the first calls) are zero
    labels      the targets of a loss are put into another order within their batch
    kept        gradients are not zeroed
"""

import sys

from .. import outermost

NAME = "planted"
FRAMEWORK = "pytorch"
CHANGES = "rounding"
DESCRIPTION = "a fault"
LOSSES = ("nll_loss", "cross_entropy", "mse_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")


def LINES(value):
    return "no line of anybody's"


def values(seen):
    return ["script"], None


def install(value, torch):
    kind, _, number = value.partition(":")
    {"rate": rate, "frozen": frozen, "labels": labels, "kept": kept}[kind](torch, float(number or 0))


def rate(torch, factor):
    made, add = torch.optim.Optimizer.__init__, torch.Tensor.add_

    def __init__(self, *args, **kwargs):
        made(self, *args, **kwargs)
        for group in self.param_groups:
            group["lr"] *= factor

    def add_(self, other, alpha=1):
        return add(self, other, alpha=alpha * factor if sys._getframe(1).f_globals.get("__name__") == "__main__" else alpha)
    torch.optim.Optimizer.__init__, torch.Tensor.add_ = __init__, add_


def frozen(torch, number):
    layers = []

    def layer(module, args, kwargs, proceed):
        for each in module.modules():
            own = list(each.parameters(recurse=False))
            if own and each not in layers:
                if len(layers) == number:
                    for parameter in own:
                        parameter.register_hook(torch.zeros_like)
                layers.append(each)
        return proceed(args, kwargs)
    outermost.add(torch, 30, layer)


def labels(torch, _):
    chance = torch.Generator().manual_seed(5)

    def of(original):
        def loss(input, target, *args, **kwargs):
            return original(input, target[torch.randperm(len(target), generator=chance)], *args, **kwargs)
        return loss
    for name in LOSSES:
        setattr(torch.nn.functional, name, of(getattr(torch.nn.functional, name)))


def kept(torch, _):
    torch.optim.Optimizer.zero_grad = torch.nn.Module.zero_grad = lambda *args, **kwargs: None
