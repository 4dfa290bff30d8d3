"""What is seen of trainings with TensorFlow, Keras, MXNet, PaddlePaddle, JAX, XGBoost, LightGBM and scikit-learn, by
stand-ins of them whose work takes seconds of a clock that only it moves. Real ones: tensorflow_test.py."""

import os
import textwrap
import unittest

from injected import Injected

KERAS = """
    import tensorflow as tf
    import keras
    def model(count, **settings):
        made = keras.Model([number / 100 for number in range(count)])
        made.compile(keras.optimizers.Optimizer(), **settings)
        return made
"""

# A step: 0.5 s of waiting for data, 3 forward, 2 backward, 1 optimizer, 0.25 of something else.
TENSORFLOW = KERAS + """
    spend = tf.clock.spend
    weight, losses, optimizer = tf.Variable(1.0), [number / 100 for number in range(1000)], keras.optimizers.Optimizer()
    def step(optimizer=optimizer, losses=losses):
        gradients = tf.GradientTape().gradient(tf.loss(losses), [weight])
        optimizer.apply_gradients(list(zip(gradients, [weight])))
    def train(step, data=tf.data.Dataset(10), epochs=2):
        for _ in range(epochs):
            for batch in data:
                step()
                spend(0.25)
"""

MXNET = """
    import mxnet
    trainer, losses = mxnet.gluon.Trainer(), [number / 100 for number in range(1000)]
    def train(batches=10, epochs=2):
        loader = mxnet.gluon.data.DataLoader(batches)
        for _ in range(epochs):
            for batch in loader:
                mxnet.nd.NDArray(losses.pop(0)).backward()
                trainer.step(8)
"""

PADDLE = """
    import paddle
    optimizer, losses = paddle.optimizer.Adam(), [number / 100 for number in range(1000)]
    def train(batches=10, epochs=2):
        loader = paddle.io.DataLoader(batches)
        for _ in range(epochs):
            for batch in loader:
                paddle.clock.spend(3)
                paddle.Tensor(losses.pop(0)).backward()
                optimizer.step()
                paddle.clock.spend(0.25)
"""

# A step: 0.1 s of Python's, 3 of the device's, which is waited for where it is asked for what it has computed.
JAX = """
    import jax
    Array = jax.Array
    weights = {"kernel": Array((100, 10)), "bias": Array((10,))}
    def step(weights, images):
        loss, gradients = jax.value_and_grad(jax.loss)(weights, images)
        return gradients, loss, jax.Tracer(value=lambda: 7.0)
    def images():
        return Array((16, 100))
    def train(step, steps=10, epochs=1, evaluate=lambda: None):
        global weights
        for _ in range(epochs):
            for _ in range(steps):
                weights = step(weights, images())[0]
            evaluate()
"""


class Case(unittest.TestCase):
    def script(self, beginning, script, **environment):
        run = Injected(textwrap.dedent(beginning) + textwrap.dedent(script), **environment)
        self.addCleanup(run.__exit__)
        return run

    def ran(self, run, code=0, **environment):
        left, out, errors = run.run(**environment)
        self.assertEqual((left, errors), (code, ""))
        return out

    def counts(self, run):
        return [each["steps"] for each in run.events("sample")]

    def losses(self, run):
        return [each.get("loss") for each in run.events("sample")]

    def facts(self, run):
        ready = run.events("ready")[0]
        return [ready.get(key) for key in ("batch", "steps_per_epoch", "examples_per_epoch")]

    def report(self, run, *keys):
        return [run.json()[key] for key in keys]


class EvaluationTest(Case):
    """What a framework evaluates by itself, as points of a learning curve."""

    CURVE = {"NOCTURNE_INJECT_EVALUATIONS": "1", "NOCTURNE_INJECT_LEARNING": "learning.json",
             "NOCTURNE_INJECT_LEARNING_MODE": "curve"}

    def curve(self, beginning, script, **environment):
        run = self.script(beginning, script, **dict(self.CURVE, **environment))
        code, out, errors = run.run()
        self.assertEqual(code, 0, errors)
        return [(each["steps"], each["accuracy"]) for each in run.events("accuracy")], out

    FIT = "model(100).fit(tf.Tensor(shape=(80, 4)), batch_size=20, epochs=4, validation_data=1)\nprint('trained')"
    TRAINER = "import torch\nfrom transformers import Trainer\n"

    def test_of_keras(self):
        points, out = self.curve(KERAS, self.FIT)
        self.assertEqual(points, [(4, 0.1), (8, 0.2), (12, 0.3), (16, 0.4)])
        self.assertIn("trained", out)

    def test_a_training_ends_where_it_is_as_accurate_as_wanted_or_may_take_no_more_steps(self):
        for name, value in (("UNTIL", "0.2"), ("MOST", "7")):
            points, out = self.curve(KERAS, self.FIT, **{"NOCTURNE_INJECT_" + name: value})
            self.assertEqual(points, [(4, 0.1), (8, 0.2)], name)
            self.assertNotIn("trained", out)

    def test_of_a_trainer(self):
        points, out = self.curve(self.TRAINER, "Trainer([0.3, 0.6, 0.8, 0.9]).train()\nprint('trained')",
                                 NOCTURNE_INJECT_UNTIL="0.8")
        self.assertEqual(points, [(2, 0.3), (4, 0.6), (6, 0.8)])
        self.assertNotIn("trained", out)

    def test_what_is_no_accuracy_is_no_point(self):
        self.assertEqual(self.curve(KERAS, "model(100).fit(tf.Tensor(shape=(80, 4)), batch_size=20)")[0], [])
        self.assertEqual(self.curve(self.TRAINER, "Trainer([float('nan'), 7.0]).train()")[0], [])

    def test_nobody_asked(self):
        points, out = self.curve(KERAS, self.FIT, NOCTURNE_INJECT_EVALUATIONS="", NOCTURNE_INJECT_UNTIL="0.1")
        self.assertEqual(points, [])
        self.assertIn("trained", out)


