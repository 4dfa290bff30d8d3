"""PyTorch's levers on small trainings: each acts where it applies, says why where it does not, and breaks nothing.

Runs in the Python that pytorch_test.py finds where this one has no PyTorch. Levers change classes of the framework, so
each test runs in a process of its own, forked from one that has imported it.
"""

import collections
import copy
import dataclasses
import functools
import gc
import importlib
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import traceback
import unittest
import warnings
from unittest import mock

try:
    import torch
except ImportError:
    from pytorch_test import PYTHON
    if not PYTHON:
        print("no PyTorch here, and none in an installed environment")
        sys.exit(77)
    os.execv(PYTHON, [PYTHON] + sys.argv)

from torch import nn
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "kernels" / "inject"))
from nocturne_inject import levers, loaders, pytorch  # noqa: E402

LEVERS = sorted(path.stem for path in (ROOT / "kernels/inject/nocturne_inject/levers").glob("*.py")
                if path.stem != "__init__" and 'FRAMEWORK = "pytorch"' in path.read_text())


LONGEST_S = 150  # of a test; the slowest compiles, 10 s on an idle machine


def lever(name):
    return importlib.import_module("nocturne_inject.levers." + name)


def put_in(**chosen):
    for name, value in chosen.items():
        lever(name).install(value, torch)


def seen():
    import nocturne_inject
    return nocturne_inject._session.report.seen


def watch():
    """Returns a function that returns the report of what has happened since."""
    import nocturne_inject
    os.environ["NOCTURNE_INJECT_REPORT"] = os.devnull
    nocturne_inject.imported("torch", torch, lambda: None)
    return nocturne_inject._session.report.content


def in_a_process(test):
    """Runs a test in a forked child; its failure is this one's."""

    @functools.wraps(test)
    def run(self):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            status = 1
            signal.alarm(LONGEST_S)  # ends it, and its status says so
            try:
                os.close(reader)
                torch.manual_seed(1)
                torch.set_num_threads(1)
                test(self)
                status = 0
            except unittest.SkipTest as skip:
                os.write(writer, str(skip).encode())
                status = 2
            except BaseException:
                os.write(writer, traceback.format_exc()[-4000:].encode())
            finally:
                os._exit(status)
        os.close(writer)
        with open(reader, "rb") as pipe:
            said = pipe.read().decode()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 2:
            self.skipTest(said)
        self.assertEqual(status, 0, said)

    return run


