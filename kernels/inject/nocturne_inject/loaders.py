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
        _around(data.DataLoader, "__init__", after=self.constructed)
        # Not around the iterator's __init__: what that warns of would name this file.
        _around(data.DataLoader, "_get_iterator" if hasattr(data.DataLoader, "_get_iterator") else "__iter__", after=self.iterated)
        _around(iterator, "__next__", before=self.asked, after=self.came)
        _around(data._utils.fetch._MapDatasetFetcher, "fetch", before=self.fetch, after=self.fetched)
        _around(torch.autograd, "backward", before=self.backward)

    def constructed(self, _, result, loader, *args, **kwargs):
        if self.torch.utils.data.get_worker_info() is None and loader not in self.known:
            self.known[loader] = _described(self.torch, loader)
            watched.append(self.known[loader])

    def iterated(self, _, iterator, loader):
        iterator._nocturne_watched = self.known.get(loader)

    def asked(self, iterator):
        loader = self.fetching = getattr(iterator, "_nocturne_watched", None)
        if loader is None:
            return
        # Whose last batch no backward pass has followed, or who is asked where gradients are off, evaluates.
        waited = any(each is loader for each in self.waiting)
        if (waited or not self.torch.is_grad_enabled()) and loader["training"] is None:
            loader["training"] = False
        self.waiting = [each for each in self.waiting if each is not loader]

    def came(self, _, batch, iterator):
        loader, self.fetching = self.fetching, None
        if loader is None:
            return
        self.waiting.append(loader)
        if loader["batch_device"] is None:
            loader["batch_device"] = _device(self.torch, batch) or "cpu"
            if loader["batch_device"] != "cpu":
                loader["unshareable"] = "the data set makes tensors on the GPU"

    def fetch(self, fetcher, index):
        """Returns the random streams' states where the fetch that follows is to be looked at."""
        loader = self.fetching
        if loader is None or loader["draws"] or loader["fetches"] >= FETCHES_WATCHED or loader["num_workers"]:
            return None
        loader["fetches"] += 1
        return _random_states(self.torch)

    def fetched(self, states, batch, fetcher, index):
        if states is not None:
            self.fetching["draws"] = _random_states(self.torch) != states

    def backward(self, *args, **kwargs):
        for loader in self.waiting:
            if loader["training"] is None:
                loader["training"] = True
        self.waiting = []


def _around(owner, name, before=None, after=None):
    """Calls before(...) and after(what it returned, the result, ...) around owner.name(...), as if they were not there:
    their trouble is a note, and tracebacks do not show them."""
    original = getattr(owner, name)
    before, after = _guarded(before), _guarded(after)

    @functools.wraps(original)
    def call(*args, **kwargs):
        found = before(*args, **kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            hide(error)
            raise
        after(found, result, *args, **kwargs)
        return result

    call._torchdynamo_disable = True
    setattr(owner, name, call)


def _guarded(hook):
    def call(*args, **kwargs):
        try:
            return hook and hook(*args, **kwargs)
        except Exception as error:
            note = "levers of DataLoaders: %s: %s: %s" % (hook.__name__, type(error).__name__, error)
            if note not in notes:
                notes.append(note)
    return call


def _described(torch, loader):
    dataset, batches = loader.dataset, loader.batch_sampler
    plain = type(batches) is torch.utils.data.BatchSampler
    is_map = is_map_style(torch, dataset)
    return {
        "kind": "map" if is_map else "iterable",
        "batches": _length(loader) if is_map else None,  # of an epoch; None: unknown
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


def _length(loader):
    try:
        return len(loader)
    except (TypeError, NotImplementedError, AttributeError):
        return None


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
