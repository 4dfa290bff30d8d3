"""What the training check records of real TensorFlow, Keras 2 and 3, MXNet and PaddlePaddle.

The bands are those of measure/gate/learning.hpp: a lever that may round moves each tensor as far as the script does, to
2 %, one of shorter precision to 10 %; losses to 1e-5 and 1 %. Each framework is left out where no Python has it
(injected.python_with); PyTorch's records: pytorch_test.py.
"""

import pathlib
import sys
import textwrap
import unittest

from injected import Injected, python_with

SKIPPED = 77
SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "examples" / "scripts"

# A small classifier with dropout for each framework; arguments: learning rate, and what is special.
KERAS = """
    import sys
    import numpy, tensorflow as tf
    keras, (rate, special) = tf.keras, (float(sys.argv[1]), sys.argv[2])
    x, y = numpy.random.rand(640, 20).astype("float32"), numpy.random.randint(0, 5, 640)
    inputs, layers = keras.Input((20,)), keras.layers
    hidden = layers.Dense(30, activation="relu")(inputs)
    if special == "still":
        hidden = layers.Lambda(tf.stop_gradient)(hidden)
    if special == "noise":
        hidden = layers.GaussianNoise(0.5)(hidden)
    model = keras.Model(inputs, layers.Dense(5)(layers.AlphaDropout(0.2)(layers.Dropout(0.5)(hidden))))
    optimizer, loss_of = keras.optimizers.SGD(rate), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)
    def step(batch, answers):
        with tf.GradientTape() as tape:
            loss = loss_of(answers, model(batch, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    @tf.function
    def epoch():
        for batch, answers in batches:
            step(batch, answers)
    if special == "function":
        step = tf.function(step)
    for _ in range(20):
        if special == "inside":
            epoch()
        elif special in ("function", "eager"):
            for batch, answers in batches: step(batch, answers)
        else:
            model.compile(optimizer, loss_of)
            model.fit(x, y, 64, verbose=0)
"""

MXNET = """
    import sys
    import numpy, mxnet
    from mxnet import autograd, gluon
    rate, special = float(sys.argv[1]), sys.argv[2]
    x = numpy.random.rand(640, 20).astype("float32")
    model = gluon.nn.HybridSequential()
    model.add(gluon.nn.Dense(30, activation="relu"), gluon.nn.Dropout(0.5), gluon.nn.Dense(5))
    model.initialize(mxnet.init.Xavier())
    if special == "hybrid":
        model.hybridize()
    trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": rate})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(20):
        for batch, answers in gluon.data.DataLoader(gluon.data.ArrayDataset(x, (x.sum(1) * 2).astype("int32") % 5), 64, True):
            with autograd.record():
                still = special == "still" and mxnet.nd.BlockGrad(model[0](batch))
                loss = loss_of(model(batch) if still is False else model[2](model[1](still)), answers)
            loss.backward()
            trainer.step(64)
"""

PADDLE = """
    import sys, warnings
    warnings.simplefilter("ignore")
    import numpy, paddle
    rate, special = float(sys.argv[1]), sys.argv[2]
    x = numpy.random.rand(640, 20).astype("float32")
    class Examples(paddle.io.Dataset):
        def __getitem__(self, index):
            return x[index], numpy.int64(x[index].sum() * 2) % 5
        def __len__(self):
            return len(x)
    layers = [paddle.nn.Linear(20, 30), paddle.nn.ReLU(), paddle.nn.Dropout(0.5), paddle.nn.Linear(30, 5)]
    model = paddle.nn.Sequential(*layers)
    optimizer, loss_of = paddle.optimizer.SGD(rate, parameters=model.parameters()), paddle.nn.CrossEntropyLoss()
    if special == "fit":
        whole = paddle.Model(model)
        whole.prepare(optimizer, loss_of)
        whole.fit(Examples(), batch_size=64, epochs=20, verbose=0)
    for _ in range(20):
        for batch, answers in paddle.io.DataLoader(Examples(), batch_size=64, shuffle=True):
            out = layers[3](layers[2](layers[0](batch).detach())) if special == "still" else model(batch)
            loss_of(out, answers).backward()
            optimizer.step()
            optimizer.clear_grad()
"""


