"""Keras 2 and 3: the steps of Model.fit, by a callback that is added to every call; what an optimizer applies elsewhere.

A step is a batch. Where steps_per_execution hides batches from callbacks, `optimizer.iterations` counts, else the batch's
number. The time between an epoch's last batch and the next one's first (evaluation, callbacks, a new iterator) is no
step's, but an epoch's end where those are asked for (epoch_ends.py); the first epochs are then stopped early, as a
callback of the script's may stop the training, and it goes on. train_on_batch counts as a loop of the script's own (tensorflow.py).
"""

import sys
import time

from . import evaluations, levers, loops
from .hooks import Events, class_that_defines, hook

ARGUMENTS = {"x": 1, "batch_size": 3, "epochs": 4, "callbacks": 6, "validation_split": 7,
             "validation_freq": 16}  # of fit, behind the model

_hooks = []
_imported = []


def when_imported(function):
    """Calls function(keras) when Keras has been imported, at once where it has been: for levers."""
    _hooks.append(function)
    for keras in _imported:
        function(keras)


def imported():
    return bool(_imported)


def install(keras, session):
    """Called when Keras (`keras` or `tf_keras`) has been imported."""
    _imported.append(keras)
    for function in _hooks:
        function(keras)
    if session.timing:
        Fit(keras, session)


class Fit(object):
    """Model.fit, evaluate and predict, seen from outside."""

    def __init__(self, keras, session):
        from . import tensorflow
        self.keras = keras
        self.session = session
        self.watch = None
        backend = keras.backend.backend() if hasattr(keras.backend, "backend") else "tensorflow"
        if backend == "tensorflow":
            self.watch = tensorflow.watch(sys.modules["tensorflow"])
            watch_optimizers(keras, self.watch)
        elif backend == "torch":
            hook(session, class_that_defines(keras.Model, "fit"), "fit", self.torch_begins)  # whose backwards are seen
            return
        else:
            session.know("keras", keras)
        self.events = Events(session, "tensorflow" if self.watch else "keras")
        self.callbacks = make_callbacks(self)
        hook(session, class_that_defines(keras.Model, "fit"), "fit", self.fit_begins, None, self.left)
        if session.report.path:
            self.hook_settings()
        for name in ("evaluate", "predict"):
            hook(session, class_that_defines(keras.Model, name), name, self.aside_begins, self.aside_ended, self.left)

    def torch_begins(self, arguments, named):
        length, epochs = self.session.report.length, given(arguments, named, "epochs")
        if not length.epochs:
            length.epochs = loops.told(1 if epochs is None else epochs, "epochs of fit", evaluates_every(arguments, named))

    def calls(self, *names):
        """What the script does, for levers that must know."""
        if self.watch and self.watch.listener:
            self.watch.listener.calls.update(names)

    def hook_settings(self):
        def compile_begins(arguments, named):
            defaults = {"jit_compile": (None, "auto"), "steps_per_execution": (None, 1), "run_eagerly": (None, False)}
            self.calls(*[name for name, usual in defaults.items() if named.get(name) not in usual])

        hook(self.session, class_that_defines(self.keras.Model, "compile"), "compile", compile_begins)
        for module in (getattr(self.keras, "mixed_precision", None), getattr(self.keras, "config", None)):
            for name in ("set_global_policy", "set_dtype_policy"):
                if hasattr(module, name):
                    hook(self.session, module, name, lambda arguments, named: self.calls("policy"))

    def left(self, token):
        self.session.fits -= 1
        if isinstance(token, Added):
            token.take_back()

    def aside_begins(self, arguments, named):
        if self.session.fits or not self.session.listening:
            return None
        self.session.fits += 1
        return True

    def aside_ended(self, token, result):
        if self.session.recorder:
            self.session.recorder.epoch()

    def fit_begins(self, arguments, named):
        if self.session.fits or not self.session.listening:
            return None
        if self.watch:
            self.watch.forward_begins()
        added = Added(self.callbacks(arguments, named), arguments, named)
        self.session.fits += 1
        return added


