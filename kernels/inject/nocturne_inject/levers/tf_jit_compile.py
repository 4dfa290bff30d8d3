"""Compiles the training function with XLA: a model's by Model.compile, one of the script's own from its second call on,
for only its trace shows that it trains. It is traced once more."""

from .. import keras, tensorflow
from ..hooks import class_that_defines, hook
from . import Refused

NAME = "tf_jit_compile"
FRAMEWORK = "tensorflow"
STAGE = "compile"
CHANGES = "random stream"  # and rounding: XLA draws dropout's numbers otherwise
DESCRIPTION = "compile the training function as a whole with XLA"
LINES = {"true": "model.compile(..., jit_compile=True)  # or @tf.function(jit_compile=True) around the training step",
         "false": "model.compile(..., jit_compile=False)"}
FIRST = (2, 5)      # with jit_compile
PLACE = 8           # of jit_compile among the arguments of Model.compile
_changed = []       # whether a model or a function was


def values(seen):
    if seen.version < FIRST:
        return None, "TensorFlow %s cannot compile one function, 2.5 is the first" % seen.framework_version
    if "jit_compile" in seen.calls:
        return None, "the script sets jit_compile itself"
    if "run_eagerly" in seen.calls or not seen.calls & {"fit", "function"}:
        return None, "the training step is no tf.function"
    return ["script", "false" if seen.device == "cuda" and "fit" in seen.calls else "true"], None


def no_effect(seen):
    return None if _changed else "no function that trains was seen for which the script has not decided itself"


def install(value, tf):
    if value not in LINES:
        raise ValueError("unknown value %r" % (value,))
    if tensorflow.version_of(tf) < FIRST:
        raise Refused("TensorFlow %s cannot compile one function" % tf.__version__)
    compiled = value == "true"
    if compiled:
        tensorflow.watch(tf).variant = with_xla

    def compile_begins(arguments, named):
        if len(arguments) <= PLACE and not named.get("run_eagerly"):
            named["jit_compile"] = compiled
            _changed[:] = [True]

    keras.when_imported(lambda module: hook(
        tensorflow.session(), class_that_defines(module.Model, "compile"), "compile", compile_begins))


def with_xla(function):
    if function._jit_compile is not None:
        return function
    _changed[:] = [True]
    made = function._clone(None)
    made._jit_compile = True
    return made