class Fit(Case):
    def test_steps_losses_epochs_and_batch(self):
        run = self.script(KERAS, "model(30).fit(tf.Tensor(shape=(80, 4)), batch_size=8, epochs=3)\nprint('done')")
        self.assertEqual(self.ran(run), "done\n")
        self.assertEqual(run.seconds(), [6] * 29)
        self.assertEqual(self.losses(run), [number / 100 for number in range(1, 30)])
        self.assertEqual(self.facts(run), [8, 10, 80])
        self.assertEqual(self.report(run, "framework", "framework_version", "device", "unit", "events_per_step", "steps",
                                     "notes"), ["tensorflow", "2.21.0", "cpu", "batch", 1, 29, []])

    def test_an_evaluation_between_epochs_is_no_step(self):
        run = self.script(KERAS, "model(30).fit(tf.data.Dataset(10), epochs=3, validation_data=tf.data.Dataset(2))")
        self.ran(run)
        self.assertEqual((run.seconds(), self.facts(run)), ([6] * 29, [8, 10, None]))

    def test_the_ends_of_two_epochs_that_are_cut_short_are_told(self):
        script = """
            class Last(keras.callbacks.Callback):  # of the script's own, which ends it behind the third epoch
                trained = []
                def on_epoch_begin(self, epoch, logs=None):
                    self.trained.append(0)
                def on_train_batch_end(self, batch, logs=None):
                    self.trained[-1] = batch + 1
                def on_epoch_end(self, epoch, logs=None):
                    if epoch == 2: self.model.stop_training = True
            model(200%s).fit(%s, epochs=9, validation_data=1, callbacks=[Last()])
            print(Last.trained)"""
        arrays, data = "tf.Tensor(shape=(80, 4)), batch_size=8", "tf.data.Dataset(10)"
        for x, several, asked, trained, ends in (
                (arrays, "", "5,80", [5, 5, 10], 2), (data, "", "5,80", [5, 5, 10], 2),
                (data, ", steps_per_execution=2", "5,80", [6, 6, 10], 2),
                (arrays, "", "5,81", [10, 10, 10], 2), (data, "", "6,80", [10, 10, 10], 2),  # of another; not a half
                (data + ", validation_freq=1", "", "5,80", [5, 5, 10], 2), (data + ", validation_freq=3", "", "5,80", [10] * 3, 2),
                (arrays, "", "", [10, 10, 10], 0)):
            run = self.script(KERAS, script % (several, x), NOCTURNE_INJECT_EPOCH=asked)
            self.assertEqual(self.ran(run), "%s\n" % trained, (x, several, asked))
            told = run.phases("epoch_end")
            self.assertEqual(told, [0 if "freq=3" in x else 100] * ends, (x, several, asked))
            self.assertEqual(sum(self.counts(run)), sum(trained) - 1 - bool(several))

    def test_of_a_fit_that_evaluates_rarely_the_ends_are_told_in_the_mean(self):
        run = self.script(KERAS, "model(100).fit(tf.data.Dataset(10), epochs=7, validation_data=1, validation_freq=2)",
                          NOCTURNE_INJECT_EPOCH="5,80,2")
        self.ran(run)
        self.assertEqual(sum(self.counts(run)), 3 * 5 + 4 * 10 - 1)
        self.assertEqual(run.phases("epoch_end"), [50, 50, 50])
        self.assertEqual(self.report(run, "epochs", "ends_repeat"), [7, 2])

    def test_steps_that_an_execution_hides_are_counted_and_none_beyond_the_limit(self):
        run = self.script(KERAS, "model(30, steps_per_execution=4).fit(tf.data.Dataset(10), epochs=3)\nprint('done')")
        self.ran(run)
        self.assertEqual((self.counts(run), run.seconds()), ([4, 2] + [4, 4, 2] * 2, [24, 12] + [24, 24, 12] * 2))
        self.assertEqual(self.ran(run, NOCTURNE_STEPS_LIMIT=7), "")
        self.assertEqual((self.counts(run), run.seconds()), ([4, 2, 1], [24, 12, 6]))

    def test_the_scripts_list_of_callbacks_is_left_alone(self):
        run = self.script(KERAS, """
            mine = [keras.callbacks.Callback()]
            model(10).fit(tf.data.Dataset(10), callbacks=mine)
            model(10).fit(tf.data.Dataset(10), None, None, 1, 0, mine)
            print(len(mine))
        """)
        self.assertEqual(self.ran(run), "1\n")
        self.assertEqual(run.seconds(), [6] * 19)

    def test_an_exception_of_the_scripts_ends_it_as_without(self):
        run = self.script(KERAS, "model(3).fit(tf.data.Dataset(10))")
        code, _, errors = run.run()
        self.assertEqual((code, self.counts(run)), (1, [1, 1]))
        self.assertIn("IndexError", errors)


