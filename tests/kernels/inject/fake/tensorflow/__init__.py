"""As much of TensorFlow 2 as the hooks touch. A graph is a list of what its trace has asked for; a run does it again.
Its work takes seconds of a clock that nothing else moves."""

import os
import sys
import time
import types

__version__ = "2.21.0"
onednn_at_import = os.environ.get("TF_ENABLE_ONEDNN_OPTS")


class Clock(object):
    """Instead of time.monotonic and time.process_time; of each second the processor works a half."""

    now = 100.0

    def spend(self, seconds):
        self.now += seconds


clock = Clock()
time.monotonic = lambda: clock.now
time.process_time = lambda: clock.now / 2
float32, bfloat16 = "float32", "bfloat16"


class Graph(object):
    def __init__(self):
        self.work = []  # functions, called at each run


_graph = None  # that is being traced


class Tensor(object):
    dtype = float32

    def __init__(self, value=0.0, shape=(), graph=None):
        self._value, self.shape, self.graph = value, shape, graph
        if graph is None:
            self.numpy = lambda: self._value

    def __float__(self):
        return float(self._value)


class Variable(Tensor):
    def __init__(self, value, trainable=True, dtype=float32):
        super(Variable, self).__init__(value)
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
    def gradient(self, target, sources):
        do(lambda: clock.spend(2.0))
        return [0.0 for _ in sources]


class Function(object):
    """Traces at its first call, twice where `variables` are made in it."""

    def __init__(self, python_function, jit_compile=None, traces=1, repeat=1):
        self.python_function, self._jit_compile = python_function, jit_compile
        self.traces, self.repeat, self.graph = traces, repeat, None

    def __call__(self, *arguments):
        global _graph
        if _graph:
            return self.python_function(*arguments)
        for _ in range(self.traces if self.graph is None else 0):
            self.graph = _graph = Graph()
            try:
                self.python_function(*arguments)
            finally:
                _graph = None
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