class Classifier(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.second = nn.Conv2d(8, 8, 3)
        self.dropout = nn.Dropout(dropout)
        self.last = nn.Linear(8 * 4 * 4, 10)

    def forward(self, images):
        hidden = functional.relu(self.second(functional.relu(self.first(images))))
        return self.last(self.dropout(torch.flatten(hidden, 1)))


class Normalize(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor(0.5))

    def forward(self, images):
        return (images - self.mean) / 0.25


class Autoencoder(nn.Module):
    """Variational; decode() is called alone too."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(16, 8)
        self.decoder = nn.Linear(4, 16)

    def decode(self, code):
        return torch.sigmoid(self.decoder(code))

    def forward(self, values):
        mean, log_variance = self.encoder(values).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * torch.exp(log_variance / 2)
        return self.decode(code), mean, log_variance


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.recurrent = nn.LSTM(16, 16, batch_first=True)
        self.last = nn.Linear(16, 20)

    def forward(self, words, state):
        hidden, state = self.recurrent(self.embedding(words), state)
        return self.last(hidden), state


def scripted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        return torch.jit.script(nn.Linear(2, 2))


Images = collections.namedtuple("Images", "pixels labels")


def images(count=8):
    return Images(torch.randn(count, 3, 8, 8), torch.randint(0, 10, (count,)))


class Examples(torch.utils.data.Dataset):
    """Says of each example which process read it (0: the training's)."""

    def __init__(self, draw=None, count=64):
        self.draw = draw
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        worker = torch.utils.data.get_worker_info()
        if self.draw:
            self.draw()
        return torch.full((3, 8, 8), float(index)), (worker.id + 1 if worker else 0), index % 10


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(torch.arange(12.0))


class Shared(Stream):
    """What each of a loader's processes yields a part of."""

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        return iter(torch.arange(12.0)[info.id::info.num_workers] if info else torch.arange(12.0))


def part_of(items):
    info = torch.utils.data.get_worker_info()
    return items[info.id::info.num_workers] if info else items


def split_by_process(items):
    return part_of(items)


class Staged(Stream):
    """Whose stages share it out, in functions of their own."""

    def __init__(self, *stages):
        self.stages = list(stages)

    def __iter__(self):
        items = torch.arange(12.0)
        for stage in self.stages:
            items = stage(items)
        return iter(items)


class Around(Stream):
    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        return iter(self.inner)


def stateful_loader():
    """A class as torchdata's StatefulDataLoader: it repeats the constructor, the making of iterators and the batch sampler."""
    class BatchSampler(torch.utils.data.BatchSampler):
        __module__ = "torchdata.stateful_dataloader.sampler"

    class Iterator(torch.utils.data.dataloader._SingleProcessDataLoaderIter):
        def __next__(self):
            return super(Iterator, self).__next__()

    class StatefulDataLoader(torch.utils.data.DataLoader):
        __module__ = "torchdata.stateful_dataloader.stateful_dataloader"

        def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                     collate_fn=None, pin_memory=False, *, prefetch_factor=None, persistent_workers=False):
            like = torch.utils.data.DataLoader.__new__(torch.utils.data.DataLoader)
            plain_loader(like, dataset, batch_size, shuffle, num_workers=num_workers)
            for name, value in vars(like).items():
                object.__setattr__(self, name, value)
            object.__setattr__(self, "batch_sampler", BatchSampler(self.sampler, batch_size, False))

        def _get_iterator(self):
            return Iterator(self) if not self.num_workers else super(StatefulDataLoader, self)._get_iterator()

    return StatefulDataLoader


plain_loader = torch.utils.data.DataLoader.__init__  # before anything is put in


def train(model, optimizer=None, steps=3, data=None):
    """Returns the last output and the losses."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.01)
    data = data or images()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        output = model(data.pixels)
        loss = functional.cross_entropy(output, data.labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return output, losses


def dtypes_of_outputs(**modules):
    """A dictionary that fills with the dtypes that the modules' calls return."""
    found = {name: set() for name in modules}

    def note(name, module, inputs, output):
        found[name].add((output[0] if isinstance(output, tuple) else output).dtype)

    for name, module in modules.items():
        module.register_forward_hook(functools.partial(note, name))
    return found


def layout(model):
    return [(name, value.dtype, tuple(value.shape)) for name, value in model.state_dict().items()]


def loader(**changed):
    """What is known of a training's loader, unless something else is said."""
    known = levers.Loader("map", 64, 0, False, False, None, 100, 6400, True, "Examples")
    vars(known).update(dict(plain=True, random_order=True, draws=False, batch_device="cpu", fetches=3), **changed)
    return known


def facts(model=None, **changed):
    """What a run on a CPU with bf16 has seen of a classifier, unless something else is said."""
    seen = levers.Seen()
    known = dict(device="cpu", framework="pytorch", module=torch, version=(2, 15, 0), cpus=4, cpu_flags=frozenset(["avx512_bf16"]),
                 compiler="/usr/bin/g++", threads=4, interop_threads=4, parameter_types=["float32"],
                 modules=[pytorch.described(torch, model or Classifier())], loaders=[loader()],
                 optimizers=[levers.Optimizer("Adam", {"lr": 0.1, "fused": None, "foreach": None}, 1)])
    vars(seen).update(known, **changed)
    return seen


GPU = {"device": "cuda", "capability": (9, 0)}


class Lever(unittest.TestCase):
    def judged(self, name, **seen):
        return lever(name).values(facts(**seen))

    def offered(self, name, *values, **seen):
        self.assertEqual(self.judged(name, **seen), (["script"] + list(values), None))

    def refused(self, name, words, **seen):
        values, reason = self.judged(name, **seen)
        self.assertIsNone(values)
        self.assertIn(words, reason)


class Every(Lever):
    def test_has_what_the_registry_reads(self):
        self.assertEqual(len(LEVERS), 15)
        allowed = {"rounding", "precision", "random stream", "checkpoint"}
        for name in LEVERS:
            one = lever(name)
            self.assertEqual((one.NAME, one.FRAMEWORK), (name, "pytorch"))
            self.assertTrue(one.CHANGES in ("nothing", "what is learnt") or set(one.CHANGES.split(", ")) <= allowed, one.CHANGES)
            self.assertTrue(one.DESCRIPTION)

    @in_a_process  # the process that forks shall run nothing of TorchScript
    def test_offers_values_with_lines_or_says_why_not(self):
        torch.backends.cudnn.allow_tf32 = False
        self.addCleanup(setattr, torch.backends.cudnn, "allow_tf32", True)
        for name in LEVERS:
            offered = 0
            for situation in ({}, GPU, {"modules": [], "loaders": [], "optimizers": []}, {"model": scripted()}):
                values, reason = self.judged(name, **situation)
                self.assertEqual(values is None, reason is not None, name)
                if values:
                    offered += 1
                    self.assertEqual(values[0], "script")
                    for value in values[1:]:
                        self.assertTrue(lever(name).LINES[value], (name, value))
                else:
                    self.assertRegex(reason, r"^\w.*[^.]$")
            self.assertTrue(offered, name)

    @in_a_process
    def test_one_without_this_value_is_not_supported(self):
        for name in LEVERS:
            failed = levers.install("pytorch", torch, {"NOCTURNE_LEVER_" + name.upper(): "no"})
            self.assertEqual(failed, {name: ("unsupported", "it has no value 'no'")})

    @in_a_process
    def test_leaves_the_names_and_kinds_of_a_checkpoint(self):
        before = layout(Classifier(0.1))
        put_in(autocast="bf16", channels_last="true", optimizer="fused", threads="1", loader_workers="1",
               loader_prefetch="4", loader_persistent="true", matmul_precision="medium")
        model = Classifier(0.1)
        optimizer = torch.optim.Adam(model.parameters())
        loader = torch.utils.data.DataLoader(Examples(), batch_size=8, shuffle=True)
        for pixels, _, labels in loader:
            output, losses = train(model, optimizer, 1, Images(pixels, labels))
        self.assertEqual(output.dtype, torch.float32)
        self.assertTrue(all(loss == loss for loss in losses))
        self.assertEqual(layout(model), before)
        self.assertTrue(all(parameter.grad.dtype is torch.float32 for parameter in model.parameters()))
        for group in optimizer.state_dict()["param_groups"]:
            self.assertIsNone(group["fused"])


class Autocast(Lever):
    @in_a_process
    def test_the_model_computes_in_bf16_and_returns_float32(self):
        put_in(autocast="bf16")
        model = Classifier()
        found = dtypes_of_outputs(first=model.first, last=model.last)
        output, losses = train(model, steps=20)
        self.assertEqual(found, {"first": {torch.bfloat16}, "last": {torch.bfloat16}})
        self.assertEqual(output.dtype, torch.float32)
        self.assertLess(losses[-1], losses[0])
        self.assertFalse(torch.is_autocast_enabled("cpu"))

    @in_a_process
    def test_losses_stay_near_those_in_float32(self):
        model, data = Classifier(), images()
        _, plain = train(copy.deepcopy(model), data=data)
        put_in(autocast="bf16")
        _, cast = train(model, data=data)
        self.assertNotEqual(plain, cast)
        for one, other in zip(plain, cast):
            self.assertAlmostEqual(one, other, delta=0.01 * one)

    @in_a_process
    def test_a_gan_has_two_and_what_has_no_parameters_is_none(self):
        put_in(autocast="bf16")
        generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16))
        judge = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))
        normalize, criterion = Normalize(), nn.BCEWithLogitsLoss()
        inside = dtypes_of_outputs(made=generator[0], judged=judge[0], normalized=normalize, loss=criterion)
        optimizers = [torch.optim.Adam(each.parameters()) for each in (generator, judge)]
        for _ in range(2):
            made = generator(torch.randn(8, 4))
            self.assertEqual(made.dtype, torch.float32)
            real, fake = judge(normalize(torch.rand(8, 16))), judge(normalize(made.detach()))
            (criterion(real, torch.ones(8, 1)) + criterion(fake, torch.zeros(8, 1))).backward()
            optimizers[1].step()
            criterion(judge(normalize(made)), torch.ones(8, 1)).backward()
            optimizers[0].step()
        self.assertEqual(inside, {"made": {torch.bfloat16}, "judged": {torch.bfloat16},
                                  "normalized": {torch.float32}, "loss": {torch.float32}})

    @in_a_process
    def test_a_recurrent_model_takes_its_state_back(self):
        put_in(autocast="bf16")
        reduced = torch.backends.cpu.get_cpu_capability() == "AVX512"
        torch.backends.mkldnn.set_flags(reduced)  # without AVX512 oneDNN has no such layer, and PyTorch's own stays in float32
        model = Words()
        inside = dtypes_of_outputs(recurrent=model.recurrent)
        state = (torch.zeros(1, 2, 16), torch.zeros(1, 2, 16))
        for _ in range(3):
            state = tuple(each.detach() for each in state)
            output, state = model(torch.randint(0, 20, (2, 5)), state)
            output.sum().backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
        self.assertEqual(inside["recurrent"], {torch.bfloat16 if reduced else torch.float32})
        self.assertEqual({output.dtype, state[0].dtype, state[1].dtype}, {torch.float32})

    @in_a_process
    def test_a_tuple_and_a_method_other_than_forward(self):
        put_in(autocast="bf16")
        model = Autoencoder()
        inside = dtypes_of_outputs(decoder=model.decoder)
        values = torch.rand(8, 16)
        made, mean, log_variance = model(values)
        self.assertEqual({made.dtype, mean.dtype, log_variance.dtype}, {torch.float32})
        functional.binary_cross_entropy(made, values).backward()
        self.assertEqual(inside["decoder"], {torch.bfloat16})
        self.assertEqual(model.decode(torch.randn(2, 4)).dtype, torch.float32)

    @in_a_process
    def test_outputs_of_all_kinds_become_float32(self):
        put_in(autocast="bf16")

        @dataclasses.dataclass(frozen=True)
        class Answer:
            logits: torch.Tensor
            extra: dict

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def forward(self, values):
                cast = self.layer(values)
                self.untouched = [values, 1]
                return Answer(cast, {"list": [cast, "word"], "named": Images(cast, None), "same": self.untouched})

        model = Model()
        answer = model(torch.randn(2, 4))
        self.assertIsInstance(answer, Answer)
        found = [answer.logits, answer.extra["list"][0], answer.extra["named"].pixels]
        self.assertEqual({each.dtype for each in found}, {torch.float32})
        self.assertEqual(answer.extra["list"][1], "word")
        self.assertIs(answer.extra["same"], model.untouched)

    @in_a_process
    def test_a_recomputed_checkpoint_and_a_second_derivative(self):
        from torch.utils.checkpoint import checkpoint
        put_in(autocast="bf16")

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def forward(self, values):
                return checkpoint(self.layer, values, use_reentrant=False)

        model = Model()
        values = torch.randn(2, 4, requires_grad=True)
        gradient, = torch.autograd.grad(model(values).tanh().sum(), values, create_graph=True)
        gradient.pow(2).sum().backward()
        self.assertEqual(model.layer.weight.grad.dtype, torch.float32)

    @in_a_process
    def test_leaves_a_region_of_the_script_and_a_model_in_float64(self):
        put_in(autocast="bf16")
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(nn.Linear(4, 4)(torch.randn(2, 4)).dtype, torch.bfloat16)
        inside = nn.Sequential(nn.Linear(4, 4)).double()
        self.assertEqual(dtypes_of_outputs(layer=inside[0]), {"layer": set()})
        self.assertEqual(inside(torch.randn(2, 4).double()).dtype, torch.float64)

    @in_a_process
    def test_what_is_exported_or_traced_is_the_scripts(self):
        put_in(autocast="bf16")
        model, example = Classifier(), (images().pixels,)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for found in (torch.export.export(model, example).graph, torch.jit.trace(model, example).graph):
                self.assertNotRegex(str(found), r"(?i)autocast|bfloat16|_to_copy|aten(::|\.)to\b")

    @in_a_process
    def test_leaves_a_model_inside_a_function_that_the_script_compiles(self):
        import torch._dynamo  # noqa: F401  it remembers how modules are called
        put_in(autocast="bf16")
        model, graphs = nn.Linear(4, 4), []

        def kept(module, inputs):
            graphs.append(str(module.graph))
            return module

        torch.compile(lambda values: model(values), backend=kept)(torch.randn(2, 4))
        self.assertEqual(len(graphs), 1)
        self.assertNotIn("autocast", graphs[0])

    @in_a_process
    def test_names_itself_where_it_cannot_turn_an_output_back(self):
        put_in(autocast="bf16")

        class Odd(tuple):
            def __new__(cls, one, two):
                return super().__new__(cls, (one, two))

        class Model(nn.Linear):
            def forward(self, values):
                output = super().forward(values)
                return Odd(output, output)

        with self.assertRaisesRegex(RuntimeError, "nocturne lever autocast: cannot turn a Odd back into float32"):
            Model(4, 4)(torch.randn(2, 4))

    def test_where_it_is_offered(self):
        self.offered("autocast", "bf16")
        self.offered("autocast", "bf16", device="cuda", capability=(8, 0))
        self.refused("autocast", "compute capability", device="cuda", capability=(7, 5))
        self.refused("autocast", "no bf16 instructions", cpu_flags=frozenset(["avx2"]))
        self.refused("autocast", "16 bits already", parameter_types=["bfloat16"])
        self.refused("autocast", "no module with float32", parameter_types=["float64"])
        self.refused("autocast", "no module", modules=[])


