"""As much of MXNet as the hooks touch. Its work takes seconds of a clock, and is done where something waits for it."""

import time
import types

__version__ = "1.9.1"


class Clock(object):
    now, behind = 100.0, 0.0

    def spend(self, seconds):
        self.now += seconds

    def later(self, seconds):
        self.behind += seconds

    def wait(self):
        self.now, self.behind = self.now + self.behind, 0.0


clock = Clock()
time.monotonic = lambda: clock.now
time.process_time = lambda: clock.now / 2


class NDArray(object):
    def __init__(self, value):
        self.value = value

    def backward(self):
        clock.later(5.0)

    def mean(self):
        return self

    def asscalar(self):
        clock.wait()
        return self.value


class Array(object):
    """As much of NumPy's."""

    def __init__(self, value):
        self.value = value

    def astype(self, dtype):
        return self

    def __sub__(self, other):
        return Array(self.value - other.value)

    def __pow__(self, power):
        return Array(self.value ** power)

    def sum(self):
        return self.value


class Parameter(object):
    name, grad_req, _data = "weight", "write", ()

    def __init__(self, value):
        self.value = value

    def list_data(self):
        return [self]

    def asnumpy(self):
        return Array(self.value)


class Trainer(object):
    def __init__(self, parameters=(), rate=1.0):
        self._params, self.rate = list(parameters), rate

    def step(self, batch_size):
        clock.later(1.0)
        self.update(batch_size)

    def update(self, batch_size):
        for each in self._params:
            each.value -= self.rate


class Block(object):
    pass


class RecurrentLayer(object):
    def __init__(self):
        self._dropout = 0.5


def dropout(data, p=0.5):
    print("dropped", p)


class DataLoader(object):
    def __init__(self, batches, batch=8):
        self._batch_sampler, self.batches = types.SimpleNamespace(_batch_size=batch), batches

    def __len__(self):
        return self.batches

    def __iter__(self):
        for each in range(self.batches):
            clock.spend(0.5)
            yield each


nd, sym = types.SimpleNamespace(NDArray=NDArray, waitall=clock.wait, Dropout=dropout), types.SimpleNamespace(Dropout=dropout)
random = types.SimpleNamespace(seed=lambda number: None)
autograd = types.SimpleNamespace(backward=lambda heads: heads[0].backward())
gluon = types.SimpleNamespace(Trainer=Trainer, Block=Block, rnn=types.SimpleNamespace(
    rnn_layer=types.SimpleNamespace(_RNNLayer=RecurrentLayer)), data=types.SimpleNamespace(DataLoader=DataLoader))
context = types.SimpleNamespace(current_context=lambda: "cpu(0)")
