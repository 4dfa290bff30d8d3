"""One run of a worker, from its request to its last event."""

import argparse
import contextlib
import math
import os
import platform
import sys
import traceback

from .compile_cache import lead_compilers_there
from .counter_random import numpy_or_none
from .events import PROTOCOL, EventWriter
from .gate_run import gate_visits, run_gate, values_of
from .image_set import load_images
from .initial_state import read_initial_state
from .learning_rate import LearningRate
from .networks import find_network, initial_values
from .refusal import Diverged, Unsupported
from .request import read_request
from .settings import read_settings
from .surroundings import peak_resident_bytes, set_thread_variables, surroundings
from .trainer import Trainer
from .training_loop import run_training
from .worker import OPTIMIZERS, Plan

VERSION = "1.0"
REFUSED = "this machine's memory is too small: it was refused"
# How frameworks say that without Python's own MemoryError: PyTorch, TensorFlow, XLA, MXNet, a library in C++.
SIGNS_OF_REFUSAL = ("DefaultCPUAllocator", "ResourceExhaustedError", "RESOURCE_EXHAUSTED",
                    "Failed to allocate CPU Memory", "std::bad_alloc")


@contextlib.contextmanager
def in_phase(events, name):
    """A phase that an exception leaves stays open in the events: that is where it happened."""
    events.phase_begin(name)
    yield
    events.phase_end(name)


def _rule(request, network):
    if request.optimizer != network.optimizer:
        raise Unsupported("unknown optimizer '%s', known for network %s: %s"
                          % (request.optimizer, network.name, network.optimizer))
    if request.label_smoothing != 0:
        raise Unsupported("label_smoothing = %g: this worker trains on the labels as they are" % request.label_smoothing)
    if request.optimizer == "sgd_momentum":
        return OPTIMIZERS[request.optimizer](**request.momentum)
    return OPTIMIZERS[request.optimizer]()


def _shaped(values, network):
    """What workers copy from: NumPy arrays in the tensors' shapes, where there is NumPy."""
    numpy = numpy_or_none()
    if numpy is None:
        return values
    return {tensor.name: numpy.asarray(values[tensor.name], dtype=numpy.float32).reshape(tensor.shape)
            for tensor in network.tensors}


def _check_parameters(worker, network):
    values = worker.parameters()
    counted = 0
    for tensor in network.tensors:
        shape = tuple(getattr(values[tensor.name], "shape", tensor.shape))
        if shape != tensor.shape:
            raise AssertionError("tensor %s has shape %s, not %s" % (tensor.name, shape, tensor.shape))
        counted += tensor.count
    if counted != network.parameters or len(values) != len(network.tensors):
        raise AssertionError("network %s has %d parameters in %d tensors" % (network.name, counted, len(values)))


def _ready(events, worker, settings, network):
    fields = surroundings()
    fields.update({"versions": dict({"worker": VERSION, "python": platform.python_version()}, **worker.versions()),
                   "threads": worker.threads(settings), "device": settings.device, "precision": settings.precision,
                   "layout": settings.layout or "default", "graph_compiler": settings.graph_compiler,
                   "batch": settings.batch, "gate": True, "parameters": network.parameters})
    fields.update(worker.facts())
    events.ready(fields)


def _evaluate(worker, request, network, batch):
    """The accuracy, mean loss and number of the test images."""
    test = load_images(request, network, "t10k", batch)
    correct, loss = 0, 0.0
    for first in range(0, test.count, batch):
        count = min(batch, test.count - first)
        # The last batch repeats its first image where the set is at its end; what comes of that is not judged.
        images, labels = worker.take(test, [first + (i if i < count else 0) for i in range(batch)])
        for row, label in zip(list(worker.logits(images))[:count], labels):
            values = [float(value) for value in row]
            largest, label = max(values), int(label)
            loss += math.log(math.fsum(math.exp(value - largest) for value in values)) + largest - values[label]
            correct += values.index(largest) == label
    return correct / float(test.count), loss / test.count, test.count


def _rate_of(worker, rule, settings):
    """Scales the rule's rate by the batch size. Returns how the rate depends on the step, where it does."""
    learning_rate, own = LearningRate(settings.learning_rate_rule, settings.batch), rule.rate
    rule.rate = own * learning_rate.full
    if not learning_rate.warms_up:
        return None
    if not worker.sets_rate:
        raise Unsupported("configuration: learning_rate_rule = \"%s\", but %s has one rate for all steps"
                          % (settings.learning_rate_rule, worker.name))
    return lambda step, steps_per_epoch: own * learning_rate.factor(step, steps_per_epoch)


