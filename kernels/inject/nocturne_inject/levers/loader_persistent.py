"""Keeps a DataLoader's processes from one epoch to the next."""

from .. import loaders
from . import loader_prefetch

NAME = "loader_persistent"
FRAMEWORK = "pytorch"
CHANGES = "random stream"  # from the second epoch on, processes go on with their streams and the order is another
LOADER = True
DESCRIPTION = "a DataLoader's processes stay between epochs; nothing without such processes"
LINES = {"true": "DataLoader(..., persistent_workers=True)  # where it has num_workers"}


def values(seen):
    if seen.loaders and all(loader.persistent for loader in seen.loaders):
        return None, "the script's DataLoader keeps its processes already"
    return loader_prefetch.with_processes(seen, ["true"])


inert_at = loader_prefetch.inert_at


def install(value, torch):

    def rule(arguments):
        if arguments.get("num_workers"):
            arguments["persistent_workers"] = True

    loaders.change(torch, 1, NAME, rule)
