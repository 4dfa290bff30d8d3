"""The levers: what can be changed in a training from outside. One file each, found by listing this folder.

A lever's file has

    NAME = "autocast"              NOCTURNE_LEVER_AUTOCAST sets it
    FRAMEWORK = "pytorch"          or "tensorflow", "mxnet", "paddle", "jax": whose import installs it
    CHANGES = "precision"          nothing, or some of rounding, precision, random stream, checkpoint, with ", " between
                                   them, or what is learnt
    DESCRIPTION = "..."            one line for people
    LINES = {"bf16": "..."}        the lines that do the same in the script; a dict or a function of the value
    def values(seen):              (["script", "bf16"], None), or (None, "why it cannot apply"); seen is a Seen, below
    def install(value, framework): puts it in: the framework's module has just been imported. Raises Refused where the
                                   value cannot work; any other exception is a failed trial too
    def variables(value): optional: {name: text} of the environment, set before the framework is imported
    STAGE = "compile"              optional: each process pays for it with seconds before its first step
    LOADER = True                  optional: changes how data are loaded; left out of the paired start of a learning check
    def changes(seen):             optional: what it changes in this training, where that is less or more than CHANGES
    def inert_at(seen):            optional: ("loader_workers", "script"), another lever's value at which this one changes
                                   nothing
    def lines(seen):               optional: LINES as this training has them
    def no_effect(seen):           optional: why it changes nothing in this run, which has set it; None where it has an effect
    def watch(framework):          optional: puts in hooks that see what values() needs and Seen has not, where a report is
                                   asked for; called behind the levers that are installed

"script" stands for what the script does: nothing is installed then. What a lever finds out later (an operator without
bf16, a model that it left alone) it appends to `notes`, sentences for the report.
"""

import collections
import importlib
import os
import pkgutil

_PREFIX = "NOCTURNE_LEVER_"
notes = []

class Loader(object):
    """One data loader of the run, as far as is known."""

    plain = False         # whether its batches are made as PyTorch's BatchSampler makes them
    random_order = False
    shared_out = False    # whether the processes share an iterable data set among them, of which else each yields everything
    unshareable = None    # why processes cannot read the data set; None: nothing says so, or they do
    draws = None          # whether examples draw random numbers; None: unknown, as for what processes draw
    batch_device = None   # where its first batch came; None: none has come
    fetches = 0           # that were watched for draws
    loop = None           # that was around its first iterator (loops.py)
    start = None          # seconds until the first epoch's first batch, where processes are started for each epoch
    ending = 0.0          # seconds in which those of the last epoch ended
    cut = None            # what cuts its epochs short (epoch_ends.py)

    def __init__(self, kind, batch, workers=None, pin_memory=None, persistent=None, prefetch=None, batches=None,
                 examples=None, training=None, dataset=None):
        self.kind = kind              # "map" or "iterable" (PyTorch), "keras", "tf.data"
        self.batch = batch            # examples; None where batches are not its own
        self.workers = workers
        self.pin_memory = pin_memory
        self.persistent = persistent
        self.prefetch = prefetch
        self.batches = batches        # of an epoch, as examples
        self.examples = examples
        self.training = training      # whether backward passes follow its batches; None: no batch was taken yet
        self.dataset = dataset        # its class's name

    @property
    def can_have_processes(self):
        return self.kind == "map" or self.shared_out


# One optimizer. kind: its class's name; settings: its defaults, such as {"lr": 0.1, "fused": None}; parameters: numbers.
Optimizer = collections.namedtuple("Optimizer", "kind settings parameters")


class Module(object):
    """One outermost module that owns parameters, whether it lives or not."""

    dtypes = frozenset()     # of the parameters: {"float32"}
    classes = frozenset()    # names of its parts' classes and of those they are derived from: {"Conv2d", "Module"}
    sparse = False           # whether a part has sparse gradients
    channels_last = False    # whether a weight lies so

    def __init__(self, kind, parameters, types, compiled, module=None):
        self.kind = kind              # its class's name
        self.parameters = parameters  # numbers
        self.types = types            # its parts by class name and count: {"Conv2d": 2, "Dropout": 1}
        self.compiled = compiled
        self.module = module


