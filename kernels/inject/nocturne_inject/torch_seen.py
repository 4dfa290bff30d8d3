"""What a run of an unchanged PyTorch script shows to the levers: `seen` of levers/*.py.

    device              "cpu" or "cuda": where the parameters of the called modules are
    framework_version   "2.15.0"
    cores, cpu_flags    cores that this process may use; instruction sets, as /proc/cpuinfo names them
    cuda_capability     (9, 0); None without a GPU
    cudnn_tf32          whether cuDNN's convolutions may use TF32 now
    sets                what the script sets itself: "autocast", "torch.compile", "set_num_threads",
                        "set_num_interop_threads", "set_float32_matmul_precision", "cudnn.benchmark",
                        "cudnn.deterministic", "tf32"
    models              one dictionary for each outermost module (outermost.py) that was called
    loaders             one for each DataLoader that was constructed
    optimizers          one for each optimizer
    absolute_schedule   who sets learning rates that no factor of ours would reach ("OneCycleLR"); None: nobody

A Seen puts its hooks in when it is made, right after the framework's import; it changes nothing of the training.
"""

import functools
import multiprocessing
import os
import pickle
import random
import sys
import weakref

from . import loader_arguments, outermost

FETCHES_WATCHED = 3  # of a loader, for random draws
# Modules of objects that break, or read wrong data, where processes share them.
OPEN_FILES = {"h5py", "lmdb", "sqlite3", "tables", "_io", "zipfile", "tarfile"}