class OwnLoops(Case):
    def test_calls_of_the_outermost_function_that_applies_an_optimizer(self):
        for script in ("train(tf.function(step))", "inner = tf.function(step)\ntrain(tf.function(lambda: inner()))",
                       "train(tf.function(step, traces=2))"):
            with self.subTest(script):
                run = self.script(TENSORFLOW, "\nother = tf.function(lambda: spend(0))\nother()\n" + script)
                self.ran(run)
                self.assertEqual(run.seconds(), [6.75] * 9 + [6.5] + [6.75] * 9)
                self.assertEqual(set(run.seconds("data_wait_ns")), {0.5})
                self.assertEqual(self.losses(run), [number / 100 for number in range(1, 20)])
                self.assertEqual(self.facts(run), [8, 10, None])
                self.assertEqual(self.report(run, "unit", "notes"), ["optimizer step", []])

    def test_without_a_function_each_apply(self):
        run = self.script(TENSORFLOW, "train(step)")
        self.ran(run)
        self.assertEqual(run.seconds(), [6.75] * 9 + [6.5] + [6.75] * 9)
        for key, seconds in (("data_wait_ns", 0.5), ("forward_ns", 3), ("backward_ns", 2), ("optimizer_ns", 1)):
            self.assertEqual(set(run.seconds(key)), {seconds}, key)
        self.assertEqual(self.losses(run), [number / 100 for number in range(1, 20)])

    def test_without_an_optimizer_the_calls_that_take_gradients(self):
        run = self.script(TENSORFLOW, """
            del optimizer, step.__defaults__
            train(tf.function(lambda: tf.GradientTape().gradient(tf.loss(losses), [weight])))
        """.replace("del optimizer, step.__defaults__", "step.__defaults__, optimizer = None, None"))
        self.ran(run)
        self.assertEqual(run.seconds(), [5.75] * 9 + [5.5] + [5.75] * 9)
        self.assertEqual(self.report(run, "unit", "notes"), ["call", []])

    def test_a_loop_inside_a_function_is_counted_by_the_optimizer(self):
        run = self.script(TENSORFLOW, """
            trained = tf.function(step, repeat=10)
            for _ in range(5):
                trained()
                spend(100)
        """)
        self.ran(run)
        self.assertEqual((self.counts(run), run.seconds()[1:]), ([10] * 4, [60] * 3))

    def test_an_evaluation_is_no_step(self):
        for evaluation in ("for batch in tf.data.Dataset(5): spend(20)", "made.predict(0)", "made.evaluate(0)"):
            with self.subTest(evaluation):
                run = self.script(TENSORFLOW, """
                    made = keras.Model([])
                    function = tf.function(step)
                    for _ in range(3):
                        train(function, epochs=1)
                        %s
                """ % evaluation)
                self.ran(run)
                self.assertEqual(run.seconds(), ([6.75] * 9 + [6.5] + [6.75] * 9 + [6.5] + [6.75] * 9))

    def test_neither_is_one_of_a_loop_without_data_sets(self):
        run = self.script(TENSORFLOW, """
            function = tf.function(step)
            for number in range(20):
                function()
                if number % 5 == 4: keras.Model([]).predict(0)
        """)
        self.ran(run)
        self.assertEqual(run.seconds(), [6] * 19)

    def test_a_step_of_two_optimizers(self):
        run = self.script(TENSORFLOW, """
            other, more = keras.optimizers.Optimizer(), [0.5] * 100
            one, two = tf.function(step), tf.function(lambda: step(other, more))
            train(lambda: (one(), two()))
        """)
        self.ran(run)
        self.assertEqual(set(run.seconds()), {12.75, 12.5})
        self.assertEqual(set(self.losses(run)), {None})
        self.assertEqual(self.report(run, "events_per_step", "notes"),
                         [2, ["loss not seen: a step is of several optimizers"]])

    def test_the_gradients_of_two_losses_are_said_not_to_be_judged(self):
        run = self.script(TENSORFLOW, """
            def both():
                tf.GradientTape().gradient(tf.loss([0.5] * 100), [weight])
                step()
            train(tf.function(both))
        """)
        self.ran(run)
        self.assertEqual(set(self.losses(run)), {None})
        self.assertEqual(self.report(run, "notes"), [["loss not seen: a step takes the gradients of more than one loss"]])