class ChannelsLast(Lever):
    @in_a_process
    def test_weights_and_activations(self):
        put_in(channels_last="true")
        model = Classifier()
        model.deep = nn.Conv3d(2, 2, 3)
        formats, given = [], []
        model.first.register_forward_hook(lambda module, inputs, output: given.append(inputs[0].stride()))
        model.second.register_forward_hook(lambda module, inputs, output: formats.append(
            [each.is_contiguous(memory_format=torch.channels_last) for each in (inputs[0], output)]))
        train(model)
        self.assertEqual(formats, [[True, True]] * 3)
        self.assertEqual(given, [(3 * 8 * 8, 1, 3 * 8, 3)] * 3)
        for layer in (model.first, model.second):
            self.assertTrue(layer.weight.is_contiguous(memory_format=torch.channels_last))
            self.assertTrue(layer.weight.grad.is_contiguous(memory_format=torch.channels_last))
        self.assertTrue(model.deep.weight.is_contiguous())

    @in_a_process
    def test_weights_that_the_first_call_makes(self):
        put_in(channels_last="true")
        model = nn.Sequential(nn.LazyConv2d(4, 3))
        for _ in range(2):
            model(torch.randn(1, 3, 8, 8))
        self.assertTrue(model[0].weight.is_contiguous(memory_format=torch.channels_last))

    @in_a_process
    def test_the_losses_change_by_rounding(self):
        model, data = Classifier(), images()
        _, plain = train(copy.deepcopy(model), data=data)
        put_in(channels_last="true")
        _, changed = train(model, data=data)
        for one, other in zip(plain, changed):
            self.assertAlmostEqual(one, other, delta=1e-5 * one)

    @in_a_process
    def test_a_checkpoint_keeps_values_and_names_and_says_that_its_strides_are_others(self):
        model, data = Classifier(), images()
        plain = copy.deepcopy(model.state_dict())
        put_in(channels_last="true")
        with torch.no_grad():
            model(data.pixels)
        saved = model.state_dict()
        self.assertEqual(list(saved), list(plain))
        self.assertTrue(all(torch.equal(saved[name], plain[name]) for name in plain))
        other = any(saved[name].stride() != plain[name].stride() for name in plain)
        self.assertEqual(other, "checkpoint" in lever("channels_last").CHANGES.split(", "))

    def resumed(self, optimizer_class, model, data, state):
        model = copy.deepcopy(model)
        optimizer = optimizer_class(model.parameters(), lr=0.01, fused=True)
        if state:
            optimizer.load_state_dict(copy.deepcopy(state))
        train(model, optimizer, 3, data)
        return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()]), optimizer

    @in_a_process
    def test_a_fused_optimizer_follows_with_state_of_its_own_or_loaded(self):
        model, data = Classifier(), images()
        _, optimizer = self.resumed(torch.optim.Adam, model, data, None)
        states = {torch.optim.Adam: optimizer.state_dict(), torch.optim.Adagrad: None}
        plain = {each: self.resumed(each, model, data, states[each])[0] for each in states}
        put_in(channels_last="true")
        for each in states:
            changed, optimizer = self.resumed(each, model, data, states[each])
            self.assertLess((changed - plain[each]).abs().max(), 1e-5, each)
            weight = optimizer.param_groups[0]["params"][0]
            for value in optimizer.state[weight].values():
                self.assertIn(value.stride(), [(), weight.stride()])

    def test_where_it_is_offered(self):
        self.offered("channels_last", "true")
        self.refused("channels_last", "no Conv2d", model=Words())
        self.refused("channels_last", "itself", model=Classifier().to(memory_format=torch.channels_last))


