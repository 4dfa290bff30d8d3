"""As much of JAX as the hooks touch: functions are traced once, then computed by a device that works while Python goes on.

Python spends 0.1 s of a clock that nothing else moves on a call, the device 3 s on a function, or `cost[its name]`.
"""

import functools
import time
import types
import weakref

__version__ = "0.10.2"
cost, losses, traces = {}, [number / 100 for number in range(1000)], []


class Clock(object):
    now = 100.0
    free = 0.0  # when the device has done all it was given

    def spend(self, seconds):
        self.now += seconds

    def compute(self, seconds):
        self.spend(0.1)
        self.free = max(self.free, self.now) + seconds
        return self.free


clock = Clock()
time.monotonic = lambda: clock.now
time.process_time = lambda: clock.now / 2


class Device(object):
    platform = "cpu"


class Tracer(object):
    def __init__(self, shape=(), value=lambda: 0.0):
        self.shape, self.value = shape, value


class Array(object):
    def __init__(self, shape=(), value=0.0, ready=0.0):
        self.shape, self.value, self.ready = shape, value, ready
        self.size = functools.reduce(lambda one, other: one * other, shape, 1)

    def block_until_ready(self):
        clock.now = max(clock.now, self.ready)

    def devices(self):
        return {Device()}

    def __float__(self):
        self.block_until_ready()
        return self.value


def leaves(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [leaf for each in tree for leaf in leaves(each)]
    return [] if tree is None else [tree]


def mapped(function, tree):
    if isinstance(tree, dict):
        return {name: mapped(function, each) for name, each in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(mapped(function, each) for each in tree)
    return function(tree)


def shapes(tree):
    return mapped(lambda leaf: Tracer(getattr(leaf, "shape", ())), tree)


def block_until_ready(tree):
    for leaf in leaves(tree):
        leaf.block_until_ready()


def loss(*arguments):
    """Of anything: the next number."""
    if any(isinstance(leaf, Tracer) for leaf in leaves(arguments)):
        return Tracer(value=lambda: losses.pop(0))
    return Array(value=losses.pop(0), ready=clock.compute(2.0))


_traced = weakref.WeakKeyDictionary()  # as JAX, which knows a function again however often it is jitted


class Compiled(object):
    def __init__(self, function, settings):
        functools.update_wrapper(self, function)
        self.function, self.settings = function, settings

    def __call__(self, *arguments, **named):
        if self.function not in _traced:
            traces.append(self.function.__name__)
            _traced[self.function] = self.function(*shapes(arguments), **named)
        if any(isinstance(leaf, Tracer) for leaf in leaves(arguments)):
            return mapped(lambda leaf: Tracer(leaf.shape, leaf.value), _traced[self.function])
        ready = clock.compute(cost.get(self.function.__name__, 3.0))
        return mapped(lambda leaf: Array(leaf.shape, leaf.value(), ready), _traced[self.function])

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def lower(self):
        return "lowered " + self.function.__name__


def _jit(function=None, **settings):
    return functools.partial(_jit, **settings) if function is None else Compiled(function, settings)


jit = pmap = _jit
_api = types.ModuleType("jax._src.api")


def _value_and_grad(function, has_aux=False):
    def both(weights, *more):
        found = function(weights, *more)
        return found, shapes(weights) if isinstance(leaves(weights)[0], Tracer) else weights
    return both


def _grad(function):
    both = _api.value_and_grad(function)
    return lambda *arguments: both(*arguments)[1]


def vjp(function, *arguments):
    return function(*arguments), lambda cotangent: arguments


value_and_grad = _api.value_and_grad = _value_and_grad
grad = _api.grad = _grad
_src = types.SimpleNamespace(api=_api)
core = types.SimpleNamespace(Tracer=Tracer)
tree_util = types.SimpleNamespace(tree_leaves=leaves)
default_backend = lambda: "cpu"
