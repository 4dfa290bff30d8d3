"""bf16 where TensorFlow's graph optimizer deems it safe; variables stay float32.

This is what has an effect: with ONEDNN_DEFAULT_FPMATH_MODE=BF16 TensorFlow 2.21 gives the same losses to the last bit.
"""

NAME = "tf_bf16"
FRAMEWORK = "tensorflow"
CHANGES = "precision"
DESCRIPTION = "bf16 for the operations of a graph that are safe in it; variables stay float32"
OPTION = "auto_mixed_precision_onednn_bfloat16"
LINES = {"bf16": "tf.config.optimizer.set_experimental_options({'%s': True})" % OPTION}
CPU_FLAGS = frozenset(["avx512_bf16", "amx_bf16", "bf16"])  # without them each product is emulated


def values(seen):
    if seen.device != "cpu":
        return None, "the training is on a GPU"
    if seen.version < (2, 8):
        return None, "TensorFlow %s does not have it for CPUs, 2.8 is the first" % seen.framework_version
    if not CPU_FLAGS & set(seen.cpu_flags):
        return None, "the processor has no bf16 instructions (avx512_bf16, amx_bf16)"
    if "policy" in seen.calls:
        return None, "the script sets a policy of mixed precision itself"
    if no_effect(seen):
        return None, no_effect(seen)
    return ["script", "bf16"], None


def no_effect(seen):
    return None if seen.calls & {"fit", "function"} else "the training step is no tf.function"


def install(value, tf):
    if value != "bf16":
        raise ValueError("unknown value %r" % (value,))
    tf.config.optimizer.set_experimental_options({OPTION: True})
