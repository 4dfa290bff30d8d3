"""Scales the learning rate that optimizers are constructed with, where the lever batch enlarges the batch."""

import functools
import math
import os

from ..lever_error import LeverError
from . import batch

NAME = "learning_rate"
FRAMEWORK = "pytorch"
CHANGES = "what is learnt"
DESCRIPTION = "the learning rate follows the batch: times the ratio (linear) or its square root (sqrt)"
RULES = {"linear": float, "sqrt": math.sqrt}
LINES = {"linear": "optimizer = torch.optim.SGD(..., lr=lr * ratio)  # ratio: the batch over the script's",
         "sqrt": "optimizer = torch.optim.SGD(..., lr=lr * ratio ** 0.5)  # ratio: the batch over the script's"}


def values(seen):
    possible, reason = batch.values(seen)
    if not possible:
        return None, "the batch stays: " + reason
    if not seen.optimizers:
        return None, "no optimizer was constructed"
    if seen.absolute_schedule:
        return None, "%s sets learning rates of its own" % seen.absolute_schedule
    return ["script"] + list(RULES), None


def install(value, torch):
    if value not in RULES:
        raise LeverError(NAME, "unknown value %r" % (value,))
    factor = RULES[value](batch.MULTIPLES.get(os.environ.get("NOCTURNE_LEVER_BATCH"), 1))
    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        for group in [self.defaults] + self.param_groups:
            if group.get("lr") is not None:
                group["lr"] = group["lr"] * factor

    torch.optim.Optimizer.__init__ = __init__
