"""The scripts of examples/scripts under the module that sees their steps and puts levers in.

Of each script, run with the module in front and without:
- the steps that the module sees are those that the script counts, and take what its own clock says, to 2 %;
- without a lever nothing that it prints, writes or returns changes;
- each lever is applied, and the training goes on to its end, or it is refused with a reason.

Both clocks are of one process, so a loaded machine moves both. Scripts run with a Python that has their framework: one of
those that NOCTURNE_FRAMEWORKS names ("pytorch=/…/bin/python lightning=/… tensorflow=/…"), this one, or that of an
environment that `nocturne env install` made. Without PyTorch there is nothing to do (77). `--long`: the scripts of TensorFlow,
of JAX and of what stands on PyTorch, and every value of every lever of every script.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

from injected import python_with

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "examples" / "scripts"
MODULE = ROOT / "kernels" / "inject"
LONG = "--long" in sys.argv
FIRST = 5  # steps that neither clock counts in its median


class Script(object):
    def __init__(self, name, *arguments, **more):
        self.words = [name] + list(arguments)
        self.needs = more.pop("needs", ("torch",))
        self.unit = more.pop("unit", "optimizer step")   # what the module says a step is
        self.events = more.pop("events", 1)              # of them a step
        self.clock = more.pop("clock", "step")           # the script's own word
        self.batches = more.pop("batches", 1)            # steps that the script counts as one
        self.epoch = more.pop("epoch", None)             # batch, steps and examples of an epoch, where a loader tells
        self.long = more.pop("long", False)
        self.missed = more.pop("missed", 0)              # steps at most that the module needs to understand
        self.length = more.pop("length", None)           # what its loops say: epochs, or steps in all
        self.shares = more.pop("shares", True)           # whether it sees what a step's time goes into
        assert not more, more

    def __str__(self):
        return " ".join(self.words)


LIGHTNING = dict(needs=("torch", "lightning"), long=True)
TRANSFORMERS = dict(needs=("torch", "transformers", "accelerate"), long=True)
# Whose levers are tested in every run: a few steps, for each lever is a process.
SMALL = [Script("mnist.py", "--epochs", "1", "--images", "1536")]
LIMIT = {"NOCTURNE_STEPS_LIMIT": "10"}
# A profile whose levers are all left as the script has them.
WITHOUT_LEVERS = {"NOCTURNE_LEVER_AUTOCAST": "script", "NOCTURNE_LEVER_TF_XLA": "script", "NOCTURNE_LEVER_TF_BF16": "script"}
ONE, FOUR = dict(epoch=(64, 200, 12800)), dict(epoch=(256, 50, 12800))
TENSORFLOW = dict(needs=("tensorflow", "keras"), long=True)
JAX = dict(needs=("jax",), unit="call", epoch=(64, None, None), missed=1, shares=False, long=True)
ALL = [
    Script("mnist.py", "--epochs", "2", "--images", "1536", "--save-model", epoch=(64, 24, 1536)),
    Script("language_model.py", "--epochs", "2", "--tokens", "20000", "--width", "64", "--save", "model.pt",
           unit="backward"),
    Script("gan.py", "--epochs", "2", "--pictures", "1280", "--width", "8", "--out", ".", events=2, missed=1,
           epoch=(64, 20, 1280)),
    Script("vae.py", "--epochs", "2", "--pictures", "5120", "--results", "results", epoch=(128, 40, 5120)),
    Script("lbfgs.py", "--steps", "16", "--evaluations", "6", "--waves", "8", "--length", "12", "--save", "ahead.pt",
           length={"steps_in_all": 16}),
    Script("classifier.py", "--epochs", "2", "--pictures", "1024", "--checkpoint", "checkpoint.pt", epoch=(64, 16, 1024)),
    Script("lbfgs.py", "--steps", "2", "--evaluations", "15", "--length", "600", "--save", "ahead.pt", unit="backward",
           clock="backward", missed=15, length={"epochs": None, "steps_in_all": None}, long=True),
    Script("trainer.py", "lightning", "--epochs", "1", "--save", "model.pt", **ONE, **LIGHTNING),
    Script("trainer.py", "lightning", "--epochs", "1", "--accumulate", "4", "--save", "model.pt", **FOUR, **LIGHTNING),
    Script("trainer.py", "transformers", "--epochs", "1", "--save", "model.pt", **ONE, **TRANSFORMERS),
    Script("trainer.py", "transformers", "--epochs", "1", "--accumulate", "4", "--save", "model.pt", **FOUR,
           **TRANSFORMERS),
    Script("keras_fit.py", "--epochs", "2", "--save", "model.weights.h5", unit="batch", **TENSORFLOW),
    Script("keras_fit.py", "--epochs", "2", "--steps-per-execution", "5", unit="batch", batches=5, **TENSORFLOW),
    Script("tensorflow_loop.py", "--epochs", "2", "--checkpoint", "training", **TENSORFLOW),
    Script("jax_loop.py", "--epochs", "2", "--save", "parameters.npz", **JAX),
    Script("jax_loop.py", "--epochs", "2", "--gradients-alone", "--save", "parameters.npz", **JAX),
]


# Each call of a clock that a script may print is a millisecond after the one before; the module reads others.
FAKE_CLOCK = """
import itertools, time
for name in ("time", "perf_counter"):
    setattr(time, name, lambda ticks=itertools.count(): 1.7e9 + 0.001 * next(ticks))
