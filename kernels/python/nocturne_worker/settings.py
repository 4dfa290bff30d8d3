"""From a request's configuration (parameter name → value) to what a worker acts upon.

Parameters of other stages and of the launcher (affinity, allocator, huge pages …) are passed over: they are in the
environment before the process starts. Passed over too are keys that only other workers have (a campaign's active_if keeps
them away) and `prefetch`: without threads that read ahead it says nothing. Of the shared keys and the worker's own each
value is either done or refused.
"""

import json

from .learning_rate import RULES
from .refusal import Unsupported

LARGEST_BATCH = 1 << 20
MOST_THREADS = 1024  # beyond it is a slip of the pen
SHARED_KEYS = ("device", "precision", "layout", "graph_compiler", "onednn")
# What only a GPU does, and what only a CPU has.
OF_GPUS = {"precision": ("tf32", "f16"), "cuda_graphs": (True,), "algorithm": ("heuristic", "find")}
OF_CPUS = {"graph_compiler": ("ipex", "ngraph"), "onednn": (True, False), "nnpack": (True, False)}


class Settings(object):
    """`None`: the configuration does not say, so the framework's own default holds."""

    def __init__(self):
        self.batch = 128
        self.threads = None        # of one operation
        self.inter_threads = None  # operations side by side
        self.device = "cpu"        # cpu, cuda
        self.precision = "f32"
        self.layout = None         # nchw, nhwc
        self.graph_compiler = "none"
        self.onednn = None         # True, False
        self.learning_rate_rule = "none"
        self.own = {}              # keys that only this worker has


def _refuse(key, value, allowed):
    raise Unsupported("configuration: %s = %s, allowed: %s" % (key, json.dumps(value), allowed))


def _whole_number(configuration, key, most, otherwise):
    value = configuration.get(key)
    if value is None:
        return otherwise
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 1 <= value <= most or value != int(value):
        _refuse(key, value, "a whole number from 1 to %d" % most)
    return int(value)


def _choice(configuration, key, choices, worker):
    value = configuration[key]
    if not choices:
        raise Unsupported("configuration: %s = %s, but %s has no choice of it" % (key, json.dumps(value), worker))
    if not any(type(value) is type(each) and value == each for each in choices):
        _refuse(key, value, ", ".join(each if isinstance(each, str) else json.dumps(each) for each in choices))
    return value


def read_settings(configuration, choices, has_inter_threads, worker):
    """`choices`: key → allowed values; `worker` is its name. Raises Unsupported, naming key, value, what is allowed."""
    settings = Settings()
    settings.batch = _whole_number(configuration, "batch", LARGEST_BATCH, settings.batch)
    settings.threads = _whole_number(configuration, "threads", MOST_THREADS, None)
    settings.inter_threads = _whole_number(configuration, "inter_threads", MOST_THREADS, None)
    if settings.inter_threads is not None and not has_inter_threads:
        _choice(configuration, "inter_threads", (), worker)
    if configuration.get("data_threads") not in (None, 0):
        _refuse("data_threads", configuration["data_threads"], "0: %s gathers a batch between steps" % worker)
    if configuration.get("learning_rate_rule") is not None:
        settings.learning_rate_rule = _choice(configuration, "learning_rate_rule", RULES, worker)
    defaults = {"device": ("cpu",), "precision": ("f32",), "graph_compiler": ("none",)}
    for key in SHARED_KEYS:
        if configuration.get(key) is not None:
            setattr(settings, key, _choice(configuration, key, choices.get(key, defaults.get(key)), worker))
    for key in choices:
        if key not in SHARED_KEYS and configuration.get(key) is not None:
            settings.own[key] = _choice(configuration, key, choices[key], worker)
    _check_device(settings)
    return settings


def _check_device(settings):
    on_gpu = settings.device == "cuda"
    values = dict(settings.own, precision=settings.precision, graph_compiler=settings.graph_compiler,
                  onednn=settings.onednn)
    for key, elsewhere in sorted((OF_CPUS if on_gpu else OF_GPUS).items()):
        if any(type(values.get(key)) is type(each) and values.get(key) == each for each in elsewhere):
            raise Unsupported("configuration: %s = %s is for %s, and device is %s"
                              % (key, json.dumps(values[key]), "the CPU" if on_gpu else "a GPU", settings.device))
