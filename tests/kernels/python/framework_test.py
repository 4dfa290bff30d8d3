"""Real frameworks against the native worker: do they train the same network the same way?

NOCTURNE_FRAMEWORKS lists workers and the Pythons of their environments, "mxnet_worker=/…/bin/python pytorch_worker=/…";
without it, or without NOCTURNE_ONEDNN, there is nothing to do. A worker's key of the configuration can follow its name:
"pytorch_worker,layout=nhwc=/…/bin/python". Tolerances are those of measure/README.md, "The gate".
"""

import os
import pathlib
import sys
import unittest

from command_run import HERE, WORKERS, CommandRun

SKIPPED = 77
MNIST = pathlib.Path(os.environ.get("NOCTURNE_MNIST") or HERE.parents[2] / "examples" / "data" / "mnist")
NATIVE = os.environ.get("NOCTURNE_ONEDNN", "")
# Largest relative differences: (loss, distance) after the first step, and later.
TOLERANCES = {"f32": ((1e-5, 5e-3), (1e-3, 3e-2)), "bf16": ((1e-3, 1e-1), (4e-2, 5e-1))}


def listed():
    """[(worker, configuration, Python)]"""
    found = []
    for entry in os.environ.get("NOCTURNE_FRAMEWORKS", "").split():
        named, python = entry.rsplit("=", 1)
        parts = named.split(",")
        keys = dict(part.split("=") for part in parts[1:])
        words = {"true": True, "false": False}
        found.append((parts[0], {key: words.get(value, value) for key, value in keys.items()}, python))
    return found


def distances(events):
    """{(steps, layer): how far it moved}"""
    return {(norms["steps"], layer["layer"]): layer["moved"] for norms in events if norms["event"] == "norms"
            for layer in norms["layers"]}


class Frameworks(unittest.TestCase):
    def command_run(self, configuration, **request):
        talk = CommandRun()
        talk.request["workload"].update({"network": "mnist_cnn", "data_folder": str(MNIST)})
        talk.request["configuration"].update({"batch": 32, "threads": 2})
        talk.request["configuration"].update(configuration)
        talk.request.update(request)
        return talk

    def finished(self, talk, **keywords):
        self.assertEqual(talk.run(**keywords), 0, talk.stderr)
        self.assertEqual(talk.end()["status"], "ok", talk.end()["reason"])

    def test_losses_and_distances_agree_with_the_native_worker(self):
        for worker, configuration, python in listed():
            with self.subTest(worker, **configuration), self.command_run({}) as native, \
                    self.command_run(configuration) as talk:
                native.request.update({"gate": {"steps": 4, "write": native.path("initial")}})
                self.finished(native, program=NATIVE)
                talk.request.update({"gate": {"steps": 4}, "initial": native.path("initial")})
                self.finished(talk, program=WORKERS / (worker + ".py"), python=python)
                tolerances = TOLERANCES[configuration.get("precision", "f32")]
                self.assertEqual([each["first_step"] for each in talk.events("sample")], [0, 1, 2, 3])
                for ours, its in zip(talk.events("sample"), native.events("sample")):
                    loss, _ = tolerances[ours["first_step"] > 0]
                    self.assertLess(abs(ours["loss"] / its["loss"] - 1), loss, ours)
                expected = distances(native.events())
                self.assertEqual(set(distances(talk.events())), set(expected))
                for (steps, layer), moved in distances(talk.events()).items():
                    _, distance = tolerances[steps > 1]
                    if steps > 0:
                        self.assertLess(abs(moved / expected[steps, layer] - 1), distance, (steps, layer))

    def test_three_steps_are_trained_with_dropout_and_the_accuracy_is_told(self):
        for worker, configuration, python in listed():
            with self.subTest(worker, **configuration), self.command_run(configuration, accuracy=True) as talk:
                self.finished(talk, program=WORKERS / (worker + ".py"), python=python)
                self.assertEqual(talk.steps_reported(), 3)
                self.assertEqual(talk.events("accuracy")[0]["examples"], 10000)
                self.assertGreater(talk.events("accuracy")[0]["accuracy"], 0.05)


if __name__ == "__main__":
    if not listed() or not NATIVE:
        print("skipped: NOCTURNE_FRAMEWORKS names no worker and its Python, or the native worker was not built")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