class Compile(Lever):
    @in_a_process
    def test_compiles_in_place(self):
        reason = lever("compile").values(facts(compiler=shutil.which("g++") or shutil.which("clang++")))[1]
        if reason:
            self.skipTest(reason)
        folder = tempfile.mkdtemp(prefix="nocturne-levers-")
        os.environ.update(TORCHINDUCTOR_CACHE_DIR=folder, TORCHINDUCTOR_COMPILE_THREADS="1")
        try:
            self.compiled()
        finally:
            shutil.rmtree(folder)

    def compiled(self):
        model, data = nn.Sequential(nn.Flatten(), nn.Linear(192, 10)), images()
        before = layout(model)
        _, plain = train(copy.deepcopy(model), data=data, steps=2)
        put_in(compile="default", autocast="bf16", channels_last="true")
        output, losses = train(model, data=data, steps=2)
        from torch._dynamo.utils import counters
        self.assertEqual((counters["stats"]["unique_graphs"], dict(counters["graph_break"])), (1, {}))
        self.assertEqual((layout(model), type(model), output.dtype), (before, nn.Sequential, torch.float32))
        for one, other in zip(plain, losses):
            self.assertAlmostEqual(one, other, delta=0.01 * one)

    @in_a_process
    def test_names_itself_where_the_model_cannot_be_compiled(self):
        put_in(compile="default")

        def cannot(*_, **__):
            raise torch._dynamo.exc.InternalTorchDynamoError("no such operation")

        import torch._dynamo
        nn.Module.compile = lambda self, **_: setattr(self, "_compiled_call_impl", cannot)
        with self.assertRaisesRegex(RuntimeError, "nocturne lever compile: InternalTorchDynamoError: no such operation"):
            nn.Linear(2, 2)(torch.ones(1, 2))

    @in_a_process
    def test_leaves_what_the_script_compiled(self):
        put_in(compile="default", autocast="bf16")
        report = watch()
        model = torch.compile(Classifier(), backend="eager")
        inside = dtypes_of_outputs(first=model._orig_mod.first)
        output, _ = train(model)
        self.assertEqual(output.dtype, torch.float32)
        self.assertEqual(inside["first"], {torch.bfloat16})
        self.assertIn("itself", refusals(report())["compile"])

    def test_where_it_is_offered(self):
        self.refused("compile", "no C++ compiler (g++ or clang++) was found", compiler=None)
        self.refused("compile", "compiles its model itself", calls={"compile"})
        self.refused("compile", "compiles its model itself", modules=[levers.Module("Classifier", 1, {}, True)])
        self.refused("compile", "before 2.2", version=(2, 1, 2))
        self.refused("compile", "no module", modules=[])
        self.assertEqual(lever("compile").changes(facts()), "rounding, random stream")
        self.assertEqual(lever("compile").changes(facts(Words())), "rounding")