class Levers(Case):
    TOLD = """
        import os
        train(tf.function(step))
        made = model(40)
        made.fit(tf.data.Dataset(40))
        print(made.jit_compile, made.steps_per_execution, keras._policy[0], tf.onednn_at_import, tf._threads,
              os.environ.get("TF_XLA_FLAGS"))
    """

    def test_each_does_what_it_says(self):
        usual = "auto 1 float32 None {} None"
        run = self.script(TENSORFLOW, self.TOLD)
        self.assertEqual(self.ran(run), usual + "\n")
        for name, value, told in (
                ("JIT_COMPILE", "true", usual.replace("auto", "True")),
                ("STEPS_PER_EXECUTION", "4", usual.replace("1", "4")),
                ("MIXED_PRECISION", "mixed_bfloat16", usual.replace("float32", "mixed_bfloat16")),
                ("ONEDNN", "false", usual.replace("None", "0", 1)),
                ("INTRA_THREADS", "2", usual.replace("{}", "{'intra': 2}")),
                ("INTER_THREADS", "1", usual.replace("{}", "{'inter': 1}")),
                ("BF16", "bf16", usual.replace("{}", "{'auto_mixed_precision_onednn_bfloat16': True}")),
                ("XLA", "clusters", usual[:-4] + "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit")):
            with self.subTest(name):
                self.assertEqual(self.ran(run, **{"NOCTURNE_LEVER_TF_" + name: value}), told + "\n")
                self.assertEqual(self.report(run, "notes"), [[]])

    def test_they_act_where_nobody_listens(self):
        run = self.script(TENSORFLOW, self.TOLD, NOCTURNE_STEPS_EVENTS=None, NOCTURNE_INJECT_REPORT=None)
        self.assertEqual(self.ran(run, NOCTURNE_LEVER_TF_JIT_COMPILE="true"), "True 1 float32 None {} None\n")

    def test_data_are_read_ahead(self):
        run = self.script(TENSORFLOW, "train(tf.function(step))")
        self.ran(run, NOCTURNE_LEVER_TF_PREFETCH="2")
        self.assertEqual(run.seconds(), [6.25] * 9 + [6] + [6.25] * 9)

    def test_a_function_of_the_scripts_own_is_compiled_before_the_first_step(self):
        run = self.script(TENSORFLOW, "train(tf.function(step))")
        self.ran(run, NOCTURNE_LEVER_TF_JIT_COMPILE="true")
        self.assertEqual((len(run.seconds()), self.losses(run)[0]), (19, 0.01))

    def test_each_is_offered_or_refused_with_a_reason(self):
        run = self.script(TENSORFLOW, """
            tf.config.threading.set_intra_op_parallelism_threads(3)
            keras.mixed_precision.set_global_policy("mixed_float16")
            model(10, jit_compile=True, steps_per_execution=2).fit(tf.data.Dataset(10).prefetch(1))
        """)
        self.ran(run)
        refused = {each["name"]: each["reason"] for each in run.json()["refused"]}
        itself = "the script sets %s itself"
        self.assertEqual(refused.pop("tf_jit_compile"), itself % "jit_compile")
        self.assertEqual(refused.pop("tf_steps_per_execution"), itself % "steps_per_execution")
        self.assertEqual(refused.pop("tf_mixed_precision"), itself % "a policy of mixed precision")
        self.assertEqual(refused.pop("tf_prefetch"), "the data set is prefetched already")
        self.assertIn(refused.pop("tf_intra_threads"), (itself % "them", "the process may use one processor only"))
        self.assertLessEqual({each["name"] for each in run.json()["levers"]}, {"tf_onednn", "tf_xla", "tf_inter_threads"})

    def test_one_that_is_set_and_changes_nothing_says_so(self):
        own, fit = (TENSORFLOW, "train(tf.function(step))"), (KERAS, "model(40).fit(tf.Tensor(shape=(80, 4)), batch_size=8)")
        eager = TENSORFLOW, "train(step)"
        threads = TENSORFLOW, "tf.config.threading.set_intra_op_parallelism_threads(3)\ntrain(step)"
        policy = TENSORFLOW, "keras.mixed_precision.set_global_policy('float32')\ntrain(step)"
        for name, value, idle, busy in (
                ("PREFETCH", "2", fit, own), ("STEPS_PER_EXECUTION", "4", own, fit), ("JIT_COMPILE", "true", eager, own),
                ("XLA", "clusters", eager, own), ("BF16", "bf16", eager, fit), ("INTRA_THREADS", "1", threads, own),
                ("MIXED_PRECISION", "mixed_bfloat16", policy, own)):
            for script, changes in ((idle, False), (busy, True)):
                with self.subTest(name, changes=changes):
                    run = self.script(*script)
                    self.ran(run, **{"NOCTURNE_LEVER_TF_" + name: value})
                    start = "lever tf_%s is set and changes nothing: " % name.lower()
                    self.assertEqual([note.startswith(start) for note in run.json()["notes"]], [] if changes else [True])
                    self.assertIn({"name": "tf_" + name.lower(), "reason": "it is set to " + value}, run.json()["refused"])

    def test_the_usual_value_that_a_script_gives_is_no_obstacle(self):
        run = self.script(KERAS, "made = model(40, steps_per_execution=1)\nmade.fit(tf.data.Dataset(40))\n"
                                 "print(made.steps_per_execution, model(4, steps_per_execution=2).steps_per_execution)")
        self.assertEqual(self.ran(run, NOCTURNE_LEVER_TF_STEPS_PER_EXECUTION="4"), "4 2\n")

    def test_a_value_that_is_unknown_is_a_failed_trial(self):
        run = self.script(TENSORFLOW, "train(tf.function(step))")
        code, _, _ = run.run(NOCTURNE_LEVER_TF_BF16="fp8")
        self.assertEqual((code, run.events("end")[0]["status"]), (1, "unsupported"))


class MXNet(Case):
    def test_a_trainers_step_is_one_and_its_device_is_waited_for(self):
        run = self.script(MXNET, "train()")
        self.ran(run)
        self.assertEqual(run.seconds(), [6.5] * 19)
        self.assertEqual((self.losses(run), self.facts(run)), ([number / 100 for number in range(1, 20)], [8, 10, None]))
        self.assertEqual(self.report(run, "framework", "unit", "notes"), ["mxnet", "optimizer step", []])


    def test_the_device_is_waited_for_where_no_loss_can_be_told(self):
        run = self.script(MXNET, """
            for _ in range(5):
                mxnet.autograd.backward([mxnet.nd.NDArray(0.5), mxnet.nd.NDArray(0.5)])
                trainer.step(1)
        """)
        self.ran(run)
        self.assertEqual((run.seconds(), self.losses(run), self.facts(run)[0]), ([6] * 4, [None] * 4, None))


