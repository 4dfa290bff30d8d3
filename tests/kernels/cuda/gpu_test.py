"""What nocturne-cudnn trains, on a GPU; exit code 77 (skipped) without one.

NOCTURNE_SIMULATED=1: WORKER is nocturne-cudnn-simulated, on a GPU that is simulated on the CPU (simulated_gpu/), so the same is asked of less
work. Only there is all that a run does the same every time, so that what must be equal is compared digit by digit."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from command_run import write_tiny_images  # noqa: E402

WORKER, ONEDNN = os.environ["NOCTURNE_CUDNN"], os.environ.get("NOCTURNE_ONEDNN", "")
SIMULATED = os.environ.get("NOCTURNE_SIMULATED") == "1"
BATCH = 16 if SIMULATED else 64
# Which streams run ahead: none, the one that computes, the one that copies.
SIMULATED_ORDERS = ("", "0", "1") if SIMULATED else ("",)
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
MNIST = {"network": "mnist_cnn", "data": "mnist", "data_folder": os.path.join(ROOT, "examples", "data", "mnist"),
         "optimizer": "adadelta"}
RESNET = {"network": "resnet20", "data": "synthetic", "optimizer": "sgd_momentum"}


def converse(program, request, order=""):
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("request.json", "events.jsonl")]
        with open(files[0], "w") as file:
            json.dump(dict({"protocol": 1, "run_id": "test", "seed": 1}, **request), file)
        subprocess.run([program, "--request", files[0], "--events", files[1]], timeout=240, check=False,
                       env=dict(os.environ, NOCTURNE_SIMULATED_EAGER=order))
        with open(files[1]) as file:
            return [json.loads(line) for line in file]


def only(events, name):
    return [event for event in events if event["event"] == name]


def train(workload, configuration, order="", **more):
    events = converse(WORKER, dict({"workload": workload, "configuration": configuration, "steps": 60}, **more), order)
    return events[-1], [sample["loss"] for sample in only(events, "sample")], events


def tiny(folder, train, test):
    """MNIST's network on images that it learns within a few steps."""
    write_tiny_images(pathlib.Path(folder), train, test)
    return dict(MNIST, data_folder=folder)