class Optimizer(Lever):
    def moves_weights_alike(self, choice):
        model, data = Classifier(), images()
        classes = [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad]
        if choice == "foreach":
            classes += [torch.optim.RMSprop, torch.optim.NAdam, torch.optim.RAdam, torch.optim.Adamax, torch.optim.Adadelta]

        def trained(optimizer_class):
            mine = copy.deepcopy(model)
            optimizer = optimizer_class(mine.parameters(), lr=0.01, weight_decay=0.1)
            train(mine, optimizer, data=data)
            return torch.cat([each.detach().reshape(-1) for each in mine.parameters()]), optimizer.param_groups[0]

        plain = {each: trained(each)[0] for each in classes}
        put_in(optimizer=choice)
        for each in classes:
            moved, group = trained(each)
            self.assertTrue(group[choice], each)
            self.assertLess((moved - plain[each]).abs().max(), 1e-5, each)

    @in_a_process
    def test_fused_moves_weights_as_ever(self):
        self.moves_weights_alike("fused")

    @in_a_process
    def test_foreach_moves_weights_as_ever(self):
        self.moves_weights_alike("foreach")

    @in_a_process
    def test_a_checkpoint_is_as_it_was_and_is_read_back(self):
        model = Classifier()
        plain = torch.optim.Adam(model.parameters())
        train(model, plain)
        put_in(optimizer="fused")
        optimizer = torch.optim.Adam(model.parameters())
        train(model, optimizer)
        saved = optimizer.state_dict()
        self.assertEqual(saved["param_groups"], plain.state_dict()["param_groups"])
        self.assertEqual(saved["state"].keys(), plain.state_dict()["state"].keys())
        other = torch.optim.Adam(model.parameters())
        other.load_state_dict(saved)
        train(model, other)
        self.assertTrue(other.param_groups[0]["fused"])
        self.assertEqual(other.state[model.first.weight]["step"].item(), 6)

    @in_a_process
    def test_leaves_the_scripts_choice_and_classes_of_its_own(self):
        put_in(optimizer="fused")
        model = Classifier()

        class Mine(torch.optim.Adam):
            pass

        self.assertFalse(torch.optim.Adam(model.parameters(), fused=False).param_groups[0]["fused"])
        self.assertIsNone(torch.optim.Adam(model.parameters(), foreach=True).param_groups[0]["fused"])
        self.assertIsNone(Mine(model.parameters()).param_groups[0]["fused"])
        with self.assertRaises(TypeError):
            torch.optim.Adam()

    @in_a_process
    def test_names_itself_where_torch_refuses(self):
        put_in(optimizer="foreach")
        with self.assertRaisesRegex(RuntimeError, "nocturne lever optimizer: .*Tensor"):
            torch.optim.Adam(Classifier().parameters(), lr=torch.tensor(0.1))

    def test_where_it_is_offered(self):
        self.offered("optimizer", "fused", "foreach")
        self.offered("optimizer", "fused", **GPU)
        self.refused("optimizer", "no optimizer", optimizers=[])
        self.refused("optimizer", "several belong to one of its updates", gathers=True)
        self.assertEqual(lever("optimizer").lines(facts()), {"fused": "torch.optim.Adam(..., fused=True)",
                                                             "foreach": "torch.optim.Adam(..., foreach=True)"})
        rest = [levers.Optimizer("RMSprop", {"foreach": None}, 1)]
        both = rest + [levers.Optimizer("SGD", {"fused": None}, 1)]
        self.assertEqual(lever("optimizer").lines(facts(optimizers=both))["fused"], "torch.optim.SGD(..., fused=True)")
        self.assertEqual(lever("optimizer").lines(facts(optimizers=both))["foreach"],
                         "torch.optim.RMSprop and torch.optim.SGD(..., foreach=True)")
        self.offered("optimizer", "foreach", optimizers=rest)
        self.refused("optimizer", "RMSprop has no other", optimizers=rest, **GPU)
        self.refused("optimizer", "LBFGS has no other", optimizers=[levers.Optimizer("LBFGS", {"lr": 1}, 1)])
        for chosen in ({"foreach": False, "fused": None}, {"fused": True}, {"fused": None, "differentiable": True}):
            self.refused("optimizer", "itself", optimizers=[levers.Optimizer("Adam", chosen, 1)])
        self.refused("optimizer", "real weights", parameter_types=["complex64"])
        self.refused("optimizer", "sparse", model=nn.Embedding(4, 2, sparse=True))


class Settings(Lever):
    @in_a_process
    def test_matmul_precision(self):
        put_in(matmul_precision="medium")
        self.assertEqual(torch.get_float32_matmul_precision(), "medium")

    def test_where_matmul_precision_is_offered(self):
        self.offered("matmul_precision", "medium")
        self.offered("matmul_precision", "high", "medium", cpu_flags=frozenset(["amx_bf16", "amx_fp16"]))
        self.offered("matmul_precision", "high", "medium", device="cuda", capability=(8, 6))
        self.refused("matmul_precision", "TF32", device="cuda", capability=(7, 0))
        self.refused("matmul_precision", "no bf16", cpu_flags=frozenset())
        self.refused("matmul_precision", "itself", calls={"set_float32_matmul_precision"})

    @in_a_process
    def test_threads(self):
        put_in(threads="2", interop_threads="3")
        self.assertEqual((torch.get_num_threads(), torch.get_num_interop_threads()), (2, 3))

    @in_a_process
    def test_threads_are_those_of_the_lever_whatever_the_script_sets(self):
        put_in(threads="2")
        torch.set_num_threads(1)
        self.assertEqual(torch.get_num_threads(), 2)
        with self.assertRaises((TypeError, RuntimeError)):
            torch.set_num_threads("many")

        class Threads(torch.utils.data.Dataset):
            def __len__(self):
                return 1

            def __getitem__(self, index):
                return torch.get_num_threads()

        loaded = torch.utils.data.DataLoader(Threads(), num_workers=1, batch_size=None)
        self.assertEqual([int(each) for each in loaded], [1])  # as PyTorch has it in a process of a loader

    @in_a_process  # the process that forks shall run nothing of TorchScript
    def test_where_threads_are_offered(self):
        self.offered("threads", "1", "2", "3")
        self.offered("threads", "1", "2", "3", "4", threads=8)
        self.assertEqual(lever("threads").counts(40), [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40])
        self.refused("threads", "one core", cpus=1)
        self.offered("threads", "1", "2", "3", calls={"set_num_threads"})
        self.refused("interop_threads", "TorchScript")
        self.refused("interop_threads", "itself", calls={"set_num_interop_threads"})
        self.offered("interop_threads", "1", "2", model=scripted(), cpus=2)

    @in_a_process
    def test_those_of_a_gpu(self):
        put_in(cudnn_benchmark="true")
        torch.backends.cudnn.allow_tf32 = False
        put_in(tf32="true")
        self.assertTrue(torch.backends.cudnn.benchmark and torch.backends.cudnn.allow_tf32)

    def test_where_those_of_a_gpu_are_offered(self):
        for name in ("cudnn_benchmark", "tf32", "loader_pin_memory"):
            self.refused(name, "not on a GPU")
        self.offered("cudnn_benchmark", "true", **GPU)
        self.refused("cudnn_benchmark", "deterministic", calls={"use_deterministic_algorithms"}, **GPU)
        self.refused("cudnn_benchmark", "no convolution", model=Words(), **GPU)
        with torch.backends.cudnn.flags(benchmark=True, allow_tf32=True):
            self.refused("cudnn_benchmark", "itself", **GPU)
        self.refused("tf32", "already", **GPU)
        with torch.backends.cudnn.flags(allow_tf32=False):
            self.offered("tf32", "true", **GPU)
        self.refused("tf32", "compute capability", device="cuda", capability=(7, 5))
        self.offered("loader_pin_memory", "true", **GPU)
        self.refused("loader_pin_memory", "already", loaders=[loader(pin_memory=True)], **GPU)
        self.refused("loader_pin_memory", "on the GPU", loaders=[loader(batch_device="cuda")], **GPU)


