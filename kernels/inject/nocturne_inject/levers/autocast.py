"""Runs the outermost modules that own parameters in bf16 where PyTorch deems it safe; weights stay float32."""

import copy

from .. import outermost
from ..lever_error import LeverError

NAME = "autocast"
FRAMEWORK = "pytorch"
CHANGES = "precision"
DESCRIPTION = "bf16 for what the model computes in its forward and backward pass; weights and outputs stay float32"
LINES = {"bf16": "with torch.autocast(inputs.device.type, torch.bfloat16):  # around the call of the model\n"
                 "    output = model(inputs)\noutput = output.float()"}
# CPUs that multiply bf16; elsewhere each product is emulated.
CPU_FLAGS = frozenset(["avx512_bf16", "amx_bf16", "bf16"])


def values(seen):
    if not seen.modules:
        return None, "no module that owns parameters was seen"
    if "autocast" in seen.calls:
        return None, "the script uses autocast itself"
    if {"bfloat16", "float16"} & set(seen.parameter_types):
        return None, "the script's model is in 16 bits already"
    if "float32" not in seen.parameter_types:
        return None, "no module with float32 parameters was seen"
    if seen.device == "cpu" and not CPU_FLAGS & seen.cpu_flags:
        return None, "the processor has no bf16 instructions (avx512_bf16, amx_bf16)"
    if seen.device == "cuda" and (seen.capability or (0, 0)) < (8, 0):
        return None, "the GPU has no bf16 units (compute capability 8.0)"
    if seen.device is None:
        return None, "no training was seen"
    if seen.device not in ("cpu", "cuda"):
        return None, "no such training was tried on the device %s" % seen.device
    return ["script", "bf16"], None


def install(value, torch):

    def in_bf16(module, args, kwargs, proceed):
        parameter = next(module.parameters())
        device = parameter.device.type
        # In a region of the script's own (a recomputed checkpoint is in ours) it has decided already.
        if parameter.dtype is not torch.float32 or _enabled(torch, device):
            return proceed(args, kwargs)
        with torch.autocast(device, dtype=torch.bfloat16):
            result = proceed(args, kwargs)
        try:
            return _widened(torch, result)
        except Exception as error:
            raise LeverError(NAME, "cannot turn a %s back into float32: %s" % (type(result).__name__, error))

    outermost.add(torch, 20, in_bf16)


def _enabled(torch, device):
    try:
        return torch.is_autocast_enabled(device)
    except TypeError:  # before PyTorch 2.4
        return torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled()


def _widened(torch, value):
    """The same value with float32 for bf16 tensors, inside tuples, lists, dictionaries and data classes too.

    What holds no bf16 is returned as it is. Other objects are left alone.
    """
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype is torch.bfloat16 else value
    if isinstance(value, dict):
        changed = _changed(torch, value.items())
        if changed:
            value = copy.copy(value)
            for key, item in changed:
                value[key] = item
    elif isinstance(value, (tuple, list)):
        items = [_widened(torch, item) for item in value]
        if any(new is not old for new, old in zip(items, value)):
            return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        changed = _changed(torch, vars(value).items())
        if changed:
            value = copy.copy(value)
            for name, item in changed:
                object.__setattr__(value, name, item)
    return value


def _changed(torch, items):
    widened = ((key, item, _widened(torch, item)) for key, item in items)
    return [(key, new) for key, old, new in widened if new is not old]
