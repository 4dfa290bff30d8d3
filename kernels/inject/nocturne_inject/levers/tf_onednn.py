"""TensorFlow's own switch for the kernels of oneDNN, which it reads while it is imported."""

import os
import sys

NAME = "tf_onednn"
FRAMEWORK = "tensorflow"
CHANGES = "rounding"
DESCRIPTION = "kernels of oneDNN, or TensorFlow's own"
LINES = {"true": "TF_ENABLE_ONEDNN_OPTS=1  # in the environment", "false": "TF_ENABLE_ONEDNN_OPTS=0  # in the environment"}


def values(seen):
    if seen.device != "cpu":
        return None, "the training is on a GPU"
    if seen.version < (2, 5):
        return None, "TensorFlow %s has no switch for oneDNN, 2.5 is the first" % seen.framework_version
    return ["script", "false" if enabled(seen.version) else "true"], None


def enabled(version):
    port = sys.modules.get("tensorflow.python.util._pywrap_util_port")
    if hasattr(port, "IsMklEnabled"):
        return bool(port.IsMklEnabled())
    return os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1" if version >= (2, 9) else "0") == "1"


def variables(value):
    return {"TF_ENABLE_ONEDNN_OPTS": "1" if value == "true" else "0"} if value in LINES else {}


def install(value, tf):
    if value not in LINES:
        raise ValueError("unknown value %r" % (value,))
