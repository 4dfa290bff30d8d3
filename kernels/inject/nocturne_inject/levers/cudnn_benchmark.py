"""Lets cuDNN time its algorithms for each new shape and take the fastest."""

NAME = "cudnn_benchmark"
FRAMEWORK = "pytorch"
CHANGES = "rounding"
DESCRIPTION = "cuDNN times its convolution algorithms once for each shape and takes the fastest"
LINES = {"true": "torch.backends.cudnn.benchmark = True"}


def values(seen):
    if seen.device != "cuda":
        return None, "the training is not on a GPU"
    if not any(kind.startswith("Conv") for each in seen.modules for kind in each.types):
        return None, "no convolution was seen"
    cudnn = seen.module.backends.cudnn
    if cudnn.benchmark:
        return None, "the script sets cudnn.benchmark itself"
    if cudnn.deterministic or "use_deterministic_algorithms" in seen.calls:
        return None, "the script asks for deterministic algorithms"
    return ["script", "true"], None


def install(value, torch):
    torch.backends.cudnn.benchmark = True