class Paddle(Case):
    def test_an_optimizers_step_is_one(self):
        run = self.script(PADDLE, "train()")
        self.ran(run)
        self.assertEqual(run.seconds(), [6.75] * 9 + [6.5] + [6.75] * 9)
        for key, seconds in (("data_wait_ns", 0.5), ("forward_ns", 3), ("backward_ns", 2), ("optimizer_ns", 1)):
            self.assertEqual(set(run.seconds(key)), {seconds}, key)
        self.assertEqual((self.losses(run), self.facts(run)), ([number / 100 for number in range(1, 20)], [8, 10, None]))
        self.assertEqual(self.report(run, "framework", "unit", "notes"), ["paddle", "optimizer step", []])

    def test_a_step_of_fit_is_one(self):
        run = self.script(PADDLE, "paddle.Model(optimizer).fit(paddle.io.DataLoader(10), losses)")
        self.ran(run)
        self.assertEqual((run.seconds(), self.losses(run)), ([6.5] * 9, [number / 100 for number in range(1, 10)]))


class Boosting(Case):
    def test_a_step_is_a_round_with_what_is_evaluated_behind_it(self):
        run = self.script("import xgboost\n", "xgboost.train({}, 12)")
        self.ran(run)
        self.assertEqual((run.seconds(), self.losses(run)), ([4.5] * 11, [None] * 11))
        self.assertEqual(self.report(run, "framework", "framework_version", "device", "unit", "notes"),
                         ["xgboost", "3.2.0", "cpu", "boosting round", []])
        self.assertEqual(self.report(run, "sets_threads", "records_learning"), [False, False])
        self.assertEqual(self.report(run, "levers", "refused"), [[], [
            {"name": "xgboost_threads", "reason": "the script leaves their number to OMP_NUM_THREADS"}]])

    def test_a_round_of_an_objective_of_the_scripts_own_is_one(self):
        run = self.script("import xgboost\n", "xgboost.train({'device': 'cuda:0'}, 5, lambda data: (0, 1))")
        self.ran(run)
        self.assertEqual((run.seconds(), self.report(run, "device")), ([1.5] * 4, ["cuda"]))

    def test_what_older_ones_call_their_settings(self):
        for settings, device in (("{'gpu_id': '0', 'n_jobs': '4'}", "cuda"), ("{'gpu_id': '-1', 'n_jobs': '4'}", "cpu")):
            run = self.script("import xgboost, json\n", """
                xgboost.Booster.save_config = lambda booster: json.dumps({"learner": {"generic_param": %s}})
                xgboost.train({}, 4)
            """ % settings)
            self.ran(run)
            self.assertEqual(self.report(run, "device", "sets_threads", "steps", "notes"), [device, True, 3, []])

    def test_one_that_does_not_say_its_settings_is_seen_all_the_same(self):
        run = self.script("import xgboost\n", "del xgboost.Booster.save_config\nxgboost.train({}, 4)")
        self.ran(run)
        self.assertEqual(self.report(run, "unit", "steps"), ["boosting round", 3])
        self.assertIn("AttributeError", run.json()["notes"][0])

    def test_folds_are_boosted_in_turns(self):
        run = self.script("import lightgbm\n", """
            boosters = [lightgbm.Booster({}) for _ in range(3)]
            for i in range(6):
                for booster in boosters: booster.update()
        """)
        self.ran(run)
        self.assertEqual(run.seconds(), [6.0] * 4)
        self.assertEqual(self.report(run, "framework", "events_per_step", "unit", "notes"), ["lightgbm", 3, "boosting round", []])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core only")
    def test_a_number_of_threads_that_a_script_sets_is_replaced(self):
        run = self.script("import xgboost\n", "print(xgboost.train({'nthread': 1}, 6).settings['nthread'])")
        self.assertEqual(self.ran(run), "1\n")
        self.assertEqual(self.report(run, "sets_threads"), [True])
        self.assertEqual([each["name"] for each in run.json()["levers"]], ["xgboost_threads"])
        self.assertEqual(run.json()["levers"][0]["lines"]["2"], 'params["nthread"] = 2')
        self.assertEqual(self.ran(run, NOCTURNE_LEVER_XGBOOST_THREADS="2"), "2\n")
        self.assertEqual(run.seconds(), [2.5] * 5)

        run = self.script("import lightgbm\n", """
            booster = lightgbm.Booster({"n_jobs": 1, "num_leaves": 7})
            for _ in range(3): booster.update()
            print(booster.text)
        """)
        self.assertEqual(self.ran(run), "n_jobs=1 num_leaves=7\n")
        self.assertEqual([each["name"] for each in run.json()["levers"]], ["lightgbm_threads"])
        self.assertEqual(self.ran(run, NOCTURNE_LEVER_LIGHTGBM_THREADS="2"), "num_leaves=7 num_threads=2\n")

    def test_how_other_versions_hand_on_their_parameters(self):
        library = """
            import types
            __version__ = "9"
            basic = types.SimpleNamespace(%s)
            class Booster(object):
                params = {}
                def update(self): print(getattr(basic, "param_dict_to_str", str)({"n_jobs": 1}))
        """
        for known, left, said in (("param_dict_to_str=str", 0, "{'num_threads': '2'}\n"), ("", 1, "{'n_jobs': 1}\n")):
            run = self.script("import lightgbm\n", "lightgbm.Booster().update()")
            os.makedirs(run.path("lightgbm"))
            with open(run.path("lightgbm/__init__.py"), "w") as file:
                file.write(textwrap.dedent(library % known))
            self.assertEqual(self.ran(run, code=left, NOCTURNE_LEVER_LIGHTGBM_THREADS="2"), said)
        self.assertEqual([(each["status"], each["reason"]) for each in run.events("end")], [
            ("unsupported", "lever lightgbm_threads: LightGBM 9 hands on its parameters in another way")])

    def test_rounds_that_become_shorter_are_told(self):
        script = """
            booster, work = lightgbm.Booster({}), lightgbm.clock.spend
            for i in range(81):
                work(i and %s)
                booster.update()
        """
        for steady_or_disturbed in ("8.0", "4.0 + 8 * (20 < i <= 40)", "8.0 - i / 64"):
            run = self.script("import lightgbm\n", script % steady_or_disturbed)
            self.ran(run)
            self.assertEqual(self.report(run, "notes"), [[]], steady_or_disturbed)
        run = self.script("import lightgbm\n", script % "8.0 - i / 16")
        self.ran(run)
        self.assertEqual(self.report(run, "notes"), [[
            "steps become shorter: 9.38 s in the first quarter of the 80 that were seen, 5.62 s in the last; "
            "times are of the first ones"]])


