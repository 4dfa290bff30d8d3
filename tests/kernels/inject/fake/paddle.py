"""As much of PaddlePaddle as the hooks touch. Its work takes seconds of a clock that nothing else moves."""

import time
import types

__version__ = "3.3.1"


class Clock(object):
    now = 100.0

    def spend(self, seconds):
        self.now += seconds


clock = Clock()
time.monotonic = lambda: clock.now
time.process_time = lambda: clock.now / 2


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


class Optimizer(object):
    def __init__(self, parameters=()):
        pass

    def step(self):
        clock.spend(1.0)


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


optimizer = types.SimpleNamespace(Optimizer=Optimizer, Adam=Adam)
io = types.SimpleNamespace(DataLoader=DataLoader)
device = types.SimpleNamespace(get_device=lambda: "cpu")
