"""Sets how many batches each of a DataLoader's processes reads ahead."""

from .. import loaders
from . import loader_workers

NAME = "loader_prefetch"
FRAMEWORK = "pytorch"
CHANGES = "nothing"
LOADER = True
DESCRIPTION = "batches that each process of a DataLoader reads ahead (PyTorch: 2); nothing without such processes"
LINES = {value: "DataLoader(..., prefetch_factor=%s)  # where it has num_workers" % value for value in ("1", "4", "8", "16")}


def values(seen):
    return with_processes(seen, list(LINES))


def with_processes(seen, offered):
    """For levers that act where a loader has processes, by the script or by the lever loader_workers."""
    if not seen.loaders:
        return None, "no DataLoader was constructed"
    if not any(loader.workers for loader in seen.loaders):
        possible, reason = loader_workers.values(seen)
        if not possible:
            return None, "the DataLoader has no processes: " + reason
    return ["script"] + offered, None


def inert_at(seen):
    return loader_workers.NAME, "0" if any(loader.workers for loader in seen.loaders) else "script"


def install(value, torch):

    def rule(arguments):
        if arguments.get("num_workers"):
            arguments["prefetch_factor"] = int(value)

    loaders.change(torch, 1, NAME, rule)
