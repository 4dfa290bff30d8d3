"""PyTorch's DataLoaders: what a script constructs them with, and what it does with them.

    change(torch, order, lever, rule)     rule(arguments) changes a dictionary of the constructor's arguments by name.
                                          Rules of lower order come first.
    watch(torch)                          fills `watched`, a dictionary for each loader that is constructed from now on

Arguments that the script leaves out are not in the dictionary of change(). Loaders that a loader's own process or a
daemon makes are left alone: they cannot have processes of their own. Subclasses that call DataLoader.__init__() are
reached too.
"""

import functools
import inspect
import multiprocessing
import pickle
import random
import sys
import weakref

from . import hide
from .lever_error import LeverError
from .levers import notes

FETCHES_WATCHED = 3  # of a loader, for random draws
# Modules of objects that break, or read wrong data, where processes share them.
OPEN_FILES = {"h5py", "lmdb", "sqlite3", "tables", "_io", "zipfile", "tarfile"}

watched = []
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


def watch(torch):
    if not _watching:
        _watching.append(_Watch(torch))


_watching = []


class _Watch(object):
    def __init__(self, torch):
        self.torch = torch
        self.known = weakref.WeakKeyDictionary()  # loader: its dictionary
        self.fetching = None  # the dictionary of the loader that fetches now
        self.waiting = []     # those of loaders whose batch no backward pass has followed yet
        data = torch.utils.data
        iterator = data.dataloader._BaseDataLoaderIter
        _wrap(data.DataLoader, "__init__", self.constructed)
        _wrap(iterator, "__init__", self.iterated)
        _wrap(iterator, "__next__", self.asked)
        _wrap(data._utils.fetch._MapDatasetFetcher, "fetch", self.fetched)
        _wrap(torch.autograd, "backward", self.backward)

    def constructed(self, original, loader, *args, **kwargs):
        original(loader, *args, **kwargs)
        if self.torch.utils.data.get_worker_info() is None and loader not in self.known:
            try:
                self.known[loader] = _described(self.torch, loader)
            except Exception as error:  # of a data set or a sampler that is asked what it was not made for
                notes.append("a DataLoader is not known: %s: %s" % (type(error).__name__, error))
            else:
                watched.append(self.known[loader])

    def iterated(self, original, iterator, loader, *args, **kwargs):
        iterator._nocturne_watched = self.known.get(loader)
        original(iterator, loader, *args, **kwargs)

    def asked(self, original, iterator):
        loader = getattr(iterator, "_nocturne_watched", None)
        if loader is None:
            return original(iterator)
        # Whose last batch no backward pass has followed, or who is asked where gradients are off, evaluates.
        waited = any(each is loader for each in self.waiting)
        if (waited or not self.torch.is_grad_enabled()) and loader["training"] is None:
            loader["training"] = False
        self.waiting = [each for each in self.waiting if each is not loader]
        self.fetching = loader
        try:
            batch = original(iterator)
        finally:
            self.fetching = None
        self.waiting.append(loader)
        if loader["batch_device"] is None:
            loader["batch_device"] = _device(self.torch, batch) or "cpu"
            if loader["batch_device"] != "cpu":
                loader["unshareable"] = "the data set makes tensors on the GPU"
        return batch

    def fetched(self, original, fetcher, index):
        loader = self.fetching
        if loader is None or loader["draws"] or loader["fetches"] >= FETCHES_WATCHED or loader["num_workers"]:
            return original(fetcher, index)
        loader["fetches"] += 1
        before = _random_states(self.torch)
        batch = original(fetcher, index)
        loader["draws"] = _random_states(self.torch) != before
        return batch

    def backward(self, original, *args, **kwargs):
        for loader in self.waiting:
            if loader["training"] is None:
                loader["training"] = True
        self.waiting = []
        return original(*args, **kwargs)


