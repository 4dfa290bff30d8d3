import torch


def backward(tensors, grad_tensors=None):
    if getattr(tensors, "inner", None):
        tensors.inner()
    if tensors.value == "broken":
        raise RuntimeError("a backward that fails")
    torch.clock.spend(tensors.seconds)
