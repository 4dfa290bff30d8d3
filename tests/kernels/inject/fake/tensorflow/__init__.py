"""As much of TensorFlow 2 as the hooks touch. A graph is a list of what its trace has asked for; a run does it again.
Its work takes seconds of a clock that nothing else moves."""

import builtins
import os
import sys
import types

from fake_clock import clock

__version__ = "2.21.0"
onednn_at_import = os.environ.get("TF_ENABLE_ONEDNN_OPTS")
float32, float64, bfloat16, int64 = "float32", "float64", "bfloat16", "int64"


class Graph(object):
    def __init__(self):
        self.work = []  # functions, called at each run

    def as_graph_def(self):
        begins = types.SimpleNamespace(name="weight/Initializer/random", op="RandomUniform")
        drawn = types.SimpleNamespace(name="noise", op="RandomUniform")
        return types.SimpleNamespace(node=[begins] + [drawn] * draws, library=types.SimpleNamespace(function=[]))


_graph = None  # that is being traced
draws = False  # whether graphs draw random numbers


class Tensor(object):
    dtype = float32

    def __init__(self, value=0.0, shape=(), graph=None):
        self._value, self.shape, self.graph = value, shape, graph
        if graph is None:
            self.numpy = lambda: self._value

    def __float__(self):
        return float(self._value)

    def __sub__(self, other):
        return computed(lambda one, two: one - two, self, other)


def computed(function, *operands):
    """A tensor that is so at each run."""
    found = Tensor(graph=_graph)
    do(lambda: setattr(found, "_value", function(*[getattr(each, "_value", each) for each in operands])))
    return found


def chosen(condition, one, other):
    if isinstance(condition, list):
        return [one if each else other[index] for index, each in enumerate(condition)]
    return one if condition else other


def constant(value, dtype=None):
    return Tensor(value)


def zeros(shape, dtype=None):
    return Tensor(0.0)


def fill(shape, value):
    return Tensor(shape[0] * [value._value])


def range(size, dtype=None):
    return Tensor(list(builtins.range(size)))


def equal(one, other):
    return computed(lambda one, other: [each == other for each in one] if isinstance(one, list) else one == other, one, other)


def where(condition, one, other):
    return computed(chosen, condition, one, other)


def sqrt(value):
    return computed(lambda value: value ** 0.5, value)


def square(value):
    return computed(lambda value: value ** 2, value)


def convert_to_tensor(value):
    return computed(lambda value: value, value)


class Variable(Tensor):
    name = "weight"
    handle = property(lambda self: self)

    def __init__(self, value, trainable=True, dtype=float32):
        super(Variable, self).__init__(getattr(value, "_value", value))
        self.trainable = trainable

    def assign(self, other):
        do(lambda: setattr(self, "_value", other._value))

    def assign_add(self, number):
        do(lambda: setattr(self, "_value", self._value + number))


def do(work):
    """Now, or at each run of the graph that is being traced."""
    (_graph.work.append if _graph else lambda work: work())(work)


def loss(values, seconds=3.0):
    """A loss that takes its next value at each run."""
    found = Tensor(graph=_graph)

    def forward():
        clock.spend(seconds)
        found._value = values.pop(0)
    do(forward)
    return found


class GradientTape(object):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def gradient(self, target, sources):
        do(lambda: clock.spend(2.0))
        return [0.0 for _ in sources]


class Function(object):
    """Traces at its first call, twice where `variables` are made in it."""

    def __init__(self, python_function, jit_compile=None, traces=1, repeat=1):
        self.python_function, self._jit_compile = python_function, jit_compile
        self.traces, self.repeat, self.graph = traces, repeat, None

    def get_concrete_function(self, *arguments):
        global _graph
        for _ in builtins.range(self.traces if self.graph is None else 0):
            self.graph = _graph = Graph()
            try:
                self.python_function(*arguments)
            finally:
                _graph = None

    def __call__(self, *arguments):
        if _graph:
            return self.python_function(*arguments)
        self.get_concrete_function(*arguments)
        for work in self.graph.work * self.repeat:
            work()

    def _clone(self, python_function):
        return Function(self.python_function, self._jit_compile, self.traces, self.repeat)


def function(python_function, **settings):
    return Function(python_function, **settings)


class init_scope(object):
    def __enter__(self):
        global _graph
        self.left, _graph = _graph, None

    def __exit__(self, *_):
        global _graph
        _graph = self.left


def inside_function():
    return _graph is not None


def executing_eagerly():
    return _graph is None


def is_tensor(value):
    return isinstance(value, Tensor)


def cast(value, dtype):
    return value


def reduce_mean(value):
    return value


reduce_sum = reduce_mean


def dropout(x, rate):
    print("dropped", rate)


nest = types.SimpleNamespace(
    flatten=lambda value: list(value) if isinstance(value, (list, tuple)) else [value],
    map_structure=lambda function, value: function(value))


class OwnedIterator(object):
    def __init__(self, dataset):
        self._dataset, self.left = dataset, dataset.batches

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        clock.spend(self._dataset.seconds)
        return Tensor(shape=(self._dataset.batch, 4)), Tensor(shape=(self._dataset.batch,))


class Dataset(object):
    element_spec = ()

    def __init__(self, batches=10, batch=8, seconds=0.5):
        self.batches, self.batch, self._batch_size, self.seconds = batches, batch, batch, seconds

    def __iter__(self):
        return OwnedIterator(self)

    def cardinality(self):
        return self.batches

    def prefetch(self, count):
        return PrefetchDataset(self.batches, self.batch, 0.0)


class PrefetchDataset(Dataset):
    pass


sys.modules["tensorflow.python.ops.nn_ops"] = types.SimpleNamespace(_dropout=dropout)
nn = types.SimpleNamespace(dropout=lambda x, rate: sys.modules["tensorflow.python.ops.nn_ops"]._dropout(x=x, rate=rate))
random = types.SimpleNamespace(set_seed=lambda seed: None)
saved_model = types.SimpleNamespace(load=lambda path: None)
sys.modules["tensorflow.python.data.ops.iterator_ops"] = types.SimpleNamespace(OwnedIterator=OwnedIterator)
data = types.SimpleNamespace(Dataset=Dataset)
_threads = {}
config = types.SimpleNamespace(
    list_logical_devices=lambda kind: [],
    threading=types.SimpleNamespace(
        set_intra_op_parallelism_threads=lambda count: _threads.update(intra=count),
        set_inter_op_parallelism_threads=lambda count: _threads.update(inter=count),
        get_intra_op_parallelism_threads=lambda: _threads.get("intra", 0),
        get_inter_op_parallelism_threads=lambda: _threads.get("inter", 0)),
    optimizer=types.SimpleNamespace(set_experimental_options=lambda options: _threads.update(options)))
