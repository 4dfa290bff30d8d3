"""What is seen of a training by the hooks, on a PyTorch whose work takes seconds of a clock that only it moves."""

import json
import os
import shutil
import signal
import tempfile
import textwrap
import time
import unittest

from injected import INJECT, Injected

# A step: 0.5 s of waiting for data, 3 forward, 2 backward, 1 optimizer, 0.25 of something else.
TRAINING = """
    import torch
    spend = torch.clock.spend
    model = torch.nn.Module()
    model.owned["weight"] = torch.Tensor(1.0)
    optimizer = torch.optim.SGD(model.parameters())
    loader = torch.utils.data.DataLoader(batches=10)
    def train(epochs=1, update=lambda loss: (loss.backward(), optimizer.step())):
        for _ in range(epochs):
            for step, (images, labels) in enumerate(loader):
                model(images)
                update(torch.Tensor(0.25))
                spend(0.25)
"""


def gathering(steps):
    """update(loss) of a script whose optimizer steps where this is true of `count`, the batches so far."""
    return """
    torch.clock.scale = 0.1
    count = 0
    def update(loss):
        global count
        loss.backward()
        count += 1
        if %s: optimizer.step()
""" % steps


# A trainer that counts batches: name and code of its package, and what the loader of 36 batches and a half has beside.
COUNTED = """
    import types
    package = types.ModuleType(%r)
    package.types = types
    exec(%r, vars(package))
    loader = torch.utils.data.DataLoader(drawn=292%s)
    def update(epoch):
        model(None); torch.Tensor(0.25).backward(); optimizer.step()
"""


def trained(script, **environment):
    return Injected(textwrap.dedent(TRAINING) + textwrap.dedent(script), **environment)


