"""PyTorch's DataLoaders: what a script constructs them with, and what it does with them.

    change(torch, order, lever, rule)     rule(arguments) changes a dictionary of the constructor's arguments by name.
                                          Rules of lower order come first.
    Loaders(training)                     describes each loader that is constructed from now on, and tells the recorder
                                          of waiting for data and of epochs

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
import time
import types
import weakref
from _thread import get_ident

from . import levers, loops
from .hooks import class_that_defines, hook
from .lever_error import LeverError

FETCHES_WATCHED = 3  # of a loader, for random draws
MOST_SEEN = 100      # loaders that are remembered: some scripts construct one for each step
MOST_AHEAD = 64      # batches that are fetched before the backward pass of the first: one ahead, or all of a step
# Modules of objects that break, or read wrong data, where processes share them.
OPEN_FILES = {"h5py", "lmdb", "sqlite3", "tables", "_io", "zipfile", "tarfile"}

FASTAI = ("fastai has loaders and optimizers of its own: what stands between its epochs is not seen, and no lever changes them "
          "(DataLoaders(..., num_workers=N) is the script's to try)")
STATEFUL = "torchdata.stateful_dataloader"  # whose loader and batch sampler repeat PyTorch's

_rules = []  # [(order, lever, rule)]


def change(torch, order, lever, rule):
    if not _rules:
        _each_class(torch, functools.partial(_patch, torch))
    _rules.append((order, lever, rule))
    _rules.sort(key=lambda each: each[0])


def is_map_style(torch, dataset):
    """An iterable data set yields everything once in each process; one that is indexed does not."""
    data = torch.utils.data
    return not isinstance(dataset, data.IterableDataset) and hasattr(dataset, "__getitem__")


def shares_out(torch, dataset, depth=4):
    """Whether an iterable data set asks in which of a loader's processes it is read, to yield only that one's part: as
    PyTorch's documentation has it, and streams of Hugging Face's datasets do. So does one that holds such a one, or has
    a stage that asks, as WebDataset's split_by_worker.
    """
    if any(_asks(function) for kind in type(dataset).__mro__ for function in vars(kind).values()):
        return True
    held = list(vars(dataset).values()) if depth else []
    held += [each for stages in held if isinstance(stages, (list, tuple)) for each in stages[:50]]
    return any(_asks(each) or isinstance(each, torch.utils.data.IterableDataset) and shares_out(torch, each, depth - 1)
               for each in held)


def _asks(function, depth=2):
    """Whether a function, or one that it names, of its module or of one that this has imported, asks."""
    code = getattr(function, "__code__", None)
    if not hasattr(code, "co_names"):
        return False
    names = set(_names_in(code))
    if "get_worker_info" in names:
        return True
    known = getattr(function, "__globals__", {})
    found = [known[name] for name in names if name in known]
    found += [vars(module)[name] for module in found if isinstance(module, types.ModuleType) for name in names
              if name in vars(module)]
    return depth > 0 and any(_asks(each, depth - 1) for each in found if isinstance(each, types.FunctionType)
                             and not str(each.__module__).startswith("torch."))


def _names_in(code):
    """Of all that a function names: globals, attributes, and those of the functions inside it."""
    yield from code.co_names
    for inner in code.co_consts:
        if hasattr(inner, "co_names"):
            yield from _names_in(inner)


def can_have_processes(torch, dataset):
    return is_map_style(torch, dataset) or shares_out(torch, dataset)


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


def _each_class(torch, treat):
    """treat(DataLoader), and likewise torchdata's StatefulDataLoader when it is defined: it is derived from DataLoader,
    and repeats its constructor and the making of its iterators instead of calling them.
    """
    base = torch.utils.data.DataLoader
    treat(base)
    before = base.__dict__.get("__init_subclass__")

    def __init_subclass__(cls, **named):
        if before:
            before.__get__(None, cls)(**named)
        else:
            super(base, cls).__init_subclass__(**named)
        if cls.__module__.startswith(STATEFUL) and "__init__" in vars(cls):
            treat(cls)

    base.__init_subclass__ = classmethod(__init_subclass__)


def _patch(torch, loader_class):
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


class Loaders(object):
    """The loaders of one process. `training` is told of backwards and steps, and knows the recorder once there is one."""

    def __init__(self, training):
        self.torch, self.session, self.training = training.torch, training.session, training
        self.closely = bool(self.session.report.path)  # whether levers shall be judged
        self.seen = self.session.report.seen.loaders
        self.known = weakref.WeakKeyDictionary()  # loader: what levers.Loader says of it
        self.asked_for = False  # a batch, now
        self.told = None        # the recorder, where it shall know
        self.asking = None      # what is known of the loader that was asked last
        self.waiting = []       # those whose batch no backward pass has followed yet
        self.first = True       # until the end of the first step
        self.batch, self.giver = None, None  # that came last for it, and what gave it
        self.batches = 0        # that came since it, or since the last event behind it
        self.exhausted = False  # a loader, since the last step
        self.begun = self.begun_cpu = 0.0  # when the first batch of an epoch was asked for
        self.evaluating = False
        self.last_yielded = 0   # batches of the iterator that gave the last one
        self.ends = self.session.ends
        self.in_rounds = set()  # classes of loaders that may draw all epochs from one iterator
        self.drawn = None       # batches of an epoch of such a loader, while it is asked for one more

    def install(self):
        data, session = self.torch.utils.data, self.session
        # Not the iterator's own __init__: what that warns of would name this file.
        makes = "_get_iterator" if hasattr(data.DataLoader, "_get_iterator") else "__iter__"

        def hook_in(kind):
            hook(session, kind, "__init__", lambda arguments, named: arguments[0], self.constructed)
            hook(session, kind, makes, self.begins, self.began)

        _each_class(self.torch, hook_in)
        hook(session, data.dataloader._BaseDataLoaderIter, "__next__", self.asks, self.came, failed=self.failed)
        if self.closely:
            hook(session, data._utils.fetch._MapDatasetFetcher, "fetch", self.fetches, self.fetched)

    def of(self, loader):
        known = self.known.get(loader)
        if known is None:
            known = self.known[loader] = _described(self.torch, loader, self.closely)
            if len(self.seen) < MOST_SEEN:
                self.seen.append(known)
        return known

    def constructed(self, loader, _):
        if self.torch.utils.data.get_worker_info() is None:
            known = self.of(loader)
            if self.ends:
                _measure(known, loader, loader.batch_sampler)  # a class of its own may not know its length yet
                known.cut = self.ends.cut(known, loader)
                if known.cut:
                    self.look_for_rounds(class_that_defines(type(loader), "__iter__"))

    def begins(self, arguments, named):
        at = time.monotonic()
        loader = self.training.data_begins(arguments, named)
        known = self.of(loader)
        if known.kind == "map":  # asked for its length, an iterable one would warn where it gives more
            _measure(known, loader)
        if self.closely and self.first and known.loop is None:
            known.loop = loops.of_training(sys._getframe(1))
        return known, at  # for many a loader is gone as soon as its iterator is made

    def began(self, token, iterator):
        known, at = token
        iterator._nocturne_loader = known
        iterator._nocturne_making = time.monotonic() - at

    def made_by_itself(self, iterator):
        """What is known of the loader of an iterator that no DataLoader made: of fastai's, which no lever changes."""
        loader = getattr(getattr(iterator, "_dataset", None), "d", None)
        if _length(loader) is None or not hasattr(loader, "bs"):
            return None
        known = self.known.get(loader)
        if known is None:
            # Without a number of examples nobody asks for its epochs to be cut, which they are not.
            known = self.known[loader] = levers.Loader("fastai", loader.bs, batches=len(loader))
            self.session.note(FASTAI)
            if self.closely and self.first:
                known.loop = loops.of_training(sys._getframe(2))
        return known

    # --- epochs of a loader whose one iterator never ends, as those of timm and Ultralytics -----------------------------

    def look_for_rounds(self, kind):
        if kind not in self.in_rounds and not kind.__module__.startswith(("torch.", STATEFUL)):
            self.in_rounds.add(kind)
            hook(self.session, kind, "__iter__", self.round_asked, self.round_begins)

    def round_asked(self, arguments, named):
        """What is known of a loader in front of whose batch sampler its class has put one that begins it again and again."""
        known = self.known.get(arguments[0])
        return known if known and known.cut and arguments[0].batch_sampler is not known.cut else None

    def round_begins(self, known, batches):
        known.cut.begins_round(sys._getframe(1))
        return (self.round(known, iter(batches), self.session.guarded(self.round_ended)),)

    def round(self, known, batches, ended):
        cut, given = known.cut, 0
        while not cut.cuts or given < cut.most:
            self.drawn = given
            try:
                batch = next(batches)
            except StopIteration:
                break
            finally:
                self.drawn = None
            given += 1
            if cut.cuts:
                cut.given = given
            yield batch
        ended(known)

    def round_ended(self, known):
        if self.session.listening:
            self.asking, self.told = known, self.recorder()
            if self.told:
                self.told.lap("other")
            self.exhaust()

    # --- a batch ----------------------------------------------------------------------------------------------------

    def asks(self, arguments, named):
        if self.asked_for or not self.session.listening:
            return None
        iterator = arguments[0]
        if not hasattr(iterator, "_nocturne_loader"):
            iterator._nocturne_loader = self.made_by_itself(iterator)
        known = self.asking = iterator._nocturne_loader
        grad = self.torch.is_grad_enabled()
        if not grad or len(self.waiting) > MOST_AHEAD:
            self.evaluates(known)  # no backward pass can follow, or none has
        recorder = self.told = self.recorder()
        begins = not (getattr(iterator, "_num_yielded", 1) if self.drawn is None else self.drawn)
        if known is not None and known.cut and grad and begins:
            self.exhausted = self.ends.asked(known) or self.exhausted
        if recorder:
            if self.evaluating and grad:
                recorder.epoch()
            self.evaluating = not grad
            recorder.lap("other")
            if begins:
                self.begun, self.begun_cpu = recorder.lapped, time.process_time()
        elif self.first:
            self.begun = time.monotonic()
        self.asked_for = True
        return iterator

    def evaluates(self, known):
        if known is not None and known.training is None:
            known.training = False
            self.waiting = [each for each in self.waiting if each is not known]

    def recorder(self):
        recorder = self.training.recorder
        if recorder and get_ident() != self.training.thread:
            self.session.note("batches are fetched by another thread: epochs and waiting for data are not known")
            return None
        return recorder

    def failed(self, iterator, error):
        self.asked_for = False
        if isinstance(error, StopIteration):
            self.exhaust()

    def exhaust(self):
        """Whoever was asked has no more batches."""
        if any(each is self.asking for each in self.waiting):
            self.evaluates(self.asking)  # no backward pass has followed any of its batches
        self.exhausted = True
        if self.told:
            if self.asking is not None:
                self.asking.ending = time.monotonic() - self.told.lapped
                # Ignite asks for one more at the beginning of the next epoch: this one's end began with its last step.
                if self.ends and not self.ends.changed and self.asking.training and self.told.steps >= 0:
                    self.ends.since = self.told.last, self.told.steps
            self.told.epoch()

    def came(self, iterator, batch):
        self.asked_for = False
        known = self.asking
        if known is not None:
            if known.training is None:
                self.waiting.append(known)
            if known.batch_device is None:
                known.batch_device = _device(self.torch, batch) or "cpu"
                if known.batch_device != "cpu":
                    known.unshareable = "the data set makes tensors on the GPU"
        if self.torch.is_grad_enabled():
            self.batches += 1
            if self.first:
                self.batch, self.giver = batch, known
        recorder, yielded = self.told, getattr(iterator, "_num_yielded", 0) if self.drawn is None else self.drawn + 1
        if not recorder:
            if self.first and yielded == 1 and known is not None and known.workers:
                making, iterator._nocturne_making = iterator._nocturne_making, 0.0
                if not known.persistent:
                    known.start = making + time.monotonic() - self.begun
            return
        recorder.lap("data")
        # A new iterator whose predecessor gave one batch and was left is next(iter(loader)): no epoch.
        if yielded == 1 and (self.exhausted or self.last_yielded > 1):
            alone = not getattr(iterator, "_num_workers", 0)
            waited = recorder.lapped - self.begun
            recorder.epoch(waited if alone else 0.0, time.process_time() - self.begun_cpu if alone else 0.0)
            start = known.ending + getattr(iterator, "_nocturne_making", 0.0) + waited if known is not None else 0.0
            # Where batches are counted nobody has asked the evaluation's loader for more than it has, and what is not
            # exhausted before the next backward pass counts as trained on.
            trains = known is not None and known.training and (known.cut or self.ends.counts is None)
            if not alone and trains:
                recorder.epoch_started(start)
                known.ending = iterator._nocturne_making = 0.0  # one that stays is made once
            if self.ends.since and trains:
                self.epoch_ended(known, recorder, waited if alone else start)
            self.exhausted = False
        elif known is not None and known.cut and known.cut.cuts and yielded == known.cut.before + 1:
            self.ends.last_comes(recorder)
        self.last_yielded = yielded

    def epoch_ended(self, known, recorder, start):
        """The first batch behind an epoch's end has come. `start`: seconds that were for it, and are told as such."""
        (since, steps), self.ends.since = self.ends.since, None
        more = recorder.steps - steps  # of the epoch, whose batches were fetched ahead
        if known.cut and self.ends.told < self.ends.ended:
            more += known.cut.part
        self.ends.tell(recorder, recorder.lapped - since - start - more * (recorder.step_seconds() or 0.0))

    def fetches(self, arguments, named):
        """Returns the random streams' states where the fetch that follows is to be looked at."""
        known = self.asking
        if known is None or known.draws or known.fetches >= FETCHES_WATCHED or known.workers:
            return None
        known.fetches += 1
        return _random_states(self.torch)

    def fetched(self, states, batch):
        self.asking.draws = _random_states(self.torch) != states

    # --- what Training tells ----------------------------------------------------------------------------------------

    def backward(self):
        """A backward pass begins."""
        for known in self.waiting:
            known.training = True
        self.waiting = []

    def first_step(self):
        """Returns what is known of the loader of the training's batches, how many have come, and the last one."""
        found = self.giver, self.batches, self.batch
        self.first, self.batch, self.giver, self.batches = False, None, None, 0
        return found


