"""Keras's policy of mixed precision: layers compute in bf16, variables stay float32. What the outermost model returns is
float32 again, so that losses and metrics of the script's own are computed as before."""

import threading

from .. import keras, tensorflow
from ..hooks import class_that_defines, hook

NAME = "tf_mixed_precision"
FRAMEWORK = "tensorflow"
CHANGES = "precision"
DESCRIPTION = "bf16 for what Keras layers compute; variables and outputs stay float32"
LINES = {"mixed_bfloat16": "keras.mixed_precision.set_global_policy('mixed_bfloat16')  # before layers are made"}
CPU_FLAGS = frozenset(["avx512_bf16", "amx_bf16", "bf16"])  # without them each product is emulated


def values(seen):
    if "policy" in seen.calls:
        return None, "the script sets a policy of mixed precision itself"
    if not seen.modules:
        return None, "no Keras model was seen"
    if seen.version < (2, 4):
        return None, "TensorFlow %s has it as an experiment only, 2.4 is the first" % seen.framework_version
    if seen.device == "cpu" and not CPU_FLAGS & set(seen.cpu_flags):
        return None, "the processor has no bf16 instructions (avx512_bf16, amx_bf16)"
    return ["script", "mixed_bfloat16"], None


def no_effect(seen):
    return ("the script sets a policy of mixed precision itself" if "policy" in seen.calls else
            None if keras.imported() else "Keras is not used")


def install(value, tf):
    if value not in LINES:
        raise ValueError("unknown value %r" % (value,))

    def set_up(module):
        setter = module.mixed_precision.set_global_policy
        getattr(setter, "__wrapped__", setter)(value)  # not the script's call
        Outputs(module, tf)

    keras.when_imported(set_up)


class Outputs(object):
    def __init__(self, module, tf):
        self.model, self.tf = module.Model, tf
        self.inside = threading.local()
        hook(tensorflow.session(), class_that_defines(module.Model, "__call__"), "__call__",
             self.begins, self.ended, self.left)

    def begins(self, arguments, named):
        if getattr(self.inside, "model", None) is not None or not isinstance(arguments[0], self.model):
            return None
        self.inside.model = arguments[0]
        return True

    def left(self, token):
        self.inside.model = None

    def ended(self, token, result):
        return self.tf.nest.map_structure(self.widened, result),

    def widened(self, value):
        if self.tf.is_tensor(value) and value.dtype == self.tf.bfloat16:
            return self.tf.cast(value, self.tf.float32)
        return value
