"""What nocturne_steps says of a script's steps, by a clock that the test moves."""

import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "kernels" / "python"))

import nocturne_steps  # noqa: E402


class Clock(object):
    """Instead of the module `time`; of each second the processor works a half."""

    def __init__(self):
        self.now = 100.0
        self.others = 0.0  # seconds that others run for, each time the processor's time is asked for

    def monotonic(self):
        return self.now

    def process_time(self):
        self.now += self.others
        return self.now / 2

    def spend(self, seconds):
        self.now += seconds


class OnADevice(object):
    """A loss that is there when the device has ended its work, three seconds from now."""

    def __init__(self, clock):
        self.clock = clock

    def __float__(self):
        self.clock.spend(3)
        return 0.5


class Unreadable(object):
    def __float__(self):
        raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")


class Steps(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        patched = mock.patch.object(nocturne_steps, "time", self.clock)
        patched.start()
        self.addCleanup(patched.stop)
        handle, self.path = tempfile.mkstemp(prefix="nocturne-steps-")
        os.close(handle)
        self.addCleanup(os.unlink, self.path)

    def recorder(self, **variables):
        found = nocturne_steps._Recorder(dict(
            {"NOCTURNE_STEPS_" + name: str(value) for name, value in variables.items()},
            NOCTURNE_STEPS_EVENTS=self.path))
        self.addCleanup(os.close, found.file)
        return found

    def steps(self, recorder, count, seconds=1.0):
        for _ in range(count):
            self.clock.spend(seconds)
            recorder.step(0.25)

    def events(self, name):
        with open(self.path) as file:
            return [event for event in map(json.loads, file) if event["event"] == name]

    def seconds(self, key="wall_ns"):
        return [round(sample[key] / 1e9, 6) for sample in self.events("sample")]

    def phase_end(self, name):
        return next(event for event in self.events("phase_end") if event["name"] == name)

    def test_steps_that_end_at_once_are_one_sample_and_none_beyond_what_was_asked_for(self):
        recorder = self.recorder(LIMIT=6)
        recorder.step(0.25)
        self.clock.spend(8)
        recorder.step(0.25, 4)
        self.clock.spend(8)
        with self.assertRaises(SystemExit):
            recorder.step(0.25, 4)
        self.assertEqual([(each["first_step"], each["steps"]) for each in self.events("sample")], [(1, 4), (5, 2)])
        self.assertEqual(self.seconds(), [8, 4])

    def test_steps_are_samples_and_what_lies_before_the_first_is_told_apart(self):
        recorder = self.recorder(PER_SAMPLE=2)
        with recorder.phase("data"):
            self.clock.spend(4)
        self.steps(recorder, 5, 2)
        self.assertEqual((self.phase_end("data")["wall_s"], self.phase_end("data")["cpu_s"]), (4, 2))
        self.assertEqual((self.phase_end("first_step")["wall_s"], self.phase_end("first_step")["cpu_s"]), (2, 1))
        self.assertEqual([(each["first_step"], each["steps"], each["loss"]) for each in self.events("sample")],
                         [(1, 2, 0.25), (3, 2, 0.25)])
        self.assertEqual((self.seconds(), self.seconds("cpu_ns")), ([4, 4], [2, 2]))

    def test_waiting_for_data_is_part_of_a_step_and_other_phases_are_not(self):
        recorder = self.recorder()
        self.steps(recorder, 1)
        with recorder.phase("data"):
            self.clock.spend(2)
        with recorder.phase("evaluate"):
            self.clock.spend(10)
        self.steps(recorder, 1)
        self.assertEqual((self.seconds(), self.seconds("data_wait_ns"), self.seconds("cpu_ns")), ([3], [2], [1.5]))

    def test_data_that_another_phase_reads_is_not_what_a_step_waits_for(self):
        recorder = self.recorder()
        self.steps(recorder, 1)
        with recorder.phase("evaluate"), recorder.phase("data"):
            self.clock.spend(10)
        with recorder.phase("data"), recorder.phase("data"):
            self.clock.spend(2)
        self.steps(recorder, 1, 3)
        self.assertEqual((self.seconds(), self.seconds("data_wait_ns")), ([5], [2]))

    def test_a_phase_around_steps_takes_nothing_from_those_behind_it(self):
        for per_sample, expected in ((1, [1, 1, 1, 1]), (2, [2, 2]), (4, [4])):
            with self.subTest(per_sample=per_sample):
                os.truncate(self.path, 0)
                recorder = self.recorder(PER_SAMPLE=per_sample)
                with recorder.phase("an epoch"):
                    self.steps(recorder, 4)
                    self.clock.spend(5)
                self.steps(recorder, 1)
                self.assertEqual(self.seconds(), expected)

    def test_what_lies_between_epochs_is_no_steps_wherever_a_sample_ends(self):
        for per_sample, expected in ((1, [1, 1, 1, 1]), (2, [2, 2]), (4, [4])):
            with self.subTest(per_sample=per_sample):
                os.truncate(self.path, 0)
                recorder = self.recorder(PER_SAMPLE=per_sample)
                recorder.epoch()  # before the first step it says nothing
                self.steps(recorder, 2)
                with recorder.phase("evaluate"):
                    self.clock.spend(7)
                with recorder.phase("data"):
                    self.clock.spend(7)
                recorder.epoch()
                self.steps(recorder, 3)
                self.assertEqual((self.seconds(), set(self.seconds("data_wait_ns"))), (expected, {0}))
                self.assertEqual(self.seconds("cpu_ns"), [each / 2.0 for each in expected])

    def test_what_a_device_still_does_of_the_first_step_is_not_the_first_samples(self):
        recorder = self.recorder()
        for _ in range(2):
            self.clock.spend(1)
            recorder.step(OnADevice(self.clock))
        self.assertEqual((self.phase_end("first_step")["wall_s"], self.seconds()), (4, [4]))

    def test_others_that_run_while_the_processors_time_is_read_make_the_step_longer(self):
        recorder = self.recorder(LIMIT=100)
        recorder.begin()
        self.steps(recorder, 1)
        self.clock.others, begin = 0.125, self.clock.now
        self.steps(recorder, 4)
        self.assertEqual(sum(self.seconds()), self.clock.now - begin - 0.125)  # the last is the next sample's

    def test_a_loss_that_is_no_number_is_left_out_and_one_that_is_not_finite_is_a_word(self):
        recorder = self.recorder()
        losses = (1.0, Unreadable(), 10 ** 400, "much", None, float("nan"), float("-inf"), 2)
        for loss in losses:
            self.clock.spend(1)
            recorder.step(loss)
        self.assertEqual([each.get("loss") for each in self.events("sample")], [None] * 4 + ["nan", "-inf", 2.0])

    def test_it_ends_when_the_steps_are_done(self):
        recorder = self.recorder(LIMIT=3, PER_SAMPLE=2)
        with self.assertRaises(SystemExit) as left:
            self.steps(recorder, 10)
        self.assertEqual((left.exception.code, [each["steps"] for each in self.events("sample")]), (0, [2, 1]))

    def test_that_no_more_steps_are_wanted_stands_behind_its_process(self):
        pid_file = self.path + ".pid"
        self.addCleanup(os.unlink, pid_file)
        with open(pid_file, "w") as file:
            file.write("7")
        recorder = self.recorder(LIMIT=2, PID_FILE=pid_file)
        recorder.begin()
        self.steps(recorder, 2)
        with open(pid_file) as file:
            self.assertEqual(file.read(), "7")
        self.assertRaises(SystemExit, self.steps, recorder, 1)
        with open(pid_file) as file:
            self.assertEqual(file.read(), "7 ended")

    def test_turns_allow_steps_and_their_end_is_the_end(self):
        handle, turns = tempfile.mkstemp(prefix="nocturne-turns-")
        self.addCleanup(os.unlink, turns)
        os.write(handle, b"2\n0\n1\n")
        os.close(handle)
        recorder = self.recorder(TURNS=turns, PER_SAMPLE=5)
        with self.assertRaises(SystemExit):
            self.steps(recorder, 10)
        recorder.turns.close()
        self.assertEqual([each["steps"] for each in self.events("sample")], [2, 1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
