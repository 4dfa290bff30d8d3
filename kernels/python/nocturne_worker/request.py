"""What a worker is asked to do: the file named by --request. Unknown keys are passed over."""

import json

from .events import PROTOCOL


class Request(object):
    def __init__(self):
        self.run_id = ""
        self.network = "mnist_cnn"
        self.data = "mnist"
        self.data_folder = ""
        self.optimizer = "adadelta"
        self.momentum = {}          # of sgd_momentum: learning_rate, momentum, weight_decay, where they are given
        self.label_smoothing = 0.0
        self.configuration = {}
        self.seed = 1
        self.steps = 40             # after the first; passed over with epochs, turns or gate
        self.epochs = 0
        self.steps_per_sample = 1
        self.partial_batch = "drop"
        self.accuracy = False
        self.curve_points = 0       # evaluations an epoch; 0: no learning curve
        self.curve_until = None     # accuracy at which training ends
        self.turns = None           # FIFO
        self.gate_steps = 0         # 0: no gate
        self.gate_write = None
        self.initial = None


def _take(document, key, kind, otherwise):
    value = document.get(key)
    if value is None:
        return otherwise
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        name = "number" if isinstance(kind, tuple) else kind.__name__
        raise ValueError("request: key '%s': %s is no %s" % (key, json.dumps(value), name))
    return value


def read_request(path):
    """Raises ValueError and OSError with a sentence that names what is wrong."""
    with open(path, "rb") as file:
        try:
            document = json.loads(file.read().decode("utf-8"))
        except ValueError as error:
            raise ValueError("request: %s: %s" % (path, error))
    return parse_request(document)


def parse_request(document):
    if not isinstance(document, dict):
        raise ValueError("request: not a JSON object")
    version = _take(document, "protocol", int, 0)
    if version != PROTOCOL:
        raise ValueError("request: protocol %d is asked for, this worker speaks %d" % (version, PROTOCOL))
    request = Request()
    request.run_id = _take(document, "run_id", str, request.run_id)
    workload = _take(document, "workload", dict, {})
    for key in ("network", "data", "data_folder", "optimizer"):
        setattr(request, key, _take(workload, key, str, getattr(request, key)))
    for key in ("learning_rate", "momentum", "weight_decay"):
        if workload.get(key) is not None:
            request.momentum[key] = float(_take(workload, key, (int, float), None))
    request.label_smoothing = float(_take(workload, "label_smoothing", (int, float), 0.0))
    request.configuration = _take(document, "configuration", dict, {})
    for key in ("seed", "steps", "epochs", "steps_per_sample"):
        setattr(request, key, _take(document, key, int, getattr(request, key)))
    if request.seed < 0 or request.steps < 0 or request.epochs < 0 or request.steps_per_sample < 1:
        raise ValueError("request: seed, steps and epochs must not be negative, steps_per_sample at least 1")
    request.partial_batch = _take(document, "partial_batch", str, request.partial_batch)
    if request.partial_batch not in ("drop", "train"):
        raise ValueError("request: key 'partial_batch': '%s' is neither 'drop' nor 'train'" % request.partial_batch)
    request.accuracy = _take(document, "accuracy", bool, False)
    curve = _take(document, "curve", dict, None)
    if curve is not None:
        request.curve_points = _take(curve, "points_per_epoch", int, 4)
        request.curve_until = _take(curve, "until", (int, float), None)
        if request.curve_points < 1:
            raise ValueError("request: key 'curve': it has at least 1 point an epoch")
        if request.curve_until is not None and not 0 <= request.curve_until <= 1:
            raise ValueError("request: key 'curve': 'until' is an accuracy, from 0 to 1")
    request.turns = _take(document, "turns", str, None) or None
    gate = _take(document, "gate", dict, None)
    if gate is not None:
        request.gate_steps = _take(gate, "steps", int, 8)
        request.gate_write = _take(gate, "write", str, None) or None
        if request.gate_steps < 1:
            raise ValueError("request: key 'gate': it takes at least 1 step")
    request.initial = _take(document, "initial", str, None) or None
    return request