def given(arguments, named, name):
    place = ARGUMENTS[name]
    return arguments[place] if len(arguments) > place else named.get(name)


def evaluates_every(arguments, named):
    """So many epochs of fit; 0: a list of them."""
    frequency = given(arguments, named, "validation_freq")
    return 1 if frequency is None else frequency if isinstance(frequency, int) else 0


class Counter(object):
    """The callback of one call of fit, but for Keras's base. It changes no logs: they may stay on the device."""

    _supports_tf_logs = True
    fit = None  # a Fit

    def __init__(self, arguments, named):
        super(Counter, self).__init__()
        x = given(arguments, named, "x")
        self.examples = None if hasattr(x, "element_spec") else length(x)
        self.batch = given(arguments, named, "batch_size") or batch_of(x)
        if any(asks_for_batches(each, self.fit.keras) for each in as_list(given(arguments, named, "callbacks"))):
            self.fit.calls("batch callbacks")
        if self.examples:
            self.batch = self.batch or 32  # fit's own
            self.examples = int(self.examples * (1 - (given(arguments, named, "validation_split") or 0)))
        self.loader = None if self.examples else x
        self.every = evaluates_every(arguments, named)
        self.before = None      # the number of the last batch of this epoch
        self.iterations = None
        self.cut = False        # this epoch was
        self.begins, self.ends, self.stops = map(self.fit.session.guarded, (
            self.batch_begins, self.batch_ended, self.stop_where_cut))

    def on_epoch_begin(self, epoch, logs=None):
        self.before = None

    def on_epoch_end(self, epoch, logs=None):
        if self.cut:
            self.model.stop_training = self.cut = False
        if evaluations.asked(self.fit.session):
            self.fit.session.guarded(evaluations.told)(self.fit.session, logs, "val_")

    def on_train_batch_begin(self, batch, logs=None):
        if self.before is None:
            self.before = batch - 1
            self.begins()

    def on_train_batch_end(self, batch, logs=None):
        if self.before is not None:
            count, self.before = batch - self.before, batch
            self.ends(count, logs)
        if self.fit.session.ends.asks_for_more():
            self.stops(batch + 1)

    def stop_where_cut(self, batches):
        """Behind so many of an epoch: where it is what was asked for, and that is no more than a half of it."""
        ends, of_epoch = self.fit.session.ends, (self.params or {}).get("steps") or 0
        is_enough = batches >= ends.steps and of_epoch >= 2 * ends.steps
        alike = self.every > 0 and ends.are_alike(self.every)
        if is_enough and alike and self.examples in (None, ends.examples) and not self.model.stop_training:
            self.model.stop_training = self.cut = True
            ends.ended += 1

    def batch_begins(self):
        if not self.fit.events.speaks("batch"):
            return
        self.hidden = getattr(self.model, "steps_per_execution", getattr(self.model, "_steps_per_execution", 1)) != 1
        self.iterations = self.applied() if self.hidden else None
        recorder = self.fit.events.recorder
        if recorder.steps < 0:
            self.know(recorder.facts)
        elif self.fit.session.ends:
            self.fit.session.ends.tell(recorder, time.monotonic() - recorder.last)
        recorder.epoch()

    def know(self, facts):
        self.fit.calls("fit")
        known = {"batch": self.batch, "steps_per_epoch": (self.params or {}).get("steps"),
                 "examples_per_epoch": self.examples}
        facts.update({name: value for name, value in known.items() if value})
        self.fit.session.report.length.epochs = loops.told((self.params or {}).get("epochs"), "epochs of fit", self.every)
        facts["versions"]["keras"] = str(self.fit.keras.__version__)
        if self.fit.watch:
            from . import tensorflow
            tf = self.fit.watch.tf
            facts["versions"]["tensorflow"] = str(tf.__version__)
            self.fit.session.report.seen.device = tensorflow.device(tf)
            steps = facts.get("steps_per_epoch") or 0
            self.fit.watch.listener.loaders.append(
                tensorflow.loader(self.loader, self.batch, steps) if hasattr(self.loader, "element_spec")
                else levers.Loader("keras", self.batch, None, None, None, None, steps, self.examples, True, None))

    def batch_ended(self, count, logs):
        if self.iterations is not None:
            now, before = self.applied(), self.iterations
            self.iterations = now
            count = now - before or count
        if count > 0 and self.fit.events.recorder:
            loss = self.fit.watch.loss if self.fit.watch else (logs or {}).get("loss")
            self.fit.events.event("fit", loss, count)

    def applied(self):
        """What the optimizer counts; None where it says no more than the batch's number."""
        try:
            return int(self.model.optimizer.iterations.numpy())
        except Exception:  # a model with several optimizers or one of its own; another backend
            return None