def _described(torch, loader, closely):
    """`closely`: with what levers ask, which takes longer."""
    dataset, batches = loader.dataset, loader.batch_sampler
    known = levers.Loader("map" if is_map_style(torch, dataset) else "iterable",
                          loader.batch_size or getattr(batches, "batch_size", None), loader.num_workers,
                          bool(loader.pin_memory), bool(getattr(loader, "persistent_workers", False)),
                          getattr(loader, "prefetch_factor", None), None, None, None, type(dataset).__name__)
    if closely:
        known.shared_out = known.kind == "iterable" and shares_out(torch, dataset)
        known.plain = type(batches) is torch.utils.data.BatchSampler or (
            type(batches).__name__ == "BatchSampler" and type(batches).__module__.startswith(STATEFUL))
        known.random_order = known.kind == "map" and draws_at_random(
            torch, {"batch_sampler": batches} if batches is not None else {"sampler": loader.sampler})
        if not loader.num_workers:
            known.unshareable = _unshareable(torch, loader) if known.can_have_processes else None
            known.draws = _holds_generator(dataset)
    return known


def _measure(known, loader, counted=None):
    """`counted`: what knows how many batches there are; None: the loader."""
    known.batches = _length(loader if counted is None else counted)
    known.examples = _length(loader.sampler if loader.batch_sampler is None or known.batch else loader.dataset)
    if known.batches and loader.drop_last and known.batch:
        known.examples = known.batches * known.batch


def _length(sized):
    try:
        return len(sized)
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