class Loader(Lever):
    def read(self, **arguments):
        """[(process, index)] of an epoch with a fixed seed."""
        torch.manual_seed(3)
        arguments = dict({"batch_size": 8, "shuffle": True}, **arguments)
        return [(int(worker), int(pixels[0, 0, 0])) for batch in torch.utils.data.DataLoader(Examples(), **arguments)
                for pixels, worker in zip(batch[0], batch[1])]

    @in_a_process
    def test_workers_read_in_the_same_order(self):
        plain = self.read()
        after = torch.rand(1)
        put_in(loader_workers="2")
        changed = self.read()
        self.assertEqual(after, torch.rand(1))
        self.assertEqual({worker for worker, _ in plain}, {0})
        self.assertEqual({worker for worker, _ in changed}, {1, 2})
        self.assertEqual([index for _, index in plain], [index for _, index in changed])

    @in_a_process
    def test_no_workers(self):
        put_in(loader_workers="0")
        changed = self.read(num_workers=2, prefetch_factor=4, persistent_workers=True, timeout=9, multiprocessing_context="fork")
        self.assertEqual({worker for worker, _ in changed}, {0})

    @in_a_process
    def test_an_iterable_data_set_is_read_once(self):
        put_in(loader_workers="2")
        loader = torch.utils.data.DataLoader(Stream(), batch_size=4)
        self.assertEqual((loader.num_workers, len(list(loader))), (0, 3))

    @in_a_process
    def test_but_one_that_shares_itself_out_has_processes(self):
        put_in(loader_workers="2")
        loader = torch.utils.data.DataLoader(Shared(), batch_size=3)
        read = sorted(float(value) for batch in loader for value in batch)
        self.assertEqual((loader.num_workers, read), (2, [float(value) for value in range(12)]))

    @in_a_process
    def test_and_one_whose_stages_do_or_that_holds_one_that_does(self):
        put_in(loader_workers="2")
        made = [Staged(split_by_process), Around(Around(Shared())), Staged(torch.flip), Around(Stream())]
        self.assertEqual([torch.utils.data.DataLoader(each, batch_size=3).num_workers for each in made], [2, 2, 0, 0])

    @in_a_process
    def test_a_loader_that_repeats_the_constructor(self):
        put_in(loader_workers="2", batch="2x")
        made = stateful_loader()(Examples(), batch_size=8, shuffle=True)
        self.assertEqual((made.num_workers, made.batch_size, len(made)), (2, 16, 4))

    @in_a_process
    def test_a_loader_inside_a_loaders_process_is_left_alone(self):
        put_in(loader_workers="1")

        class Nested(Examples):
            def __getitem__(self, index):
                inner = torch.utils.data.DataLoader(Examples(count=2))
                return inner.num_workers + len(list(inner)), 0

        self.assertEqual([int(first) for first, _ in torch.utils.data.DataLoader(Nested(count=2))], [2, 2])

    @in_a_process
    def test_prefetch_and_persistence_need_processes(self):
        put_in(loader_prefetch="8", loader_persistent="true")
        loader = torch.utils.data.DataLoader(Examples())
        self.assertEqual((loader.prefetch_factor, loader.persistent_workers), (None, False))
        put_in(loader_workers="1")
        loader = torch.utils.data.DataLoader(Examples())
        self.assertEqual((loader.prefetch_factor, loader.persistent_workers), (8, True))
        put_in(loader_pin_memory="true")
        self.assertTrue(torch.utils.data.DataLoader(Examples()).pin_memory)

    @in_a_process
    def test_the_scripts_mistakes_stay_its_own(self):
        put_in(loader_workers="1")
        with self.assertRaisesRegex(TypeError, "DataLoader|__init__"):
            torch.utils.data.DataLoader(Examples(), shuffel=True)

    def test_where_they_are_offered(self):
        self.offered("loader_workers", "1", "2", "3", "4")
        self.offered("loader_workers", "0", "1", "3", "4", loaders=[loader(workers=2)])
        self.refused("loader_workers", "no DataLoader", loaders=[])
        self.refused("loader_workers", "iterable", loaders=[loader(kind="iterable")])
        self.offered("loader_workers", "1", "2", "3", "4", loaders=[loader(kind="iterable", shared_out=True)])
        self.refused("loader_workers", "an open file", loaders=[loader(unshareable="the data set holds an open file")])
        for draws, changes in ((False, "nothing"), (True, "random stream"), (None, "random stream")):
            self.assertEqual(lever("loader_workers").changes(facts(loaders=[loader(draws=draws)])), changes)
        self.offered("loader_prefetch", "1", "4", "8", "16")
        self.offered("loader_persistent", "true", loaders=[loader(kind="iterable", workers=1)])
        self.refused("loader_prefetch", "no processes", loaders=[loader(kind="iterable")])
        self.refused("loader_persistent", "already", loaders=[loader(persistent=True)])


