"""Which images each step reads: epochs in the order of the seed, and what happens to an epoch's last, smaller batch."""

import time

from .counter_random import epoch_order
from .refusal import Unsupported


class Step(object):
    def __init__(self, number, handle, images, data_wait_s, partial, epoch_ended):
        self.number, self.handle, self.images, self.data_wait_s = number, handle, images, data_wait_s
        self.partial, self.epoch_ended = partial, epoch_ended


def check_batch(batch, count):
    if batch > count:
        raise Unsupported("batch %d is larger than the data set of %d images" % (batch, count))


class Trainer(object):
    """`visits`: the images of each epoch in order; None: all of them, shuffled. Trains the smaller batch if
    `train_partial`. `rate_of`: the optimizer's rate by step and steps an epoch; None: it stays."""

    def __init__(self, worker, images, batch, seed, train_partial, visits=None, rate_of=None):
        check_batch(batch, images.count)
        self._worker, self._images, self._seed, self._visits = worker, images, seed, visits
        self.batch = batch
        self._visited = images.count if visits is None else len(visits)
        self._train_partial = train_partial and self._visited % batch > 0
        self._rate_of = rate_of
        self._epoch, self._steps_done = -1, 0
        self.begin_epoch()

    def steps_per_epoch(self):
        return self._visited // self.batch + (1 if self._train_partial else 0)

    def batch_sizes(self):
        full = [self.batch] if self._visited >= self.batch else []
        return full + ([self._visited % self.batch] if self._train_partial else [])

    def begin_epoch(self):
        """Shuffles for the next epoch; the first has begun."""
        self._epoch += 1
        self._position = 0
        self._order = self._visits
        if self._visits is None:
            self._order = epoch_order(self._images.count, self._seed, self._epoch)

    def partial_is_next(self):
        return self._position + self.batch > self._visited

    def next_batch(self):
        """The images and labels that the next step will read, without taking them."""
        return self._worker.take(self._images, self._order[self._position:self._position + self.batch])

    def step(self):
        """REQUIRES: begin_epoch() after an epoch's last step."""
        begin = time.perf_counter()
        partial = self.partial_is_next()
        end = min(self._position + self.batch, self._visited)
        images, labels = self._worker.take(self._images, self._order[self._position:end])
        waited = time.perf_counter() - begin
        if self._rate_of is not None:
            self._worker.set_rate(self._rate_of(self._steps_done, self.steps_per_epoch()))
        handle = self._worker.step(images, labels)
        size, self._position = end - self._position, end
        ended = end == self._visited or (end + self.batch > self._visited and not self._train_partial)
        number, self._steps_done = self._steps_done, self._steps_done + 1
        return Step(number, handle, size, waited, partial, ended)