class ScikitLearn(Case):
    FIT = "import sklearn, joblib\n"

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core only")
    def test_what_a_fit_leaves_open_is_filled_in(self):
        run = self.script(self.FIT, """
            print(joblib.Parallel(prefer="threads").n_jobs, joblib.Parallel(None).n_jobs, joblib.Parallel(n_jobs=1).n_jobs)
            joblib.backend.nesting_level = 1
            print(joblib.Parallel().n_jobs)
        """)
        self.assertEqual(self.ran(run), "None None 1\nNone\n")
        self.assertEqual(self.report(run, "framework", "device", "unit", "records_learning"), ["sklearn", "cpu", None, False])
        self.assertEqual([each["name"] for each in run.json()["levers"]], ["parallel_jobs"])
        self.assertIn("2", run.json()["levers"][0]["values"])
        self.assertEqual(self.ran(run, NOCTURNE_LEVER_PARALLEL_JOBS="2"), "2 2 1\nNone\n")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core only")
    def test_what_leaves_nothing_open_is_not_offered(self):
        for script, reason in (("joblib.Parallel(n_jobs=1)", "the script says itself how many"),
                               ("pass", "nothing was fitted that could be shared out")):
            run = self.script(self.FIT, script)
            self.ran(run)
            self.assertEqual(self.report(run, "levers", "refused"), [[], [{"name": "parallel_jobs", "reason": reason}]])

    def test_a_training_that_imports_it_too_is_the_others(self):
        for imports in ("import mxnet, sklearn", "import sklearn, mxnet"):
            run = self.script(MXNET.replace("import mxnet", imports), "train(2)")
            self.ran(run)
            self.assertEqual(self.report(run, "framework", "records_learning"), ["mxnet", True])
        run = self.script("import mxnet, sklearn, joblib\n", "")
        self.ran(run)
        self.assertEqual(self.report(run, "framework", "records_learning"), ["mxnet", False])
        run = self.script("import mxnet, sklearn, joblib\n", "joblib.Parallel()")
        self.ran(run)
        self.assertEqual(self.report(run, "framework"), ["sklearn"])


