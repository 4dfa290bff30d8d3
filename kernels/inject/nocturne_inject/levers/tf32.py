"""Lets cuDNN's convolutions and recurrent layers read TF32; matrix products are matmul_precision's."""

NAME = "tf32"
FRAMEWORK = "pytorch"
CHANGES = "precision"
DESCRIPTION = "TF32 for cuDNN's convolutions and recurrent layers"
LINES = {"true": "torch.backends.cudnn.allow_tf32 = True"}


def values(seen):
    if seen.device != "cuda":
        return None, "the training is not on a GPU"
    if (seen.capability or (0, 0)) < (8, 0):
        return None, "the GPU has no TF32 units (compute capability 8.0)"
    if seen.module.backends.cudnn.allow_tf32:
        return None, "cuDNN's convolutions use TF32 already, as PyTorch's default is"
    return ["script", "true"], None


def install(value, torch):
    torch.backends.cudnn.allow_tf32 = True