class Records(unittest.TestCase):
    framework = None

    def setUp(self):
        self.python = self.framework and python_with(self.framework)
        if not self.python:
            self.skipTest("no Python has %s" % self.framework)

    def recorded(self, script, *arguments, **environment):
        """`script`: a text, or a file of examples/scripts."""
        text = script if isinstance(script, str) else ""
        with Injected(textwrap.dedent(text), python=self.python, fake=False, TF_CPP_MIN_LOG_LEVEL="3",
                      NOCTURNE_INJECT_REPORT=None, NOCTURNE_INJECT_LEARNING_MODE="start") as run:
            run.variables["NOCTURNE_INJECT_LEARNING"] = run.path("learning.json")
            process = run.start(str(run.script if text else script), *[str(each) for each in arguments], **environment)
            errors = process.communicate(timeout=600)[1]
            self.assertEqual(process.returncode, 0, errors)
            found = run.json("learning.json")
        self.assertEqual(len(found["losses"]), int(environment.get("NOCTURNE_STEPS_LIMIT", 5)))
        return found

    def ratios(self, record, reference):
        self.assertEqual(set(record["updates"][0]), set(reference["updates"][0]))
        self.assertTrue(reference["updates"])
        return [far / reference["updates"][0][name] for name, far in record["updates"][0].items()]

    def check_same(self, record, reference, update, loss):
        for ratio in self.ratios(record, reference):
            self.assertAlmostEqual(ratio, 1, delta=update)
        for one, other in list(zip(record["losses"], reference["losses"]))[:3]:
            self.assertAlmostEqual(one / other, 1, delta=loss)

    def check_small(self, script, usual, *others):
        """A small classifier: the same twice, and what it must catch; `others`: special words that change nothing."""
        reference = self.recorded(script, 0.1, usual)
        self.assertEqual(reference["notes"], [])
        self.assertEqual(self.recorded(script, 0.1, usual), reference)
        for ratio in self.ratios(self.recorded(script, 0.2, usual), reference):
            self.assertAlmostEqual(ratio, 2, places=3)
        self.assertEqual(len(reference["updates"][0]), 4)
        for special in others:
            with self.subTest(special):
                self.check_same(self.recorded(script, 0.1, special), reference, 1e-4, 1e-5)
        longer = [self.recorded(script, 0.1, usual, NOCTURNE_INJECT_LEARNING_MODE="run", NOCTURNE_STEPS_LIMIT=130,
                                NOCTURNE_INJECT_SEED=seed) for seed in (1, 1, 2)]
        self.assertEqual(longer[0], longer[1])
        self.assertNotEqual(longer[0]["losses"], longer[2]["losses"])
        self.assertNotIn("updates", longer[0])

    def check_still(self, script, usual):
        """A layer that stands still, with the loss of the first step as it is."""
        record, reference = self.recorded(script, 0.1, "still"), self.recorded(script, 0.1, usual)
        moved = sorted(self.ratios(record, reference))
        self.assertEqual(moved[:2], [0, 0])
        self.assertGreater(moved[2], 0.5)


class TensorFlow(Records):
    framework = "tensorflow"

    def test_fit(self):
        self.check_small(KERAS, "fit")
        self.check_still(KERAS, "fit")

    def test_loops_of_the_scripts_own(self):
        self.check_small(KERAS, "function", "eager", "inside")

    def test_random_numbers_under_xla_are_not_told(self):
        """XLA draws others; without them the function is the same."""
        found = self.recorded(KERAS, 0.1, "noise", NOCTURNE_LEVER_TF_JIT_COMPILE="true")
        self.assertEqual((found["updates"], found["notes"]),
                         ([], ["the function draws random numbers, and compiled by XLA it draws others"]))
        self.assertTrue(self.recorded(KERAS, 0.1, "noise")["updates"])
        for special in ("function", "fit"):
            self.check_same(self.recorded(KERAS, 0.1, special, NOCTURNE_LEVER_TF_JIT_COMPILE="true"),
                            self.recorded(KERAS, 0.1, special), 1e-4, 1e-5)

    def test_each_lever_keeps_within_the_bands(self):
        levers = {"JIT_COMPILE": "true", "XLA": "clusters", "ONEDNN": "false", "STEPS_PER_EXECUTION": "4",
                  "INTRA_THREADS": "2", "INTER_THREADS": "1", "PREFETCH": "2",
                  "MIXED_PRECISION": "mixed_bfloat16", "BF16": "bf16"}
        for script in ("keras_fit.py", "tensorflow_loop.py"):
            reference = self.recorded(SCRIPTS / script)
            self.assertEqual((self.recorded(SCRIPTS / script), reference["notes"]), (reference, []))
            for lever, value in levers.items():
                with self.subTest(script, lever=lever):
                    record = self.recorded(SCRIPTS / script, **{"NOCTURNE_LEVER_TF_" + lever: value})
                    shorter = lever in ("MIXED_PRECISION", "BF16")
                    self.check_same(record, reference, 0.1 if shorter else 0.02, 0.01 if shorter else 1e-5)

    def test_a_rate_is_seen_in_a_script(self):
        reference, record = [self.recorded(SCRIPTS / "tensorflow_loop.py", "--lr", rate) for rate in (1e-3, 2e-3)]
        for ratio in self.ratios(record, reference):
            self.assertAlmostEqual(ratio, 2, places=3)


class Keras2(Records):
    framework = "tf_keras"

    def recorded(self, script, *arguments, **environment):
        return super(Keras2, self).recorded(script, *arguments, TF_USE_LEGACY_KERAS="1", **environment)

    def test_fit_and_loops(self):
        self.check_small(KERAS, "fit")
        self.check_still(KERAS, "fit")
        self.check_small(KERAS, "function", "eager", "inside")


class MXNet(Records):
    framework = "mxnet"

    def test_a_trainer(self):
        self.check_small(MXNET, "plain", "hybrid")
        self.check_still(MXNET, "plain")


class Paddle(Records):
    framework = "paddle"

    def test_an_optimizer(self):
        self.check_small(PADDLE, "plain")
        self.check_still(PADDLE, "plain")

    def test_fit(self):
        reference = self.recorded(PADDLE, 0.1, "fit")
        self.assertEqual((self.recorded(PADDLE, 0.1, "fit"), reference["notes"]), (reference, []))
        for ratio in self.ratios(self.recorded(PADDLE, 0.2, "fit"), reference):
            self.assertAlmostEqual(ratio, 2, places=3)


if __name__ == "__main__":
    if not any(python_with(name) for name in ("tensorflow", "mxnet", "paddle")):
        print("no TensorFlow, MXNet or PaddlePaddle: NOCTURNE_FRAMEWORKS names none, and none is installed")
        sys.exit(SKIPPED)
    unittest.main()