class Training(unittest.TestCase):
    def assertOk(self, end, configuration):
        """A true GPU, or a worker built without cudnn-frontend, may have no graphs; all else must work."""
        if end["status"] == "unsupported" and configuration.get("fusion") == "auto" and not SIMULATED:
            self.skipTest(end["reason"])
        self.assertEqual(end["status"], "ok", end["reason"])

    def assertLearns(self, end, losses):
        self.assertEqual(end["status"], "ok", end["reason"])
        self.assertLess(sum(losses[-10:]), 0.7 * sum(losses[:10]))

    def assertSame(self, first, second, beside=0.0):
        """But for rounding, to a thousandth and `beside`."""
        self.assertEqual(len(first), len(second))
        self.assertGreater(len(first), 0)
        for a, b in zip(first, second):
            self.assertAlmostEqual(a, b, delta=1e-3 * abs(a) + beside)

    def test_every_precision_and_layout_learns(self):
        capability = float(json.loads(subprocess.check_output([WORKER, "--probe"]))["compute_capability"])
        with tempfile.TemporaryDirectory() as folder:
            workloads, steps = (MNIST, RESNET), 100
            if SIMULATED:
                workloads, steps = (tiny(folder, 100, 10),), 25
            for precision in ("f32", "tf32", "bf16", "f16"):
                if capability < 8 and precision in ("tf32", "bf16"):
                    continue
                for layout in ("nchw", "nhwc"):
                    for workload in workloads:
                        with self.subTest(precision=precision, layout=layout, network=workload["network"]):
                            configuration = {"precision": precision, "layout": layout, "batch": BATCH}
                            end, losses, _ = train(workload, configuration, steps=steps)
                            self.assertLearns(end, losses)

    def test_a_captured_step_computes_what_its_operations_do(self):
        configuration, length = {"batch": BATCH, "algorithm": "fixed"}, {"steps": 60}
        if SIMULATED:
            length = {"steps": 8, "steps_per_sample": 4}  # the host runs ahead of the GPU
        eager = train(MNIST, configuration, **length)[1]
        self.assertGreater(len(eager), 0)
        for streams in (1, 2):
            for cuda_graphs in (False, True):
                for order in SIMULATED_ORDERS:
                    with self.subTest(streams=streams, cuda_graphs=cuda_graphs, order=order):
                        changed = dict(configuration, streams=streams, cuda_graphs=cuda_graphs)
                        losses = train(MNIST, changed, order, **length)[1]
                        if SIMULATED:
                            self.assertEqual(eager, losses)
                        else:
                            self.assertSame(eager, losses, beside=1e-4)

    def test_algorithms_differ_by_rounding_alone(self):
        first = train(MNIST, {"batch": BATCH, "algorithm": "heuristic"}, steps=5)[1]
        for algorithm in ("find", "fixed"):
            _, losses, events = train(MNIST, {"batch": BATCH, "algorithm": algorithm}, steps=5)
            self.assertAlmostEqual(first[0], losses[0], delta=1e-4 * abs(first[0]))
            # Rounding grows with each step: an H200's second losses once differed by 0.17 %, once not at all.
            for one, other in zip(first, losses):
                self.assertAlmostEqual(one, other, delta=1e-2 * abs(one), msg=f"{algorithm}: {only(events, 'ready')[0]}")

    def test_a_fused_pass_computes_what_its_operations_do(self):
        for workload in (MNIST, RESNET):
            batch = BATCH if workload is MNIST or not SIMULATED else 2
            for cuda_graphs in (False, True):
                with self.subTest(network=workload["network"], cuda_graphs=cuda_graphs):
                    configuration = {"precision": "f16", "layout": "nhwc", "batch": batch, "cuda_graphs": cuda_graphs}
                    apart = train(workload, configuration, steps=5)[1]
                    configuration["fusion"] = "auto"
                    end, fused, events = train(workload, configuration, steps=5)
                    self.assertOk(end, configuration)
                    for each in only(events, "ready")[0]["fusions"]:
                        self.assertNotIn("refused", each["reason"], each)
                        self.assertTrue(each["fused"] or not SIMULATED or "no graph" in each["reason"], each)
                    for a, b in zip(apart, fused):
                        self.assertAlmostEqual(a, b, delta=2e-2 * abs(a))

    def test_an_epoch_with_its_smaller_batch_is_judged(self):
        with tempfile.TemporaryDirectory() as folder:
            batch, workload, counts = 4096, MNIST, (60000, 10000)
            if SIMULATED:
                batch, counts = 32, (600, 150)
                workload = tiny(folder, *counts)
            told = []
            for configuration, order in (({"cuda_graphs": True, "streams": 2}, ""), ({"streams": 2}, "0,1,2,3"),
                                         ({"fusion": "auto", "layout": "nhwc"}, "")):
                with self.subTest(order=order, **configuration):
                    end, _, events = train(workload, dict(configuration, batch=batch), order, epochs=1,
                                           partial_batch="train", accuracy=True)
                    self.assertOk(end, configuration)
                    steps = sum(sample["steps"] for sample in only(events, "sample"))
                    self.assertEqual(steps + 1, -(-counts[0] // batch))  # the first step is no sample
                    told += only(events, "accuracy")
                    self.assertGreater(told[-1]["accuracy"], 0.5)
                    self.assertEqual(told[-1]["examples"], counts[1])
            if SIMULATED:
                self.assertEqual([told[0][key] for key in ("accuracy", "loss")],
                                 [told[1][key] for key in ("accuracy", "loss")])

    def test_a_batch_beyond_the_memory_is_out_of_memory(self):
        end, _, _ = train(RESNET, {"batch": 1 << 20})
        self.assertIn(end["status"], ("out_of_memory", "unsupported"), end["reason"])

    def test_the_gate_sees_the_same_losses_and_norms_as_on_the_cpu(self):
        if not ONEDNN:
            self.skipTest("nocturne-onednn is not built")
        # A normalisation's gradients are small sums of large values, and what rounding does to them grows from step to step.
        for workload, steps, share in ((MNIST, 4, 1e-3), (dict(RESNET, label_smoothing=0.1), 1, 1e-2)):
            with tempfile.TemporaryDirectory() as folder:
                state = os.path.join(folder, "state")
                request = {"workload": workload, "configuration": {"batch": BATCH}, "partial_batch": "train"}
                ours = converse(ONEDNN, dict(request, gate={"steps": 4, "write": state}))
                for configuration in ({"layout": "nchw"}, {"layout": "nhwc"}, {"layout": "nhwc", "fusion": "auto"}):
                    with self.subTest(network=workload["network"], **configuration):
                        theirs = converse(WORKER, dict(request, gate={"steps": 4}, initial=state,
                                                       configuration=dict(configuration, batch=BATCH)))
                        self.assertOk(theirs[-1], configuration)
                        self.compare(ours, theirs, steps, share)

    def test_in_the_gate_the_loss_is_scaled_so_that_every_step_counts(self):
        request = {"workload": MNIST, "configuration": {"batch": BATCH, "precision": "f16"}}
        for more, scale in (({"steps": 2}, 65536), ({"gate": {"steps": 2}}, 1024)):
            events = converse(WORKER, dict(request, **more))
            self.assertEqual(events[-1]["status"], "ok", events[-1]["reason"])
            self.assertEqual(only(events, "ready")[0]["loss_scale"], scale)
        for norms in only(events, "norms")[1:]:
            for layer in norms["layers"]:
                self.assertGreater(layer["moved"], 0, layer)

    def compare(self, ours, theirs, steps, share):
        losses = [[sample["loss"] for sample in only(events, "sample")] for events in (ours, theirs)]
        self.assertEqual(len(losses[0]), 4)
        self.assertSame(*losses)
        norms = [only(events, "norms")[:1 + steps] for events in (ours, theirs)]
        self.assertEqual([each["steps"] for each in norms[0]], list(range(1 + steps)))
        for a, b in zip(*norms):
            self.assertEqual(a["steps"], b["steps"])
            known = {each["layer"]: each["norm"] for each in b["layers"]}
            for each in a["layers"]:
                self.assertAlmostEqual(each["norm"], known[each["layer"]], delta=share * each["norm"] + 1e-6,
                                       msg="%s after %d steps" % (each["layer"], a["steps"]))


if __name__ == "__main__":
    if not json.loads(subprocess.check_output([WORKER, "--probe"]))["usable"]:
        print("skipped: there is no GPU that can be used")
        sys.exit(77)
    sys.exit(unittest.main())