class Steps(unittest.TestCase):
    def ran(self, run, code=0, **environment):
        left, out, errors = run.run(**environment)
        self.assertEqual((left, errors if code == 0 else ""), (code, ""), errors)
        return out

    def test_steps_are_told_with_their_parts_epochs_and_batch(self):
        with trained("train(2)\nprint('done')") as run:
            self.assertEqual(self.ran(run), "done\n")
            samples = run.events("sample")
            self.assertEqual([each["first_step"] for each in samples], list(range(1, 20)))
            # The first one of an epoch has no step before it whose rest it could bear; all but that is the same.
            self.assertEqual(run.seconds(), [6.75] * 9 + [6.5] + [6.75] * 9)
            for key, seconds in (("data_wait_ns", 0.5), ("forward_ns", 3), ("backward_ns", 2), ("optimizer_ns", 1)):
                self.assertEqual(set(run.seconds(key)), {seconds}, key)
            self.assertEqual({each["loss"] for each in samples}, {0.25})
            ready = run.events("ready")[0]
            self.assertEqual([ready[key] for key in ("timing", "batch", "steps_per_epoch", "examples_per_epoch")],
                             ["steps", 8, 10, 80])
            report = run.json()
            report["notes"] = [note for note in report["notes"] if not note.startswith("lever")]  # this PyTorch has no levers
            self.assertEqual([report[key] for key in ("version", "framework", "framework_version", "device", "unit",
                                                      "events_per_step", "steps", "batch", "step_seconds", "notes")],
                             [1, "pytorch", "2.15.0+cpu", "cpu", "optimizer step", 1, 19, 8, 6.75, []])
            self.assertAlmostEqual(sum(report["share"].values()), 1, 3)
            self.assertAlmostEqual(report["share"]["forward"], 3 / 6.75, 2)
            self.assertEqual((report["epochs"], report["trains"]), (2, "for _ in range(epochs) (train.py, line 9)"))

    def test_its_own_files_are_named(self):
        script = "import os, helpers.text, json, torch\nos.chdir('/')\n"
        with trained(script + textwrap.dedent("train()")) as run:
            (run.folder / "helpers").mkdir()
            (run.folder / "helpers" / "__init__.py").write_text("")
            (run.folder / "helpers" / "text.py").write_text("")
            (run.folder / "unused.py").write_text("")
            (run.folder / "site-packages").mkdir()
            (run.folder / "site-packages" / "installed.py").write_text("")
            run.script.write_text("import sys; sys.path.insert(0, 'site-packages'); import installed\n" + run.script.read_text() +
                                  "\nsys.modules['odd'] = type(os)('odd')"
                                  "\nsys.modules['odd'].__file__ = os.fsdecode(os.fsencode(%r) + b'/odd\\xff.py')" % str(run.folder))
            with open(os.fsencode(str(run.folder)) + b"/odd\xff.py", "w"):
                pass
            self.ran(run)
            self.assertEqual(run.json()["sources"], ["helpers/__init__.py", "helpers/text.py", "train.py"])

    def test_evaluation_is_no_part_of_a_step(self):
        evaluations = {
            "behind an epoch": """
    for _ in range(2):
        train()
        for batch in torch.utils.data.DataLoader(batches=7): spend(9)
        spend(50)""",
            "in the midst of one": """
    def update(loss):
        loss.backward(); optimizer.step()
        if step_at() == 4:
            for batch in torch.utils.data.DataLoader(batches=7): spend(9)
    step_at = iter([0, 1, 2, 3, 4, 5, 6, 7, 8, 9] * 2).__next__
    train(2, update)""",
            "without gradients, left early": """
    def update(loss):
        loss.backward(); optimizer.step()
        if step_at() == 4:
            with torch.no_grad():
                for number, batch in enumerate(torch.utils.data.DataLoader(batches=7)):
                    spend(9)
                    if number == 3: break
    step_at = iter([0, 1, 2, 3, 4, 5, 6, 7, 8, 9] * 2).__next__
    train(2, update)"""}
        for name, script in evaluations.items():
            with self.subTest(name), trained(script) as run:
                self.ran(run)
                self.assertEqual(len(run.seconds()), 19)
                self.assertLessEqual(max(run.seconds()), 6.75, run.seconds())
                self.assertGreaterEqual(min(run.seconds()), 5.99, run.seconds())

    def test_a_loader_that_is_begun_for_each_batch_has_no_epochs(self):
        with trained("""
    for _ in range(8):
        images, labels = next(iter(loader)); model(images)
        torch.Tensor(0.5).backward(); optimizer.step(); spend(0.25)""") as run:
            self.ran(run)
            self.assertEqual(run.seconds(), [6.75] * 7)

    def test_events_of_one_backward_merge(self):
        with trained("""
    second = torch.optim.SGD([torch.Tensor(1.0)])
    train(1, lambda loss: (loss.backward(), optimizer.step(), second.step()))""") as run:
            self.ran(run)
            self.assertEqual(run.seconds(), [7.75] * 8)  # two until it is known that the second one always follows
            self.assertEqual(run.json()["events_per_step"], 1)

    def test_an_optimizer_around_another_is_one(self):
        with trained("""
    class Around(torch.optim.Optimizer):
        def __init__(self, inner):
            self.inner, self.param_groups = inner, inner.param_groups
        def step(self):
            self.inner.step()
    around = Around(optimizer)
    train(1, lambda loss: (loss.backward(), around.step()))""") as run:
            self.ran(run)
            self.assertEqual(run.seconds(), [6.75] * 9)

    def test_a_gans_step_is_its_optimizers_period(self):
        with trained("""
    critic = torch.optim.SGD([torch.Tensor(1.0)])
    def update(loss):
        for _ in range(5):
            loss.backward(); critic.step()
        loss.backward(); optimizer.step()
    train(1, update)""") as run:
            self.ran(run)
            self.assertEqual(run.seconds(), [0.5 + 3 + 6 * 3 + 0.25] * 8)
            report, sample = run.json(), run.events("sample")[0]
            self.assertEqual((report["events_per_step"], report["steps_per_epoch"], "loss" in sample), (6, 10, False))

    def test_accumulated_gradients_are_one_step(self):
        with trained(gathering("count % 5 == 0") + "    train(4, update)") as run:
            self.ran(run)
            self.assertEqual(len(run.seconds()), 7)
            self.assertEqual(run.seconds()[0], round(0.5 * 5.75 + 0.1, 3))
            self.assertEqual(run.json()["steps_per_epoch"], 2)
            self.assertNotIn("loss", run.events("sample")[0])

    def test_steps_that_gather_more_batches_than_the_first_are_several(self):
        # After 1, 1, 2, 3, 4, 4 and 4 batches.
        with trained(gathering("count in (1, 2, 4, 7, 11, 15, 19)") + "    train(2, update)") as run:
            self.ran(run)
            samples = run.events("sample")
            self.assertEqual([(each["first_step"], each["steps"]) for each in samples],
                             [(1, 1), (2, 2), (4, 3), (7, 4), (11, 4), (15, 4)])
            self.assertEqual(run.json()["steps_per_epoch"], 10)
            self.assertIn("gather more batches", run.notes())
            self.assertAlmostEqual(run.json()["step_seconds"], 0.6, 1)

    def test_of_steps_beyond_the_limit_no_part_is_told(self):
        # After 1, 1 and 4 batches.
        with trained(gathering("count in (1, 2, 6)") + "    train(1, update)", NOCTURNE_STEPS_LIMIT="3") as run:
            self.ran(run)
            last = run.events("sample")[-1]
            self.assertEqual((last["first_step"], last["steps"]), (2, 2))
            self.assertAlmostEqual(last["wall_ns"] / 1e9, 0.5 * (4 * 0.575 + 0.1), 2)
            for kind, seconds in (("data_wait", 0.05), ("forward", 0.3), ("backward", 0.2)):
                self.assertAlmostEqual(last[kind + "_ns"] / 1e9, 2 * seconds, 2, kind)

    def test_more_backwards_on_the_same_batch_are_no_more_steps(self):
        with trained("""
    torch.clock.scale = 0.1
    def closure():
        for _ in range(next(evaluations)):
            spend(1); torch.Tensor(0.5).backward()
    evaluations = iter([1, 2, 3, 4, 1, 1, 1, 1, 1, 1])
    train(1, lambda loss: optimizer.step(closure))""") as run:
            self.ran(run)
            self.assertEqual([each["steps"] for each in run.events("sample")], [1] * 9)
            self.assertNotIn("gather more batches", run.notes())

    def test_a_step_that_a_scaler_skips_is_a_step_and_its_loss_is_not_scaled(self):
        with trained("""
    scaler = torch.amp.GradScaler()
    scaler.skips = 3
    train(1, lambda loss: (scaler.scale(loss).backward(), scaler.step(optimizer)))""") as run:
            self.ran(run)
            self.assertEqual(run.seconds(), [5.75, 5.75] + [6.75] * 7)
            self.assertEqual({each["loss"] for each in run.events("sample")}, {0.25})

    def test_what_a_loaders_processes_take_in_each_epoch_is_told(self):
        script = """
    loader = torch.utils.data.DataLoader(batches=10, num_workers=2)
    others = torch.utils.data.DataLoader(batches=3, num_workers=2)
    for each in loader, others:
        each.making, each.ending = 4, 1
    for epoch in range(3):
        train()
        with torch.no_grad():
            for images, labels in others:
                model(images)
"""
        # Until the first batch is there: 4 s to start them and 0.5 of waiting, later with 1 s until the last ones have ended.
        stays = "\n    torch.utils.data.DataLoader.persistent_workers = True"
        for more, starts in (("", [4.5, 5.5, 5.5]), (stays, [1.5, 1.5])):
            with trained(more + script) as run:
                self.ran(run)
                told = run.phases("epoch_start")
                self.assertEqual(told, starts)
                self.assertEqual(run.seconds(), [6.75] * 9 + ([6.0] + [6.75] * 9) * 2)
        with trained("train(3)") as run:  # what reads them itself
            self.ran(run)
            self.assertEqual({each["name"] for each in run.events("phase_end")}, {"import", "first_step"})

    def test_the_ends_of_two_epochs_that_are_cut_short_are_told(self):
        # 36 batches of 8 examples and one of 4. Evaluations take 20 s and 10 s, and 60 s more the first time.
        script = """
    loader = torch.utils.data.DataLoader(drawn=292%s)
    others = torch.utils.data.DataLoader(batches=2)
    trained, seen = [], len(loader)
    def evaluate():
        with torch.no_grad():
            for images, labels in others: pass
        spend(9)
    for epoch in range(4):
        train(update=lambda loss: (loss.backward(), optimizer.step(), trained.append(epoch)))
        if not epoch: spend(60)
        evaluate()
    print([trained.count(epoch) for epoch in range(4)], seen)
"""
        # The end: 0.25 s of the step before, 6.75 of the last one, which is half a step that counts, and the evaluation.
        half = (0.25 + 6.75 + 10) - 0.5 * 6.75
        for processes in ("", ", num_workers=2"):
            with trained(script % processes, NOCTURNE_INJECT_EPOCH="5,292", NOCTURNE_STEPS_LIMIT="99") as run:
                self.assertEqual(self.ran(run), "[5, 5, 37, 37] 37\n")
                self.assertEqual(run.phases("epoch_end")[:2], [half + 60, half])
                first = 6.0 if processes else 6.5
                self.assertEqual(run.seconds()[:8], ([6.75] * 3 + [first]) * 2)
        # An evaluation of 20 s behind each third epoch: the ends of the second to the fourth one in the mean.
        rare = script.replace("range(4)", "range(6)").replace("        evaluate()", "        if epoch %% 3 == 2: evaluate()")
        with trained(rare % "", NOCTURNE_INJECT_EPOCH="5,292,3", NOCTURNE_STEPS_LIMIT="200") as run:
            self.assertEqual(self.ran(run), "[5, 5, 5, 5, 37, 37] 37\n")
            without = half - 10
            for seen, expected in zip(run.phases("epoch_end"), [without + 10 / 3 + 60, without + 10 / 3]):
                self.assertAlmostEqual(seen, expected)
            self.assertEqual(len(run.phases("epoch_end")), 2)
            self.assertEqual(run.seconds()[:16], ([6.75] * 3 + [6.5]) * 4)
        for asked in ("5,291", "19,292", None):  # of another loader, of more than half an epoch; not asked for
            with trained(script % "", NOCTURNE_INJECT_EPOCH=asked, NOCTURNE_STEPS_LIMIT="200") as run:
                self.assertEqual(self.ran(run), "[37, 37, 37, 37] 37\n")
                self.assertEqual(run.phases("epoch_end"), [70.25, 10.25, 10.25] if asked else [])

    def test_the_ends_of_epochs_that_one_iterator_gives_are_told(self):
        # As before, but that the last batch of an epoch that is cut is as large as the others, and the next one follows it.
        script = """
    class Unending(object):
        def __init__(self, batches): self.sampler, self.given = batches, []
        def __iter__(self):
            while True:
                for batch in self.sampler:
                    self.given.append(batch[-1])
                    yield batch
    class Loader(torch.utils.data.DataLoader):
        def __init__(self, **named):
            super().__init__(**named)
            object.__setattr__(self, "batch_sampler", Unending(self.batch_sampler))
            self.one = %s
        def __len__(self): return len(self.batch_sampler.sampler)
        def __iter__(self):
            self.one = self.one or self._get_iterator()
            for _ in range(len(self)): yield next(self.one)
    loader = Loader(drawn=292%s)
    others = torch.utils.data.DataLoader(batches=2)
    trained = []
    for epoch in range(4):
        train(update=lambda loss: (loss.backward(), optimizer.step(), trained.append(epoch)))
        if not epoch: spend(60)
        with torch.no_grad():
            for images, labels in others: pass
        spend(9)
    print([trained.count(epoch) for epoch in range(4)], len(loader), loader.batch_sampler.given[4:6])
"""
        end = 0.25 + 6.75 + 10 - 6.75
        for begun in ("None", "super().__iter__()"):
            for processes in ("", ", num_workers=2"):
                with trained(script % (begun, processes), NOCTURNE_INJECT_EPOCH="5,292", NOCTURNE_STEPS_LIMIT="99") as run:
                    self.assertEqual(self.ran(run), "[5, 5, 37, 37] 37 [39, 47]\n")
                    self.assertEqual(run.phases("epoch_end")[:2], [end + 60, end])
                    self.assertEqual(run.seconds()[:8], ([6.75] * 3 + [6.0 if processes else 6.5]) * 2)
        with trained(script % ("None", ", drop_last=True"), NOCTURNE_INJECT_EPOCH="5,288", NOCTURNE_STEPS_LIMIT="99") as run:
            self.assertEqual(self.ran(run), "[5, 5, 36, 36] 36 [39, 47]\n")
        with trained(script % ("None", ""), NOCTURNE_STEPS_LIMIT="200") as run:
            self.assertEqual(self.ran(run), "[37, 37, 37, 37] 37 [39, 47]\n")
            self.assertEqual(run.phases("epoch_end"), [])

    def test_epochs_are_not_cut_where_a_trainer_counts_their_batches(self):
        with trained("""
    import types
    ignite = types.ModuleType("ignite")
    exec("def fit(loader, update):\\n  for batch in loader: update()\\n", vars(ignite))
    loader = torch.utils.data.DataLoader(drawn=292)
    trained = []
    def update():
        model(None); torch.Tensor(0.25).backward(); optimizer.step(); trained.append(1)
    for epoch in range(3):
        ignite.fit(loader, update)
    print(len(trained))""", NOCTURNE_INJECT_EPOCH="5,292", NOCTURNE_STEPS_LIMIT="200") as run:
            self.assertEqual(self.ran(run), "111\n")
            self.assertEqual(len(run.events("sample")), 110)

    def test_lightnings_epochs_are_cut_with_the_evaluation_that_it_counts(self):
        # As test_the_ends_of_two_epochs..., but nobody asks for a batch behind the last one that is counted.
        loop = """
class FitLoop:
    def __init__(self, trainer):
        self.trainer, self.max_batches = trainer, float("inf")
    def run(self, loader, update, evaluate, epochs):
        trainer, batches = self.trainer, iter(loader)
        self.max_batches = min(len(loader), trainer.limit)
        trainer.val_check_batch = self.max_batches // trainer.evaluations
        for epoch in range(epochs):
            batches = iter(loader) if epoch else batches
            ready = 0
            while ready < self.max_batches:
                next(batches)
                ready += 1
                update(epoch)
                if ready % trainer.val_check_batch == 0:
                    evaluate(epoch)
            trainer.seen.append((ready, self.max_batches, trainer.val_check_batch))
class Trainer:
    def __init__(self, every, limit, evaluations=1):
        self.check_val_every_n_epoch, self.limit, self.evaluations = every, limit, evaluations
        self.fit_loop, self.val_check_batch, self.seen = FitLoop(self), None, []
"""
        script = COUNTED + """
    others = torch.utils.data.DataLoader(batches=1)
    def evaluate(epoch):
        if not epoch: spend(60)
        with torch.no_grad():
            for images, labels in others: pass
        spend(9)
    trainer = package.Trainer(%s)
    trainer.fit_loop.run(loader, update, evaluate, 4)
    print(trainer.seen)
"""
        for processes in ("", ", num_workers=2"):
            with trained(script % ("lightning", loop, processes, "1, 99"), NOCTURNE_INJECT_EPOCH="5,292", NOCTURNE_STEPS_LIMIT="200") as run:
                self.assertEqual(self.ran(run), "[(5, 5, 5), (5, 5, 5), (37, 37, 37), (37, 37, 37)]\n")
                self.assertEqual(run.json()["steps_per_epoch"], 37)
                ends = run.phases("epoch_end")
                self.assertEqual(len(ends), 2)
                self.assertEqual(ends[0] - ends[1], 60)
                self.assertGreater(ends[1], 9.5)
                self.assertLess(ends[1], 20)
        with trained(script % ("lightning", loop, "", "1, 99, 3"), NOCTURNE_INJECT_EPOCH="5,292", NOCTURNE_STEPS_LIMIT="200") as run:
            self.assertEqual(self.ran(run), "[(5, 5, 5), (5, 5, 5), (37, 37, 12), (37, 37, 12)]\n")
            thrice = run.phases("epoch_end")
            self.assertAlmostEqual(thrice[0] - thrice[1], 60)
            self.assertAlmostEqual(thrice[1], 3 * ends[1])
        with trained(script % ("lightning", loop, "", "1, 20"), NOCTURNE_INJECT_EPOCH="5,292", NOCTURNE_STEPS_LIMIT="200") as run:
            self.assertEqual(self.ran(run), "[(5, 5, 5), (5, 5, 5), (20, 20, 20), (20, 20, 20)]\n")
            self.assertEqual(run.json()["steps_per_epoch"], 20)
            # It ends with a whole batch; the loader's last one has half as many examples, and half a step is the end's there.
            self.assertEqual(ends[1] - run.phases("epoch_end")[1], 3.25)
        with trained(script % ("lightning", loop, "", "2, 99"), NOCTURNE_INJECT_EPOCH="5,292,2", NOCTURNE_STEPS_LIMIT="200") as run:
            self.assertEqual(self.ran(run), "[(5, 5, 5), (5, 5, 5), (5, 5, 5), (37, 37, 37)]\n")
        for told, asked, batches in (("2, 99", "5,292", 37), ("1, 20", "", 20)):  # each second epoch alone evaluates; not asked for
            with trained(script % ("lightning", loop, "", told), NOCTURNE_INJECT_EPOCH=asked, NOCTURNE_STEPS_LIMIT="200") as run:
                self.assertEqual(self.ran(run), "%s\n" % ([(batches,) * 3] * 4))
                self.assertEqual(run.json()["steps_per_epoch"], batches)

    def test_epochs_of_ignite_are_cut_whose_next_one_begins_behind_the_last_ones_batches(self):
        # As Lightning's, but one iterator is asked until it has no more: for one too many, when the next epoch begins.
        engine = """
class Engine:
    def run(self, loader, update, evaluate, epochs, length):
        self.state = types.SimpleNamespace(epoch_length=length, max_epochs=epochs)
        batches, seen = iter(loader), []
        for epoch in range(epochs):
            count = 0
            while count < self.state.epoch_length:
                try:
                    next(batches)
                except StopIteration:
                    batches = iter(loader)
                    continue
                count += 1
                update(epoch)
            evaluate(epoch)
            seen.append((count, self.state.epoch_length))
        return seen
"""
        script = COUNTED + """
    others = torch.utils.data.DataLoader(batches=2)
    def evaluate(epoch):
        if not epoch: spend(60)
        counted = iter(others)
        for _ in range(2):
            next(counted)
        spend(9)
    print(package.Engine().run(loader, update, evaluate, 4, %d))
"""
        for processes in ("", ", num_workers=2"):
            with trained(script % ("ignite", engine, processes, 37), NOCTURNE_INJECT_EPOCH="5,292", NOCTURNE_STEPS_LIMIT="200") as run:
                self.assertEqual(self.ran(run), "[(5, 5), (5, 5), (37, 37), (37, 37)]\n")
                self.assertEqual(run.json()["steps_per_epoch"], 37)
                ends = run.phases("epoch_end")
                self.assertEqual(ends[0] - ends[1], 60)
                self.assertGreater(ends[1], 9.5)
                self.assertLess(ends[1], 20)
        with trained(script % ("ignite", engine, "", 20), NOCTURNE_STEPS_LIMIT="200") as run:  # not asked for
            self.assertEqual(self.ran(run), "%s\n" % ([(20, 20)] * 4))
            self.assertEqual(run.json()["loader_examples"], 292)
            self.assertEqual(run.json()["steps_per_epoch"], 20)

    def test_a_trainer_that_evaluates_every_so_many_steps_does_so_at_the_ends_that_are_cut(self):
        script = """
    from transformers import Trainer
    del optimizer  # it has its own
    Trainer([], torch.utils.data.DataLoader(drawn=292), eval_steps=%d%s).train()"""
        for every, more, asked, first, times in (
                (74, "", "5,292", [[5, 1, 0]] * 2, 0.5), (10, "", "5,292", [[5, 1, 0]] * 2, 3.7),
                (74, ", save_strategy='steps'", "5,292", [[5, 1, 1]] * 2, 0.5),
                (74, ", eval_strategy='no'", "5,292", [[5, 0, 0]] * 2, 0), (74, "", "", [[37, 0, 0], [37, 1, 0]], None)):
            with trained(script % (every, more), NOCTURNE_INJECT_EPOCH=asked, NOCTURNE_STEPS_LIMIT="200") as run:
                self.assertEqual(json.loads(self.ran(run))[:2], first, (every, more, asked))
                ends = run.phases("epoch_end")[:2]
                if times is None:
                    self.assertEqual(ends, [])
                else:
                    self.assertAlmostEqual(ends[1], 100 * times, delta=10)
                    self.assertAlmostEqual(ends[0], ends[1], delta=10)

    def test_modules_that_are_loaded_when_they_are_asked_are_not_asked(self):
        with trained("""
    import sys, types
    class Lazy(types.ModuleType):
        def __getattr__(self, name):
            raise ImportError("%s is not installed" % name)
    sys.modules["later"], sys.modules["no_module"] = Lazy("later"), 3
    train(1)""") as run:
            self.ran(run)
            self.assertEqual(run.json()["sources"], ["train.py"])
            self.assertNotIn("own_files", run.notes())

    def test_the_framework_that_trains_is_told_and_recorded_whichever_was_imported_last(self):
        for before, after in (("", "import tensorflow"), ("import tensorflow, mxnet", "")):
            with trained(after + "\ntrain(2)") as run:
                run.script.write_text(before + "\n" + run.script.read_text())
                learnt = run.path("learnt.json")
                self.ran(run, NOCTURNE_INJECT_LEARNING=learnt, NOCTURNE_INJECT_LEARNING_MODE="run", NOCTURNE_STEPS_LIMIT="9")
                told = run.json()
                self.assertEqual((told["framework"], told["batch"]), ("pytorch", 8))
                self.assertIn("loader_workers", [each["name"] for each in told["levers"]])
                with open(learnt) as file:
                    self.assertEqual(set(json.load(file)["losses"]), {0.25})

    def test_an_optimizer_that_is_made_at_the_first_update_counts_its_steps(self):
        with trained("""
    del optimizer
    made = []
    def update(loss):
        loss.backward()
        made or made.append(torch.optim.SGD(model.parameters()))
        made[0].step()
    train(2, update)""") as run:
            self.ran(run)
            self.assertEqual(run.json()["unit"], "optimizer step")
            self.assertNotIn("no optimizer", run.notes())

    def test_without_an_optimizer_backwards_are_counted(self):
        with trained("del optimizer\ntrain(1, lambda loss: (loss.backward(), spend(1)))") as run:
            self.ran(run)
            self.assertEqual(run.seconds(), [6.75] * 9)
            self.assertEqual(run.json()["unit"], "backward")
            self.assertIn("no optimizer of PyTorch is used", run.notes())

    def test_a_loader_of_fastai_says_what_an_epoch_is(self):
        with trained("""
    class FakeLoader:  # what it gives to PyTorch's iterator, and is its data set
        def __init__(self, d):
            self.d, self.dataset, self.seconds, self.batch_size, self.num_workers = d, self, 0.5, 8, 0
            self.batch_sampler = None
        def __len__(self): return len(self.d)
    class Loader:
        bs, n, num_workers = 8, 76, 0
        def __len__(self): return 10
        def __iter__(self): yield from torch.utils.data.dataloader._BaseDataLoaderIter(FakeLoader(self))
    del optimizer
    loader = Loader()
    train(3, lambda loss: (loss.backward(), spend(1)))""") as run:
            self.ran(run)
            report = run.json()
            self.assertEqual([report[key] for key in ("unit", "batch", "steps_per_epoch", "epochs")], ["backward", 8, 10, 3])
            self.assertNotIn("examples_per_epoch", run.events("ready")[0])  # so nobody looks for ends that are not seen
            self.assertNotIn("no DataLoader", run.notes())
            self.assertIn("fastai has loaders", run.notes())

    def test_slow_steps_of_many_backwards_are_told_by_backwards(self):
        with trained("""
    def closure():
        for _ in range(20):
            spend(1); torch.Tensor(0.5).backward()
    train(1, lambda loss: optimizer.step(closure))""") as run:
            self.ran(run)
            self.assertGreater(len(run.seconds()), 180)
            self.assertEqual(sorted(run.seconds())[90], 3)
            self.assertEqual(run.json()["unit"], "backward")
            self.assertIn("takes more than 5 s", run.notes())

    def test_what_the_first_run_counted_as_a_step_others_count_at_any_speed(self):
        script = """
    def gather(loss):
        for _ in range(2):
            spend(%s); torch.Tensor(0.5).backward()
        optimizer.step()
    train(1, gather)"""
        for seconds, expected, steps in (("6", None, 19), ("0.1", None, 9), ("6", "optimizer step", 9), ("0.1", "backward", 19)):
            with self.subTest(seconds=seconds, expected=expected), trained(script % seconds) as run:
                self.ran(run, **({"NOCTURNE_INJECT_STEP": expected} if expected else {}))
                self.assertAlmostEqual(len(run.seconds()), steps, delta=2)
                self.assertEqual(run.json()["unit"], "optimizer step" if steps == 9 else "backward")

    def test_a_run_that_cannot_count_what_was_expected_has_failed(self):
        with trained("""
    def closure():
        optimizer.step()
    def update(loss):
        loss.inner = closure
        loss.backward()
    train(1, update)""") as run:
            self.ran(run, 1, NOCTURNE_INJECT_STEP="optimizer step")
            self.assertIn("steps of the optimizer were expected", run.events("end")[-1]["reason"])

    def test_a_backward_within_another_is_a_part_of_it(self):
        with trained("""
    def update(loss):
        loss.inner = torch.Tensor(1.0).backward
        loss.backward(); optimizer.step()
    train(1, update)""") as run:
            self.ran(run)
            self.assertEqual(run.seconds(), [8.75] * 9)
            self.assertEqual(run.events("sample")[0]["loss"], 0.25)

    def test_samples_that_follow_each_other_closely_are_all_written_once(self):
        with trained("""
    import os
    torch.clock.scale = 0.001
    def update(loss):
        loss.backward(); optimizer.step()
        told.append(os.path.getsize(os.environ["NOCTURNE_STEPS_EVENTS"]))
    told = []
    train(6, update)
    if not os.fork(): raise SystemExit(0)
    os.wait()
    print(len(set(told)))
    raise KeyError('at its end')""") as run:
            code, out, errors = run.run()
            self.assertEqual((code, "at its end" in errors), (1, True), errors)
            samples = run.events("sample")
            self.assertEqual([each["first_step"] for each in samples], list(range(1, 60)))
            self.assertEqual((run.json()["steps"], round(run.json()["step_seconds"], 6)), (59, 0.00675))
            # 60 steps of 6.75 ms: several are written at once, and none of them later than after 0.1 s.
            self.assertIn(int(out), (4, 5, 6))

    def test_it_ends_at_the_limit_and_the_script_does_not_go_on(self):
        with trained("""
    import atexit, sys
    atexit.register(print, 'at exit')
    sys.stdout.write('begun ')
    try:
        train(2)
    finally:
        print('not reached')""", NOCTURNE_STEPS_LIMIT=7, NOCTURNE_STEPS_PER_SAMPLE=3) as run:
            self.assertEqual(self.ran(run), "begun ")
            self.assertEqual([each["steps"] for each in run.events("sample")], [3, 3, 1])
            self.assertEqual(run.json()["steps"], 7)

    def test_another_batch_than_expected_fails(self):
        with trained("train()", NOCTURNE_INJECT_BATCH=16) as run:
            self.ran(run, code=1)
            end = run.events("end")[0]
            self.assertEqual((end["status"], run.events("sample")), ("failed", []))
            self.assertIn("has 8 examples, and 16 were expected", end["reason"])
            self.ran(run, NOCTURNE_INJECT_BATCH=8)

    def test_only_the_report_or_nothing_may_be_asked_for(self):
        with trained("train()\nprint('done')", NOCTURNE_STEPS_EVENTS=None) as run:
            self.assertEqual(self.ran(run), "done\n")
            self.assertEqual((run.json()["steps"], os.path.getsize(run.path("events.jsonl"))), (9, 0))
            self.assertEqual(self.ran(run, NOCTURNE_DISABLE=1), "done\n")
            self.assertFalse(os.path.exists(run.path("report.json")))

    def test_what_trained_nothing_says_so_unless_another_did(self):
        with trained("print('done')") as run:
            self.ran(run)
            self.assertIn("no step of a training was seen", run.notes())
            self.assertFalse(os.path.exists(run.path("steps.pid")))

    def test_what_had_nothing_left_to_train_says_what_it_read(self):
        with trained("torch.load('last.ckpt')\nfor epoch in range(8, 8): train()") as run:
            self.ran(run)
            self.assertIn("no step of a training was seen; it read last.ckpt:", run.notes())

    def test_the_epochs_of_fit_on_pytorch_are_those_it_is_told_and_evaluated_as_often(self):
        with trained("import keras\nkeras.Model().fit(0, epochs=3, validation_freq=2)") as run:
            (run.script.parent / "keras.py").write_text(textwrap.dedent("""
                import types
                __version__ = "3.15.1"
                backend = types.SimpleNamespace(backend=lambda: "torch")
                class Model(object):
                    def fit(self, x, y=None, batch_size=None, epochs=1, validation_freq=1):
                        __import__("__main__").train(epochs)
                """))
            self.ran(run)
            self.assertEqual([run.json()[key] for key in ("unit", "epochs", "trains", "ends_repeat")],
                             ["optimizer step", 3, "epochs of fit", 2])

    def test_an_error_of_the_hooks_becomes_a_note(self):
        with trained("train(1, lambda loss: (torch.autograd.backward(loss), optimizer.step()))\nprint('done')") as run:
            script = run.script.read_text().replace("def train", "torch.is_grad_enabled = 7\ndef train")
            run.script.write_text(script)
            self.assertEqual(self.ran(run), "done\n")
            self.assertIn("'int' object is not callable", run.notes())
            self.assertEqual(len(run.seconds()), 9)

    def test_what_took_long_to_begin_is_said(self):
        with trained("spend(100)\ntrain()") as run:
            self.ran(run)
            self.assertIn("the first step began 104 s after the framework's import", run.notes())


