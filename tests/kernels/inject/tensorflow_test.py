"""Real TensorFlow and Keras: trainings of the kinds that people write, against the script's own clock, and each lever.

Run by a Python that has TensorFlow, wherever one is found (injected.python_with).
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import textwrap
import time
import unittest

from injected import Injected, python_with

SKIPPED = 77


PYTHON = python_with("tensorflow")

# own: {number of a step: seconds since the end of the one before}, but for the first ones of epochs.
BEGINNING = """
    import json, os, sys, time
    import numpy as np, tensorflow as tf
    keras = tf.keras
    keras.utils.set_random_seed(1)
    images, labels = np.random.rand(640, 400).astype("float32"), np.random.randint(0, 10, 640)
    own, before, count, losses = {}, None, 0, []
    def epoch():
        global before
        before = None
    def stepped(steps=1):
        global before, count
        now, count = time.monotonic(), count + steps
        if before is not None: own[count] = now - before
        before = now
    def tell(**more):
        json.dump(dict(more, own=own, count=count, losses=losses), open("own.json", "w"))
    def made():
        layers = keras.layers
        return keras.Sequential([keras.Input((400,)), layers.Dense(1000, activation="relu"),
                                 layers.Dense(1000, activation="relu"), layers.Dropout(0.3), layers.Dense(10)])
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    def data(batch=64):
        return tf.data.Dataset.from_tensor_slices((images, labels)).batch(batch)