class Batch(Lever):
    @in_a_process
    def test_the_trainings_loader_alone(self):
        put_in(batch="2x")
        data = torch.utils.data
        examples = Examples()
        self.assertEqual(data.DataLoader(examples, batch_size=8, shuffle=True).batch_size, 16)
        self.assertEqual(data.DataLoader(examples, 8, sampler=data.SubsetRandomSampler(range(64))).batch_size, 16)
        self.assertEqual(data.DataLoader(examples, batch_size=8).batch_size, 8)
        again = data.DataLoader(examples, batch_size=8, shuffle=True)
        self.assertEqual(data.DataLoader(examples, again.batch_size, sampler=again.sampler).batch_size, 16)
        self.assertEqual(data.DataLoader(examples, batch_sampler=again.batch_sampler).batch_sampler.batch_size, 16)
        batches = data.BatchSampler(data.RandomSampler(examples), 8, True)
        remade = data.DataLoader(examples, batch_sampler=batches).batch_sampler
        self.assertIs(remade.sampler, batches.sampler)
        self.assertEqual((remade.batch_size, remade.drop_last), (16, True))

        class Mine(data.BatchSampler):
            pass

        with self.assertRaisesRegex(RuntimeError, "nocturne lever batch: batches are made by Mine"):
            data.DataLoader(examples, batch_sampler=Mine(batches.sampler, 8, True))

    @in_a_process
    def test_the_learning_rate_follows(self):
        os.environ["NOCTURNE_LEVER_BATCH"] = "4x"
        put_in(learning_rate="sqrt")
        model = Classifier()
        groups = [{"params": model.first.parameters()}, {"params": model.last.parameters(), "lr": 0.5}]
        optimizer = torch.optim.SGD(groups, lr=0.1)
        self.assertEqual([group["lr"] for group in optimizer.param_groups], [0.2, 1.0])
        self.assertEqual(optimizer.defaults["lr"], 0.2)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        optimizer.step()
        schedule.step()
        self.assertEqual(schedule.get_last_lr(), [0.1, 0.5])

    def test_where_they_are_offered(self):
        self.offered("batch", "2x", "4x", "8x")
        self.offered("batch", "2x", loaders=[loader(batches=20)])
        self.refused("batch", "10 steps", loaders=[loader(batches=10)])
        self.refused("batch", "no DataLoader", loaders=[loader(training=None)])
        self.refused("batch", "not known", loaders=[loader(batches=None)])
        self.refused("batch", "batch sampler of the script's own", loaders=[loader(batch=None)])
        self.refused("batch", "iterable", loaders=[loader(kind="iterable")])
        self.refused("batch", "told from an evaluation's", loaders=[loader(random_order=False)])
        evaluation = loader(training=False)
        self.refused("batch", "told from an evaluation's", loaders=[loader(), evaluation])
        self.offered("batch", "2x", "4x", "8x", loaders=[loader(), loader(training=False, random_order=False)])
        self.offered("learning_rate", "linear", "sqrt")
        self.refused("learning_rate", "the batch stays", loaders=[])


def refusals(report):
    return {each["name"]: each["reason"] for each in report["refused"]}


def values(report):
    return {each["name"]: each["values"] for each in report["levers"]}