class Rounds(unittest.TestCase):
    PLAYED = """
    for update in range(100):
        spend(%s)
        for _ in range(16):
            model(torch.Tensor(1.0))
            loss = torch.Tensor(0.25)
            loss.backward(); optimizer.step()
    """

    def looked_at(self, script, **environment):
        with trained(script, NOCTURNE_STEPS_LIMIT="20", **environment) as run:
            code, out, errors = run.run()
            self.assertEqual((code, out, errors), (0, "", ""))
            return len(run.events("sample")), run.json().get("round")

    def test_without_a_loader_the_look_goes_on_until_rounds_are_seen(self):
        self.assertEqual(self.looked_at(self.PLAYED % 100, NOCTURNE_INJECT_LOOK="1000"),
                         (40, {"steps": 16, "seconds": 196.0}))

    def test_it_ends_in_time_where_there_are_none(self):
        self.assertEqual(self.looked_at(self.PLAYED % 0, NOCTURNE_INJECT_LOOK="150"), (40, None))
        self.assertEqual(self.looked_at(self.PLAYED % 100), (20, None))

    def test_where_a_loader_says_what_an_epoch_is_it_does_not(self):
        self.assertEqual(self.looked_at("train(9)", NOCTURNE_INJECT_LOOK="1000"), (20, None))


