"""After how many steps a pause returns."""

import random
import sys
import unittest

from injected import INJECT

sys.path.insert(0, str(INJECT / "nocturne_inject"))

from rounds import found  # noqa: E402


def steps(count, every, pause, first=None, seed=1):
    """Steps of 10 ms that differ by 10 %; the pause is before one of them."""
    numbers = random.Random(seed)
    at = set(range(every - 1 if first is None else first, count, every))
    return [0.010 * numbers.uniform(0.95, 1.05) + pause * (number in at) for number in range(count)]


class Rounds(unittest.TestCase):
    def test_a_pause_that_returns_ends_a_round(self):
        length, seconds = found(steps(80, every=16, pause=0.1))
        self.assertEqual(length, 16)
        self.assertAlmostEqual(seconds, 0.26, delta=0.005)

    def test_that_before_the_first_step_is_one_of_the_three_that_are_needed(self):
        self.assertEqual(found(steps(32, every=16, pause=0.1))[0], 16)
        self.assertIsNone(found(steps(31, every=16, pause=0.1)))

    def test_where_none_was_there_three_are_needed_later(self):
        self.assertIsNone(found(steps(30, every=16, pause=0.1, first=5)))
        length, seconds = found(steps(40, every=16, pause=0.1, first=5))
        self.assertEqual(length, 16)
        self.assertAlmostEqual(seconds, 0.26, delta=0.005)

    def test_a_pause_that_costs_little_ends_none(self):
        self.assertIsNone(found(steps(80, every=16, pause=0.01)))

    def test_pauses_of_different_lengths_are_pauses_all_the_same(self):
        seconds = steps(64, every=16, pause=0.1)
        seconds[31] += 0.2
        self.assertEqual(found(seconds)[0], 16)

    def test_one_long_step_more_does_no_harm_and_many_do(self):
        seconds = steps(130, every=16, pause=0.1)
        seconds[3] += 0.3
        self.assertEqual(found(seconds)[0], 16)
        for number in (5, 18, 44, 51):
            seconds[number] += 0.3
        self.assertIsNone(found(seconds))

    def test_a_pause_that_is_missing_once_ends_no_round(self):
        seconds = steps(100, every=10, pause=0.1)
        seconds[49] -= 0.1
        self.assertIsNone(found(seconds))

    def test_a_busy_machine_makes_no_round(self):
        numbers = random.Random(7)
        for _ in range(300):
            seconds = [0.01 * numbers.lognormvariate(0, 0.1) + (numbers.random() < 0.05) * numbers.expovariate(20)
                       for _ in range(200)]
            self.assertIsNone(found(seconds))

    def test_short_rounds_return_more_often_before_they_are_believed(self):
        for number in (7, 8, 16):
            self.assertIsNone(found(steps(31, every=number, pause=0.1)))
            self.assertEqual(found(steps(40, every=number, pause=0.1))[0], number)

    def test_few_steps_are_none(self):
        for few in ([], [0.1], [0.1, 0.1], [0.1, 0.1, 0.1], [0.1] * 50):
            self.assertIsNone(found(few))


if __name__ == "__main__":
    unittest.main()