class Jax(Case):
    def test_a_step_is_a_call_of_the_function_in_whose_trace_a_gradient_was_taken(self):
        run = self.script(JAX, "train(jax.jit(step), 20)")
        self.ran(run)
        self.assertEqual((run.seconds(), self.losses(run)), ([3.1] * 18, [number / 100 for number in range(2, 20)]))
        self.assertEqual(self.facts(run), [16, None, None])
        self.assertEqual(self.report(run, "framework", "framework_version", "device", "unit", "events_per_step", "steps"),
                         ["jax", "0.10.2", "cpu", "call", 1, 18])

    def test_a_limit_ends_it(self):
        run = self.script(JAX, "train(jax.jit(step), 20)\nprint('done')")
        self.assertEqual(self.ran(run, NOCTURNE_STEPS_LIMIT=5), "")
        self.assertEqual(run.seconds(), [3.1] * 5)

    def test_an_evaluation_is_no_step_and_what_is_called_at_each_step_is(self):
        run = self.script(JAX, """
            jax.cost.update(measure=1.0, evaluation=50.0)
            measure, evaluation = jax.jit(lambda: (jax.Tracer(),)), jax.jit(lambda: (jax.Tracer(),))
            measure.function.__name__, evaluation.function.__name__ = "measure", "evaluation"
            step = jax.jit(step)
            def both(*arguments):
                result = step(*arguments)
                measure()
                return result
            train(both, 10, 3, lambda: jax.block_until_ready(evaluation()))
        """)
        self.ran(run)
        self.assertEqual(run.seconds()[1:], [4.1] * 7 + [3.1] + [4.1] * 9 + [3.1] + [4.1] * 9)

    def test_an_evaluation_waits_for_steps_that_are_no_part_of_its_time(self):
        run = self.script(JAX, """
            evaluation = jax.jit(lambda: (jax.Tracer(),))
            train(jax.jit(step), 10, 3, lambda: jax.block_until_ready(evaluation()))
        """)
        self.ran(run, NOCTURNE_STEPS_PER_SAMPLE=14)
        self.assertEqual((self.counts(run), run.seconds()), ([14, 14], [8 * 3 + 0.1 + 6 * 3 + 0.1, 4 * 3 + 0.1 + 10 * 3 + 0.1]))

    def test_a_batch_is_no_parameter_that_was_updated_elsewhere(self):
        run = self.script(JAX, """
            step = jax.jit(step)
            def apart(weights, images):
                step(weights, images)
                return {"kernel": Array((100, 10)), "bias": Array((10,))},
            images = lambda: Array((8, 100))
            train(apart)
        """)
        self.ran(run)
        self.assertEqual(self.facts(run)[0], 8)

    def test_the_loss_is_only_what_the_gradient_was_taken_of(self):
        for change in ("return gradients, jax.Tracer(value=lambda: 7.0)", "return gradients, [loss, loss]"):
            run = self.script(JAX.replace("return gradients, loss, jax.Tracer(value=lambda: 7.0)", change), "train(jax.jit(step))")
            self.ran(run)
            self.assertEqual((run.seconds(), self.losses(run)), ([3.1] * 8, [None] * 8))

    def test_a_function_inside_another_and_one_that_was_traced_before(self):
        for before in ("", "inner(weights, images())"):
            run = self.script(JAX, """
                inner = jax.jit(step)
                %s
                train(jax.jit(lambda *arguments: inner(*arguments)), 20)
            """ % before)
            self.ran(run)
            self.assertEqual((run.seconds()[-5:], self.losses(run)[-1]), ([3.1] * 5, 0.2 if before else 0.19))

    def test_gradients_without_a_jitted_function(self):
        run = self.script(JAX, """
            def eager(weights, images):
                loss, gradients = jax.value_and_grad(lambda weights: jax.loss(weights, images))(weights)
                return gradients, loss
            train(eager)
        """)
        self.ran(run)
        self.assertEqual((run.seconds(), self.losses(run)), ([2.1] * 8, [number / 100 for number in range(2, 10)]))
        self.assertEqual(self.facts(run)[0], None)  # it is seen by nobody

    def test_grad_tells_no_loss(self):
        run = self.script(JAX, "train(jax.jit(lambda *arguments: (jax.grad(jax.loss)(*arguments), 0)[:1]))")
        self.ran(run)
        self.assertEqual((run.seconds(), self.losses(run)), ([3.1] * 8, [None] * 8))

    def test_two_functions_in_turns_are_one_step(self):
        run = self.script(JAX, """
            def trainer():
                def train_one(weights, images):
                    loss, gradients = jax.value_and_grad(jax.loss)(weights, images)
                    return gradients, loss
                return jax.jit(train_one)
            one, other = trainer(), trainer()
            def both(weights, images):
                other(weights, images)
                return one(weights, images)
            train(both, 20)
        """)
        self.ran(run)
        self.assertEqual((set(run.seconds()[2:]), self.report(run, "events_per_step")), ({6.1}, [2]))

    def test_what_is_jitted_again_is_not_traced_again(self):
        run = self.script(JAX, "train(lambda *arguments: jax.jit(step)(*arguments), 10)\nprint(jax.traces)")
        self.assertEqual(self.ran(run), "['step']\n")
        self.assertEqual(run.seconds(), [3.1] * 8)

    def test_a_decorator_with_settings_alone(self):
        run = self.script(JAX, "train(jax.jit(static_argnums=1)(step))")
        self.ran(run)
        self.assertEqual(run.seconds(), [3.1] * 8)

    def test_what_it_returns_is_as_it_was(self):
        script = """
            import copy
            class Trainer:
                @jax.jit
                def method(self): return (jax.Tracer(),)
            jitted, decorated = jax.jit(step), jax.jit(static_argnums=1)(step)
            print(jitted.__name__, jitted.lower(), jitted.__wrapped__.__name__, decorated.settings, type(copy.copy(jitted)).__name__,
                  len(Trainer().method()))
        """
        run = self.script(JAX, script)
        self.assertEqual(self.ran(run), "step lowered step step {'static_argnums': 1} Compiled 1\n")
        self.assertEqual(self.ran(run, NOCTURNE_DISABLE=1), self.ran(run))

    def test_a_training_of_another_framework_that_imports_it_is_that_ones(self):
        run = self.script(PADDLE, "import jax\npaddle.clock = jax.clock\ntrain()")
        self.ran(run)
        self.assertEqual(self.report(run, "framework", "unit"), ["paddle", "optimizer step"])
        run = self.script(JAX, "import paddle\npaddle.clock = jax.clock\ntrain(jax.jit(step))")
        self.ran(run)
        self.assertEqual(self.report(run, "framework", "unit", "steps"), ["jax", "call", 8])


