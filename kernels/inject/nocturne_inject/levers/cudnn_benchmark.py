"""Lets cuDNN time its algorithms for each new shape and take the fastest."""

from ..lever_error import LeverError

NAME = "cudnn_benchmark"
FRAMEWORK = "pytorch"
CHANGES = "rounding"
DESCRIPTION = "cuDNN times its convolution algorithms once for each shape and takes the fastest"
LINES = {"true": "torch.backends.cudnn.benchmark = True"}


def values(seen):
    if seen.device != "cuda":
        return None, "the training is not on a GPU"
    if not any(model["conv2d"] for model in seen.models):
        return None, "no Conv2d was seen"
    if "cudnn.benchmark" in seen.sets or "cudnn.deterministic" in seen.sets:
        return None, "the script sets cudnn.benchmark or cudnn.deterministic itself"
    return ["script", "true"], None


def install(value, torch):
    if value != "true":
        raise LeverError(NAME, "unknown value %r" % (value,))
    torch.backends.cudnn.benchmark = True
