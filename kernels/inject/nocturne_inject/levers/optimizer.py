"""Chooses the implementation of PyTorch's optimizers, by the arguments of their construction.

The script's checkpoints stay as they were: `fused` and `foreach` are not in what state_dict() returns.
"""

import functools
import inspect

from ..lever_error import LeverError

NAME = "optimizer"
FRAMEWORK = "pytorch"
CHANGES = "rounding"
DESCRIPTION = "the optimizer's update: one kernel for all weights (fused) or operations over lists of them (foreach)"
MOST_NAMED = 3  # classes, in a line
# Their subclasses may update in their own way.
FUSED = ("Adam", "AdamW", "SGD", "Adagrad")
FOREACH = FUSED + ("Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")


def _line(choice, kinds):
    return "%s(..., %s=True)" % (" and ".join("torch.optim." + kind for kind in sorted(kinds)[:MOST_NAMED]), choice)


LINES = {choice: _line(choice, ["Adam"]) + "  # or the script's class" for choice in ("fused", "foreach")}


def lines(seen):
    """With the classes that the script constructs."""
    return {choice: _line(choice, {each.kind for each in seen.optimizers}.intersection(kinds))
            for choice, kinds in (("fused", FUSED), ("foreach", FOREACH))}


def values(seen):
    if not seen.optimizers:
        return None, "no optimizer was constructed"
    if seen.gathers:
        return None, "backwards are timed, of which several belong to one of its updates"
    fused = [each for each in seen.optimizers if each.kind in FUSED and "fused" in each.settings]
    # On a GPU PyTorch takes foreach by itself.
    lists = [each for each in seen.optimizers if each.kind in FOREACH and "foreach" in each.settings and seen.device == "cpu"]
    if not fused and not lists:
        return None, "%s has no other implementation" % seen.optimizers[0].kind
    if any(_chosen(each.settings) for each in fused or lists):
        return None, "the script chooses the optimizer's implementation itself"
    if any("complex" in each for each in seen.parameter_types):
        return None, "a fused optimizer needs real weights"
    if any(each.sparse for each in seen.modules):
        return None, "a fused optimizer cannot use sparse gradients"
    return ["script"] + (["fused"] if fused else []) + (["foreach"] if lists else []), None


def install(value, torch):
    for name in FOREACH:
        optimizer_class = getattr(torch.optim, name)
        if value in inspect.signature(optimizer_class.__init__).parameters:
            _patch(optimizer_class, value, torch)


def _patch(optimizer_class, choice, torch):
    original = optimizer_class.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        try:
            left = type(self) is not optimizer_class or _chosen(signature.bind(self, *args, **kwargs).arguments)
        except TypeError:  # the script's error: the constructor says it
            left = True
        if left:
            return original(self, *args, **kwargs)
        kwargs[choice] = True
        try:
            original(self, *args, **kwargs)
        except (RuntimeError, ValueError) as error:
            raise LeverError(NAME, error)
        _hide(self, choice)

    optimizer_class.__init__ = __init__


def _chosen(settings):
    """Whether a script has chosen itself, by these arguments."""
    return any(settings.get(name) is not None for name in ("fused", "foreach")) or bool(settings.get("differentiable"))


def _hide(optimizer, choice):
    """Takes the choice out of what state_dict() returns, and puts it into what load_state_dict() reads."""

    def saved(optimizer, state):
        state["param_groups"] = [dict(group, **{choice: None}) for group in state["param_groups"]]
        state["state"] = {key: _step_on_cpu(its) for key, its in state["state"].items()}
        return state

    def loaded(optimizer, state):
        return dict(state, param_groups=[dict(group, **{choice: True}) for group in state["param_groups"]])

    optimizer.register_state_dict_post_hook(saved)
    optimizer.register_load_state_dict_pre_hook(loaded)


def _step_on_cpu(state):
    """A fused optimizer keeps its count on the GPU, the others on the CPU."""
    step = state.get("step") if isinstance(state, dict) else None
    return dict(state, step=step.cpu()) if hasattr(step, "cpu") else state