def make_callbacks(fit):
    """The class of the callbacks."""
    return type("NocturneSteps", (Counter, fit.keras.callbacks.Callback), {"fit": fit})


def as_list(callbacks):
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]


def asks_for_batches(callback, keras):
    """Whether a callback of the script's is called for each batch of the training."""
    base = keras.callbacks.Callback
    return any(getattr(type(callback), name, None) is not getattr(base, name, None)
               for name in ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"))


class Added(object):
    """One more callback among fit's arguments; what the script gave is left as it is."""

    def __init__(self, callback, arguments, named):
        self.list = None
        self.callback = callback
        before = given(arguments, named, "callbacks")
        if hasattr(before, "append") and hasattr(before, "on_train_batch_end"):  # a CallbackList: fit takes it as it is
            self.list = before
            callback.set_model(arguments[0])
            callback.set_params(getattr(before, "params", None) or {})
            before.append(callback)
            return
        before = as_list(before)
        if len(arguments) > ARGUMENTS["callbacks"]:
            arguments[ARGUMENTS["callbacks"]] = before + [callback]
        else:
            named["callbacks"] = before + [callback]

    def take_back(self):
        if self.list is not None:
            self.list.callbacks.remove(self.callback)


def length(x):
    """Examples in arrays: one, or several in a list or a dictionary; None where it is something else."""
    while isinstance(x, (list, tuple, dict)) and len(x):
        x = next(iter(x.values())) if isinstance(x, dict) else x[0]
    shape = getattr(x, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else None


def batch_of(x):
    """The batch that a data set or a sequence says itself; None where it does not."""
    while x is not None:
        for name in ("_batch_size", "batch_size"):
            try:
                return int(getattr(x, name))
            except Exception:  # none, or a method
                pass
        x = getattr(x, "_input_dataset", None)
    return None


def models():
    """Keras's models that are alive and part of no other, as levers.Seen says them."""
    import gc
    kinds = tuple(keras.Model for keras in _imported)
    alive = [each for each in gc.get_objects() if kinds and issubclass(type(each), kinds)]
    parts = {id(layer) for each in alive for layer in each.layers}
    found = []
    for each in alive:
        if id(each) not in parts and each.built:
            types = {}
            for layer in each.layers:
                types[type(layer).__name__] = types.get(type(layer).__name__, 0) + 1
            found.append(levers.Module(type(each).__name__, each.count_params(), types, False, each))
    return found


def watch_optimizers(keras, watch):
    kinds = [keras.optimizers.Optimizer, getattr(keras.optimizers, "LossScaleOptimizer", None),
             getattr(getattr(keras.optimizers, "legacy", None), "Optimizer", None),
             getattr(getattr(keras, "mixed_precision", None), "LossScaleOptimizer", None)]
    kinds += [each for each in keras.optimizers.Optimizer.__subclasses__() if "LossScale" in each.__name__]  # of Keras 2
    found = []
    for kind in kinds:
        for name in ("apply", "apply_gradients"):
            owner = class_that_defines(kind, name)
            if owner and (owner, name) not in found:
                found.append((owner, name))
                watch.watch_optimizer(owner, name)

    def made(arguments, named):
        if watch.listener:
            watch.listener.optimizers.add(arguments[0])

    owner = class_that_defines(keras.optimizers.Optimizer, "__init__")
    if owner:
        hook(watch.session, owner, "__init__", made)
