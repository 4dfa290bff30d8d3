"""Which events make a step."""

import sys
import unittest

from injected import INJECT

sys.path.insert(0, str(INJECT / "nocturne_inject"))

from periods import ALONE, UNDECIDED, Periods  # noqa: E402


class Patterns(unittest.TestCase):
    def ends(self, events, *alive):
        """For each event whether it ends a step: "DG" → "01". `alive`: those there are; or, from the n-th event on, (n, those)."""
        self.irregular, self.count = [], 0
        phases = [(0, alive[0])] + list(alive[1:])
        self.periods = Periods(lambda: self.irregular.append(True),
                               lambda: [keys for begin, keys in phases if begin <= self.count][-1])
        found = ""
        for key in events:
            found += "01"[self.periods.event(key)]
            self.count += 1
        return found

    def test_one_optimizers_events_are_steps_at_once(self):
        self.assertEqual(self.ends("AAA", "A"), "111")
        self.assertEqual(self.periods.length, 1)

    def test_a_period_is_seen_twice_before_it_counts(self):
        self.assertEqual(self.ends("DGDGDGDG", "DG"), "00010101")
        self.assertEqual(self.ends("DDDDDGDDDDDGDDDDDG", "DG"), "000000000001000001")
        self.assertEqual((self.periods.length, self.irregular), (6, []))

    def test_it_contains_all_that_were_seen(self):
        self.assertEqual(self.ends("ABBABBABB", "AB"), "000001001")

    def test_one_that_was_made_and_is_never_used_is_awaited_for_a_while(self):
        self.assertEqual(self.ends("A" * (ALONE + 1), "AB"), "0" * (ALONE - 1) + "11")

    def test_one_that_came_before_and_never_again_is_no_part_of_a_step(self):
        self.assertEqual(self.ends("B" + "A" * (ALONE + 1), "AB"), "0" * ALONE + "11")

    def test_without_a_period_each_event_is_a_step(self):
        ones = [bin(number).count("1") % 2 for number in range(100)]  # Thue and Morse: their differences repeat nothing at once
        events = "".join("ABC"[second - first] for first, second in zip(ones, ones[1:]))
        self.assertEqual(self.ends(events, "ABC"), "0" * (UNDECIDED - 1) + "1" * (100 - UNDECIDED))
        self.assertEqual((self.periods.regular, self.irregular), (False, [True]))

    def test_a_period_that_breaks_is_looked_for_anew(self):
        self.assertEqual(self.ends("DDD" + "GDGDGD", "D", (2, "DG")), "111" + "000101")
        self.assertEqual(self.ends("DGDGDG" + "A" * ALONE, "DG"), "000101" + "0" * (ALONE - 1) + "1")

    def test_one_that_takes_anothers_place_changes_nothing(self):
        self.assertEqual(self.ends("AABBCCDDEE", "A", (2, "B"), (4, "C"), (6, "D"), (8, "E")), "1" * 10)
        self.assertEqual(self.irregular, [])

    def test_periods_that_never_last_are_given_up(self):
        self.ends("AABBAABBABABABAABBBBBBABBBAAAA" * 2, "AB")
        self.assertFalse(self.periods.regular)


if __name__ == "__main__":
    unittest.main(verbosity=2)
