"""TensorFlow 2: the steps of training loops that people write themselves, and what the levers need to know of them.

A step ends with the outermost tf.function in whose trace an optimizer was applied, or a gradient of variables taken
where there is no optimizer (Python runs in both while tracing only: the function is marked then, and its calls are
counted); without a tf.function, with each Optimizer.apply. Model.fit is counted by keras.py. A function that trains
several steps in a call (a loop inside) is known by `optimizer.iterations`. The loss is what GradientTape.gradient is
asked for: in a graph one more operation keeps it in a variable, which is read where a sample ends.
"""

import sys
import threading
import weakref

from . import levers
from .hooks import Alternating, Events, hook

COUNTED_CALLS = 3  # of a function, in which its optimizers' iterations are read; then it is known to train one step in each


def install(name, module, session):
    """Called when `name` (tensorflow, keras or tf_keras) has been imported."""
    global _session
    from . import keras
    _session = session
    if name != "tensorflow":  # Keras may be imported in the midst of TensorFlow's import
        keras.install(module, session)
        return
    if version_of(module) < (2, 0):
        session.note("TensorFlow %s: steps are seen from TensorFlow 2 on" % module.__version__)
        return
    session.install_levers("tensorflow", module)
    if version_of(module) < (2, 6):
        keras.install(module.keras, session)
    if session.environment.get("NOCTURNE_INJECT_LEARNING"):
        from .learning.tensorflow import TensorFlow
        session.learn("tensorflow", TensorFlow(module, session))
    if session.timing:
        watch(module).listener = loop = OwnLoop(module, session)
        session.report.looks["tensorflow"] = loop.look


def version_of(module):
    """"2.21.0-rc1" → (2, 21, 0)"""
    return tuple(int("".join(filter(str.isdigit, part.partition("-")[0])) or 0)
                 for part in str(module.__version__).split(".")[:3])


class Function(object):
    """What is known of a tf.function that was called from outside."""

    def __init__(self):
        self.optimizers = []   # applied in its trace
        self.gradients = 0     # of variables, taken in its trace
        self.variant = None    # called in its place
        self.counted = 0       # calls whose steps were counted
        self.loops = False     # it trains several steps in a call

    def trains(self):
        return bool(self.optimizers or self.gradients)


class Call(object):
    """A call of a tf.function, under way."""

    def __init__(self, function, known, before):
        self.function, self.known = function, known
        self.before = before   # how often each optimizer had been applied; None: not asked
        self.traced = []       # the same of those that its trace applies for the first time


class Watch(object):
    """Which functions train, and when a step has ended. One for a process; threads that train at once are not distinguished."""

    def __init__(self, tf, session):
        self.tf = tf
        self.session = session
        self.listener = None          # an OwnLoop
        self.variant = None           # makes another tf.function of one that trains: a lever's
        self.call = None              # of the outermost tf.function, under way
        self.functions = weakref.WeakKeyDictionary()
        self.applying = threading.local()
        self.loss = Loss(tf, self)
        hook(session, type(tf.function(lambda: None)), "__call__", self.call_begins, self.call_ended, self.call_left)
        hook(session, tf.GradientTape, "gradient", self.gradient_begins, self.gradient_ended)

    @property
    def learning(self):
        return self.session.learners.get("tensorflow")

    def call_begins(self, arguments, named):
        if self.call is not None or self.session.fits or self.tf.inside_function():
            return None
        self.forward_begins()
        function = arguments[0]
        known = self.functions.get(function)
        if known is None:
            known = self.functions[function] = Function()
            if self.variant and not made_by_keras(function):
                self.trace(function, known, arguments[1:], named)
        counting = self.listener and known.trains() and (known.loops or known.counted < COUNTED_CALLS)
        if counting and known.loops:
            self.listener.between()
        if known.variant is not None:
            arguments[0] = known.variant
        self.call = Call(function, known, iterations(known.optimizers) if counting else None)
        return self.call

    def trace(self, function, known, arguments, named):
        """Without a call, to know whether it trains: its variant serves from the first call on then."""
        self.call = Call(function, known, None)
        try:
            function.get_concrete_function(*arguments, **named)
        except Exception:  # of the script's, which its call meets too; or this version's
            return
        finally:
            self.call = None
        if known.trains():
            known.variant = self.variant(function)

    def forward_begins(self):
        """A function, fit or a data set: what the script may do first of a training."""
        if self.learning:
            self.learning.seed()

    def call_left(self, call):
        self.call = None

    def call_ended(self, call, result):
        known, count = call.known, 1
        if not known.trains():
            return
        before = call.before if call.before is not None else call.traced
        if before:
            known.counted += 1
            now = iterations(known.optimizers)
            count = max(1, min(after - earlier for after, earlier in zip(now, before)))
            known.loops = known.loops or count > 1
        if self.variant and known.variant is None and not made_by_keras(call.function):
            known.variant = self.variant(call.function)
            return  # what its first call compiles is the first step's too
        if self.listener:
            self.listener.step(call.function, known, self.loss, count)

    def gradient_begins(self, arguments, named):
        sources = named.get("sources", arguments[2] if len(arguments) > 2 else ())
        variables = [source for source in self.tf.nest.flatten(sources) if getattr(source, "trainable", False)]
        if not variables:
            return None
        if self.learning:
            self.learning.gradient(variables)
        if self.call is not None:
            self.call.known.gradients += 1
        if self.listener:
            self.listener.lap("forward")
            return named.get("target", arguments[1] if len(arguments) > 1 else None),
        return None

    def gradient_ended(self, target, result):
        self.loss.keep(target[0])
        self.listener.lap("backward")

    def watch_optimizer(self, kind, name):
        """Calls of kind.name apply gradients; one inside another is the same."""
        hook(self.session, kind, name, self.apply_begins, self.apply_ended, self.apply_left)

    def apply_begins(self, arguments, named):
        if getattr(self.applying, "under_way", False):
            return None
        if "LossScale" in type(arguments[0]).__name__:
            self.loss.not_seen("it is scaled")
        if self.call is not None and arguments[0] not in self.call.known.optimizers:
            with self.tf.init_scope():
                self.call.traced += iterations([arguments[0]])
        self.applying.under_way = True
        return arguments[0]

    def apply_left(self, optimizer):
        self.applying.under_way = False

    def apply_ended(self, optimizer, result):
        if self.learning:
            self.learning.optimizer_applied()
        if self.session.fits:
            return
        if self.call is not None:
            if optimizer not in self.call.known.optimizers:
                self.call.known.optimizers.append(optimizer)
        elif self.listener and not self.tf.inside_function():
            self.listener.lap("optimizer")
            self.listener.step(optimizer, None, self.loss, 1)


