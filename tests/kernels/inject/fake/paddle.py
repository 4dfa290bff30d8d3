"""As much of PaddlePaddle as the hooks touch. Its work takes seconds of a clock that nothing else moves."""

import types

from fake_clock import clock

__version__ = "3.3.1"


class Tensor(object):
    def __init__(self, value=0.0, shape=()):
        self.value, self.shape = value, shape

    def backward(self):
        clock.spend(2.0)

    def detach(self):
        return self

    def mean(self):
        return self

    def __float__(self):
        return self.value


class Array(object):
    """As much of NumPy's."""

    def __init__(self, value):
        self.value = value

    def __sub__(self, other):
        return Array(self.value - other.value)

    def __pow__(self, power):
        return Array(self.value ** power)

    def sum(self):
        return self.value


class Parameter(Tensor):
    name, stop_gradient = "weight", False

    def astype(self, dtype):
        return self

    def numpy(self):
        return Array(self.value)


class Optimizer(object):
    def __init__(self, parameters=(), rate=1.0):
        self._parameter_list, self.rate = list(parameters), rate

    def step(self):
        self._apply()

    def minimize(self, loss):
        self._apply()

    def _apply(self):
        clock.spend(1.0)
        for each in self._parameter_list:
            each.value -= self.rate


class Adam(Optimizer):
    def step(self):
        super(Adam, self).step()


class DataLoader(object):
    num_workers, dataset = 0, None

    def __init__(self, batches, batch=8):
        self.batches, self.batch = batches, batch

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            clock.spend(0.5)
            yield Tensor(shape=(self.batch, 4)), Tensor(shape=(self.batch,))


class Layer(object):
    pass


def dropout(x, p=0.5):
    print("dropped", p)


class RNNBase(object):
    def __init__(self):
        self.dropout = 0.5


class Model(object):
    """Its fit."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def fit(self, loader, losses):
        for batch in loader:
            clock.spend(3)
            Tensor(losses.pop(0)).backward()
            self.optimizer.minimize(None)


def seed(number):
    pass


def in_dynamic_mode():
    return True


nn = types.SimpleNamespace(Layer=Layer, functional=types.SimpleNamespace(dropout=dropout),
                           layer=types.SimpleNamespace(rnn=types.SimpleNamespace(RNNBase=RNNBase)))
optimizer = types.SimpleNamespace(Optimizer=Optimizer, Adam=Adam)
io = types.SimpleNamespace(DataLoader=DataLoader)
device = types.SimpleNamespace(get_device=lambda: "cpu")