def _wrap(owner, name, around):
    """owner.name(...) becomes around(owner.name, ...); tracebacks do not show it."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def call(*args, **kwargs):
        try:
            return around(original, *args, **kwargs)
        except BaseException as error:
            hide(error)
            hide(error)
            raise

    call._torchdynamo_disable = True
    setattr(owner, name, call)


def _described(torch, loader):
    dataset, batches = loader.dataset, loader.batch_sampler
    plain = type(batches) is torch.utils.data.BatchSampler
    is_map = is_map_style(torch, dataset)
    return {
        "kind": "map" if is_map else "iterable",
        "examples": len(dataset) if is_map and hasattr(dataset, "__len__") else 0,
        "batch_size": batches.batch_size if plain else None,  # None: batches are made in another way
        "num_workers": loader.num_workers,
        "pin_memory": bool(loader.pin_memory),
        "persistent_workers": bool(getattr(loader, "persistent_workers", False)),
        "random_order": is_map and draws_at_random(
            torch, {"batch_sampler": batches} if batches is not None else {"sampler": loader.sampler}),
        # Why processes cannot read the data set; None: nothing says so, or they do.
        "unshareable": _unshareable(torch, loader) if is_map and not loader.num_workers else None,
        # Whether examples draw random numbers; None: unknown, as for what processes draw.
        "draws": None if loader.num_workers else _holds_generator(dataset),
        "batch_device": None,
        "training": None,  # whether backward passes follow its batches; None: no batch was taken yet
        "fetches": 0,
    }


def _device(torch, batch):
    """Where the first tensor of a batch is; None: it holds none that is known."""
    if isinstance(batch, torch.Tensor):
        return batch.device.type
    items = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (tuple, list)) else ()
    return next((device for device in (_device(torch, item) for item in items) if device), None)


def _random_states(torch):
    states = [bytes(torch.get_rng_state().tolist()), random.getstate()]
    if "numpy" in sys.modules:
        state = sys.modules["numpy"].random.get_state()
        states.append((state[1].tobytes(),) + tuple(state[2:]))
    return states


def _holds_generator(value, depth=4):
    """Whether a data set, or what it is made of, draws from a stream of its own, so far as attributes show."""
    if type(value).__name__ in ("Generator", "RandomState", "Random"):
        return True
    if isinstance(value, (list, tuple)):
        parts = value[:50]
    elif isinstance(value, dict):
        parts = list(value.values())[:50]
    else:
        parts = [] if isinstance(value, type) else list(getattr(value, "__dict__", {}).values())
    return depth > 0 and any(_holds_generator(each, depth - 1) for each in parts)


def _unshareable(torch, loader):
    for each in getattr(loader.dataset, "__dict__", {}).values():
        if isinstance(each, torch.Tensor) and each.device.type != "cpu":
            return "the data set is on the GPU already"
        if isinstance(each, tuple) and each and _device(torch, each) not in (None, "cpu"):
            return "the data set is on the GPU already"
        kind = type(each).__module__.split(".")[0]
        if kind in OPEN_FILES and type(each).__name__ not in ("BytesIO", "StringIO"):
            return "the data set holds an open file (%s), which processes cannot share" % kind
    # Without allow_none it would settle what the script may still set; the first of all is the default.
    method = multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    if method == "fork":
        return None
    try:
        pickle.Pickler(_Sink(), pickle.HIGHEST_PROTOCOL).dump((loader.dataset, loader.collate_fn, loader.worker_init_fn))
    except _Enough:
        pass
    except Exception as error:
        return "the data set cannot be sent to a process that is started by %s: %s" % (method, error)
    return None


class _Enough(Exception):
    """So much was pickled that the rest is taken for granted."""


class _Sink(object):
    LIMIT = 64 << 20  # bytes

    def __init__(self):
        self.written = 0

    def write(self, piece):
        self.written += len(piece) if isinstance(piece, bytes) else piece.nbytes
        if self.written > self.LIMIT:
            raise _Enough