class Seen(object):
    def __init__(self, torch):
        self.torch = torch
        self.framework_version = torch.__version__.split("+")[0]
        self.cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.cpu_flags = _cpu_flags()
        self.models, self.loaders, self.optimizers = [], [], []
        self.absolute_schedule = None
        self._sets = set()
        self._flags = _flags(torch)
        self._models_seen = weakref.WeakSet()
        self._loader = None  # the dictionary of the loader that fetches now
        self._waiting = []   # those of loaders whose batch no backward pass has followed yet
        self._scheduled = weakref.WeakSet()
        self._rates = weakref.WeakKeyDictionary()  # optimizer: learning rates at its first step
        outermost.add(torch, 30, self._model_called)
        self._watch_settings()
        self._watch_loaders()
        self._watch_optimizers()

    @property
    def device(self):
        devices = [model["device"] for model in self.models]
        return "cuda" if "cuda" in devices else devices[0] if devices else "cpu"

    @property
    def cuda_capability(self):
        return self.torch.cuda.get_device_capability() if self.device == "cuda" else None

    @property
    def cudnn_tf32(self):
        return self._flags["tf32"][0]

    @property
    def sets(self):
        now = _flags(self.torch)
        return self._sets | {name for name, value in self._flags.items() if now[name] != value}

    # Modules

    def _model_called(self, module, args, kwargs, proceed):
        if module not in self._models_seen:
            self._models_seen.add(module)
            self.models.append(_described(self.torch, module))
        return proceed(args, kwargs)

    # Settings

    def _watch_settings(self):
        torch = self.torch
        for name in ("set_num_threads", "set_num_interop_threads", "set_float32_matmul_precision"):
            _before(torch, name, lambda *_, name=name, **__: self._sets.add(name))
        if hasattr(torch, "compile"):
            _before(torch, "compile", lambda *_, **__: self._sets.add("torch.compile"))
        _before(torch.autocast, "__enter__", self._autocast_entered)

    def _autocast_entered(self, region):
        if getattr(region, "_enabled", True):
            self._sets.add("autocast")

    # Loaders

    def _watch_loaders(self):
        data = self.torch.utils.data
        records = weakref.WeakKeyDictionary()
        iterator_class = data.dataloader._BaseDataLoaderIter

        def constructed(loader, *args, **kwargs):
            if data.get_worker_info() is None:
                records[loader] = self._described_loader(loader)
                self.loaders.append(records[loader])

        def iterated(iterator, loader, *args, **kwargs):
            iterator._nocturne_seen = records.get(loader)

        _after(data.DataLoader, "__init__", constructed)
        _before(iterator_class, "__init__", iterated)
        self._watch_batches(iterator_class)
        self._watch_draws(data._utils.fetch._MapDatasetFetcher)
        _before(self.torch.autograd, "backward", self._backward)

    def _described_loader(self, loader):
        torch = self.torch
        dataset = loader.dataset
        batch_sampler = type(loader.batch_sampler) if loader.batch_sampler is not None else None
        plain = batch_sampler is torch.utils.data.BatchSampler
        arguments = {"sampler": loader.sampler, "batch_sampler": loader.batch_sampler if loader.batch_size is None else None}
        is_map = loader_arguments.is_map_style(torch, dataset)
        return {
            "kind": "map" if is_map else "iterable",
            "examples": len(dataset) if is_map and hasattr(dataset, "__len__") else 0,
            "batch_size": loader.batch_sampler.batch_size if plain else None,
            "num_workers": loader.num_workers,
            "pin_memory": bool(loader.pin_memory),
            "persistent_workers": bool(getattr(loader, "persistent_workers", False)),
            "random_order": is_map and loader_arguments.draws_at_random(
                torch, {"sampler": arguments["batch_sampler"].sampler} if plain and arguments["batch_sampler"] else arguments),
            "unshareable": _unshareable(torch, loader) if is_map else None,
            "draws": None if loader.num_workers else _holds_generator(dataset),  # None: what processes draw is not seen
            "batch_device": None,
            "training": None,  # None: no batch was taken, or it is not known yet
            "fetches": 0,
        }

    def _watch_batches(self, iterator_class):
        original = iterator_class.__next__

        @functools.wraps(original)
        def __next__(iterator):
            loader = getattr(iterator, "_nocturne_seen", None)
            if loader is None:
                return original(iterator)
            self._asked(loader)
            self._loader = loader
            try:
                batch = original(iterator)
            finally:
                self._loader = None
            self._waiting.append(loader)
            if loader["batch_device"] is None:
                loader["batch_device"] = _device(self.torch, batch) or "cpu"
                if loader["batch_device"] != "cpu":
                    loader["unshareable"] = "the data set makes tensors on the GPU"
            return batch

        iterator_class.__next__ = __next__

    def _asked(self, loader):
        """A loader whose last batch no backward pass has followed, or that is asked where gradients are off, evaluates."""
        waited = any(each is loader for each in self._waiting)
        if (waited or not self.torch.is_grad_enabled()) and loader["training"] is None:
            loader["training"] = False
        self._waiting = [each for each in self._waiting if each is not loader]

    def _backward(self, *args, **kwargs):
        for loader in self._waiting:
            if loader["training"] is None:
                loader["training"] = True
        self._waiting = []

    def _watch_draws(self, fetcher_class):
        original = fetcher_class.fetch

        @functools.wraps(original)
        def fetch(fetcher, index):
            loader = self._loader
            if loader is None or loader["draws"] or loader["fetches"] >= FETCHES_WATCHED or loader["num_workers"]:
                return original(fetcher, index)
            loader["fetches"] += 1
            before = _random_states(self.torch)
            batch = original(fetcher, index)
            loader["draws"] = _random_states(self.torch) != before
            return batch

        fetcher_class.fetch = fetch

    # Optimizers

    def _watch_optimizers(self):
        optim = self.torch.optim
        scheduler = getattr(optim.lr_scheduler, "LRScheduler", None) or optim.lr_scheduler._LRScheduler
        _after(optim.Optimizer, "__init__", self._optimizer_constructed)
        _before(scheduler, "__init__", self._scheduler_constructed)
        for name in ("OneCycleLR", "CyclicLR"):
            _before(getattr(optim.lr_scheduler, name), "__init__", functools.partial(self._absolute, name))
        sys.modules[optim.Optimizer.__module__].register_optimizer_step_pre_hook(self._before_step)

    def _optimizer_constructed(self, optimizer, params, defaults):
        torch = self.torch
        name = type(optimizer).__name__
        given = {choice for choice in ("fused", "foreach") if defaults.get(choice) is not None}
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self.optimizers.append({
            "class": name if type(optimizer) is getattr(torch.optim, name, None) else "%s.%s" % (type(optimizer).__module__, name),
            "given": given | ({"differentiable"} if defaults.get("differentiable") else set()),
            "floating": all(parameter.is_floating_point() for parameter in parameters),
        })

    def _scheduler_constructed(self, scheduler, optimizer, *args, **kwargs):
        self._scheduled.add(optimizer)

    def _absolute(self, name, *args, **kwargs):
        self.absolute_schedule = name

    def _before_step(self, optimizer, args, kwargs):
        if optimizer in self._scheduled or self.absolute_schedule:
            return
        rates = [group.get("lr") for group in optimizer.param_groups]
        if all(isinstance(rate, (int, float)) for rate in rates) and self._rates.setdefault(optimizer, rates) != rates:
            self.absolute_schedule = "the script"


