"""The gate of the Python workers, and that they begin with what the native worker begins with, bit by bit.

NOCTURNE_ONEDNN names the native worker; without it what needs it is skipped.
"""

import os
import sys
import unittest

from command_run import WORKERS, CommandRun

sys.path.insert(0, str(WORKERS))

from nocturne_worker.counter_random import epoch_order, key_of, mix64, numpy_or_none, symmetric  # noqa: E402
from nocturne_worker.initial_state import InitialState, StateError, read_initial_state, write_initial_state  # noqa: E402

NATIVE = os.environ.get("NOCTURNE_ONEDNN", "")


def content(state):
    return state.network, [(name, shape, values.tobytes()) for name, shape, values in state.tensors], state.batches


class Gate(unittest.TestCase):
    def gate(self, talk, steps=3, seed=1, code=0, **more):
        talk.request.update({"gate": {"steps": steps}, "partial_batch": "train", "seed": seed})
        talk.request["gate"].update({key: value for key, value in more.items() if key == "write"})
        talk.request.update({key: value for key, value in more.items() if key != "write"})
        self.assertEqual(talk.run(), code, talk.stderr)
        return talk.end()

    def test_it_is_steps_without_a_first_one_and_norms_around_each(self):
        with CommandRun() as talk:
            self.assertEqual(self.gate(talk, epochs=5, steps_per_sample=3)["status"], "ok")
            self.assertEqual([each["first_step"] for each in talk.events("sample")], [0, 1, 2])
            self.assertEqual([each["name"] for each in talk.events("phase_end")], ["import", "data", "build", "compile"])
            self.assertEqual(talk.events("ready")[0]["batch_sizes"], [16, 4])
            norms = talk.events("norms")
            self.assertEqual([each["steps"] for each in norms], [0, 1, 2, 3])
            self.assertEqual([each["layer"] for each in norms[0]["layers"]], ["dense.weights", "dense.biases"])
            self.assertEqual([each["moved"] for each in norms[0]["layers"]], [0, 0])
            for earlier, later in zip(norms, norms[1:]):
                self.assertLess(earlier["layers"][0]["moved"], later["layers"][0]["moved"])
            biases = norms[3]["layers"][1]  # they began as zeros: what they moved is what they are
            self.assertEqual(biases["moved"], biases["norm"])
            self.assertEqual(talk.events("epoch"), [])

    def test_a_state_that_was_written_decides_whatever_the_seed(self):
        with CommandRun() as talk, CommandRun() as other:
            self.gate(talk, write=talk.path("initial"))
            self.gate(other, seed=7, initial=talk.path("initial"), write=other.path("again"))
            self.assertEqual([each["loss"] for each in other.events("sample")],
                             [each["loss"] for each in talk.events("sample")])
            self.assertEqual(other.events("norms"), talk.events("norms"))
            self.assertEqual(content(read_initial_state(other.path("again"))),
                             content(read_initial_state(talk.path("initial"))))

    def test_a_state_that_does_not_fit_is_refused(self):
        def refused(damage, why):
            with self.subTest(why), CommandRun() as talk:
                self.gate(talk, write=talk.path("initial"))
                os.unlink(talk.path("events.jsonl"))
                state = read_initial_state(talk.path("initial"))
                bytes_instead = damage(state)
                write_initial_state(talk.path("initial"), state)
                if callable(bytes_instead):
                    with open(talk.path("initial"), "r+b") as file:
                        bytes_instead(file)
                end = self.gate(talk, initial=talk.path("initial"), code=1)
                self.assertEqual(end["status"], "failed")
                self.assertIn(why, end["reason"])

        def put(place, what):
            def act(file):
                file.seek(place)
                file.write(what)
            return lambda state: act

        def change(**fields):
            return lambda state: state.__dict__.update(fields)
        refused(lambda state: lambda file: file.truncate(5000), "bytes, its header promises")
        refused(lambda state: lambda file: file.truncate(30), "does not fit")
        refused(put(0, b"X"), "it is no such file")
        refused(put(8, b"\2"), "it has version 2, this worker reads 1")
        refused(put(16, b"?"), "its header cannot be understood")
        refused(put(16 + 300, b"\xff\xff\xff\x7f" * 40), "is not finite")
        refused(change(network="mnist_cnn"), "it is of network 'mnist_cnn', not of tiny")
        refused(lambda state: state.tensors.pop(), "there is no tensor dense.biases")
        refused(lambda state: state.batches.pop(), "it has 2 batches, 3 steps are asked for")
        refused(lambda state: state.batches[0].pop(), "a batch has 15 images, the configuration's have 16")
        refused(lambda state: state.batches[0].__setitem__(0, 100), "image 100 is asked for, the data set has 100")

    @unittest.skipUnless(NATIVE, "the native worker was not built")
    def test_native_and_python_workers_begin_with_the_same_and_read_each_others_states(self):
        with CommandRun() as native, CommandRun() as python:
            for talk in (native, python):
                talk.request["workload"]["network"] = "mnist_cnn"
            native.request["configuration"]["threads"] = 1
            native.request.update({"gate": {"steps": 2, "write": native.path("initial")}, "partial_batch": "train",
                                   "seed": 11})
            self.assertEqual(native.run(program=NATIVE), 0, native.stderr)
            self.gate(python, steps=2, seed=11, write=python.path("initial"))
            self.assertEqual(content(read_initial_state(python.path("initial"))),
                             content(read_initial_state(native.path("initial"))))
            first, norms = native.events("sample")[0]["loss"], python.events("norms")[0]["layers"]
            for ours, its in zip(norms, native.events("norms")[0]["layers"]):
                self.assertEqual(ours["layer"], its["layer"])
                self.assertAlmostEqual(ours["norm"], its["norm"], places=9)
            os.unlink(native.path("events.jsonl"))
            native.request.update({"gate": {"steps": 2}, "seed": 12, "initial": python.path("initial")})
            self.assertEqual(native.run(program=NATIVE), 0, native.stderr)
            self.assertEqual(native.events("sample")[0]["loss"], first)