"""


class Run(object):
    """One run of a script in a folder of its own: what it printed, returned and wrote, and what the module said."""

    def __init__(self, script, module=True, timed=True, fake_clock=False, **variables):
        self.home = tempfile.mkdtemp(prefix="nocturne-scripts-")
        work = os.path.join(self.home, "work")
        os.mkdir(work)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NOCTURNE_")}
        environment.update(EXAMPLE_CLOCK=self.path("clock"), OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1", TMPDIR=self.home,
                           TF_CPP_MIN_LOG_LEVEL="3", HF_HUB_OFFLINE="1")
        if module:
            environment.update(PYTHONPATH=str(MODULE))
        if fake_clock:  # the sitecustomize that would run without the module
            with open(self.path("sitecustomize.py"), "w") as file:
                file.write(FAKE_CLOCK)
            environment.update(PYTHONPATH=os.pathsep.join([str(MODULE)] * module + [self.home]), EXAMPLE_CLOCK="1")
        if module and timed:
            open(self.path("events"), "w").close()
            environment.update(NOCTURNE_STEPS_EVENTS=self.path("events"),
                               NOCTURNE_STEPS_PID_FILE=self.path("steps.pid"), NOCTURNE_STEPS_LIMIT="1000000",
                               NOCTURNE_STEPS_PER_SAMPLE="1", NOCTURNE_INJECT_REPORT=self.path("report"))
        environment.update(variables)
        command = [python_with(*script.needs), str(SCRIPTS / script.words[0])] + script.words[1:]
        done = subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=600)
        self.printed = done.stdout.decode()
        self.complained = done.stderr.decode()
        self.returned = done.returncode
        self.files = {}
        for folder, _, names in os.walk(work):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.files[os.path.relpath(os.path.join(folder, name), work)] = file.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.home)

    def path(self, name):
        return os.path.join(self.home, name)

    def own(self, clock):
        """Seconds of each step but the first, by the script's own clock."""
        with open(self.path("clock")) as file:
            return next(each["seconds"] for each in map(json.loads, file) if each["unit"] == clock)

    def untimed(self):
        return "".join(line for line in self.printed.splitlines(True) if not line.startswith("own clock:"))

    def events(self, name):
        with open(self.path("events")) as file:
            return [event for event in map(json.loads, file) if event["event"] == name]

    def report(self):
        with open(self.path("report")) as file:
            return json.load(file)


def levers_of(framework):
    """Names of the levers that the module has for a framework."""
    found = []
    for path in (MODULE / "nocturne_inject" / "levers").glob("*.py"):
        says = dict(re.findall(r'^(NAME|FRAMEWORK) = "(\w+)"', path.read_text(), re.MULTILINE))
        if says.get("FRAMEWORK") == framework:
            found.append(says["NAME"])
    return sorted(found)