class Seen(object):
    """What the run has shown when its report is written. Unknown: None, or empty.

    A framework fills in what it can see; a lever's values() reads it."""

    framework = None          # "pytorch"
    framework_version = None  # "2.15.0+cpu"
    version = ()              # (2, 15, 0)
    module = None             # the framework's module
    python = None             # "3.11.2"
    device = None             # "cpu" or "cuda": where the training is done
    device_name = None        # of the accelerator
    capability = None         # of the accelerator, (9, 0)
    cpus = 1                  # that this process may use
    cpu_flags = frozenset()   # as Linux names them: "avx512_bf16", "amx_bf16"
    compiler = None           # path of a C++ compiler
    threads = None            # of an operator, as the framework has them
    interop_threads = None
    batch_shapes = ()         # [((64, 1, 28, 28), "float32"), ...] of the tensors of a training batch
    parameter_types = ()      # ["float32"]
    calls = frozenset()       # what the script itself does: "autocast", "compile", "set_num_threads", ...
    gathers = False           # whether a step is one of several backwards before an update
    step_seconds = None
    share = {}                # {"data": 0.03, ...} of a step

    def __init__(self):
        self.loaders = []     # [Loader]
        self.optimizers = []  # [Optimizer]
        self.modules = []     # [Module]


class Refused(Exception):
    """A lever's value cannot work here; the text is the reason, for people."""


def every():
    """The levers' modules, by name."""
    found = [importlib.import_module(__name__ + "." + each.name) for each in pkgutil.iter_modules(__path__)]
    return sorted((lever for lever in found if hasattr(lever, "NAME")), key=lambda lever: lever.NAME)


def chosen(environment):
    """{name: value} of what the environment sets to another value than the script's."""
    return {name[len(_PREFIX):].lower(): value for name, value in environment.items()
            if name.startswith(_PREFIX) and value not in ("", "script")}


def install(framework, module, environment, without_loaders=False):
    """Puts in what is chosen; returns {name: (status, reason)} of those that could not be."""
    values = chosen(environment)
    reported = bool(environment.get("NOCTURNE_INJECT_REPORT"))
    known = every() if values or reported else []
    failed = {name: ("failed", "there is no lever of this name")
              for name in set(values) - {lever.NAME.lower() for lever in known}}
    for lever in known:
        value = values.get(lever.NAME.lower())
        if value is None or lever.FRAMEWORK != framework or (without_loaders and getattr(lever, "LOADER", False)):
            continue
        try:
            if not callable(lever.LINES) and value not in lever.LINES:
                raise Refused("it has no value %r" % value)
            lever.install(value, module)
        except Refused as refusal:
            failed[lever.NAME] = ("unsupported", str(refusal))
        except Exception as error:
            failed[lever.NAME] = ("failed", "%s: %s" % (type(error).__name__, error))
    for lever in known:
        if reported and lever.FRAMEWORK == framework and hasattr(lever, "watch"):
            try:
                lever.watch(module)
            except Exception as error:
                notes.append("lever %s: %s: %s" % (lever.NAME, type(error).__name__, error))
    return failed


def variables(framework, environment):
    """What the chosen levers set in the environment before the framework is imported."""
    values, found = chosen(environment), {}
    for lever in every() if values else []:
        value = values.get(lever.NAME.lower())
        if value is not None and lever.FRAMEWORK == framework and hasattr(lever, "variables"):
            found.update(lever.variables(value))
    return found


def offered(seen):
    """The report's "levers" and "refused", and notes on levers that could not say."""
    levers, refused, problems = [], [], []
    given = chosen(os.environ)
    for lever in every():
        if lever.FRAMEWORK != seen.framework:
            continue
        try:
            if lever.NAME in given and hasattr(lever, "no_effect"):  # what values() looks at is the lever's own work now
                refused.append({"name": lever.NAME, "reason": "it is set to %s" % given[lever.NAME]})
                reason = lever.no_effect(seen)
                problems += ["lever %s is set and changes nothing: %s" % (lever.NAME, reason)] if reason else []
                continue
            values, reason = lever.values(seen)
            changes = lever.changes(seen) if hasattr(lever, "changes") else lever.CHANGES
            inert = lever.inert_at(seen) if hasattr(lever, "inert_at") else None
        except Exception as error:
            refused.append({"name": lever.NAME, "reason": "it could not be judged"})
            problems.append("lever %s: %s: %s" % (lever.NAME, type(error).__name__, error))
            continue
        if values is None:
            refused.append({"name": lever.NAME, "reason": reason})
            continue
        lines = lever.lines(seen) if hasattr(lever, "lines") else lever.LINES
        lines = lines if callable(lines) else lines.get
        levers.append({"name": lever.NAME, "values": values, "default": "script", "type": "categorical",
                       "stage": getattr(lever, "STAGE", "run"), "description": lever.DESCRIPTION, "changes": changes,
                       "variable": _PREFIX + lever.NAME.upper(),
                       "lines": {value: lines(value) for value in values if value != "script" and lines(value)}})
        if inert:
            levers[-1]["inert_at"] = {"lever": inert[0], "value": inert[1]}
    return levers, refused, problems + notes
