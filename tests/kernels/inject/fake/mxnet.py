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


class Trainer(object):
    def __init__(self, parameters=()):
        pass

    def step(self, batch_size):
        clock.later(1.0)
        self.update(batch_size)

    def update(self, batch_size):
        pass


class DataLoader(object):
    def __init__(self, batches, batch=8):
        self._batch_sampler, self.batches = types.SimpleNamespace(_batch_size=batch), batches

    def __len__(self):
        return self.batches

    def __iter__(self):
        for each in range(self.batches):
            clock.spend(0.5)
            yield each


nd = types.SimpleNamespace(NDArray=NDArray, waitall=clock.wait)
autograd = types.SimpleNamespace(backward=lambda heads: heads[0].backward())
gluon = types.SimpleNamespace(Trainer=Trainer, data=types.SimpleNamespace(DataLoader=DataLoader))
context = types.SimpleNamespace(current_context=lambda: "cpu(0)")
