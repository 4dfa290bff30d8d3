"""What nocturne-cudnn trains, on a GPU; exit code 77 (skipped) without one."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

WORKER, ONEDNN = os.environ["NOCTURNE_CUDNN"], os.environ.get("NOCTURNE_ONEDNN", "")
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
MNIST = {"network": "mnist_cnn", "data": "mnist", "data_folder": os.path.join(ROOT, "examples", "data", "mnist"),
         "optimizer": "adadelta"}
RESNET = {"network": "resnet20", "data": "synthetic", "optimizer": "sgd_momentum"}


def converse(program, request):
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("request.json", "events.jsonl")]
        with open(files[0], "w") as file:
            json.dump(dict({"protocol": 1, "run_id": "test", "seed": 1}, **request), file)
        subprocess.run([program, "--request", files[0], "--events", files[1]], timeout=240, check=False)
        with open(files[1]) as file:
            return [json.loads(line) for line in file]


def only(events, name):
    return [event for event in events if event["event"] == name]


def train(workload, configuration, steps=60, **more):
    events = converse(WORKER, dict({"workload": workload, "steps": steps, "configuration": configuration}, **more))
    return events[-1], [sample["loss"] for sample in only(events, "sample")], events


class Training(unittest.TestCase):
    def assertLearns(self, end, losses):
        self.assertEqual(end["status"], "ok", end["reason"])
        self.assertLess(sum(losses[-10:]), 0.7 * sum(losses[:10]))

    def test_every_precision_and_layout_learns(self):
        capability = float(json.loads(subprocess.check_output([WORKER, "--probe"]))["compute_capability"])
        for precision in ("f32", "tf32", "bf16", "f16"):
            if capability < 8 and precision in ("tf32", "bf16"):
                continue
            for layout in ("nchw", "nhwc"):
                for workload in (MNIST, RESNET):
                    with self.subTest(precision=precision, layout=layout, network=workload["network"]):
                        end, losses, _ = train(workload, {"precision": precision, "layout": layout, "batch": 64},
                                               steps=100)
                        self.assertLearns(end, losses)

    def test_a_captured_step_computes_what_its_operations_do(self):
        for streams in (1, 2):
            configuration = {"batch": 64, "algorithm": "fixed", "streams": streams}
            eager = train(MNIST, configuration)[1]
            captured = train(MNIST, dict(configuration, cuda_graphs=True))[1]
            for a, b in zip(eager, captured):
                self.assertAlmostEqual(a, b, delta=1e-3 * abs(a) + 1e-4)

    def test_algorithms_differ_by_rounding_alone(self):
        first = train(MNIST, {"batch": 64, "algorithm": "heuristic"}, steps=5)[1]
        for algorithm in ("find", "fixed"):
            for a, b in zip(first, train(MNIST, {"batch": 64, "algorithm": algorithm}, steps=5)[1]):
                self.assertAlmostEqual(a, b, delta=1e-3 * abs(a))

    def test_a_fused_pass_computes_what_its_operations_do(self):
        for workload in (MNIST, RESNET):
            for cuda_graphs in (False, True):
                with self.subTest(network=workload["network"], cuda_graphs=cuda_graphs):
                    configuration = {"precision": "f16", "layout": "nhwc", "batch": 64, "cuda_graphs": cuda_graphs}
                    apart = train(workload, configuration, steps=5)[1]
                    end, fused, events = train(workload, dict(configuration, fusion="auto"), steps=5)
                    if end["status"] == "unsupported":
                        self.skipTest(end["reason"])
                    self.assertEqual(end["status"], "ok", end["reason"])
                    for each in only(events, "ready")[0]["fusions"]:
                        self.assertNotIn("refused", each["reason"], each)
                    for a, b in zip(apart, fused):
                        self.assertAlmostEqual(a, b, delta=2e-2 * abs(a))

    def test_an_epoch_with_its_smaller_batch_is_judged(self):
        end, _, events = train(MNIST, {"batch": 4096, "cuda_graphs": True, "streams": 2}, epochs=1,
                               partial_batch="train", accuracy=True)
        self.assertEqual(end["status"], "ok", end["reason"])
        self.assertEqual(sum(sample["steps"] for sample in only(events, "sample")) + 1, 15)  # 60000 = 14 · 4096 + 2656
        self.assertGreater(only(events, "accuracy")[0]["accuracy"], 0.5)
        self.assertEqual(only(events, "accuracy")[0]["examples"], 10000)

    def test_a_batch_beyond_the_memory_is_out_of_memory(self):
        end, _, _ = train(RESNET, {"batch": 1 << 20})
        self.assertIn(end["status"], ("out_of_memory", "unsupported"), end["reason"])

    def test_the_gate_sees_the_same_losses_and_norms_as_on_the_cpu(self):
        if not ONEDNN:
            self.skipTest("nocturne-onednn is not built")
        with tempfile.TemporaryDirectory() as folder:
            state = os.path.join(folder, "state")
            request = {"workload": MNIST, "configuration": {"batch": 64}, "partial_batch": "train"}
            ours = converse(ONEDNN, dict(request, gate={"steps": 4, "write": state}))
            for layout in ("nchw", "nhwc"):
                theirs = converse(WORKER, dict(request, gate={"steps": 4}, initial=state,
                                               configuration={"batch": 64, "layout": layout}))
                self.assertEqual(theirs[-1]["status"], "ok", theirs[-1]["reason"])
                for a, b in zip(only(ours, "sample"), only(theirs, "sample")):
                    self.assertAlmostEqual(a["loss"], b["loss"], delta=1e-3 * abs(a["loss"]))
                for a, b in zip(only(ours, "norms"), only(theirs, "norms")):
                    self.assertEqual(a["steps"], b["steps"])
                    known = {each["layer"]: each for each in b["layers"]}
                    for each in a["layers"]:
                        self.assertAlmostEqual(each["norm"], known[each["layer"]]["norm"],
                                               delta=1e-3 * each["norm"] + 1e-6)


if __name__ == "__main__":
    if not json.loads(subprocess.check_output([WORKER, "--probe"]))["usable"]:
        print("skipped: there is no GPU that can be used")
        sys.exit(77)
    sys.exit(unittest.main())
