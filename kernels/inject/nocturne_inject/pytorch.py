"""PyTorch: an optimizer's step is an event, and the smallest period of their sequence a step.

Where no optimizer is used (a script that writes its own update), where a step takes over five seconds of several
backwards (LBFGS), or where optimizers step inside a backward, backwards are counted. Waiting for data, epochs and the
batch are DataLoader's. What a share of a step means, by the clock of the process that trains:

    data        in the DataLoader's __next__
    forward     from the batch's arrival, or the last update or backward, to the beginning of a backward: the model, the
                loss, zero_grad and moving the batch to its device
    backward    torch.autograd.backward, which Tensor.backward calls
    optimizer   Optimizer.step
    other       the rest, such as logging, clipping and schedulers

On a GPU these are times of launching; a sample as a whole waits for the device.
"""

import functools
import sys
import time
import weakref
from _thread import get_ident

from . import hide, levers
from .periods import Periods

SLOW_S = 5  # of a step with several backwards: from then on they are counted


def install(name, torch, session):
    session.install_levers("pytorch", torch)
    if session.environment.get("NOCTURNE_INJECT_LEARNING"):
        from . import learning
        session.learning = learning.Learning(torch, session)
        session.guarded(session.learning.install)()
    if session.timing:
        Training(torch, session).install()


def _first_tensor(torch, batch):
    for tensor in _tensors(torch, batch):
        return tensor
    return None


def _tensors(torch, batch, depth=0):
    if isinstance(batch, torch.Tensor):
        yield batch
    elif depth < 4 and isinstance(batch, dict):
        for each in batch.values():
            for tensor in _tensors(torch, each, depth + 1):
                yield tensor
    elif depth < 4 and isinstance(batch, (list, tuple)):
        for each in batch[:8]:
            for tensor in _tensors(torch, each, depth + 1):
                yield tensor


class Losses(object):
    """What the backwards of a step were called on. float() waits for the device and gives the one loss there is."""

    def __init__(self, training, tensors):
        self.training = training
        self.tensors = tensors

    def __float__(self):
        if self.training.cuda:
            self.training.torch.cuda.synchronize()
        if len(self.tensors) != 1:  # of several backwards nobody knows whether their losses are parts or the whole
            raise TypeError("no loss was seen")
        return float(self.tensors[0])


