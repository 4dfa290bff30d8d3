"""Puts a DataLoader's batches into page-locked memory, from which copies to the GPU are faster."""

from .. import loaders

NAME = "loader_pin_memory"
FRAMEWORK = "pytorch"
CHANGES = "nothing"
LOADER = True
DESCRIPTION = "batches in page-locked memory, from which copies to the GPU are faster"
LINES = {"true": "DataLoader(..., pin_memory=True)"}


def values(seen):
    if seen.device != "cuda":
        return None, "the training is not on a GPU"
    if not seen.loaders:
        return None, "no DataLoader was constructed"
    if all(loader.pin_memory for loader in seen.loaders):
        return None, "the script's DataLoader pins its memory already"
    if any(loader.batch_device not in (None, "cpu") for loader in seen.loaders):
        return None, "the DataLoader's batches are on the GPU already"
    return ["script", "true"], None


def install(value, torch):

    def rule(arguments):
        arguments["pin_memory"] = True

    loaders.change(torch, 1, NAME, rule)
