"""Real PyTorch: trainings of the kinds that people write, against the script's own clock, and the paired start.

Run by a Python that has PyTorch, wherever one is found (injected.python_with).
"""

import statistics
import sys
import textwrap
import unittest

from injected import Injected, python_with

SKIPPED = 77
MOST_CALLS = 45  # of functions in a step, by the hooks; where it is a sample too, 30 more


PYTHON = python_with("torch")

# The script's own clock: {number of a step: seconds since the end of the step before}, but for the first ones of epochs.
BEGINNING = """
    import json, sys, time, torch
    from torch import nn
    import torch.nn.functional as F
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if torch.get_num_interop_threads() > 1: torch.set_num_interop_threads(1)
    images, labels = torch.randn(640, 1, 20, 20), torch.randint(0, 10, (640,))
    data = torch.utils.data.TensorDataset(images, labels)
    model = nn.Sequential(nn.Flatten(), nn.Linear(400, 2000), nn.ReLU(), nn.Dropout(0.3), nn.Linear(2000, 10))
    own, before, count = {}, None, 0
    def epoch():
        global before
        before = None
    def stepped():
        global before, count
        now, count = time.monotonic(), count + 1
        if before is not None: own[count] = now - before
        before = now
    def loader(**how):
        return torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, **how)
"""
END = "\n    json.dump(own, open('own.json', 'w'))\n"

SCRIPTS = {
    "mlp": """
    optimizer = torch.optim.Adam(model.parameters())
    batches = loader()
    for _ in range(3):
        epoch()
        for x, y in batches:
            optimizer.zero_grad(); loss = F.cross_entropy(model(x), y); loss.backward(); optimizer.step(); stepped()
        model.eval()
        with torch.no_grad():
            for x, y in loader(): model(x)
        model.train()""",
    "gan": """
    critic = nn.Sequential(nn.Linear(400, 1000), nn.ReLU(), nn.Linear(1000, 1))
    generator = nn.Sequential(nn.Linear(20, 1000), nn.ReLU(), nn.Linear(1000, 400))
    both = [torch.optim.Adam(each.parameters()) for each in (critic, generator)]
    for _ in range(4):
        epoch()
        for x, _ in loader():
            fake = generator(torch.randn(64, 20))
            both[0].zero_grad(); (critic(fake.detach()) - critic(x.flatten(1))).mean().backward(); both[0].step()
            both[1].zero_grad(); (-critic(fake)).mean().backward(); both[1].step(); stepped()""",
    "manual": """
    for _ in range(3):
        epoch()
        for x, y in loader():
            model.zero_grad(); loss = F.cross_entropy(model(x), y); loss.backward(); stepped()
            with torch.no_grad():
                for each in model.parameters(): each -= 0.1 * each.grad""",
    "lbfgs": """
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    for _ in range(9):
        def closure():
            optimizer.zero_grad(); loss = F.cross_entropy(model(images), labels); loss.backward(); return loss
        optimizer.step(closure); stepped()""",
    "accumulation": """
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(6):
        epoch()
        for index, (x, y) in enumerate(loader()):
            (F.cross_entropy(model(x), y) / 2).backward()
            if index % 2:
                optimizer.step(); optimizer.zero_grad(); stepped()""",
    "scaler": """
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 127)  # skips its first steps
    for _ in range(3):
        epoch()
        for x, y in loader():
            optimizer.zero_grad(); loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update(); stepped()""",
    "workers": """
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        epoch()
        for x, y in loader(num_workers=1):
            optimizer.zero_grad(); loss = F.cross_entropy(model(x), y); loss.backward(); optimizer.step(); stepped()"""}


def script(name):
    return textwrap.dedent(BEGINNING + SCRIPTS[name] + END)


# What the hooks add to a step of next to nothing, in turns with steps without them: calls of functions, which no other work on
# the machine changes, and microseconds of the processor.
COST = """
    import json, statistics, sys, time, torch
    from torch import nn
    from torch.utils.data import dataloader
    torch.set_num_threads(1)
    class Ones(torch.utils.data.Dataset):
        def __len__(self): return 100000
        def __getitem__(self, index): return images, labels
    images, labels = torch.ones(4), torch.ones(4)
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    batches = iter(torch.utils.data.DataLoader(Ones()))
    def block(steps):
        begin = time.thread_time()
        for _ in range(steps):
            x, y = next(batches)
            optimizer.zero_grad(); loss = (model(x) - y).square().mean(); loss.backward(); optimizer.step()
        return (time.thread_time() - begin) / steps
    block(40)
    optimizers = sys.modules[torch.optim.Optimizer.__module__]
    known = [(each, dict(each)) for each in (optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks)]
    hooked = [(owner, name, getattr(owner, name)) for owner, name in (
        (torch.autograd, "backward"), (dataloader._BaseDataLoaderIter, "__next__"))]
    def switch(on):
        for owner, name, hook in hooked: setattr(owner, name, hook if on else hook.__wrapped__)
        for hooks, each in known:
            hooks.clear()
            hooks.update(each if on else {})
    def calls(steps):
        counted = 0
        def count(frame, event, argument):
            nonlocal counted
            ours = "nocturne_inject" in frame.f_code.co_filename or "nocturne_steps" in frame.f_code.co_filename
            counted += ours and event in ("call", "c_call")
        sys.setprofile(count)
        block(steps)
        sys.setprofile(None)
        return counted / steps
    found = {"calls": calls(200)}
    pairs = []
    for _ in range(20):
        pair = []
        for on in (True, False):
            switch(on)
            block(5)
            pair.append(1e6 * block(100))
        pairs.append(pair[0] - pair[1])
    found["bare calls"] = calls(20)
    found["us"], found["quartiles"] = statistics.median(pairs), statistics.quantiles(pairs)
    json.dump(found, open("cost.json", "w"))
"""