def _before(owner, name, watch):
    """Calls watch() with the arguments of owner.name() before each of its calls."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def watched(*args, **kwargs):
        watch(*args, **kwargs)
        return original(*args, **kwargs)

    setattr(owner, name, watched)


def _after(owner, name, watch):
    original = getattr(owner, name)

    @functools.wraps(original)
    def watched(*args, **kwargs):
        result = original(*args, **kwargs)
        watch(*args, **kwargs)
        return result

    setattr(owner, name, watched)


def _described(torch, module):
    nn = torch.nn
    parts = list(module.modules())
    parameters = list(module.parameters())
    images = [each for each in parameters if each.dim() == 4 and each.shape[1] > 1 and each.shape[2] * each.shape[3] > 1]
    return {
        "class": type(module).__name__,
        "device": parameters[0].device.type,
        "dtypes": sorted({str(each.dtype).replace("torch.", "") for each in parameters}),
        "conv2d": any(isinstance(each, (nn.Conv2d, nn.ConvTranspose2d)) for each in parts),
        "channels_last": any(each.is_contiguous(memory_format=torch.channels_last) for each in images),
        "dropout": any(isinstance(each, nn.modules.dropout._DropoutNd) or getattr(each, "dropout", 0) for each in parts),
        "sparse": any(getattr(each, "sparse", False) is True for each in parts),
        "scripted": any(isinstance(each, torch.jit.ScriptModule) for each in parts),
        "compiled": any(outermost.is_compiled(torch, each) for each in parts),
    }


def _flags(torch):
    cudnn = torch.backends.cudnn
    return {"cudnn.benchmark": cudnn.benchmark, "cudnn.deterministic": cudnn.deterministic,
            "tf32": (cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32)}


def _cpu_flags():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()


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


def _holds_generator(dataset):
    """True: examples may be drawn from a stream of the data set's own; False: none was found."""
    held = list(getattr(dataset, "__dict__", {}).values())
    return any(type(each).__name__ in ("Generator", "RandomState", "Random") for each in held)


def _unshareable(torch, loader):
    """Why a loader's processes could not read its data set; None: nothing says so."""
    for each in getattr(loader.dataset, "__dict__", {}).values():
        if isinstance(each, torch.Tensor) and each.device.type != "cpu":
            return "the data set is on the GPU already"
        if isinstance(each, tuple) and each and _device(torch, each) not in (None, "cpu"):
            return "the data set is on the GPU already"
        if type(each).__module__.split(".")[0] in OPEN_FILES and not type(each).__name__.startswith(("BytesIO", "StringIO")):
            return "the data set holds an open file (%s), which processes cannot share" % type(each).__module__.split(".")[0]
    context = loader.multiprocessing_context
    # get_start_method() without allow_none would settle what the script may still set.
    method = context.get_start_method() if context else multiprocessing.get_start_method(allow_none=True)
    if (method or multiprocessing.get_all_start_methods()[0]) == "fork":
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