def iterations(optimizers):
    """How often each has been applied."""
    try:
        return [int(optimizer.iterations.numpy()) for optimizer in optimizers]
    except Exception:  # a graph's, or an optimizer of the script's own
        return [0] * len(optimizers)


def made_by_keras(function):
    module = getattr(getattr(function, "python_function", None), "__module__", None) or ""
    return module.startswith(("keras.", "tf_keras.", "tensorflow.python.keras."))


class Loss(object):
    """The loss of the last step. float() waits for the device; TypeError where it was not seen."""

    def __init__(self, tf, watch):
        self.tf = tf
        self.watch = watch
        self.cell = None      # a variable, assigned in graphs
        self.value = None     # of an eager step
        self.why_not = None
        self.cuda = None      # not known yet
        self.targets = weakref.WeakKeyDictionary()  # how many losses a graph has

    def keep(self, target):
        flat = self.tf.nest.flatten(target)
        if self.watch.learning and len(flat) == 1:
            self.watch.learning.loss(flat[0])
        if len(flat) != 1:
            self.not_seen("gradients are taken of several values at once")
        elif self.tf.executing_eagerly() and hasattr(flat[0], "numpy"):
            self.value = flat[0]
        else:
            try:
                self.keep_in_graph(flat[0])
            except Exception as error:
                self.not_seen(str(error).split("\n")[0][:160])

    def keep_in_graph(self, target):
        tf = self.tf
        self.targets[target.graph] = self.targets.get(target.graph, 0) + 1
        if self.targets[target.graph] > 1:
            self.not_seen("a step takes the gradients of more than one loss")
        if self.cell is None:
            with tf.init_scope():
                self.cell = tf.Variable(float("nan"), trainable=False, dtype=tf.float32)
        self.cell.assign(tf.cast(tf.reduce_mean(target), tf.float32))

    def not_seen(self, why):
        self.why_not = why
        self.watch.session.note("loss not seen: " + why)

    def __float__(self):
        tf = self.tf
        if self.cuda is None:
            self.cuda = device(tf) == "cuda"
        if self.cuda:
            tf.test.experimental.sync_devices()
        if self.why_not or (self.value is None and self.cell is None):
            raise TypeError(self.why_not or "no gradient was taken by a GradientTape")
        if self.value is not None:
            return float(tf.reduce_mean(tf.cast(self.value, tf.float32)))
        return float(self.cell.numpy())


