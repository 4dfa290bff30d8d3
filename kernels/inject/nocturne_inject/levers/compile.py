"""Compiles the outermost modules that own parameters, in place, at their first call: names in state_dict() stay."""

import importlib.util
import os
import sysconfig
import weakref

from .. import outermost
from ..lever_error import LeverError
from . import notes

NAME = "compile"
FRAMEWORK = "pytorch"
STAGE = "compile"
CHANGES = "rounding"
DESCRIPTION = "torch.compile() of the model, with its mode; the first step takes seconds to minutes longer"
LINES = {"default": "model.compile()",
         "max-autotune": "model.compile(mode='max-autotune')",
         "reduce-overhead": "model.compile(mode='reduce-overhead')"}
# Where forward() is not called, each of the model's parts is compiled for itself; so many, the rest stays as it is.
MOST_MODULES = 8


def changes(seen):
    """A compiled dropout draws other numbers."""
    drops = any("drop" in kind.lower() for each in seen.modules for kind in each.types)
    return CHANGES + ", random stream" if drops else CHANGES


def values(seen):
    if not seen.modules:
        return None, "no module that owns parameters was seen"
    if "compile" in seen.calls or any(each.compiled for each in seen.modules):
        return None, "the script compiles its model itself"
    if seen.version < (2, 2):
        return None, "PyTorch before 2.2 has no Module.compile()"
    if not seen.compiler:
        return None, "no C++ compiler (g++ or clang++) was found"
    if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        return None, "Python.h, which compiled code includes, was not found"
    if seen.device == "cuda" and importlib.util.find_spec("triton") is None:
        return None, "Triton, which compiles for the GPU, is not installed"
    return ["script", "default", "max-autotune"] + (["reduce-overhead"] if seen.device == "cuda" else []), None


def draw_as_unchanged():
    """A paired start compares arithmetic: what a model draws inside itself must be the numbers that it draws uncompiled."""
    if os.environ.get("NOCTURNE_INJECT_LEARNING_MODE") == "start":
        import torch._inductor.config
        torch._inductor.config.fallback_random = True


def install(value, torch):
    called = weakref.WeakSet()

    def compiled(module, args, kwargs, proceed):
        if module not in called:
            called.add(module)
            if len(called) == MOST_MODULES + 1:
                notes.append("compile: of more modules than %d, called one by one, the first are compiled" % MOST_MODULES)
            if len(called) <= MOST_MODULES and not outermost.is_compiled(torch, module):
                draw_as_unchanged()
                module.compile(mode=None if value == "default" else value)
        try:
            return proceed(args, kwargs)
        except Exception as error:
            if type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise LeverError(NAME, "%s: %s" % (type(error).__name__, error))
            raise

    outermost.add(torch, 0, compiled)
