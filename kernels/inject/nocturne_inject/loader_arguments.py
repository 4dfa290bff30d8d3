"""Changes of the arguments that a script constructs its PyTorch DataLoaders with.

    change(torch, order, lever, rule)     rule(arguments) changes a dictionary of the constructor's arguments by name.
                                          Rules of lower order come first.

Arguments that the script leaves out are not in the dictionary. Loaders that a loader's own process or a daemon makes
are left alone: they cannot have processes of their own. Subclasses that call DataLoader.__init__() are reached too.
"""

import functools
import inspect
import multiprocessing

from .lever_error import LeverError

_rules = []  # [(order, lever, rule)]


def change(torch, order, lever, rule):
    if not _rules:
        _patch(torch)
    _rules.append((order, lever, rule))
    _rules.sort(key=lambda each: each[0])


def is_map_style(torch, dataset):
    """An iterable data set yields everything once in each process; one that is indexed does not."""
    data = torch.utils.data
    return not isinstance(dataset, data.IterableDataset) and hasattr(dataset, "__getitem__")


def draws_at_random(torch, arguments):
    """Whether a loader's examples come in a random order: what tells a training loader from an evaluation's.

    By name of the sampler's class, so that DistributedSampler and the script's own count.
    """
    sampler = arguments.get("sampler") or getattr(arguments.get("batch_sampler"), "sampler", None)
    if sampler is None:
        return bool(arguments.get("shuffle"))
    if hasattr(sampler, "shuffle"):
        return bool(sampler.shuffle)
    return any("Random" in each.__name__ for each in type(sampler).__mro__)


def _patch(torch):
    loader_class = torch.utils.data.DataLoader
    original = loader_class.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        if torch.utils.data.get_worker_info() is not None or multiprocessing.current_process().daemon:
            return original(self, *args, **kwargs)
        try:
            arguments = dict(signature.bind(self, *args, **kwargs).arguments)
        except TypeError:  # the script's error: the constructor says it better
            return original(self, *args, **kwargs)
        arguments.pop("self")
        for _, lever, rule in _rules:
            try:
                rule(arguments)
            except Exception as error:
                raise LeverError(lever, error)
        return original(self, **arguments)

    loader_class.__init__ = __init__
