"""The exact part of the gate: the last steps of the first epoch, from the initial weights, nothing dropped."""

import array
import math
import time

from .counter_random import epoch_order, numpy_or_none
from .initial_state import InitialState, StateError, write_initial_state
from .refusal import Unsupported
from .trainer import check_batch
from .training_loop import finite_loss


def _last_of_epoch(request, batch, count):
    partial = request.partial_batch == "train" and count % batch > 0
    full = count // batch
    steps = full + (1 if partial else 0)
    if request.gate_steps > steps:
        raise Unsupported("gate: an epoch has %d steps, %d are asked for" % (steps, request.gate_steps))
    order = epoch_order(count, request.seed, 0)
    return order[(steps - request.gate_steps) * batch:count if partial else full * batch]


def _images_of(state, request, batch, count):
    if len(state.batches) != request.gate_steps:
        raise StateError("initial state: it has %d batches, %d steps are asked for"
                         % (len(state.batches), request.gate_steps))
    for index, images in enumerate(state.batches):
        if len(images) != batch and not (index + 1 == len(state.batches) and len(images) < batch):
            raise StateError("initial state: a batch has %d images, the configuration's have %d" % (len(images), batch))
        if max(images) >= count:
            raise StateError("initial state: image %d is asked for, the data set has %d" % (max(images), count))
    return [image for images in state.batches for image in images]


def gate_visits(request, state, batch, count):
    """The images of the gate's steps in order; `state`: InitialState or None."""
    check_batch(batch, count)
    return _last_of_epoch(request, batch, count) if state is None else _images_of(state, request, batch, count)


def values_of(state, network):
    """{tensor name: flat values} of a state that fits the network."""
    if state.network != network.name:
        raise StateError("initial state: it is of network '%s', not of %s" % (state.network, network.name))
    known = {name: (tuple(shape), values) for name, shape, values in state.tensors}
    for tensor in network.tensors:
        if tensor.name not in known:
            raise StateError("initial state: there is no tensor %s" % tensor.name)
        if known[tensor.name][0] != tensor.shape:
            raise StateError("initial state: tensor %s has another shape than the network's" % tensor.name)
    if len(known) != len(network.tensors):
        raise StateError("initial state: it has more tensors than network %s" % network.name)
    return {name: values for name, (_, values) in known.items()}


def _flat(values):
    """A copy: a worker may hand out what it goes on training."""
    if isinstance(values, array.array):
        return values[:]
    numpy = numpy_or_none()
    if numpy is None:
        return array.array("f", values)
    flat = array.array("f")
    flat.frombytes(numpy.ascontiguousarray(values, dtype=numpy.float32).tobytes())
    return flat


def _length(values, minus):
    """Euclidean length of a difference, in double precision."""
    numpy = numpy_or_none()
    if numpy is None:
        return math.sqrt(math.fsum((a - b) * (a - b) for a, b in zip(values, minus)))
    difference = numpy.frombuffer(values, dtype=numpy.float32).astype(numpy.float64)
    difference -= numpy.frombuffer(minus, dtype=numpy.float32)
    return math.sqrt(float((difference * difference).sum()))


class ParameterNorms(object):
    """Each tensor's length and the distance it moved, in the order of the network's table."""

    def __init__(self, worker, network):
        self._worker, self._network = worker, network
        self.began = self._read()
        self._zeros = {name: array.array("f", bytes(4 * len(values))) for name, values in self.began.items()}

    def _read(self):
        values = self._worker.parameters()
        return {tensor.name: _flat(values[tensor.name]) for tensor in self._network.tensors}

    def now(self):
        current = self._read()
        return [(tensor.name, _length(current[tensor.name], self._zeros[tensor.name]),
                 _length(current[tensor.name], self.began[tensor.name])) for tensor in self._network.tensors]


def _write_state(path, network, norms, visits, batch):
    write_initial_state(path, InitialState(
        network.name, [(tensor.name, tensor.shape, norms.began[tensor.name]) for tensor in network.tensors],
        [visits[first:first + batch] for first in range(0, len(visits), batch)]))


def run_gate(request, worker, trainer, events, network, visits):
    """Reports each step as a sample, numbered from 0; norms before the first and after each."""
    norms = ParameterNorms(worker, network)
    if request.gate_write is not None:
        _write_state(request.gate_write, network, norms, visits, trainer.batch)
    events.norms(0, norms.now())
    for done in range(request.gate_steps):
        cpu, begin = time.process_time(), time.perf_counter()
        step = trainer.step()
        worker.synchronise()
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        events.sample(done, 1, wall, cpu, step.data_wait_s, finite_loss(worker, step))
        events.norms(done + 1, norms.now())
