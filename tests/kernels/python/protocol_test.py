"""What every Python worker does, seen on one whose framework is Python itself."""

import gzip
import os
import pathlib
import subprocess
import sys
import unittest

from command_run import PLAIN_PYTHON, WORKERS, CommandRun


class Protocol(unittest.TestCase):
    def finished(self, talk, status="ok", code=0, **keywords):
        self.assertEqual(talk.run(**keywords), code, talk.stderr)
        self.assertEqual(talk.end()["event"], "end")
        self.assertEqual((talk.end()["status"], talk.events()[0]["event"]), (status, "hello"), talk.end()["reason"])
        return talk.end()["reason"]

    def test_it_greets_first_says_what_it_is_samples_and_ends_last(self):
        with CommandRun() as talk:
            talk.request["steps_per_sample"] = 2
            talk.request["configuration"].update({"threads": 3, "unrolled": True, "affinity": "close"})
            self.finished(talk)
            self.assertEqual([phase["name"] for phase in talk.events("phase_end")],
                             ["import", "data", "build", "compile", "first_step"])
            self.assertEqual(talk.events()[0], {"event": "hello", "protocol": 1, "worker": "plain-python 1.0"})
            self.assertEqual(talk.events()[-2]["event"], "memory")
            self.assertGreater(talk.events()[-2]["peak_rss_bytes"], 1 << 20)
            ready = talk.events("ready")[0]
            self.assertEqual((ready["threads"], ready["environment"]["OMP_NUM_THREADS"]), (3, "3"))
            self.assertEqual((ready["parameters"], ready["gate"], ready["unrolled"]), (7850, True, True))
            self.assertEqual((ready["compiled"], ready["batch_sizes"]), ([16], [16]))
            self.assertEqual(set(ready["versions"]), {"worker", "python", "plain"})
            samples = talk.events("sample")
            self.assertEqual([(each["first_step"], each["steps"]) for each in samples], [(1, 2), (3, 1)])
            for each in samples:
                self.assertLess(0, each["data_wait_ns"])
                self.assertLess(each["data_wait_ns"], each["wall_ns"])
                self.assertLess(0, each["cpu_ns"])

    def test_epochs_end_the_smaller_batch_is_a_sample_of_its_own_and_accuracy_is_told_when_asked(self):
        with CommandRun() as talk:
            talk.request.update({"epochs": 3, "partial_batch": "train", "accuracy": True, "steps_per_sample": 100})
            self.finished(talk)
            # 100 = 6 · 16 + 4: the first step, then 5 and 1, then 6 and 1
            self.assertEqual([each["steps"] for each in talk.events("sample")], [5, 1, 6, 1, 6, 1])
            epochs = talk.events("epoch")
            self.assertEqual([each["index"] for each in epochs], [0, 1, 2])
            self.assertLess(epochs[2]["loss"], 0.8 * epochs[0]["loss"])
            self.assertEqual(talk.events("ready")[0]["batch_sizes"], [16, 4])
            accuracy = talk.events("accuracy")[0]
            self.assertEqual(accuracy["examples"], 30)
            self.assertGreater(accuracy["accuracy"], 0.9)
            self.assertLess(accuracy["loss"], 2)

    def test_a_learning_curve_has_its_points_between_samples_and_changes_nothing(self):
        losses = []
        for curve in (None, {"points_per_epoch": 3}):
            with CommandRun() as talk:
                talk.request.update({"epochs": 2, "steps_per_sample": 100, "partial_batch": "train"})
                if curve:
                    talk.request["curve"] = curve
                self.finished(talk)
                losses.append(talk.events("sample")[-1]["loss"])
                if curve:
                    # An epoch has 7 steps: its thirds end after 2, 4 and 7.
                    points = talk.events("accuracy")
                    self.assertEqual([each["steps"] for each in points], [2, 4, 7, 9, 11, 14])
                    self.assertGreater(points[-1]["accuracy"], points[0]["accuracy"])
                    self.assertEqual(points[0]["examples"], 30)
        self.assertEqual(losses[0], losses[1])

    def test_a_learning_curve_ends_where_its_accuracy_is_reached(self):
        with CommandRun() as talk:
            talk.request.update({"epochs": 50, "curve": {"points_per_epoch": 2, "until": 0.6}})
            self.finished(talk)
            accuracies = [each["accuracy"] for each in talk.events("accuracy")]
            self.assertGreaterEqual(accuracies[-1], 0.6)
            self.assertTrue(all(each < 0.6 for each in accuracies[:-1]))
            self.assertLess(len(talk.events("epoch")), 50)

    def test_the_rate_follows_the_batch_size_by_its_rule(self):
        for rule, rate in ((None, 1.0), ("none", 1.0), ("linear", 0.125), ("square_root", 0.125 ** 0.5)):
            with CommandRun() as talk:
                talk.request["configuration"].update({"learning_rate_rule": rule} if rule else {})
                self.finished(talk)
                self.assertAlmostEqual(talk.events("ready")[0]["rate"], rate)
        with CommandRun() as talk:
            talk.request["configuration"]["learning_rate_rule"] = "cubic"
            self.assertIn("square_root_warm_up", self.finished(talk, "unsupported"))

    def test_a_rule_that_warms_up_changes_the_rate_step_by_step_or_is_refused(self):
        losses = []
        for rule in ("linear", "linear_warm_up"):
            with CommandRun() as talk:
                talk.request.update({"epochs": 1})
                talk.request["configuration"]["learning_rate_rule"] = rule
                self.finished(talk)
                losses.append(talk.events("epoch")[0]["loss"])
        self.assertLess(losses[1], losses[0])  # the rate of this small batch comes down from the optimizer's own
        with CommandRun() as talk:
            talk.environment["PLAIN_PYTHON_MODE"] = "one_rate"
            talk.request["configuration"]["learning_rate_rule"] = "linear_warm_up"
            self.assertIn("one rate for all steps", self.finished(talk, "unsupported"))

    def test_a_smaller_batch_is_dropped_unless_asked_for(self):
        with CommandRun() as talk:
            talk.request["steps"] = 8  # an epoch is 6
            self.finished(talk)
            self.assertEqual(talk.steps_reported(), 8)
            self.assertEqual(len(talk.events("epoch")), 1)
            self.assertEqual(talk.events("accuracy"), [])

    def test_turns_allow_steps_slice_by_slice_and_their_end_is_the_end(self):
        with CommandRun() as talk:
            os.mkfifo(talk.path("turns"))
            talk.request["turns"] = talk.path("turns")
            worker = talk.start()
            with open(talk.path("turns"), "w") as turns:  # returns once the worker has opened its side
                self.assertEqual(talk.events("sample"), [])
                for allowed, so_far in ((3, 3), (0, 3), (5, 8)):  # the second crosses an epoch's end
                    turns.write("%d\n" % allowed)
                    turns.flush()
                    self.await_steps(talk, worker, so_far)
            self.assertEqual(worker.wait(timeout=60), 0)
            self.assertEqual((talk.steps_reported(), talk.end()["status"]), (8, "ok"))

    def await_steps(self, talk, worker, steps):
        while talk.steps_reported() < steps and worker.poll() is None:
            os.sched_yield()
        self.assertEqual(talk.steps_reported(), steps)

    def test_a_turn_that_is_no_number_fails(self):
        with CommandRun() as talk:
            os.mkfifo(talk.path("turns"))
            talk.request["turns"] = talk.path("turns")
            worker = talk.start()
            with open(talk.path("turns"), "w") as turns:
                turns.write("-3\n")
            self.assertEqual(worker.wait(timeout=60), 1)
            self.assertEqual(talk.end()["reason"], "turns: '-3' is not a number of steps")

    def test_what_cannot_be_done_is_unsupported_with_the_reason(self):
        cases = (
            ({"workload": {"network": "alexnet"}}, "unknown network 'alexnet', known: mnist_cnn, tiny"),
            ({"workload": {"optimizer": "adam"}}, "unknown optimizer 'adam', known for network tiny: adadelta"),
            ({"workload": {"data": "imagenet"}}, "unknown data set 'imagenet', known for network tiny: mnist"),
            ({"configuration": {"precision": "bf16"}}, 'configuration: precision = "bf16", allowed: f32'),
            ({"configuration": {"layout": "blocked"}}, 'configuration: layout = "blocked", allowed: nchw, nhwc'),
            ({"configuration": {"onednn": 1}}, "configuration: onednn = 1, allowed: true, false"),
            ({"configuration": {"unrolled": "yes"}}, 'configuration: unrolled = "yes", allowed: true, false'),
            ({"configuration": {"threads": -4}}, "threads = -4, allowed: a whole number from 1 to 1024"),
            ({"configuration": {"threads": 1.5}}, "threads = 1.5"),
            ({"configuration": {"inter_threads": 2}}, "inter_threads = 2, but plain-python has no choice of it"),
            ({"configuration": {"data_threads": 2}}, "data_threads = 2, allowed: 0: plain-python gathers a batch"),
            ({"workload": {"label_smoothing": 0.1}}, "label_smoothing = 0.1: this worker trains on the labels as they"),
            ({"configuration": {"batch": 101}}, "batch 101 is larger than the data set of 100 images"),
            ({"configuration": {"graph_compiler": "folding", "layout": "nhwc"}}, "takes layout nchw only"),
            ({"gate": {"steps": 7}}, "gate: an epoch has 6 steps, 7 are asked for"))
        for change, why in cases:
            with self.subTest(why), CommandRun() as talk:
                for key, value in change.items():
                    talk.request.setdefault(key, {}).update(value)
                self.assertIn(why, self.finished(talk, "unsupported"))
                self.assertEqual(talk.events("sample"), [])

    def test_a_loss_that_is_no_number_is_diverged_and_the_step_is_named(self):
        with CommandRun() as talk:
            talk.environment["PLAIN_PYTHON_MODE"] = "diverge"
            self.assertEqual(self.finished(talk, "diverged"), "the loss of step 2 is not a finite number")
            self.assertEqual(talk.steps_reported(), 1)

    def test_a_framework_that_raises_leaves_or_is_not_there_is_failed_with_one_line(self):
        for mode, reason, phase in (("raise", "RuntimeError: the third step went wrong", None),
                                    ("leave", "SystemExit: left by the framework", "first_step"),
                                    ("no_framework", "ModuleNotFoundError: No module named", "import")):
            with self.subTest(mode), CommandRun() as talk:
                talk.environment["PLAIN_PYTHON_MODE"] = mode
                found = self.finished(talk, "failed", 1)
                self.assertTrue(found.startswith(reason), found)
                self.assertNotIn("\n", found)
                self.assertIn("Traceback", talk.stderr)
                self.assertEqual(talk.events("memory")[0]["device_bytes"], 0)
                if phase is not None:  # the phase that was left open says where
                    self.assertEqual(talk.events("phase_begin")[-1]["name"], phase)
                    self.assertNotIn(phase, [each["name"] for each in talk.events("phase_end")])

    def test_memory_that_is_refused_is_out_of_memory_and_no_failure(self):
        for mode in ("memory", "torch_memory", "tensorflow_memory", "xla_memory", "mxnet_memory", "library_memory"):
            with self.subTest(mode), CommandRun() as talk:
                talk.environment["PLAIN_PYTHON_MODE"] = mode
                self.assertIn("memory is too small", self.finished(talk, "out_of_memory"))
                self.assertEqual(talk.events("phase_begin")[-1]["name"], "first_step")

    def test_damaged_data_and_broken_requests_fail_with_a_sentence(self):
        def damaged(damage, why):
            with self.subTest(why), CommandRun() as talk:
                damage(talk)
                self.assertIn(why, self.finished(talk, "failed", 1))
        images = "train-images-idx3-ubyte.gz"

        def cut(talk):
            path = talk.folder / images
            path.write_bytes(path.read_bytes()[:-20])

        def relisted(content):
            def damage(talk):
                import hashlib
                (talk.folder / images).write_bytes(content)
                (talk.folder / "SHA256SUMS").write_text("%s  %s\n%s" % (
                    hashlib.sha256(content).hexdigest(), images, (talk.folder / "SHA256SUMS").read_text()))
            return damage
        damaged(cut, "wrong checksum")
        damaged(lambda talk: (talk.folder / images).unlink(), "cannot be opened: No such file or directory")
        damaged(lambda talk: (talk.folder / "SHA256SUMS").unlink(), "SHA256SUMS: is missing")
        damaged(relisted(gzip.compress(b"\0\0\x08\x03 and more")[:-12]), "is not a whole gzip file")
        damaged(relisted(gzip.compress(b"\0\0\x08\x01\0\0\0\x05four")), "its dimensions do not fit its size")
        damaged(lambda talk: talk.request.update(protocol=99), "protocol 99 is asked for, this worker speaks 1")
        damaged(lambda talk: talk.request.update(steps="many"), "request: key 'steps': \"many\" is no int")
        damaged(lambda talk: talk.request.update(partial_batch="keep"), "'keep' is neither 'drop' nor 'train'")

    def test_the_seed_decides_weights_and_order(self):
        losses = []
        for seed in (1, 1, 2):
            with CommandRun() as talk:
                talk.request["seed"] = seed
                self.finished(talk)
                losses.append([each["loss"] for each in talk.events("sample")])
        self.assertEqual(losses[0], losses[1])
        self.assertNotEqual(losses[0], losses[2])

    def test_what_compilers_keep_is_the_runs_own_unless_a_folder_is_named(self):
        with CommandRun() as talk:
            self.finished(talk)
            self.assertTrue((talk.folder / "cache" / "inductor").is_dir())
            self.assertEqual(pathlib.Path(talk.events("ready")[0]["temporary"]).parent, talk.folder / "cache")
        with CommandRun() as talk:
            talk.environment["NOCTURNE_COMPILE_CACHE"] = talk.path("kept")
            self.finished(talk)
            self.assertFalse((talk.folder / "cache").exists())
            self.assertTrue((talk.folder / "kept" / "jax").is_dir())

    def test_a_worker_that_is_killed_leaves_whole_lines(self):
        with CommandRun() as talk:
            talk.request["steps"] = 100000
            worker = talk.start()
            while talk.steps_reported() < 3 and worker.poll() is None:
                os.sched_yield()
            worker.kill()
            worker.wait()
            self.assertGreaterEqual(talk.steps_reported(), 3)  # each line parses
            self.assertEqual(talk.events("end"), [])

    def test_wrong_usage_is_told_and_help_is_there(self):
        environment = dict(os.environ, NOCTURNE_PYTHON_WORKERS=str(WORKERS))
        for arguments, code, word in ((["--events", "x"], 2, b"--request"), (["--help"], 0, b"REQUEST.json"),
                                      (["--version"], 0, b"protocol 1")):
            done = subprocess.run([sys.executable, str(PLAIN_PYTHON)] + arguments, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, code)
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
