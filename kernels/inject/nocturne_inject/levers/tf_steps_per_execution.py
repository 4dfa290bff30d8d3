"""Several steps of Model.fit in one call of its training function: less Python between steps. The steps are the same;
callbacks for batches, of which the script has none, would be called once for all of them."""

from .. import keras, tensorflow
from ..hooks import class_that_defines, hook

NAME = "tf_steps_per_execution"
FRAMEWORK = "tensorflow"
CHANGES = "nothing"
DESCRIPTION = "steps of Model.fit in one call of its training function"
LINES = {count: "model.compile(..., steps_per_execution=%s)" % count for count in ("4", "16")}
PLACE = 7  # of steps_per_execution among the arguments of Model.compile
EPOCH = 4  # executions, at least
_changed = []  # whether a model was


def values(seen):
    if seen.version < (2, 4):
        return None, "TensorFlow %s has it as an experiment only, 2.4 is the first" % seen.framework_version
    if "fit" not in seen.calls or "run_eagerly" in seen.calls:
        return None, "no Model.fit of a compiled model was seen"
    if "steps_per_execution" in seen.calls:
        return None, "the script sets steps_per_execution itself"
    if "batch callbacks" in seen.calls:
        return None, "the script's callbacks ask for each batch"
    steps = max([loader.batches or 0 for loader in seen.loaders if loader.training] or [0])
    offered = [value for value in sorted(LINES, key=int) if steps >= EPOCH * int(value)]
    return (["script"] + offered, None) if offered else (None, "an epoch has %d steps, too few" % steps)


def no_effect(seen):
    return None if _changed else "no Model.compile was seen that leaves it open"


def install(value, tf):
    if value not in LINES:
        raise ValueError("unknown value %r" % (value,))

    def compile_begins(arguments, named):
        if len(arguments) <= PLACE and not named.get("run_eagerly") and named.get("steps_per_execution") in (None, 1):
            named["steps_per_execution"] = int(value)
            _changed[:] = [True]

    keras.when_imported(lambda module: hook(
        tensorflow.session(), class_that_defines(module.Model, "compile"), "compile", compile_begins))