class Cost(unittest.TestCase):
    def test_what_a_step_costs(self):
        for steps, calls in ((1, MOST_CALLS + 30), (20, MOST_CALLS)):  # of a sample
            with self.subTest(steps), Injected(COST, python=PYTHON, fake=False, NOCTURNE_INJECT_REPORT=None,
                                               NOCTURNE_STEPS_PER_SAMPLE=steps) as run:
                code, _, errors = run.run(OMP_NUM_THREADS="1")
                self.assertEqual((code, errors), (0, ""))
                found = run.json("cost.json")
                print("%d steps a sample: a step costs %.0f calls, %.1f us (quartiles %.1f to %.1f)" % (
                    steps, found["calls"], found["us"], found["quartiles"][0], found["quartiles"][2]))
                self.assertEqual(found["bare calls"], 0)
                self.assertLess(found["calls"], calls)


class RealTraining(unittest.TestCase):
    def ran(self, run, **environment):
        code, out, errors = run.run(OMP_NUM_THREADS="1", **environment)
        self.assertEqual((code, errors), (0, ""))
        return out

    def test_steps_are_those_of_the_scripts_own_clock(self):
        steps = {"mlp": 30, "gan": 40, "manual": 30, "lbfgs": 9, "accumulation": 30, "scaler": 30, "workers": 30}
        for name, count in steps.items():
            with self.subTest(name), Injected(script(name), python=PYTHON, fake=False) as run:
                self.ran(run)
                report, own = run.json(), run.json("own.json")
                first = 2 if name == "gan" else 1  # steps until it was known what a step is
                seen = {str(each["first_step"] + first): each["wall_ns"] / 1e9 for each in run.events("sample")}
                self.assertEqual((len(seen), report["steps"]), (count - first, count - first))
                both = sorted(set(seen) & set(own))
                ratio = statistics.median(seen[each] / own[each] for each in both)  # of steps that nothing cut short
                print("%-13s %.4f of the script's clock in %d steps of %.1f ms; %s %s" % (
                    name, ratio, len(both), 1e3 * report["step_seconds"], report["share"], report["notes"]))
                self.assertGreater(len(both), 0.75 * count)
                self.assertAlmostEqual(ratio, 1, delta=0.02)
                self.assertEqual(report["unit"], "backward" if name == "manual" else "optimizer step")
                self.assertEqual(report["events_per_step"], 2 if name == "gan" else 1)
                self.assertEqual(report["batch"], {"lbfgs": None, "accumulation": 128}.get(name, 64))
                self.assertEqual(report["steps_per_epoch"], {"lbfgs": None, "accumulation": 5}.get(name, 10))

    def test_pytorchs_own_launcher_is_silent_and_what_it_starts_is_seen(self):
        with Injected(script("mlp"), python=PYTHON, fake=False) as run:
            code, _, errors = run.run("-m", "torch.backends.xeon.run_cpu", str(run.script), OMP_NUM_THREADS="1")
            self.assertEqual(code, 0, errors)
            self.assertEqual((len(run.events("sample")), run.json()["steps"], run.json()["notes"]), (29, 29, []))

    def test_a_paired_start_of_the_default_is_the_default(self):
        for name in ("mlp", "gan", "workers"):
            with self.subTest(name), Injected(script(name), python=PYTHON, fake=False) as run:
                run.variables["NOCTURNE_INJECT_LEARNING"] = run.path("learning.json")
                found = []
                for _ in range(2):
                    self.ran(run, NOCTURNE_INJECT_LEARNING_MODE="start")
                    found.append(run.json("learning.json"))
                self.assertEqual(found[0], found[1])
                self.assertEqual(len(found[0]["losses"]), 5)
                self.assertGreaterEqual(len(found[0]["updates"][0]), 4)
                self.assertGreater(sum(each > 0 for each in found[0]["updates"][0].values()), 3)
                self.assertEqual(None in found[0]["losses"], name == "gan")

    def test_compiled_code_and_scripts_are_as_without_it(self):
        with Injected(textwrap.dedent("""
            import torch
            torch.manual_seed(1)
            model = torch.nn.Linear(4, 4)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            fast = torch.compile(model, backend="eager")
            traced = torch.jit.trace(model, torch.zeros(1, 4))
            update = torch.compile(lambda: optimizer.step(), backend="eager")
            @torch.compile(backend="eager")
            def whole(x):
                optimizer.zero_grad()
                loss = model(x).sum()
                loss.backward()
                optimizer.step()
                return loss
            for step in range(3):
                (fast(torch.ones(2, 4)).sum() + traced(torch.ones(2, 4)).sum()).backward(); update()
            for step in range(3):
                print(float(whole(torch.ones(2, 4))))
            try:
                loss.backward()
            except NameError as error:
                print(error)
            torch.ones(1).backward()
        """), python=PYTHON, fake=False) as run:
            alone, injected = run.run(NOCTURNE_DISABLE="1"), run.run()
            self.assertEqual(injected[:2], alone[:2])
            self.assertEqual(injected[2][injected[2].rindex("Traceback"):], alone[2][alone[2].rindex("Traceback"):])
            self.assertIn("does not require grad", injected[2])
            self.assertEqual(len(run.events("sample")), 5)


if __name__ == "__main__":
    if not PYTHON:
        print("skipped: no Python with PyTorch was found, and NOCTURNE_FRAMEWORKS names none")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
