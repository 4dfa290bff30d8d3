"""Steps, samples, epochs and turns: when the trainer steps, and what is reported of it."""

import math
import time

from .refusal import Diverged


def finite_loss(worker, step):
    loss = worker.loss(step.handle)
    if not math.isfinite(loss):
        raise Diverged("the loss of step %d is not a finite number" % step.number)
    return loss


class Loop(object):
    def __init__(self, worker, trainer, events, steps_per_sample):
        self._worker, self._trainer, self._events = worker, trainer, events
        self._steps_per_sample = steps_per_sample
        self._steps_done = self._epoch = self._epoch_images = 0
        self._epoch_loss = 0.0
        self._epoch_begin = time.perf_counter()

    def first_step(self):
        self._events.phase_begin("first_step")
        step = self._trainer.step()
        self._worker.synchronise()
        self._take_in([step])
        self._events.phase_end("first_step")
        if step.epoch_ended:
            self._end_epoch()

    def run_curve(self, epochs, points, until, evaluate):
        """Trains whole epochs with an evaluation after equal parts of each, or fewer where `until` is reached."""
        an_epoch, evaluated = self._trainer.steps_per_epoch(), 0
        for epoch in range(epochs):
            for point in range(1, points + 1):
                end = epoch * an_epoch + an_epoch * point // points
                if end <= evaluated:
                    continue  # an epoch has fewer steps than points
                self.run(end - self._steps_done)
                begin, evaluated = time.perf_counter(), end
                accuracy, loss, examples = evaluate()
                self._events.accuracy_after(end, accuracy, loss, examples)
                self._epoch_begin += time.perf_counter() - begin  # its time is no sample's and no epoch's
                if until is not None and accuracy >= until:
                    return

    def run(self, count):
        """Trains `count` steps and reports their samples."""
        while count > 0:
            count -= self._run_sample(min(count, self._steps_per_sample))

    def _run_sample(self, most):
        """Returns the steps it took: fewer than asked for at an epoch's end and before its smaller batch."""
        first_step, steps = self._steps_done, []
        begin, cpu = time.perf_counter(), time.process_time()
        while True:
            last = self._trainer.step()
            steps.append(last)
            if len(steps) == most or last.epoch_ended or last.partial or self._trainer.partial_is_next():
                break
        self._worker.synchronise()
        cpu = time.process_time() - cpu  # first: on a busy machine Linux lets others run here, and that time is the sample's
        wall = time.perf_counter() - begin
        loss = self._take_in(steps)
        self._events.sample(first_step, len(steps), wall, cpu, sum(step.data_wait_s for step in steps), loss)
        if last.epoch_ended:
            self._end_epoch()
        return len(steps)

    def _take_in(self, steps):
        """Reads the losses of finished steps; returns the last."""
        loss = 0.0
        for step in steps:
            loss = finite_loss(self._worker, step)
            self._epoch_loss += loss * step.images
            self._epoch_images += step.images
        self._steps_done += len(steps)
        return loss

    def _end_epoch(self):
        now = time.perf_counter()
        self._events.epoch(self._epoch, now - self._epoch_begin, self._epoch_loss / self._epoch_images)
        self._epoch += 1
        self._epoch_begin = now  # shuffling is the next epoch's time
        self._epoch_loss, self._epoch_images = 0.0, 0
        self._trainer.begin_epoch()


def _take_turns(path, loop):
    with open(path) as turns:  # waits until somebody opens the other end
        for line in iter(turns.readline, ""):
            text = line.rstrip("\n")
            if not text.isdigit():
                raise ValueError("turns: '%s' is not a number of steps" % text)
            loop.run(int(text))


def run_training(request, worker, trainer, events, evaluate):
    """The first step and then what the request says: slices allowed by its FIFO of turns, epochs, or steps. `evaluate`
    returns the accuracy, loss and number of the test images."""
    loop = Loop(worker, trainer, events, request.steps_per_sample)
    loop.first_step()
    if request.turns is not None:
        _take_turns(request.turns, loop)
    elif request.epochs > 0 and request.curve_points:
        loop.run_curve(request.epochs, request.curve_points, request.curve_until, evaluate)
    elif request.epochs > 0:
        loop.run(request.epochs * trainer.steps_per_epoch() - 1)
    else:
        loop.run(request.steps)