class Processes(unittest.TestCase):
    ran = Steps.ran

    def test_only_the_first_rank_speaks(self):
        with trained("train()") as run:
            for name in ("RANK", "LOCAL_RANK"):
                self.ran(run, **{name: 1})
                self.assertEqual(run.events("sample"), [])
            self.ran(run, RANK=0, LOCAL_RANK=0, WORLD_SIZE=1)
            self.assertEqual(len(run.events("sample")), 9)

    def test_children_are_silent_and_a_child_that_trains_for_its_parent_is_not(self):
        child = """
import os
def forked(function):
    pid = os.fork()
    if not pid:
        function()
        os._exit(0)
    os.waitpid(pid, 0)
"""
        with trained(child + "train(); forked(train); print('done')") as run:
            self.assertEqual(self.ran(run), "done\n")
            self.assertEqual(len(run.events("sample")), 9)
        with trained(child + "forked(train); print('done')") as run:
            self.ran(run)
            self.assertEqual(len(run.events("sample")), 9)
        with trained(child + "forked(train); train()") as run:
            self.ran(run)
            self.assertEqual(len(run.events("sample")), 9)

    def test_a_second_process_that_trains_is_told(self):
        with trained("""
    import subprocess, sys
    train()
    if len(sys.argv) == 1: subprocess.run([sys.executable, __file__, "second"], check=True)""") as run:
            self.ran(run)
            self.assertEqual(len(run.events("sample")), 9)
            self.assertIn("more than one process trains", run.notes())

    def test_a_script_that_tells_its_steps_itself_keeps_them(self):
        with trained("""
    import sys
    sys.path.insert(0, %r)
    import nocturne_steps
    for _ in range(3):
        train()
        nocturne_steps.step()""" % str(INJECT.parent / "python")) as run:
            self.ran(run)
            self.assertEqual([each["first_step"] for each in run.events("sample")], [1, 2])
            self.assertIn("tells its steps itself", run.notes())

    def test_descendants_stop_while_a_turn_is_awaited_and_steps_behind_it_are_dropped(self):
        with trained("""
    import subprocess, sys
    other = subprocess.Popen([sys.executable, "-S", "-c", "import time\\nwhile True: time.sleep(0.01)"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(other.pid, flush=True)
    try:
        train(100)
    finally:
        print("not reached")""") as run:
            turns = run.path("turns")
            os.mkfifo(turns)
            process = run.start(NOCTURNE_STEPS_TURNS=turns, NOCTURNE_STEPS_PER_SAMPLE=4)
            child = int(process.stdout.readline())
            self.addCleanup(os.kill, child, signal.SIGKILL)
            with open(turns, "w") as file:
                for slice_steps, expected in ((6, [4, 2]), (2, [4, 2, 2])):
                    self.until(lambda: self.state(child) == "T")
                    file.write("%d\n" % slice_steps)
                    file.flush()
                    self.until(lambda: [each["steps"] for each in run.events("sample")] == expected)
                self.until(lambda: self.state(child) == "T")
            out, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out, errors), (0, "", ""))
            self.assertNotEqual(self.state(child), "T")
            # The first step, five dropped, six timed; five dropped, two timed.
            self.assertEqual([each["first_step"] for each in run.events("sample")], [1, 5, 7])
            self.assertEqual(run.seconds(), [27.0, 13.25, 13.5])  # an epoch ends behind the first

    def test_before_the_first_turn_the_ends_of_two_epochs_are_awaited(self):
        # Who gives turns stops a process that has ended its first step.
        for examples, ends in (292, 2), (10 ** 6, 0):  # of the second's data 500 steps are not half of an epoch
            with trained("""
    loader = torch.utils.data.DataLoader(drawn=%d)
    torch.clock.scale = 0.01
    train(9)""" % examples, NOCTURNE_INJECT_EPOCH="5,%d" % (292 if ends else 1)) as run:
                turns = run.path("turns")
                os.mkfifo(turns)
                process = run.start(NOCTURNE_STEPS_TURNS=turns, NOCTURNE_STEPS_PER_SAMPLE=4)
                with open(turns, "w") as file:
                    self.until(lambda: run.events("phase_end")[-1:] and run.events("phase_end")[-1]["name"] == (
                        "epoch_end" if ends else "first_step"))
                    self.assertEqual(run.events("sample"), [])
                    file.write("8\n")
                    file.flush()
                    self.until(lambda: [each["steps"] for each in run.events("sample")] == [4, 4])
                out, errors = process.communicate(timeout=60)
                self.assertEqual((process.returncode, out, errors), (0, "", ""))
                self.assertEqual([each["name"] for each in run.events("phase_end")],
                                 ["import", "first_step"] + ["epoch_end"] * ends)
                self.assertEqual([each["first_step"] for each in run.events("sample")], [1, 5])
                self.assertEqual("no epoch ended" in run.notes(), not ends)

    def state(self, pid):
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0]

    def until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)


