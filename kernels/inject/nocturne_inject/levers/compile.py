"""Compiles the outermost modules that own parameters, in place, at their first call: names in state_dict() stay."""

import os
import shutil
import sysconfig
import weakref

from .. import outermost
from ..lever_error import LeverError

NAME = "compile"
FRAMEWORK = "pytorch"
CHANGES = "rounding"
DESCRIPTION = "torch.compile() of the model, with its mode; the first step takes seconds to minutes longer"
LINES = {"default": "model.compile()",
         "max-autotune": "model.compile(mode='max-autotune')",
         "reduce-overhead": "model.compile(mode='reduce-overhead')"}
# More are the parts of a model whose forward() is not called: each would be compiled for itself.
MOST_MODULES = 4


def changes(seen):
    """A compiled dropout draws other numbers."""
    return "random stream" if any(model["dropout"] for model in seen.models) else CHANGES


def values(seen):
    if not seen.models:
        return None, "no call of a module that owns parameters was seen"
    if "torch.compile" in seen.sets or any(model["compiled"] for model in seen.models):
        return None, "the script compiles its model itself"
    if len(seen.models) > MOST_MODULES:
        return None, "the script calls %d modules one by one, no model as a whole" % len(seen.models)
    if _version(seen.framework_version) < (2, 2):
        return None, "PyTorch before 2.2 has no Module.compile()"
    if not _compiler():
        return None, "no C++ compiler (g++ or clang++) was found"
    if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        return None, "Python.h, which compiled code includes, was not found"
    return ["script", "default", "max-autotune"] + (["reduce-overhead"] if seen.device == "cuda" else []), None


def _version(text):
    return tuple(int(part) for part in text.split("+")[0].split(".")[:2])


def _compiler():
    named = os.environ.get("CXX")
    return any(shutil.which(each) for each in ([named] if named else ["g++", "clang++"]))


def install(value, torch):
    if value not in LINES:
        raise LeverError(NAME, "unknown value %r" % (value,))
    called = weakref.WeakSet()

    def compiled(module, args, kwargs, proceed):
        if module not in called:
            called.add(module)
            if not outermost.is_compiled(torch, module):
                module.compile(mode=None if value == "default" else value)
        try:
            return proceed(args, kwargs)
        except Exception as error:
            if type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise LeverError(NAME, "%s: %s" % (type(error).__name__, error))
            raise

    outermost.add(torch, 0, compiled)
