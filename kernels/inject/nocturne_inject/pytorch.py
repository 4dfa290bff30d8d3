"""PyTorch: an optimizer's step is an event, and the smallest period of their sequence a step.

Where no optimizer is used (a script that writes its own update), where a step takes over five seconds of several
backwards (LBFGS), or where optimizers step inside a backward, backwards are counted. Of the five seconds the first run
decides alone: later ones count what it counted. Waiting for data, epochs and the
batch are DataLoader's. What a share of a step means, by the clock of the process that trains:

    data        in the DataLoader's __next__
    forward     from the batch's arrival, or the last update or backward, to the beginning of a backward: the model, the
                loss, zero_grad and moving the batch to its device
    backward    torch.autograd.backward, which Tensor.backward calls
    optimizer   Optimizer.step
    other       the rest, such as logging, clipping and schedulers

On a GPU these are times of launching; a sample as a whole waits for the device.
"""

import os
import sys
import weakref
from _thread import get_ident

from . import levers
from .hooks import Events, class_that_defines, hook
from .loaders import Loaders

SLOW_S = 5  # of a step with several backwards: from then on they are counted
NO_OPTIMIZER = "no optimizer of PyTorch is used: each backward counts as a step, and the update is other time"


def install(name, torch, session):
    session.install_levers("pytorch", torch)
    if session.environment.get("NOCTURNE_INJECT_LEARNING"):
        from .learning.pytorch import PyTorch
        session.learn("pytorch", PyTorch(torch, session))
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


class Losses(list):
    """What the backwards of an event were called on. float() waits for the device and gives the one loss there is."""

    training = None  # the one there is

    def __float__(self):
        if self.training.cuda:
            self.training.torch.cuda.synchronize()
        loss = self.training.number(self[0]) if len(self) == 1 else None
        if loss is None:  # of several backwards nobody knows whether their losses are parts or the whole
            raise TypeError("no loss was seen")
        return float(loss)


