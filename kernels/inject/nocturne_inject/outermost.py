"""Layers around the outermost PyTorch module that owns parameters: what a script calls, seen from outside.

A call of a module counts as outermost where no other such call is under way in its thread. A module without parameters
(Normalize, an activation, most losses) is never one, nor are losses that own some: what they call may be. So a GAN has
two, and a model that is called by another method than forward() has as many as that method calls.

    add(torch, order, layer)      layer(module, args, kwargs, proceed) returns proceed(args, kwargs) or what it makes of it.
                                  The layer of the lowest order is the innermost.

Modules that torch.compile, torch.jit or torch.export is tracing are left alone: their code is what is traced.
"""

import functools
import threading


class _Thread(threading.local):
    inside = False


_thread = _Thread()
_layers = []  # [(order, layer)], innermost first; filled while the framework is imported


def add(torch, order, layer):
    if not _layers:
        _patch(torch)
    _layers.append((order, layer))
    _layers.sort(key=lambda each: each[0])


def owns_parameters(torch, module):
    for _ in module.parameters():
        return not isinstance(module, _never_outermost(torch))
    return False


@functools.lru_cache(maxsize=None)
def _never_outermost(torch):
    parametrize = getattr(torch.nn.utils, "parametrize", None)  # computes weights, wherever one is read
    return (torch.nn.modules.loss._Loss,) + ((parametrize.ParametrizationList,) if parametrize else ())


def is_compiled(torch, module):
    """Whether the script has compiled it, by torch.compile() or torch.jit."""
    return (isinstance(module, torch.jit.ScriptModule) or type(module).__name__ == "OptimizedModule"
            or getattr(module, "_compiled_call_impl", None) is not None)


def _patch(torch):
    module_class = torch.nn.Module
    original = module_class.__call__
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
    tracing = torch._C._get_tracing_state

    @functools.wraps(original)
    def __call__(self, *args, **kwargs):
        if _thread.inside or compiling() or tracing() is not None or not owns_parameters(torch, self):
            return original(self, *args, **kwargs)
        _thread.inside = True
        try:
            return _proceed(original, self, len(_layers), args, kwargs)
        finally:
            _thread.inside = False

    module_class.__call__ = __call__


def _proceed(original, module, above, args, kwargs):
    """Calls the layer under number `above`, or the module itself."""
    if not above:
        return original(module, *args, **kwargs)
    layer = _layers[above - 1][1]
    return layer(module, args, kwargs, lambda args, kwargs: _proceed(original, module, above - 1, args, kwargs))