class Learning(Case):
    """Each script trains one weight, by 1 in each step; losses are 0.00, 0.01, ..."""

    TRAINED = {
        "fit": (KERAS, "model(40).fit(tf.data.Dataset(40))"),
        "executions": (KERAS, "model(40, steps_per_execution=4).fit(tf.data.Dataset(40))"),
        "eager": (TENSORFLOW, "train(step)"),
        "function": (TENSORFLOW, "train(tf.function(step))"),
        "a loop inside": (TENSORFLOW, "trained = tf.function(step, repeat=10)\nfor _ in range(5): trained()"),
        "by hand": (TENSORFLOW, """
            def by_hand():
                tf.GradientTape().gradient(tf.loss(losses), [weight])
                weight.assign_add(-optimizer.rate)
            train(tf.function(by_hand))
        """),
        "mxnet": (MXNET, "trainer._params = [mxnet.Parameter(3.0)]\ntrain()"),
        "paddle": (PADDLE, "optimizer._parameter_list = [paddle.Parameter(3.0)]\ntrain()"),
        "paddle's fit": (PADDLE, "optimizer._parameter_list = [paddle.Parameter(3.0)]\n"
                                 "paddle.Model(optimizer).fit(paddle.io.DataLoader(10), losses)")}

    def recorded(self, beginning, script, mode="start", out="", **environment):
        run = self.script(beginning, textwrap.dedent(script), NOCTURNE_INJECT_LEARNING_MODE=mode, **environment)
        run.variables["NOCTURNE_INJECT_LEARNING"] = run.path("learning.json")
        self.assertEqual(self.ran(run), out)
        return run.json("learning.json")

    def test_a_start_of_every_kind(self):
        for name, (beginning, script) in self.TRAINED.items():
            with self.subTest(name):
                self.assertEqual(self.recorded(beginning, script), {
                    "version": 1, "mode": "start", "losses": [0.0, 0.01, 0.02, 0.03, 0.04],
                    "updates": [{"0.weight": float(each)} for each in range(1, 6)],
                    "notes": ["no iterator of tf.data gave the batches: epochs and waiting for data are not known"]
                    if name == "a loop inside" else []})

    def test_what_moves_more_or_not_at_all_is_seen(self):
        for rate in (2.0, 0.0):
            for name, (beginning, script) in self.TRAINED.items():
                owner = {MXNET: "trainer", PADDLE: "optimizer"}.get(beginning, "keras.Optimizer")
                changed = "%s.rate = %s\n" % (owner, rate) + textwrap.dedent(script)
                with self.subTest(name, rate=rate):
                    self.assertEqual(self.recorded(beginning, changed)["updates"][0], {"0.weight": rate})

    def test_a_function_that_a_lever_compiles_is_judged_from_its_first_step_on(self):
        beginning, script = self.TRAINED["function"]
        with_it = self.recorded(beginning, script, NOCTURNE_LEVER_TF_JIT_COMPILE="true")
        self.assertEqual(with_it, self.recorded(beginning, script))

    def test_a_start_that_cannot_be_paired_is_not_told(self):
        beginning, script = self.TRAINED["function"]
        for more, lever, note in (("tf.draws = True\n", "true", "the function draws random numbers, and compiled by XLA it draws others"),
                                  ("tf.saved_model.load(0)\n", "script", "a SavedModel was loaded, whose dropout cannot be put out")):
            found = self.recorded(beginning, more + script, NOCTURNE_LEVER_TF_JIT_COMPILE=lever)
            self.assertEqual((found["updates"], found["notes"]), ([], [note]))
        self.assertEqual(self.recorded(beginning, "tf.draws = True\n" + script)["updates"][0], {"0.weight": 1.0})

    def test_losses_that_are_not_seen_are_none(self):
        found = self.recorded(TENSORFLOW, """
            class LossScaleOptimizer(keras.optimizers.Optimizer): pass
            scaling = LossScaleOptimizer()
            train(tf.function(lambda: step(scaling)))
        """)
        self.assertEqual((found["losses"], found["updates"][0]), ([None] * 5, {"0.weight": 1.0}))
        self.assertIn("loss not seen: it is scaled", found["notes"])

    def test_dropout_is_off(self):
        beginning, script = self.TRAINED["function"]
        dropping = "tf.nn.dropout(0, rate=0.5)\nkeras.AlphaDropout().call(0)\n"
        self.assertTrue(self.recorded(beginning, dropping + script, out="dropped 0.0\n" * 2))
        self.assertTrue(self.recorded(beginning, dropping + script, "run", "dropped 0.5\n" * 2, NOCTURNE_STEPS_LIMIT=5))
        beginning, script = self.TRAINED["mxnet"]
        dropping = "print(mxnet.gluon.rnn.rnn_layer._RNNLayer()._dropout)\nmxnet.nd.Dropout(0)\nmxnet.sym.Dropout(0, 0.5)\n"
        self.assertTrue(self.recorded(beginning, dropping + script, out="0.0\n" + "dropped 0.0\n" * 2))
        beginning, script = self.TRAINED["paddle"]
        dropping = "print(paddle.nn.layer.rnn.RNNBase().dropout)\npaddle.nn.functional.dropout(0)\n"
        self.assertTrue(self.recorded(beginning, dropping + script, out="0.0\ndropped 0.0\n"))

    def test_random_streams_begin_at_the_seed(self):
        chance = """
            import random
            random.seed()
            class Losses(object):
                def pop(self, _): return random.random()
            losses = Losses()
            step.__defaults__ = (optimizer, losses)
            stream = keras.random.SeedGenerator()
            train(%s)
        """
        for kind in ("step", "tf.function(step)"):
            first = self.recorded(TENSORFLOW, chance % kind, out="stream [1, 0]\n")
            self.assertEqual(first, self.recorded(TENSORFLOW, chance % kind, out="stream [1, 0]\n"))
            other = self.recorded(TENSORFLOW, chance % kind, out="stream [9, 0]\n", NOCTURNE_INJECT_SEED=9)
            self.assertNotEqual(first["losses"], other["losses"])

    def test_a_run_records_the_losses_of_its_steps(self):
        for name, (beginning, script) in self.TRAINED.items():
            limit = 18 if "paddle" not in name else 7
            with self.subTest(name):
                found = self.recorded(beginning, script, "run", NOCTURNE_STEPS_LIMIT=limit)
                self.assertEqual((found["mode"], found["losses"], "updates" in found),
                                 ("run", [number / 100 for number in range(limit)], False))


if __name__ == "__main__":
    unittest.main()