"""

FIT = """
    class Clock(keras.callbacks.Callback):
        def on_epoch_begin(self, number, logs=None):
            epoch()
        def on_train_batch_end(self, batch, logs=None):
            stepped(int(self.model.optimizer.iterations.numpy()) - count)
    model = made()
    model.compile("adam", loss_of, metrics=["accuracy"], steps_per_execution=int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    history = model.fit(images, labels, 64, epochs=3, verbose=0, validation_data=(images, labels), callbacks=[Clock()])
    losses = history.history["loss"]
    print(losses)
    tell(iterations=int(model.optimizer.iterations.numpy()))
"""

OWN = """
    model, optimizer = made(), keras.optimizers.Adam()
    def step(batch, answers):
        with tf.GradientTape() as tape:
            loss = loss_of(answers, model(batch, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss
    if sys.argv[1] != "eager":
        step = tf.function(step)
    @tf.function
    def evaluated(batch, answers):
        return loss_of(answers, model(batch))
    training = data()
    for _ in range(3):
        epoch()
        for batch, answers in training:
            loss = step(batch, answers)
            stepped()
            losses.append(float(loss))
        for batch, answers in training:
            evaluated(batch, answers)
        model.predict(images, verbose=0)
    print(losses)
    tell()
"""

INSIDE = """
    model, optimizer = made(), keras.optimizers.Adam()
    @tf.function
    def trained(batches):
        for batch, answers in batches:
            with tf.GradientTape() as tape:
                loss = loss_of(answers, model(batch, training=True))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    training = data()
    for _ in range(4):
        epoch()
        began = time.monotonic()
        trained(training)
        before = began
        stepped(10)
        model.predict(images, verbose=0)
    tell()
"""

TWO = """
    one, other = made(), made()
    optimizers = keras.optimizers.Adam(), keras.optimizers.SGD()
    def update(model, optimizer, batch, answers):
        with tf.GradientTape() as tape:
            loss = loss_of(answers, model(batch, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    first = tf.function(lambda batch, answers: update(one, optimizers[0], batch, answers))
    second = tf.function(lambda batch, answers: update(other, optimizers[1], batch, answers))
    for _ in range(3):
        epoch()
        for batch, answers in data():
            first(batch, answers)
            second(batch, answers)
            stepped()
    tell()
"""

# What shows whether a lever has an effect, after a short training by fit.
LEVERS = """
    import sys
    read = []
    original = tf.data.Dataset.__iter__
    def iterator_of(data):
        made = original(data)
        read.append(type(made._dataset).__name__)
        return made
    tf.data.Dataset.__iter__ = iterator_of
    model = made()
    model.compile("adam", loss_of)
    history = model.fit(data(8), epochs=1, verbose=0)
    port = sys.modules["tensorflow.python.util._pywrap_util_port"]
    tell(tf_jit_compile=bool(model.jit_compile), tf_mixed_precision=keras.mixed_precision.global_policy().name,
         tf_onednn=bool(port.IsMklEnabled()), tf_xla=os.environ.get("TF_XLA_FLAGS"),
         tf_steps_per_execution=model.steps_per_execution, tf_bf16=history.history["loss"],
         tf_intra_threads=tf.config.threading.get_intra_op_parallelism_threads(),
         tf_inter_threads=tf.config.threading.get_inter_op_parallelism_threads(),
         tf_prefetch=[name for name in read if "Prefetch" in name], weights=str(model.weights[0].dtype))
"""


# Runs a script of examples/scripts and shows at its end what the levers act on.
PROBE = """
    import gc, json, os, runpy, sys
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    import own_clock, tensorflow as tf, keras
    read, original = set(), tf.data.Dataset.__iter__
    def iterator_of(data):
        made = original(data)
        read.add(type(made._dataset).__name__)
        return made
    tf.data.Dataset.__iter__ = iterator_of
    def show(clock):
        models = [each for each in gc.get_objects() if type(each) is keras.Sequential]
        threads = tf.config.threading
        shown = dict(onednn=bool(sys.modules["tensorflow.python.util._pywrap_util_port"].IsMklEnabled()), read=sorted(read),
                     threads=[threads.get_intra_op_parallelism_threads(), threads.get_inter_op_parallelism_threads()],
                     types=sorted({layer.compute_dtype for model in models for layer in model.layers}),
                     weights=sorted({weight.dtype for model in models for weight in model.trainable_weights}),
                     executed=[model.steps_per_execution for model in models if model.compiled],
                     operations=tf.config.optimizer.get_experimental_options().get("auto_mixed_precision_onednn_bfloat16"))
        print()
        print(json.dumps(shown))
    own_clock.OwnClock.report = show
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
# Lever: a value, and by what it is shown.
EFFECTS = {"tf_jit_compile": ("true", "compiled", True), "tf_xla": ("clusters", "compiled", True), "tf_bf16": ("bf16", "operations", True),
           "tf_mixed_precision": ("mixed_bfloat16", "types", ["bfloat16"]),
           "tf_intra_threads": ("1", "threads", [1, 0]), "tf_inter_threads": ("1", "threads", [0, 1]),
           "tf_prefetch": ("2", "read", ["_PrefetchDataset"]), "tf_steps_per_execution": ("4", "executed", [4])}
SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "examples" / "scripts"


def training(script, **environment):
    return Injected(textwrap.dedent(BEGINNING) + textwrap.dedent(script), python=PYTHON, fake=False,
                    TF_CPP_MIN_LOG_LEVEL="3", **environment)


class Real(unittest.TestCase):
    def ran(self, run, *arguments, **environment):
        process = run.start(str(run.script), *arguments, **environment)
        out, errors = process.communicate(timeout=600)  # its import alone takes a minute on a busy machine
        self.assertEqual(process.returncode, 0, errors)
        return out

    def seen_as_by_its_own_clock(self, run, first=1):
        """Both clocks over the samples that have a step of the script's own: 2 %, in the median, for where a sample is
        written between two steps a busy machine runs something else. `first`: the script's number at the first event.

        The first sample's step bears, by the script's clock, what is done once behind the first event."""
        own = {int(step) - first + 1: seconds for step, seconds in run.json("own.json")["own"].items()}
        both = [(each["wall_ns"] / 1e9, own[each["first_step"] + each["steps"]]) for each in run.events("sample")[1:]
                if each["first_step"] + each["steps"] in own]
        self.assertGreater(len(both), 1)
        self.assertLess(abs(statistics.median(seen / told for seen, told in both) - 1), 0.02, both)

    def steps(self, run):
        return sum(each["steps"] for each in run.events("sample"))


class Fit(Real):
    def test_its_steps_losses_epochs_and_batch(self):
        with training(FIT) as run:
            self.ran(run)
            own, samples = run.json("own.json"), run.events("sample")
            self.assertEqual((self.steps(run), own["iterations"], own["count"]), (29, 30, 30))
            self.seen_as_by_its_own_clock(run)
            second = [each["loss"] for each in samples[9:19]]
            self.assertAlmostEqual(sum(second) / 10, own["losses"][1], 4)
            ready = run.events("ready")[0]
            self.assertEqual([ready[key] for key in ("batch", "steps_per_epoch", "examples_per_epoch")], [64, 10, 640])
            report = run.json()
            self.assertEqual([report[key] for key in ("framework", "device", "unit", "events_per_step", "notes")],
                             ["tensorflow", "cpu", "batch", 1, []])

    def test_steps_that_an_execution_hides_are_counted(self):
        with training(FIT) as run:
            self.ran(run, "4")  # 4, 4 and 2 of an epoch
            self.assertEqual([each["steps"] for each in run.events("sample")], [4, 2] + [4, 4, 2] * 2)
            self.seen_as_by_its_own_clock(run, 4)

    def test_it_ends_where_it_is_told(self):
        with training(FIT) as run:
            self.assertEqual(self.ran(run, "4", NOCTURNE_STEPS_LIMIT=9), "")
            self.assertEqual((self.steps(run), os.path.exists(run.path("own.json"))), (9, False))

    def test_it_waits_for_its_turn(self):
        with training(FIT) as run:
            os.mkfifo(run.path("turns"))
            process = run.start(str(run.script), "4", NOCTURNE_STEPS_TURNS=run.path("turns"))
            with open(run.path("turns"), "w") as turns:
                for turn in (1, 2):
                    turns.write("3\n")
                    turns.flush()
                    end = time.monotonic() + 120
                    while self.steps(run) < 3 * turn and time.monotonic() < end:
                        time.sleep(0.05)
                    time.sleep(0.5)
                    self.assertEqual(self.steps(run), 3 * turn)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)


class OwnLoops(Real):
    def test_a_function(self):
        with training(OWN) as run:
            self.ran(run, "function")
            self.assertEqual(self.steps(run), 29)
            self.seen_as_by_its_own_clock(run)
            self.assertEqual([each["loss"] for each in run.events("sample")], run.json("own.json")["losses"][1:])
            report = run.json()
            self.assertEqual([report[key] for key in ("unit", "batch", "steps_per_epoch", "notes")],
                             ["optimizer step", 64, 10, []])
            self.assertGreater(report["share"]["data"], 0)

    def test_without_a_function(self):
        with training(OWN) as run:
            self.ran(run, "eager")
            self.assertEqual(self.steps(run), 29)
            self.seen_as_by_its_own_clock(run)
            self.assertEqual([each["loss"] for each in run.events("sample")], run.json("own.json")["losses"][1:])
            self.assertTrue({"data", "forward", "backward", "optimizer"} <= set(run.json()["share"]))

    def test_a_loop_inside_a_function(self):
        with training(INSIDE) as run:
            self.ran(run)
            self.assertEqual([each["steps"] for each in run.events("sample")], [10, 10, 10])
            samples, own = run.events("sample")[1:], run.json("own.json")["own"]
            # The first two calls are counted as they end; from then on a call begins a sample.
            seen, told = sum(each["wall_ns"] for each in samples) / 1e9, own["30"] + own["40"]
            self.assertLess(abs(seen / told - 1), 0.02, (seen, told))

    def test_a_step_of_two_optimizers(self):
        with training(TWO) as run:
            self.ran(run)
            self.assertEqual((run.json()["events_per_step"], self.steps(run)), (2, 28))
            self.seen_as_by_its_own_clock(run, 2)


class Inert(Real):
    def test_a_script_prints_the_same_with_it(self):
        for script, argument in ((FIT, "1"), (FIT, "4"), (OWN, "function"), (OWN, "eager")):
            with self.subTest(argument), training(script) as run:
                with_it = self.ran(run, argument)
                self.assertEqual(with_it, self.ran(run, argument, NOCTURNE_DISABLE="1"))


class Levers(Real):
    def test_each_is_offered_or_refused_and_does_what_it_says(self):
        with training(LEVERS) as run:
            self.ran(run)
            report, usual = run.json(), run.json("own.json")
            offered = {each["name"]: each for each in report["levers"]}
            refused = {each["name"]: each["reason"] for each in report["refused"]}
            names = {path.stem for path in (pathlib.Path(__file__).resolve().parents[3] / "kernels" / "inject" /
                                            "nocturne_inject" / "levers").glob("tf_*.py")}
            self.assertEqual((set(offered) | set(refused), set(offered) & set(refused)), (names, set()))
            self.assertTrue(all(refused.values()))
            for name, lever in sorted(offered.items()):
                value = lever["values"][-1]
                with self.subTest(name, value=value):
                    self.assertIn(value, lever["lines"])
                    self.ran(run, **{lever["variable"]: value})
                    now = run.json("own.json")
                    self.assertNotEqual(now[name], usual[name])
                    self.assertEqual(now["weights"], "float32" if name != "tf_mixed_precision" else now["weights"])
                    self.assertEqual(run.json()["notes"], [])

    def test_each_acts_on_whole_scripts_or_says_that_it_does_not(self):
        """Forced where it is refused it must say that it changes nothing, or change something."""
        for name, arguments in (("keras_fit.py", ["--epochs", "1", "--pictures", "1280"]),
                                ("tensorflow_loop.py", ["--epochs", "1", "--examples", "1280"])):
            with training(PROBE) as run:
                def shown(**environment):
                    dump = run.path("xla%s" % len(os.listdir(str(run.folder))))
                    os.mkdir(dump)
                    out = self.ran(run, str(SCRIPTS / name), *arguments, XLA_FLAGS="--xla_dump_to=" + dump, **environment)
                    return dict(json.loads(out.splitlines()[-1]), compiled=bool(os.listdir(dump)), rest=out)
                usual = shown()
                refused = {each["name"]: each["reason"] for each in run.json()["refused"]}
                self.assertTrue(all(refused.values()))
                onednn = not usual["onednn"]  # TensorFlow leaves it off where the processor has neither AVX-512 VNNI nor AMX
                effects = dict(EFFECTS, tf_onednn=(str(onednn).lower(), "onednn", onednn))
                for lever, (value, key, changed) in effects.items():
                    with self.subTest("%s: %s" % (name, lever)):
                        now = shown(**{"NOCTURNE_LEVER_" + lever.upper(): value})
                        notes = run.json()["notes"]
                        self.assertEqual(now[key] != usual[key], not notes, notes)
                        self.assertEqual(now[key], usual[key] if notes else changed)
                        if notes:
                            self.assertIn(lever, refused)
                            self.assertIn("lever %s is set and changes nothing" % lever, notes[0])

    def test_xla_compiles_a_function_of_the_scripts_own(self):
        with training(OWN + "\n    print(step.python_function.__name__)") as run:
            self.ran(run, "function", NOCTURNE_LEVER_TF_JIT_COMPILE="true", XLA_FLAGS="--xla_dump_to=%s" % run.path("xla"))
            self.assertTrue(list((run.folder / "xla").glob("*step*")))
            self.assertEqual(self.steps(run), 29)


if __name__ == "__main__":
    if PYTHON is None or subprocess.run([PYTHON, "-c", "import tensorflow"], stderr=subprocess.DEVNULL).returncode:
        print("no TensorFlow 2: NOCTURNE_FRAMEWORKS names none, and none is installed")
        sys.exit(SKIPPED)
    unittest.main()
