"""Sets how many processes a DataLoader reads examples with; 0 reads them in the training's process.

The order of a map-style data set's examples stays. Of an iterable one each process would yield everything, but where it
asks in which process it is read, to share itself out (loaders.shares_out).
"""

from .. import loaders

NAME = "loader_workers"
FRAMEWORK = "pytorch"
CHANGES = "random stream"
LOADER = True
DESCRIPTION = "processes that read and transform examples while the model trains"
MOST = 64
LINES = {str(count): "DataLoader(..., num_workers=%d)  # each" % count for count in range(MOST + 1)}


def changes(seen):
    """Each process draws from a stream of its own; nothing changes where no example draws any numbers."""
    return "nothing" if all(loader.draws is False for loader in _able(seen)) else CHANGES


def _able(seen):
    return [loader for loader in seen.loaders if loader.can_have_processes]


def values(seen):
    if not seen.loaders:
        return None, "no DataLoader was constructed"
    able = _able(seen)
    if not able:
        return None, "each process would yield all of an iterable data set"
    for loader in able:
        if loader.unshareable:
            return None, loader.unshareable
    counts = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, MOST]
    counts = sorted({count for count in counts if count <= seen.cpus} | {min(seen.cpus, MOST)})
    used = {loader.workers for loader in able}
    offered = [str(count) for count in counts if used != {count}]
    return ["script"] + offered, None


def install(value, torch):
    count = int(value)

    def rule(arguments):
        if not loaders.can_have_processes(torch, arguments["dataset"]):
            return
        arguments["num_workers"] = count
        if not count:  # what PyTorch refuses without processes
            for name in ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout"):
                arguments.pop(name, None)

    loaders.change(torch, 0, NAME, rule)