LEVER = """
NAME, FRAMEWORK, CHANGES, DESCRIPTION = "tempo", "pytorch", "nothing", "How fast it goes."
LINES = {"fast": "torch.tempo = 'fast'", "never": "torch.tempo = 'never'"}
def values(seen):
    if seen.modules[0].parameters != 7 and not seen.loaders[0].training:
        raise RuntimeError("not seen")
    return ["script", "fast"], None
def install(value, torch):
    from . import Refused
    if value == "never": raise Refused("it never is")
    torch.tempo = value
"""
REFUSED = LEVER.replace("tempo", "other").replace('return ["script", "fast"], None', 'return None, "there is no GPU"')


class Levers(unittest.TestCase):
    ran = Steps.ran

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="nocturne-levers-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.inject = os.path.join(self.folder, "inject")
        shutil.copytree(str(INJECT), self.inject, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(str(INJECT.parent / "python" / "nocturne_steps.py"), self.inject)
        levers = os.path.join(self.inject, "nocturne_inject", "levers")
        for name in os.listdir(levers):
            if name != "__init__.py":
                os.unlink(os.path.join(levers, name))
        for name, text in (("tempo", LEVER), ("refused", REFUSED)):
            with open(os.path.join(levers, name + ".py"), "w") as file:
                file.write(text)

    def test_a_lever_is_installed_and_offered(self):
        with trained("train(); print(getattr(torch, 'tempo', 'as it is'))", folder=self.inject) as run:
            self.assertEqual(self.ran(run), "as it is\n")
            self.assertEqual(run.json()["levers"], [
                {"name": "tempo", "values": ["script", "fast"], "default": "script", "type": "categorical",
                 "stage": "run", "description": "How fast it goes.", "changes": "nothing", "variable": "NOCTURNE_LEVER_TEMPO",
                 "lines": {"fast": "torch.tempo = 'fast'"}}])
            self.assertEqual(run.json()["refused"], [{"name": "other", "reason": "there is no GPU"}])
            self.assertEqual(self.ran(run, NOCTURNE_LEVER_TEMPO="fast"), "fast\n")
            self.assertEqual(self.ran(run, NOCTURNE_LEVER_TEMPO="script"), "as it is\n")

    def test_a_lever_that_cannot_be_ends_the_trial(self):
        for name, value, status, reason in (("TEMPO", "never", "unsupported", "lever tempo: it never is"),
                                            ("UNKNOWN", "x", "failed", "lever unknown: there is no lever of this name")):
            with trained("train()", folder=self.inject) as run:
                self.ran(run, code=1, **{"NOCTURNE_LEVER_" + name: value})
                self.assertEqual(run.events("end"), [{"event": "end", "status": status, "reason": reason}])

    def test_levers_alone_need_no_timing(self):
        with trained("train(); print(torch.tempo, torch.autograd.backward.__module__)", folder=self.inject,
                     NOCTURNE_STEPS_EVENTS=None, NOCTURNE_INJECT_REPORT=None, NOCTURNE_LEVER_TEMPO="fast") as run:
            os.unlink(os.path.join(self.inject, "nocturne_steps.py"))
            self.assertEqual(self.ran(run), "fast torch.autograd\n")
            code, out, errors = run.run(NOCTURNE_LEVER_TEMPO="never")
            self.assertEqual(errors.splitlines()[0], "nocturne: tempo is left as it is: it never is")


class Learning(unittest.TestCase):
    ran = Steps.ran

    def recorded(self, script, mode="start", **environment):
        with trained(script, NOCTURNE_INJECT_LEARNING="learning.json", NOCTURNE_INJECT_LEARNING_MODE=mode,
                     **environment) as run:
            run.variables["NOCTURNE_INJECT_LEARNING"] = run.path("learning.json")
            self.ran(run)
            return run.json("learning.json")

    def test_a_paired_start_is_the_same_twice(self):
        script = """
    import random, sys
    random.seed()
    def update(loss):
        torch.nn.functional.dropout(loss)
        torch.Tensor(random.random()).backward()
        if len(sys.argv) > 1: random.random()  # as a lever may draw one number more
        optimizer.step()
    train(1, update)"""
        first = self.recorded(script)
        self.assertEqual((first["version"], first["mode"], len(set(first["losses"]))), (1, "start", 5))
        self.assertEqual(first["updates"], [{"0.weight": float(each)} for each in range(1, 6)])
        self.assertEqual(self.recorded(script), first)
        self.assertEqual(self.recorded(script.replace("len(sys.argv) > 1", "True")), first)
        self.assertNotEqual(self.recorded(script, NOCTURNE_INJECT_SEED=9)["losses"], first["losses"])

    def test_what_moves_more_or_not_at_all_is_seen(self):
        self.assertEqual(self.recorded("optimizer.moves = 2.0\ntrain()")["updates"][0], {"0.weight": 2.0})
        self.assertEqual(self.recorded("optimizer.moves = 0.0\ntrain()")["updates"], [{"0.weight": 0.0}] * 5)

    def test_an_update_behind_the_backward_is_seen(self):
        by_hand = "def update(loss):\n    loss.backward()\n    model.owned['weight'].value += 0.5\ntrain(1, update)"
        self.assertEqual(self.recorded("del optimizer\n" + by_hand)["updates"][:2], [{"0.weight": 0.5}, {"0.weight": 1.0}])
        # A second optimizer of the same backward, and what the script does behind both.
        found = self.recorded("""
    model.owned["other"] = torch.Tensor(1.0)
    optimizer.param_groups[0]["params"] = [model.owned["weight"]]
    second = torch.optim.SGD([model.owned["other"]])
    train(1, lambda loss: (loss.backward(), optimizer.step(), second.step()))""")
        self.assertEqual(found["updates"][0], {"0.weight": 1.0, "0.other": 1.0})

    def test_steps_before_the_first_that_moves_anything_are_left_out(self):
        found = self.recorded("""
    optimizer.moves = 0.0
    def update(loss):
        loss.backward(); optimizer.step()
        optimizer.moves += 1.0
    train(1, update)""")
        self.assertEqual(found["updates"][:2], [{"0.weight": 1.0}, {"0.weight": 3.0}])

    def test_a_gans_first_step_is_its_first_period(self):
        found = self.recorded("""
    critic = torch.nn.Module()
    critic.owned["weight"] = torch.Tensor(1.0)
    second = torch.optim.SGD(critic.parameters())
    def update(loss):
        for _ in range(3):
            loss.backward(); second.step()
        loss.backward(); optimizer.step()
    train(1, update)""")
        self.assertEqual((found["updates"][0], found["losses"]), ({"0.weight": 1.0, "1.weight": 3.0}, [None] * 5))
        self.assertIn("loss not seen", found["notes"][0])

    def test_a_run_records_the_losses_of_its_steps(self):
        script = """
    import random
    torch.nn.functional.dropout = None
    random.seed(1)
    train(2, lambda loss: (torch.Tensor(random.random()).backward(), optimizer.step()))"""
        found = self.recorded(script, "run", NOCTURNE_STEPS_LIMIT=12)
        self.assertEqual((found["mode"], len(set(found["losses"])), "updates" in found), ("run", 12, False))
        self.assertNotEqual(self.recorded(script, "run", NOCTURNE_STEPS_LIMIT=12, NOCTURNE_INJECT_SEED=2), found)

    def test_one_that_ends_early_says_so(self):
        found = self.recorded("train()", "run", NOCTURNE_STEPS_LIMIT=12)
        self.assertEqual((len(found["losses"]), found["notes"]),
                         (10, ["the script ended before 12 steps had been seen"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