class Training(Events):
    def __init__(self, torch, session):
        super(Training, self).__init__(session, "pytorch", self.awaited)
        Losses.training = self
        self.torch = torch
        self.cuda = False
        self.optimizers = weakref.WeakValueDictionary()  # by id, those that were made and live
        self.unit = "optimizer step"
        self.expected = session.environment.get("NOCTURNE_INJECT_STEP")  # what other runs counted; None: not known
        self.in_backward = False
        self.backwards = 0            # since the last event
        self.portion = None           # batches of the first step; None: not known
        self.backwards_in_all = 0
        self.some_backward = False
        self.first_backward_at = 0.0  # its end, the first since the last event
        self.group = set()            # optimizers that have stepped since the last backward
        self.merged = set()           # those that step behind another one, of the same backward
        self.optimizer_ends = 0
        self.unused = False           # backwards are counted because no optimizer had been made
        self.gathers = False          # or because several belong to an update, which takes long
        self.losses = Losses()        # of the backwards since the last event
        self.unscaled = None          # (scaled loss, loss) that a GradScaler has seen last
        self.thread = None            # that trains
        self.loaders = Loaders(self)
        self.shapes = ()              # of the first step's batch
        self.calls = set()

    def install(self):
        session = self.session
        session.report.looks["pytorch"] = self.look
        hook(session, self.torch.autograd, "backward", self.backward_begins, self.backward_ended,
             failed=self.backward_failed)
        for each in (self.hook_optimizers, self.hook_scaler, self.loaders.install, self.hook_calls):
            session.guarded(each)()

    def hook_optimizers(self):
        session, optimizer = self.session, self.torch.optim.Optimizer
        module = sys.modules[optimizer.__module__]
        made = self.optimizer_made
        if hasattr(module, "register_optimizer_step_post_hook"):
            for register, function in ((module.register_optimizer_step_pre_hook, self.optimizer_begins),
                                       (module.register_optimizer_step_post_hook, self.optimizer_ended)):
                told = session.guarded(function)
                told._torchdynamo_disable = True
                register(told)
        else:  # before version 2.0
            hooked = set()

            def made(token, result):
                self.optimizer_made(token, result)
                kind = class_that_defines(type(token), "step")
                if kind not in hooked:
                    hooked.add(kind)
                    hook(session, kind, "step", lambda arguments, named: (self.optimizer_begins(arguments[0]), arguments[0])[1],
                         lambda token, result: self.optimizer_ended(token))
        hook(session, optimizer, "__init__", lambda arguments, named: arguments[0], made)

    def hook_scaler(self):
        scaler = getattr(getattr(self.torch, "amp", None), "GradScaler", None) or self.torch.cuda.amp.GradScaler
        hook(self.session, scaler, "step",
             lambda arguments, named: (arguments[1] if len(arguments) > 1 else named["optimizer"], self.optimizer_ends),
             self.scaler_ended)
        hook(self.session, scaler, "scale",
             lambda arguments, named: (arguments[1] if len(arguments) > 1 else named["outputs"],), self.loss_scaled)

    def hook_calls(self):
        """What the script itself sets, which a lever must know of; only where a report is asked for."""
        if not self.session.report.path:
            return
        torch = self.torch
        for name in ("set_num_threads", "set_num_interop_threads", "set_float32_matmul_precision", "compile",
                     "use_deterministic_algorithms"):
            if hasattr(torch, name):
                hook(self.session, torch, name, lambda arguments, named, name=name: self.calls.add(name))
        if hasattr(torch, "load"):
            hook(self.session, torch, "load", self.checkpoint_read)
        # Recomputed checkpoints enter some of the regions that are switched off.
        hook(self.session, getattr(torch, "autocast", None) or torch.cuda.amp.autocast, "__enter__", lambda arguments, named:
             self.calls.add("autocast") if getattr(arguments[0], "_enabled", True) else None)

    def checkpoint_read(self, arguments, named):
        file = arguments[0] if arguments else named.get("f")
        if isinstance(file, (str, os.PathLike)) and not self.recorder:
            self.session.report.read.append(os.fsdecode(file))

    # --- what they tell ---------------------------------------------------------------------------------------------

    def backward_begins(self, arguments, named):
        if self.in_backward or not self.session.listening:
            return None
        loss = arguments[0] if arguments else named.get("tensors")
        if self.session.speaks is None:
            first = _first_tensor(self.torch, [loss])
            self.begin(first.device.type if first is not None else "cpu")
        if self.loaders.waiting:
            self.loaders.backward()
        if self.recorder:
            if self.learning:
                self.learning.look()
            self.some_backward = True
            self.recorder.lap("forward")
            if self.losses:  # until the next one it lives with its graph: few are asked for, and to detach each costs more
                self.losses[-1] = self.number(self.losses[-1])
            self.losses.append(loss if not self.unscaled or self.unscaled[0]() is not loss else self.unscaled[1])
        self.in_backward = True
        return True

    def backward_failed(self, token, error):
        self.in_backward = False

    def begin(self, device):
        session = self.session
        if not self.speaks(self.unit):
            return
        self.thread = get_ident()
        self.cuda = device == "cuda"
        session.report.seen.device = device
        self.recorder.facts["versions"]["torch"] = str(self.torch.__version__)
        if self.learning:
            self.learning.begin(list(self.optimizers.values()))

    def number(self, loss):
        """A loss, detached; None where it is not one number."""
        if isinstance(loss, (list, tuple)) and len(loss) == 1:
            loss = loss[0]
        return loss.detach() if isinstance(loss, self.torch.Tensor) and loss.numel() == 1 else None

    def loss_scaled(self, token, result):
        outputs, = token
        if isinstance(result, self.torch.Tensor) and isinstance(outputs, self.torch.Tensor):
            self.unscaled = weakref.ref(result), outputs.detach()

    def scaler_ended(self, token, result):
        optimizer, ends = token
        if ends == self.optimizer_ends:  # skipped
            self.optimizer_ended(optimizer)

    def backward_ended(self, token, result):
        self.in_backward = False
        recorder = self.recorder
        if not recorder:
            return
        recorder.lap("backward")
        self.backwards += 1
        self.backwards_in_all += 1
        now = recorder.lapped
        if self.unit == "optimizer step" and not self.optimizer_ends and not self.optimizers:
            self.unused = True
            self.count_backwards(NO_OPTIMIZER)
        elif self.backwards == 1:
            self.first_backward_at = now
        elif self.unit == "optimizer step" and self.expects_backwards(now - self.first_backward_at):
            self.gathers = True
            self.count_backwards("a step of the optimizer takes more than %d s and several backwards: each backward "
                                 "counts as a step" % SLOW_S)
        if self.unit == "backward":
            self.stepped("backward")

    def expects_backwards(self, seconds):
        """Whether several backwards of one step, so far in `seconds`, are counted: as other runs did, where that is known."""
        return self.expected == "backward" if self.expected else seconds > SLOW_S

    def count_backwards(self, why):
        if self.expected == "optimizer step" and not self.unused:
            self.recorder.refuse("failed", why + ", and steps of the optimizer were expected: another amount of work "
                                                 "cannot be compared")
        self.session.note(why)
        self.unit = "backward"
        self.periods.forget()
        self.recorder.epoch()

    def optimizer_made(self, optimizer, result):
        self.optimizers[id(optimizer)] = optimizer

    def optimizer_begins(self, optimizer, *_):
        if self.recorder and not self.in_backward and self.session.listening:
            self.recorder.lap("other")

    def optimizer_ended(self, optimizer, *_):
        if not self.session.listening:
            return
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
            self.session.notes.remove(NO_OPTIMIZER)
            self.periods.forget()
        if self.unit == "backward":
            return
        key = id(optimizer)
        if self.backwards or not self.group or (key in self.group and not self.some_backward):
            self.group = {key}
            self.stepped(key)
        else:
            self.group.add(key)
            self.merged.add(key)

    def awaited(self):
        """The optimizers whose steps may be events."""
        return () if self.unit == "backward" else set(self.optimizers) - self.merged

    def stepped(self, key):
        """An event; what passed since the last step is one, where it ends there."""
        losses, self.losses = self.losses, Losses()
        if self.portion:
            batches, self.loaders.batches = self.loaders.batches, 0
            self.portions = 1 if batches == self.portion else self.gathered(min(self.backwards, batches))
        self.backwards = 0
        if self.event(key, losses):
            self.loaders.exhausted = False

    def gathered(self, batches):
        """Portions of a step that trained on so many."""
        portions, left = divmod(batches, self.portion)
        if portions < 2 or left or self.periods.length != 1:
            return 1
        self.session.note("steps gather more batches than the first one did: what that one trained on counts as a step")
        return portions

    def happened(self, losses, count):
        self.learning.event(self.periods, [self.number(each) for each in losses], count)

    def first_step(self):
        known, came, batch = self.loaders.first_step()
        self.shapes = tuple((tuple(each.shape), str(each.dtype).replace("torch.", ""))
                            for each in _tensors(self.torch, batch))
        self.session.report.look_now()
        if known is not None and known.start:
            self.recorder.epoch_started(known.start)
        if known is None:
            self.session.note("no DataLoader gave the batches: epochs and waiting for data are not known")
            return
        counted = self.loaders.ends.batches_counted(sys._getframe(1))
        if counted and known.batches and counted < known.batches:
            self.session.report.loader_examples = known.examples
            known.batches, known.examples = counted, known.batch and counted * known.batch
        length = self.session.report.length
        length.epochs = length.epochs or known.loop
        examples = known.batch or next((shape[0] for shape, _ in self.shapes if shape), None)
        events = max(1, len(self.periods.history))
        a_step = self.portion = max(1, min(came, self.backwards_in_all) * (self.periods.length or 1) // events)
        self.recorder.facts.update({name: value for name, value in (
            ("batch", examples and examples * a_step), ("examples_per_epoch", known.examples),
            ("steps_per_epoch", known.batches and (self.unit == "optimizer step" or self.unused) and -(-known.batches // a_step)))
            if value})

    # --- the report -------------------------------------------------------------------------------------------------

    def look(self, seen):
        torch, report = self.torch, self.session.report
        report.unit = self.unit if self.recorder else None
        report.events_per_step = self.periods.length
        seen.version = tuple(int(part) for part in seen.framework_version.split("+")[0].split(".")[:3] if part.isdigit())
        seen.threads, seen.interop_threads = torch.get_num_threads(), torch.get_num_interop_threads()
        seen.batch_shapes, seen.calls, seen.gathers = self.shapes, frozenset(self.calls), self.gathers
        if seen.device == "cuda":
            seen.device_name = torch.cuda.get_device_name()
            seen.capability = torch.cuda.get_device_capability()
        optimizers = [levers.Optimizer(type(each).__name__, dict(each.defaults), sum(
            parameter.numel() for group in each.param_groups for parameter in group["params"]))
            for each in list(self.optimizers.values())]
        # At the script's end those of a function are no more.
        seen.optimizers = max(optimizers, seen.optimizers, key=len)
        seen.modules = max([described(torch, each) for each in outermost(torch)], seen.modules, key=len)
        seen.parameter_types = sorted({dtype for each in seen.modules for dtype in each.dtypes})


def described(torch, module):
    types, classes = {}, set()
    parts = list(module.modules())
    for each in parts:
        types[type(each).__name__] = types.get(type(each).__name__, 0) + 1
        classes.update(kind.__name__ for kind in type(each).__mro__)
    weights = list(module.parameters())
    compiled = hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
    known = levers.Module(type(module).__name__, sum(each.numel() for each in weights), types, compiled)
    known.classes = classes
    known.dtypes = {str(each.dtype).replace("torch.", "") for each in weights}
    known.sparse = any(getattr(each, "sparse", False) is True for each in parts)
    known.channels_last = any(each.dim() == 4 and not each.is_contiguous() and
                              each.is_contiguous(memory_format=torch.channels_last) for each in weights)
    return known


def outermost(torch):
    """The modules alive that own parameters and are part of no other, in no order."""
    import gc
    modules = [each for each in gc.get_objects() if issubclass(type(each), torch.nn.Module)]
    parts = {id(part) for each in modules for part in each.children()}
    return [each for each in modules if id(each) not in parts and next(each.parameters(), None) is not None]