class Report(unittest.TestCase):
    """What levers say of real trainings."""

    def trained(self, draw=None, **arguments):
        """The report on a classifier and an evaluation, two epochs."""
        report = watch()
        model = Classifier(0.2)
        data = torch.utils.data
        training = data.DataLoader(Examples(draw, count=512), batch_size=8, shuffle=True, **arguments)
        evaluation = data.DataLoader(Examples(count=8), batch_size=8)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            for pixels, _, labels in training:
                train(model, optimizer, 1, Images(pixels, labels))
            with torch.no_grad():
                for pixels, _, _ in evaluation:
                    model(pixels)
        return report()

    @in_a_process
    def test_a_classifier(self):
        report = self.trained()
        offered, refused = values(report), refusals(report)
        self.assertEqual(report["notes"], [])
        self.assertEqual(sorted(list(offered) + list(refused)), LEVERS)
        for name in ("channels_last", "optimizer", "batch", "learning_rate", "loader_workers"):
            self.assertIn(name, offered, refused)
        for name in ("tf32", "cudnn_benchmark", "loader_pin_memory"):
            self.assertEqual(refused[name], "the training is not on a GPU")
        self.assertEqual([(each.training, each.random_order, each.draws, each.unshareable, each.batch, each.batches)
                          for each in seen().loaders],
                         [(True, True, False, None, 8, 64), (False, False, False, None, 8, 1)])
        changes = {each["name"]: each["changes"] for each in report["levers"]}
        inert = {each["name"]: each.get("inert_at") for each in report["levers"]}
        self.assertEqual(inert["loader_prefetch"], {"lever": "loader_workers", "value": "script"})
        self.assertEqual((inert["loader_persistent"], inert["loader_workers"]), (inert["loader_prefetch"], None))
        self.assertEqual((changes["loader_workers"], changes.get("compile", "rounding, random stream")),
                         ("nothing", "rounding, random stream"))

    @in_a_process
    def test_batches_that_are_fetched_before_others_are_trained_on(self):
        watch()
        model, data = Classifier(0.2), torch.utils.data
        training = data.DataLoader(Examples(count=512), batch_size=8, shuffle=True)
        evaluations = [data.DataLoader(Examples(count=count), batch_size=8) for count in (8, 32)]
        optimizer = torch.optim.Adam(model.parameters())
        for evaluation in evaluations:
            list(evaluation)  # with gradients, and to the end
        batches = iter(training)
        ahead = [next(batches) for _ in range(5)]  # of a step of four, and one
        for pixels, _, labels in ahead:
            train(model, optimizer, 1, Images(pixels, labels))
        self.assertEqual([each.training for each in seen().loaders], [True, False, False])
        endless = iter(data.DataLoader(Examples(count=1024), batch_size=8))
        for _ in range(100):
            next(endless)
        train(model, optimizer, 1)
        self.assertIs(seen().loaders[-1].training, False)

    @in_a_process
    def test_examples_that_draw_numbers(self):
        self.trained(lambda: torch.rand(1))
        self.assertEqual([each.draws for each in seen().loaders], [True, False])

    @in_a_process
    def test_examples_that_draw_from_python(self):
        self.trained(random.random)
        self.assertTrue(seen().loaders[0].draws)

    @in_a_process
    def test_examples_that_draw_from_a_stream_of_their_own(self):
        watch()
        examples = Examples(draw=[functools.partial(random.Random(1).random), {"by": random.Random(1)}])
        torch.utils.data.DataLoader(examples)
        self.assertTrue(seen().loaders[0].draws)

    @in_a_process
    def test_what_processes_draw_is_not_known(self):
        inert = {each["name"]: each.get("inert_at") for each in self.trained(num_workers=1)["levers"]}
        self.assertEqual(inert["loader_prefetch"], {"lever": "loader_workers", "value": "0"})
        self.assertEqual((seen().loaders[0].draws, seen().loaders[0].training), (None, True))

    @in_a_process
    def test_what_the_script_sets(self):
        report = watch()
        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        torch.set_float32_matmul_precision("high")
        model = Classifier()
        with torch.autocast("cpu", torch.bfloat16, enabled=False):
            train(model)
        self.assertNotIn("itself", refusals(report()).get("autocast", ""))
        with torch.autocast("cpu", torch.bfloat16):
            train(model)
        written = report()
        refused = refusals(written)
        self.assertTrue(written["sets_threads"])
        for name in ("autocast", "interop_threads"):
            self.assertIn("itself", refused[name])
        self.assertRegex(refused["matmul_precision"], "itself|no bf16 instructions")  # what the processor cannot comes first

    @in_a_process
    def test_a_model_that_is_no_more_is_judged_with_what_the_script_has_set_since(self):
        report = watch()

        def whole():
            train(Classifier())

        whole()
        gc.collect()
        self.assertEqual(pytorch.outermost(torch), [])
        for name in ("channels_last", "optimizer"):
            self.assertIn(name, values(report()))
        self.assertNotIn("itself", refusals(report()).get("autocast", ""))
        with torch.autocast("cpu", torch.bfloat16):
            pass
        self.assertIn("itself", refusals(report())["autocast"])
        self.assertIn("channels_last", values(report()))

    @in_a_process
    def test_data_sets_that_cannot_be_shared(self):
        watch()
        data = torch.utils.data
        with_file = Examples()
        with_file.file = open(os.devnull)
        self.addCleanup(with_file.file.close)
        local = lambda batch: batch  # noqa: E731
        data.DataLoader(with_file)
        data.DataLoader(Examples(), collate_fn=local)
        torch.multiprocessing.set_start_method("spawn")
        data.DataLoader(Examples(), collate_fn=local)
        data.DataLoader(Stream())
        data.DataLoader(with_file, num_workers=1)
        data.DataLoader(Shared())
        reasons = [each.unshareable for each in seen().loaders]
        self.assertIn("holds an open file", reasons[0])
        self.assertEqual((reasons[1], reasons[3], reasons[4]), (None, None, None))
        self.assertIn("started by spawn", reasons[2])
        self.assertEqual([(each.kind, each.shared_out) for each in seen().loaders[3::2]],
                         [("iterable", False), ("iterable", True)])

    @in_a_process
    def test_a_loader_that_repeats_the_constructor_is_seen(self):
        report = watch()
        model = Classifier()
        optimizer = torch.optim.SGD(model.parameters(), lr=.01)
        made = stateful_loader()(Examples(), batch_size=2, shuffle=True)
        for pixels, _, labels in made:
            functional.cross_entropy(model(pixels), labels).backward()
            optimizer.step()
        known = seen().loaders[0]
        self.assertEqual((len(seen().loaders), known.batch, known.batches, known.plain, known.random_order, known.training),
                         (1, 2, 32, True, True, True))
        self.assertIn("loader_workers", values(report()))
        self.assertIn("batch", values(report()))

    @in_a_process
    def test_a_sampler_without_a_length(self):
        watch()

        class Endless(torch.utils.data.Sampler):
            def __iter__(self):
                return iter(range(64))

        torch.utils.data.DataLoader(Examples(), sampler=Endless())
        self.assertIsNone(seen().loaders[0].batches)
        self.assertEqual(levers.notes, [])

    @in_a_process
    def test_an_error_of_a_hook_is_a_note(self):
        report = watch()
        with mock.patch.object(loaders, "_described", side_effect=KeyError("odd")):
            made = torch.utils.data.DataLoader(Examples(), batch_size=32)
        self.assertEqual(len(list(made)), 2)
        self.assertIn("constructed: KeyError: 'odd'", report()["notes"])

    @in_a_process
    def test_tracebacks_do_not_show_the_hooks(self):
        watch()

        def fails():
            raise ValueError("broken")

        try:
            next(iter(torch.utils.data.DataLoader(Examples(draw=fails))))
        except ValueError:
            self.assertNotIn("nocturne_inject", traceback.format_exc())

    def rates(self, change):
        """Who sets learning rates, when `change` has been called between two steps."""
        watch()
        optimizer = torch.optim.SGD(Classifier().parameters(), lr=0.1)
        change = change(optimizer)
        optimizer.step()
        change()
        optimizer.step()
        return lever("learning_rate")._absolute

    @in_a_process
    def test_a_schedule_of_factors(self):
        self.assertEqual(self.rates(lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 1).step), [])

    @in_a_process
    def test_a_schedule_of_rates(self):
        self.assertEqual(self.rates(lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, 10).step),
                         ["OneCycleLR"])

    @in_a_process
    def test_rates_that_the_script_sets(self):
        self.assertEqual(self.rates(lambda optimizer: lambda: optimizer.param_groups[0].update(lr=0.01)), ["the script"])


if __name__ == "__main__":
    unittest.main()
