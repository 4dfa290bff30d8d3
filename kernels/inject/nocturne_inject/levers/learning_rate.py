"""Scales the learning rate that optimizers are constructed with, where the lever batch enlarges the batch."""

import functools
import math
import os
import sys
import weakref

from . import batch

NAME = "learning_rate"
FRAMEWORK = "pytorch"
CHANGES = "what is learnt"
DESCRIPTION = "the learning rate follows the batch: times the ratio (linear) or its square root (sqrt)"
RULES = {"linear": float, "sqrt": math.sqrt}
LINES = {"linear": "optimizer = torch.optim.SGD(..., lr=lr * ratio)  # ratio: the batch over the script's",
         "sqrt": "optimizer = torch.optim.SGD(..., lr=lr * ratio ** 0.5)  # ratio: the batch over the script's"}
# Schedules that take learning rates as arguments.
ABSOLUTE = ("OneCycleLR", "CyclicLR")
_absolute = []  # who sets learning rates that no factor of ours would reach


def values(seen):
    possible, reason = batch.values(seen)
    if not possible:
        return None, "the batch stays: " + reason
    if not seen.optimizers:
        return None, "no optimizer was constructed"
    if _absolute:
        return None, "%s sets learning rates of its own" % _absolute[0]
    return ["script"] + list(RULES), None


def install(value, torch):
    factor = RULES[value](batch.MULTIPLES.get(os.environ.get("NOCTURNE_LEVER_BATCH"), 1))
    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        for group in [self.defaults] + self.param_groups:
            if group.get("lr") is not None:
                group["lr"] = group["lr"] * factor

    torch.optim.Optimizer.__init__ = __init__


def watch(torch):
    schedules = torch.optim.lr_scheduler
    base = getattr(schedules, "LRScheduler", None) or schedules._LRScheduler
    scheduled = weakref.WeakSet()
    rates = weakref.WeakKeyDictionary()  # optimizer: learning rates at its first step

    def constructed(original):
        def __init__(schedule, optimizer, *args, **kwargs):
            if type(schedule).__name__ in ABSOLUTE:
                _absolute.append(type(schedule).__name__)
            scheduled.add(optimizer)
            original(schedule, optimizer, *args, **kwargs)
        return __init__

    def before_step(optimizer, args, kwargs):
        if optimizer not in scheduled and not _absolute:
            now = [group.get("lr") for group in optimizer.param_groups]
            if all(isinstance(rate, (int, float)) for rate in now) and rates.setdefault(optimizer, now) != now:
                _absolute.append("the script")

    base.__init__ = functools.wraps(base.__init__)(constructed(base.__init__))
    sys.modules[torch.optim.Optimizer.__module__].register_optimizer_step_pre_hook(before_step)