class Numbers(unittest.TestCase):
    def test_the_generator_is_splitmix64(self):
        # The first outputs of SplitMix64 with seed 0.
        golden = 0x9E3779B97F4A7C15
        self.assertEqual([mix64(golden * n & (1 << 64) - 1) for n in (1, 2)], [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4])

    def test_an_order_is_a_permutation_that_seed_and_epoch_decide(self):
        order = epoch_order(100, 1, 0)
        self.assertEqual(sorted(order), list(range(100)))
        self.assertEqual(order, epoch_order(100, 1, 0))
        self.assertEqual(len({tuple(epoch_order(100, seed, epoch)) for seed in (1, 2) for epoch in (0, 1)}), 4)

    @unittest.skipUnless(numpy_or_none(), "there is no NumPy")
    def test_numpy_computes_the_same_numbers(self):
        with_numpy = symmetric(key_of(3, 4, 5), 1000, 0.3).tobytes(), epoch_order(1000, 2, 3)
        numpy, sys.modules["numpy"] = sys.modules["numpy"], None
        try:
            self.assertEqual((symmetric(key_of(3, 4, 5), 1000, 0.3).tobytes(), epoch_order(1000, 2, 3)), with_numpy)
        finally:
            sys.modules["numpy"] = numpy

    def test_a_state_that_cannot_be_written_is_said(self):
        with CommandRun() as talk:
            with self.assertRaises(StateError):
                write_initial_state(talk.path("nowhere/initial"), InitialState("tiny", [], [[1]]))
            with self.assertRaises(StateError):
                write_initial_state(talk.path("initial"), InitialState("tiny", [("a", (2,), [1.0, float("nan")])], []))
            self.assertFalse(os.path.exists(talk.path("initial")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
