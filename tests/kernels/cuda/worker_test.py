"""What nocturne-cudnn says on any machine: without a GPU it is `unsupported`, in the protocol's words, with exit code 0."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

WORKER = os.environ["NOCTURNE_CUDNN"]


def run(*arguments):
    return subprocess.run([WORKER] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=120)


def converse(request):
    """The exit code and the events of one run."""
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("request.json", "events.jsonl")]
        with open(files[0], "w") as file:
            json.dump(dict({"protocol": 1, "run_id": "test"}, **request), file)
        done = run("--request", files[0], "--events", files[1])
        with open(files[1]) as file:
            return done.returncode, [json.loads(line) for line in file]


def usable():
    return json.loads(run("--probe").stdout)["usable"]


class Worker(unittest.TestCase):
    def test_without_a_gpu_the_answer_is_unsupported_and_says_why(self):
        if usable():
            self.skipTest("there is a GPU")
        code, events = converse({"workload": {"network": "resnet50", "data": "synthetic", "optimizer": "sgd_momentum"},
                                 "configuration": {"framework": "cudnn", "precision": "bf16", "batch": 96}})
        self.assertEqual(code, 0)
        self.assertEqual([event["event"] for event in events], ["hello", "phase_begin", "memory", "end"])
        self.assertTrue(events[0]["worker"].startswith("nocturne-cudnn "))
        self.assertEqual(events[1]["name"], "import")
        self.assertEqual(events[2]["device_bytes"], 0)
        self.assertEqual(events[3]["status"], "unsupported")
        self.assertIn("no GPU can be used", events[3]["reason"])

    def test_what_is_wrong_with_a_request_is_said_before_a_gpu_is_looked_for(self):
        for change, part in (({"configuration": {"precision": "f64"}}, "f32, tf32, bf16, f16"),
                             ({"workload": {"network": "vgg"}}, "unknown network 'vgg'"),
                             ({"workload": {"optimizer": "adam"}}, "unknown optimizer 'adam'")):
            code, events = converse(change)
            self.assertEqual(code, 0)
            self.assertEqual(events[-1]["status"], "unsupported")
            self.assertIn(part, events[-1]["reason"])

    def test_a_request_that_cannot_be_read_has_failed(self):
        code, events = converse({"protocol": 2})
        self.assertEqual(code, 1)
        self.assertEqual((events[0]["event"], events[-1]["status"]), ("hello", "failed"))

    def test_the_probe_says_why_a_gpu_cannot_be_used(self):
        probe = json.loads(run("--probe").stdout)
        self.assertEqual(probe["usable"], probe["reason"] == "")

    def test_what_gpus_can_do_is_told_or_why_it_is_not(self):
        survey = json.loads(run("--machine", "--seconds", "1").stdout)
        self.assertEqual(survey["gpus"] == [], "reason" in survey)
        if not usable():
            self.assertEqual(survey["reason"], json.loads(run("--probe").stdout)["reason"])
            return
        for gpu in survey["gpus"]:
            measured = {each["name"]: each for each in gpu["measurements"]}
            self.assertEqual(list(measured), ["fma_f32", "fma_tf32", "fma_bf16", "fma_f16", "triad", "to_device",
                                              "from_device"])
            for each in measured.values():
                self.assertTrue("absent" in each or (each["right"] and each["median"] > 0), each)

    def test_fusion_without_its_library_is_refused_on_any_machine(self):
        _, events = converse({"configuration": {"fusion": "auto"}})
        self.assertEqual(events[-1]["status"] == "unsupported" and "cudnn-frontend" in events[-1]["reason"],
                         os.environ["NOCTURNE_CUDNN_FUSION"] == "0", events[-1])

    def test_the_memory_of_a_training_is_known_without_a_gpu(self):
        def plan(*settings):
            words = [word for each in settings for word in ("--set", each)]
            return json.loads(run("--plan", "--network", "resnet50", *words).stdout)
        wide, narrow = plan("batch=32"), plan("batch=32", "precision=f16")
        self.assertEqual(wide["activations_bytes"], 2 * narrow["activations_bytes"])
        self.assertGreaterEqual(wide["activations_bytes"], wide["least_activations_bytes"])
        self.assertGreater(plan("batch=64")["total_bytes"], wide["total_bytes"])

    def test_wrong_usage_is_told_from_failure(self):
        self.assertEqual(run("--gpu").returncode, 2)
        self.assertEqual(run("--plan", "--network", "vgg").returncode, 1)
        self.assertEqual(run("--version").returncode, 0)
        self.assertIn("Examples:", run("--help").stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