def _train(worker, request, events):
    network = find_network(request.network, worker.networks)
    rule = _rule(request, network)
    if (request.accuracy or request.curve_points) and network.data == "synthetic":
        raise Unsupported("the data set synthetic has no test images: accuracy cannot be told")
    settings = read_settings(request.configuration, worker.choices, worker.has_inter_threads, worker.name)
    rate_of = _rate_of(worker, rule, settings)
    worker.check(settings)
    set_thread_variables(settings.threads)
    lead_compilers_there()
    with in_phase(events, "import"):
        worker.import_framework(settings)
    with in_phase(events, "data"):
        images = load_images(request, network, "train", settings.batch)
    state = visits = None
    if request.gate_steps and request.initial is not None:
        state = read_initial_state(request.initial)
    if request.gate_steps:
        visits = gate_visits(request, state, settings.batch, images.count)
    trainer = Trainer(worker, images, settings.batch, request.seed,
                      request.partial_batch == "train" or visits is not None, visits, rate_of)
    with in_phase(events, "build"):
        values = initial_values(network, request.seed) if state is None else values_of(state, network)
        worker.build(Plan(network, settings, rule, request.seed, _shaped(values, network), not request.gate_steps,
                          trainer.batch_sizes()))
        _check_parameters(worker, network)
    with in_phase(events, "compile"):
        worker.compile(*trainer.next_batch())
    _ready(events, worker, settings, network)
    if request.gate_steps:
        return run_gate(request, worker, trainer, events, network, visits)
    def evaluate():
        return _evaluate(worker, request, network, settings.batch)
    run_training(request, worker, trainer, events, evaluate)
    if request.accuracy:
        with in_phase(events, "accuracy"):
            accuracy, loss, examples = evaluate()
        events.accuracy(accuracy, loss, examples)


def _sentence(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kind = type(error).__name__
    if kind in ("DataError", "StateError", "ValueError") and lines:
        return lines[0]
    return "%s: %s" % (kind, lines[0]) if lines else kind


def _is_refused_memory(error):
    said = "%s: %s" % (type(error).__name__, error)
    return any(sign in said for sign in SIGNS_OF_REFUSAL)


def _device_bytes(worker):
    """After a failure a framework may not be able to say any more."""
    try:
        return worker.device_bytes()
    except Exception:
        return 0


def run(worker, request_path, events_path):
    """Returns the exit code: 0 after ok, unsupported, diverged and out_of_memory."""
    events = EventWriter(events_path)
    events.hello("%s %s" % (worker.name, VERSION))
    status, reason = "ok", ""
    try:
        _train(worker, read_request(request_path), events)
    except Unsupported as error:
        status, reason = "unsupported", str(error)
    except Diverged as error:
        status, reason = "diverged", str(error)
    except MemoryError:
        status, reason = "out_of_memory", REFUSED
    except BaseException as error:  # SystemExit too: some frameworks leave by it
        traceback.print_exc()
        status, reason = "failed", _sentence(error)
        if worker.is_out_of_memory(error):
            status, reason = "out_of_memory", "the GPU's memory is too small: " + reason
        elif _is_refused_memory(error):
            status, reason = "out_of_memory", REFUSED
    events.memory(peak_resident_bytes(), _device_bytes(worker))
    events.end(status, reason)
    return 1 if status == "failed" else 0


def main(worker):
    parser = argparse.ArgumentParser(
        prog=worker.name, description="%s: trains networks as a worker of Nocturne." % worker.name,
        epilog="Exit codes: 0 done (also where the request is unsupported or the training diverged: the events say so), "
               "1 failed, 2 wrong usage.")
    parser.add_argument("--request", required=True, metavar="REQUEST.json", help="what to train (measure/protocol)")
    parser.add_argument("--events", required=True, metavar="EVENTS.jsonl", help="what happens is appended here")
    parser.add_argument("--version", action="version",
                        version="%s %s (protocol %d)" % (worker.name, VERSION, PROTOCOL))
    arguments = parser.parse_args()
    code = run(worker, arguments.request, arguments.events)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the last event is written: what a framework's threads do while they are torn down is no failure