class OwnLoop(object):
    """A loop of the script's own: tells the recorder of steps, waiting for data, epochs and the batch."""

    def __init__(self, tf, session):
        self.tf = tf
        self.events = Events(session, "tensorflow", self.alive)
        self.session = session
        self.alternating = Alternating(session)
        self.begun = weakref.WeakSet()      # iterators
        self.iterator = None                # that was asked last, weakly
        self.batch = None
        self.optimizers = weakref.WeakSet()  # that live
        self.applied = weakref.WeakSet()
        self.sources = weakref.WeakSet()    # functions and optimizers that have caused an event
        self.calls = set()                  # what the script does, for Seen
        self.loaders = []
        # Making an iterator would start the devices, which a script may still set up.
        if session.report.path:
            for name in ("set_intra_op_parallelism_threads", "set_inter_op_parallelism_threads"):
                hook(session, tf.config.threading, name, lambda arguments, named, name=name: self.calls.add(name))
        hook(session, sys.modules["tensorflow.python.data.ops.iterator_ops"].OwnedIterator, "__next__",
             self.data_asked, self.data_came)

    def between(self):
        """A function begins that reads its data itself: what passed since the last step is no part of one."""
        if self.events.recorder and self.session.listening:
            self.events.recorder.epoch()

    def lap(self, kind):
        if self.events.recorder and self.session.listening and self.tf.executing_eagerly() and not self.busy():
            self.events.recorder.lap(kind)

    def busy(self):
        return _watch.call is not None or self.session.fits

    def step(self, source, known, loss, count):
        self.calls.add("function" if known else "eager")
        applied = known.optimizers if known else [source]
        for optimizer in applied:
            self.applied.update((optimizer, getattr(optimizer, "inner_optimizer", optimizer)))
        if not self.events.speaks("optimizer step" if applied else "call"):
            return
        if self.events.recorder.steps < 0:
            self.know()
        self.sources.add(source)
        if self.events.event(id(source), loss, count):
            self.alternating.stepped(count)

    def alive(self):
        return {id(each) for each in list(self.sources) + [each for each in self.optimizers if each not in self.applied]}

    def data_asked(self, arguments, named):
        if self.busy() or not self.session.listening:
            return None
        _watch.forward_begins()
        iterator = arguments[0]
        between = self.alternating.asked(iterator, iterator not in self.begun)
        self.begun.add(iterator)
        if self.events.recorder:
            if between:
                self.events.recorder.epoch()
            self.events.recorder.lap("other")
        self.iterator = weakref.ref(iterator)
        return iterator

    def data_came(self, iterator, batch):
        self.batch = batch
        self.alternating.came()
        if self.events.recorder:
            self.events.recorder.lap("data")

    def know(self):
        """What the first step shows: the batch and the steps of an epoch."""
        self.session.report.seen.device = device(self.tf)
        facts = self.events.recorder.facts
        facts["versions"]["tensorflow"] = str(self.tf.__version__)
        iterator = self.iterator and self.iterator()
        if iterator is None:
            self.session.note("no iterator of tf.data gave the batches: epochs and waiting for data are not known")
            return
        tensors = [each for each in self.tf.nest.flatten(self.batch) if getattr(each, "shape", None) is not None]
        if tensors and len(tensors[0].shape):
            facts["batch"] = int(tensors[0].shape[0])
        self.session.report.seen.batch_shapes = tuple(
            (tuple(each.shape), getattr(each.dtype, "name", str(each.dtype))) for each in tensors)
        dataset = getattr(iterator, "_dataset", None)
        steps = int(dataset.cardinality()) if dataset is not None else 0
        if steps > 0:
            facts["steps_per_epoch"] = steps
        self.loaders.append(loader(dataset, facts.get("batch"), steps))
        self.batch = None

    def look(self, seen):
        from . import keras
        seen.version = version_of(self.tf)
        seen.calls = frozenset(self.calls)
        seen.loaders = self.loaders
        seen.optimizers = [levers.Optimizer(type(each).__name__, {}, None) for each in self.applied]
        seen.modules = keras.models()
        seen.threads = self.tf.config.threading.get_intra_op_parallelism_threads() or seen.cpus
        seen.interop_threads = self.tf.config.threading.get_inter_op_parallelism_threads() or seen.cpus


def loader(dataset, batch, steps):
    """What levers.Seen says of a data set."""
    return levers.Loader("tf.data", batch, None, None, None, 1 if prefetches(dataset) else None,
                         steps if steps > 0 else None, None, True, type(dataset).__name__.strip("_"))


def device(tf):
    return "cuda" if tf.config.list_logical_devices("GPU") else "cpu"


def thread_values(seen, call):
    """What a lever offers that sets threads by tf.config.threading.`call`: powers of two, and all processors."""
    if seen.cpus < 2:
        return None, "the process may use one processor only"
    if call in seen.calls:
        return None, "the script sets them itself"
    counts = {1 << bit for bit in range(10) if 1 << bit <= seen.cpus} | {seen.cpus}
    return ["script"] + [str(count) for count in sorted(counts)], None


def prefetches(dataset):
    """Whether batches are read ahead by the data set itself, options that were set behind that aside."""
    while "OptionsDataset" in type(dataset).__name__:
        dataset = dataset._input_dataset
    return "Prefetch" in type(dataset).__name__


_session = None
_watch = None


def session():
    return _session


def watch(tf):
    """The one watch of this process, made when something first needs it: the recorder or a lever."""
    global _watch
    if _watch is None:
        _watch = Watch(tf, _session)
    return _watch