class Scripts(unittest.TestCase):
    known = {}  # by script: as it is

    def subjects(self):
        for script in ALL:
            if script.long == LONG:
                if python_with(*script.needs):
                    yield script
                else:
                    print("%s: left out, no Python has %s" % (script, ", ".join(script.needs)))

    def check_steps(self, script, run):
        own = run.own(script.clock)
        samples = run.events("sample")
        steps = [each["steps"] for each in samples]
        self.assertEqual([each["first_step"] for each in samples], [1 + sum(steps[:index]) for index in range(len(steps))])
        self.assertEqual(set(steps), {script.batches})
        self.assertIn(len(own) - len(samples), range(script.missed + 1))
        pairs = list(zip(reversed(samples), reversed(own)))[:-FIRST]
        ratio = statistics.median(1e-9 * sample["wall_ns"] / seconds for sample, seconds in pairs)
        print("%s: %d of %.3f ms, seen %d of %.4f times that" % (
            script, len(own) + 1, 1e3 * statistics.median(own[FIRST:]), len(samples) + 1, ratio))
        self.assertLessEqual(abs(ratio - 1), 0.02)

    def check_report(self, script, report):
        self.assertEqual((report["unit"], report["events_per_step"]), (script.unit, script.events))
        if script.epoch:
            self.assertEqual((report["batch"], report["steps_per_epoch"], report["examples_per_epoch"]), script.epoch)
        told = script.length or {"epochs": int(script.words[script.words.index("--epochs") + 1])}
        self.assertEqual({key: report.get(key) for key in told}, told)
        self.assertAlmostEqual(sum(report["share"].values()), script.shares, places=2)
        self.assertEqual([each for each in report["notes"] if re.search(r"\w(Error|Exception): ", each)], [])
        named = [each["name"] for each in report["levers"] + report["refused"]]
        self.assertEqual(sorted(named), levers_of(report["framework"]))
        self.assertEqual([each for each in report["refused"] if not each["reason"] or "could not be judged" in each["reason"]], [])

    @classmethod
    def plain(cls, script):
        """The script without the module, by the fake clock; run once."""
        if script not in cls.known:
            cls.known[script] = Run(script, module=False, fake_clock=True)
            cls.addClassCleanup(shutil.rmtree, cls.known[script].home)
        return cls.known[script]

    def check_nothing_changes(self, script, run, untimed=True):
        plain = self.plain(script)
        self.assertEqual(plain.returned, 0, plain.complained)
        if untimed:
            self.assertEqual(run.untimed(), plain.untimed())
        else:
            self.assertEqual(run.printed, plain.printed)
            self.assertIn("own clock:", run.printed)
        self.assertEqual(run.returned, plain.returned)
        if script.needs == ("torch",):  # the others complain with the time of day and their process
            self.assertEqual(run.complained, plain.complained)
        self.assertEqual({name: len(text) for name, text in run.files.items()},
                         {name: len(text) for name, text in plain.files.items()})
        self.assertEqual([name for name in plain.files if run.files[name] != plain.files[name]], [])

    def test_steps_are_seen_as_the_script_counts_them_and_nothing_else_changes(self):
        for script in self.subjects():
            with Run(script) as run:
                with self.subTest(str(script)):
                    self.assertEqual(run.returned, 0, run.complained)
                with self.subTest("%s: steps" % script):
                    self.check_steps(script, run)
                with self.subTest("%s: report" % script):
                    self.check_report(script, run.report())
                with self.subTest("%s: nothing changes" % script):
                    self.check_nothing_changes(script, run)

    def test_as_applied_without_a_lever_nothing_changes_not_even_times(self):
        for script in self.subjects():
            with self.subTest(str(script)), Run(script, timed=False, fake_clock=True, **WITHOUT_LEVERS) as run:
                self.check_nothing_changes(script, run, untimed=False)

    def test_each_lever_is_applied_or_refused_with_a_reason(self):
        for script in ALL if LONG else SMALL:
            if not python_with(*script.needs):
                continue
            with Run(script, **LIMIT) as default:
                report = default.report()
            for lever in report["levers"]:
                values = [each for each in lever["values"] if each != lever["default"]]
                for value in values if LONG else values[:1]:
                    with self.subTest("%s: %s %s" % (script, lever["name"], value)), \
                            Run(script, **dict(LIMIT, **{lever["variable"]: value})) as run:
                        self.check_lever(lever, value, run, report)

    def test_levers_together_leave_the_form_of_what_is_printed_and_written(self):
        script = Script("mnist.py", "--epochs", "2", "--images", "768", "--save-model")
        chosen = {"NOCTURNE_LEVER_AUTOCAST": "bf16", "NOCTURNE_LEVER_CHANNELS_LAST": "true", "NOCTURNE_LEVER_LOADER_WORKERS": "1"}
        with Run(script, module=False) as plain, Run(script, timed=False, **chosen) as run:
            self.assertEqual((run.returned, run.complained), (0, ""))
            self.assertNotEqual(run.untimed(), plain.untimed())
            self.assertEqual(re.sub(r"\d+", "N", run.untimed()), re.sub(r"\d+", "N", plain.untimed()))
            self.assertEqual(set(run.files), set(plain.files))
            self.assertEqual(self.form(run, "mnist_cnn.pt"), self.form(plain, "mnist_cnn.pt"))

    def form(self, run, name):
        """Name, shape and type of each weight in a file."""
        asks = ("import sys, torch\nfor name, tensor in torch.load(sys.argv[1]).items():\n"
                "    print(name, tuple(tensor.shape), tensor.dtype)")
        return subprocess.check_output([python_with("torch"), "-c", asks, run.path(os.path.join("work", name))])

    def check_lever(self, lever, value, run, default):
        report = run.report()
        print("%s %s: %.2f ms, as it is %.2f ms %s" % (lever["name"], value, 1e3 * (report["step_seconds"] or 0),
                                                       1e3 * default["step_seconds"], report["notes"] or ""))
        self.assertEqual((run.returned, run.events("end")), (0, []), run.complained)
        self.assertTrue(report["steps"] == default["steps"] or lever["changes"] == "what is learnt", report["steps"])
        self.assertNotRegex(run.printed, r"\b(nan|inf)\b")
        self.assertTrue(lever["lines"].get(value), "no line of the script does the same")


if __name__ == "__main__":
    if not python_with("torch"):
        print("skipped: no Python with PyTorch was found, and NOCTURNE_FRAMEWORKS names none")
        sys.exit(SKIPPED)
    unittest.main(argv=[each for each in sys.argv if each != "--long"])