class Training(object):
    def __init__(self, torch, session):
        self.torch = torch
        self.session = session
        self.recorder = None
        self.cuda = False
        self.periods = Periods(lambda: session.note(
            "the optimizers' steps follow no pattern: each of them counts as a step"), self.awaited)
        self.optimizers = weakref.WeakValueDictionary()  # by id, those that were made and live
        self.unit = "optimizer step"
        self.in_backward = False
        self.backwards = 0            # since the last event
        self.some_backward = False
        self.first_backward_at = 0.0  # its end, the first since the last event
        self.group = set()            # optimizers that have stepped since the last backward
        self.merged = set()           # those that step behind another one, of the same backward
        self.optimizer_ends = 0
        self.unused = False           # backwards are counted because no optimizer had been made
        self.losses = []              # of the backwards since the last step
        self.told = 0                 # of them, those before the last event
        self.unscaled = None          # (scaled loss, loss) that a GradScaler has seen last
        self.thread = None            # that trains
        self.loader = self.batch = None  # of the batch that came last; the batch until its shapes are known
        self.loaders = {}             # {levers.Loader: trained with}
        self.fetched = self.asked = 0
        self.exhausted = False        # a loader, since the last step
        self.evaluating = False
        self.last_yielded = 0         # batches of the iterator that gave the last one
        self.shapes = None
        self.calls = set()

    def install(self):
        session = self.session
        session.report.look = self.look
        for each in (self.hook_backward, self.hook_optimizers, self.hook_scaler, self.hook_loaders, self.hook_calls):
            session.guarded(each)()

    def replace(self, owner, name, make):
        """owner.name becomes make(original), which looks like it. The compiler leaves it as it is."""
        original = getattr(owner, name)
        made = functools.wraps(original)(make(original))
        made._torchdynamo_disable = True
        setattr(owner, name, made)

    # --- hooks ------------------------------------------------------------------------------------------------------

    def hook_backward(self):
        begins, ended = self.session.guarded(self.backward_begins), self.session.guarded(self.backward_ended)

        def make(original):
            def backward(*arguments, **named):
                outermost = self.session.listening and not self.in_backward
                if outermost:
                    self.in_backward = True
                    begins(arguments, named)
                try:
                    result = original(*arguments, **named)
                except BaseException as error:
                    hide(error)
                    raise
                finally:
                    if outermost:
                        self.in_backward = False
                if outermost:
                    ended()
                return result
            return backward
        self.replace(self.torch.autograd, "backward", make)

    def hook_optimizers(self):
        optimizer = self.torch.optim.Optimizer
        begins, ended = self.session.guarded(self.optimizer_begins), self.session.guarded(self.optimizer_ended)

        def make(original):
            def __init__(made, *arguments, **named):
                try:
                    original(made, *arguments, **named)
                except BaseException as error:
                    hide(error)
                    raise
                self.optimizers[id(made)] = made
                if not hooked:
                    step_of(type(made))
            return __init__

        def step_of(kind):
            """Before version 2.0 there are no hooks."""
            if getattr(kind.step, "nocturne", False):
                return

            def make_step(original):
                def step(made, *arguments, **named):
                    before(made, arguments, named)
                    try:
                        result = original(made, *arguments, **named)
                    except BaseException as error:
                        hide(error)
                        raise
                    after(made, arguments, named)
                    return result
                step.nocturne = True
                return step
            self.replace(kind, "step", make_step)

        def before(made, arguments, named):
            if self.session.listening:
                begins(made)

        def after(made, arguments, named):
            if self.session.listening:
                ended(made)

        before._torchdynamo_disable = after._torchdynamo_disable = True
        hooks = sys.modules[optimizer.__module__]
        hooked = hasattr(hooks, "register_optimizer_step_post_hook")
        if hooked:
            hooks.register_optimizer_step_pre_hook(before)
            hooks.register_optimizer_step_post_hook(after)
        self.replace(optimizer, "__init__", make)

    def hook_scaler(self):
        scaler = getattr(getattr(self.torch, "amp", None), "GradScaler", None) or self.torch.cuda.amp.GradScaler
        scaled, skipped = self.session.guarded(self.loss_scaled), self.session.guarded(self.optimizer_ended)

        def make_step(original):
            def step(made, optimizer, *arguments, **named):
                ends = self.optimizer_ends
                try:
                    result = original(made, optimizer, *arguments, **named)
                except BaseException as error:
                    hide(error)
                    raise
                if self.session.listening and ends == self.optimizer_ends:
                    skipped(optimizer)
                return result
            return step

        def make_scale(original):
            def scale(made, outputs):
                try:
                    result = original(made, outputs)
                except BaseException as error:
                    hide(error)
                    raise
                scaled(result, outputs)
                return result
            return scale
        self.replace(scaler, "step", make_step)
        self.replace(scaler, "scale", make_scale)

    def hook_loaders(self):
        from torch.utils.data import dataloader
        asked, came = self.session.guarded(self.data_asked), self.session.guarded(self.data_came)
        ended = self.session.guarded(self.data_ended)
        known, told = self.session.guarded(self.loader_begins), self.session.guarded(self.loader_began)

        def make_iterator(original):
            def iterate(loader):
                facts = known(loader)
                try:
                    iterator = original(loader)
                except BaseException as error:
                    hide(error)
                    raise
                told(iterator, facts)
                return iterator
            return iterate

        def make_next(original):
            def __next__(iterator):
                outermost = self.session.listening and not self.asked
                if outermost:
                    asked(iterator)
                try:
                    batch = original(iterator)
                except StopIteration as error:
                    if outermost:
                        ended()
                    hide(error)
                    raise
                except BaseException as error:
                    hide(error)
                    raise
                finally:
                    begun, self.asked = self.asked, 0 if outermost else self.asked
                if outermost:
                    came(iterator, batch, begun)
                return batch
            return __next__
        # Not the iterator's own __init__: what that warns of would name this file.
        makes = "_get_iterator" if hasattr(dataloader.DataLoader, "_get_iterator") else "__iter__"
        self.replace(dataloader.DataLoader, makes, make_iterator)
        self.replace(dataloader._BaseDataLoaderIter, "__next__", make_next)

    def hook_calls(self):
        """What the script itself sets, which a lever must know of; only where a report is asked for."""
        if not self.session.report.path:
            return
        torch = self.torch

        def watch(owner, name, called):
            def make(original):
                def call(*arguments, **named):
                    self.calls.add(called)
                    try:
                        return original(*arguments, **named)
                    except BaseException as error:
                        hide(error)
                        raise
                return call
            if hasattr(owner, name):
                self.replace(owner, name, make)
        for name in ("set_num_threads", "set_num_interop_threads", "set_float32_matmul_precision", "compile",
                     "use_deterministic_algorithms"):
            watch(torch, name, name)
        watch(getattr(torch, "autocast", None) or torch.cuda.amp.autocast, "__enter__", "autocast")

    # --- what they tell ---------------------------------------------------------------------------------------------

    def backward_begins(self, arguments, named):
        loss = arguments[0] if arguments else named.get("tensors")
        if self.session.claimed is None:
            first = _first_tensor(self.torch, [loss])
            self.begin(first.device.type if first is not None else "cpu")
        if self.recorder:
            self.some_backward = True
            self.recorder.lap("forward")
            self.losses.append(self.loss_of(loss))

    def begin(self, device):
        session = self.session
        if not session.claim():
            return
        self.recorder, self.thread = session.recorder, get_ident()
        self.cuda = device == "cuda"
        session.report.seen.device = device
        self.recorder.facts["versions"]["torch"] = str(self.torch.__version__)
        if session.learning:
            session.learning.begin(list(self.optimizers.values()))

    def loss_of(self, loss):
        """Detached; None where it is not one number."""
        if isinstance(loss, (list, tuple)) and len(loss) == 1:
            loss = loss[0]
        if not isinstance(loss, self.torch.Tensor) or loss.numel() != 1:
            return None
        if self.unscaled and self.unscaled[0]() is loss:
            return self.unscaled[1]
        return loss.detach()

    def loss_scaled(self, result, outputs):
        if isinstance(result, self.torch.Tensor) and isinstance(outputs, self.torch.Tensor):
            self.unscaled = weakref.ref(result), outputs.detach()

    def backward_ended(self):
        if not self.recorder:
            return
        self.recorder.lap("backward")
        self.backwards += 1
        now = self.recorder.lapped
        if self.unit == "optimizer step" and not self.optimizers and not self.optimizer_ends:
            self.unused = True
            self.count_backwards("no optimizer of PyTorch is used: each backward counts as a step, and the update is other time")
        elif self.backwards == 1:
            self.first_backward_at = now
        elif self.unit == "optimizer step" and now - self.first_backward_at > SLOW_S:
            self.count_backwards("a step of the optimizer takes more than %d s and several backwards: each backward "
                                 "counts as a step" % SLOW_S)
        if self.unit == "backward":
            self.event("backward")

    def count_backwards(self, why):
        self.session.note(why)
        self.unit = "backward"
        self.periods.forget()
        self.recorder.epoch()

    def optimizer_begins(self, optimizer):
        if self.recorder and not self.in_backward:
            self.recorder.lap("other")

    def optimizer_ended(self, optimizer):
        self.optimizer_ends += 1
        if not self.recorder:
            return
        if self.in_backward:
            if self.unit != "backward":
                self.count_backwards("optimizers step inside a backward: each backward counts as a step")
            return
        self.recorder.lap("optimizer")
        if self.unused:  # one was made later
            self.unused, self.unit = False, "optimizer step"
            self.periods.forget()
        if self.unit == "backward":
            return
        key = id(optimizer)
        if self.backwards or not self.group or (key in self.group and not self.some_backward):
            self.group = {key}
            self.event(key)
        else:
            self.group.add(key)
            self.merged.add(key)

    def awaited(self):
        """The optimizers whose steps may be events."""
        return () if self.unit == "backward" else set(self.optimizers) - self.merged

    def event(self, key):
        """It may end a step; where it does, what passed since the last one is it."""
        undecided = self.periods.length is None
        ends = self.periods.event(key)
        self.backwards = 0
        if self.session.learning:
            self.session.learning.event(self.periods, self.losses[self.told:])
        self.told = len(self.losses)
        if not ends:
            return
        if undecided and self.recorder.steps >= 0:  # found anew: what passed meanwhile is no step
            self.recorder.epoch()
        else:
            if self.recorder.steps < 0:
                self.know_loader()
                self.session.guarded(self.session.report.offer)()
            self.recorder.step(Losses(self, self.losses if self.periods.regular and self.periods.length == 1 else []))
        self.losses, self.told = [], 0
        self.exhausted = False

    # --- data -------------------------------------------------------------------------------------------------------

    def loader_begins(self, loader):
        if self.session.learning:
            self.session.learning.seed()
        known = self.describe(loader)  # now: many a loader is gone as soon as its iterator is made
        self.loaders.setdefault(known, False)
        return known

    def loader_began(self, iterator, known):
        iterator._nocturne_loader = known

    def data_asked(self, iterator):
        self.asked, self.asked_cpu = time.monotonic(), 0.0
        recorder = self.recorder
        if not recorder:
            return
        if get_ident() != self.thread:
            self.session.note("batches are fetched by another thread: epochs and waiting for data are not known")
            return
        grad = self.torch.is_grad_enabled()
        if self.evaluating and grad:
            recorder.epoch()
        self.evaluating = not grad
        recorder.lap("other")
        if not getattr(iterator, "_num_yielded", 1):
            self.asked_cpu = time.process_time()

    def data_came(self, iterator, batch, begun):
        if self.shapes is None and self.torch.is_grad_enabled():
            self.fetched += 1
            self.loader = getattr(iterator, "_nocturne_loader", None)
            self.batch = batch
        recorder = self.recorder
        if not recorder or get_ident() != self.thread:
            return
        recorder.lap("data")
        yielded = getattr(iterator, "_num_yielded", 0)
        # A new iterator whose predecessor gave one batch and was left is next(iter(loader)): no epoch.
        if yielded == 1 and (self.exhausted or self.last_yielded > 1):
            alone = not getattr(iterator, "_num_workers", 0)
            recorder.epoch(recorder.lapped - begun if alone else 0.0,
                           time.process_time() - self.asked_cpu if alone else 0.0)
            self.exhausted = False
        self.last_yielded = yielded

    def data_ended(self):
        self.exhausted = True
        if self.recorder and get_ident() == self.thread:
            self.recorder.epoch()

    def know_loader(self):
        """At the end of the first step: the batch's loader, and how many batches a step takes."""
        known, facts = self.loader, self.recorder.facts
        self.shapes = tuple((tuple(each.shape), str(each.dtype).replace("torch.", ""))
                            for each in _tensors(self.torch, self.batch))
        self.batch = None
        if known is None:
            self.session.note("no DataLoader gave the batches: epochs and waiting for data are not known")
            return
        self.loaders[known] = True
        batch = known.batch or next((shape[0] for shape, _ in self.shapes if shape), None)
        events = max(1, len(self.periods.history))
        a_step = min(self.fetched, len(self.losses)) * (self.periods.length or 1) // events
        facts.update({name: value for name, value in (
            ("batch", batch and batch * max(1, a_step)), ("examples_per_epoch", known.examples),
            ("steps_per_epoch", known.batches and self.unit == "optimizer step" and -(-known.batches // max(1, a_step))))
            if value})

    def describe(self, loader):
        batch_sampler = getattr(loader, "batch_sampler", None)
        batch = loader.batch_size or getattr(batch_sampler, "batch_size", None)
        iterable = isinstance(loader.dataset, self.torch.utils.data.IterableDataset)
        batches = examples = None
        if not iterable:  # asked for its length, an iterable one would warn where it gives more
            try:
                batches = len(loader)
                examples = len(loader.sampler) if batch_sampler is None or batch else len(loader.dataset)
                if loader.drop_last and batch:
                    examples = batches * batch
            except (TypeError, NotImplementedError, AttributeError):
                pass
        return levers.Loader("iterable" if iterable else "map", batch, loader.num_workers, bool(loader.pin_memory),
                             bool(getattr(loader, "persistent_workers", False)),
                             getattr(loader, "prefetch_factor", None), batches, examples, False,
                             type(loader.dataset).__name__)

    # --- the report -------------------------------------------------------------------------------------------------

    def look(self, seen):
        torch, report = self.torch, self.session.report
        report.unit = self.unit if self.recorder else None
        report.events_per_step = self.periods.length
        seen.version = tuple(int(part) for part in seen.framework_version.split("+")[0].split(".")[:3] if part.isdigit())
        seen.threads, seen.interop_threads = torch.get_num_threads(), torch.get_num_interop_threads()
        seen.batch_shapes, seen.calls = self.shapes or (), frozenset(self.calls)
        if seen.device == "cuda":
            seen.device_name = torch.cuda.get_device_name()
            seen.capability = torch.cuda.get_device_capability()
        seen.loaders = [each._replace(training=trained) for each, trained in self.loaders.items()]
        seen.optimizers = [levers.Optimizer(type(each).__name__, dict(each.defaults), sum(
            parameter.numel() for group in each.param_groups for parameter in group["params"]))
            for each in list(self.optimizers.values())]
        seen.modules = [self.describe_module(each) for each in outermost(torch)]
        seen.parameter_types = sorted({str(parameter.dtype).replace("torch.", "")
                                       for each in seen.modules for parameter in each.module.parameters()})

    def describe_module(self, module):
        types = {}
        for each in module.modules():
            types[type(each).__name__] = types.get(type(each).__name__, 0) + 1
        compiled = hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
        return levers.Module(type(module).__name__, sum(each.numel() for each in module.parameters()), types, compiled,
                             module)


def outermost(torch):
    """The modules alive that own parameters and are part of no other, in no order."""
    import gc
    modules = [each for each in gc.get_objects() if issubclass(type(each), torch.nn.Module)]
    parts = {id(part) for each in modules for part in each.children()}
    return [each for each in modules if id(each) not in parts and next(each.parameters(), None) is not None]
