"""XLA where TensorFlow finds that operations can be put together, in any function."""

import os

NAME = "tf_xla"
FRAMEWORK = "tensorflow"
STAGE = "compile"
CHANGES = "random stream"  # and rounding: XLA draws dropout's numbers otherwise
DESCRIPTION = "let XLA compile clusters of operations that it finds itself"
FLAGS = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"
LINES = {"clusters": "TF_XLA_FLAGS='%s'  # in the environment" % FLAGS}


def values(seen):
    if "--tf_xla_auto_jit" in os.environ.get("TF_XLA_FLAGS", ""):
        return None, "TF_XLA_FLAGS says it already"
    if no_effect(seen):
        return None, no_effect(seen)
    return ["script", "clusters"], None


def no_effect(seen):
    return None if seen.calls & {"fit", "function"} else "the training step is no tf.function"


def variables(value):
    if value not in LINES:
        return {}
    return {"TF_XLA_FLAGS": (os.environ.get("TF_XLA_FLAGS", "") + " " + FLAGS).strip()}


def install(value, tf):
    if value not in LINES:
        raise ValueError("unknown value %r" % (value,))
