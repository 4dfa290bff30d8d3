"""nocturne.py: campaigns and trials as records, and the search of an objective of one's own."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tuner" / "python"))
import nocturne

SPACE = [{"name": "x", "range": [0, 30]}, {"name": "y", "range": [0, 30]}, {"name": "kind", "values": ["a", "b"]}]


def hill(x, y, kind):
    return 1 + (x - 21) ** 2 + (y - 4) ** 2 + (3 if kind == "a" else 0)


class Records(unittest.TestCase):
    def test_a_search_is_read_as_campaigns_and_trials(self):
        with tempfile.TemporaryDirectory() as folder:
            with nocturne.Search(folder, SPACE) as search:
                for trial in search.ask(3):
                    search.tell(trial["number"], hill(**trial["configuration"]))
            database = pathlib.Path(folder) / "search.db"
            campaign, = nocturne.campaigns(db=database)
            self.assertEqual(campaign["finished"], 3)
            trials = nocturne.trials(db=database)
            self.assertEqual([each["configuration"].keys() for each in trials], 3 * [{"x", "y", "kind"}])

    def test_what_the_program_refuses_is_an_error_with_its_words(self):
        with self.assertRaisesRegex(nocturne.Error, "there is no database"):
            nocturne.campaigns(db="/nowhere/at/all.db")


class Searching(unittest.TestCase):
    def test_it_finds_the_hill_and_goes_on_in_the_same_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            for part in range(2):
                with nocturne.Search(folder, SPACE if part == 0 else None) as search:
                    for _ in range(25):
                        trial, = search.ask()
                        search.tell(trial["number"], hill(**trial["configuration"]))
                    standing = search.standing()
            self.assertEqual(standing["finished"], 50)
            self.assertLess(standing["best"]["value"], 6)

    def test_a_failure_is_told_with_its_reason(self):
        with tempfile.TemporaryDirectory() as folder, nocturne.Search(folder, SPACE) as search:
            first, second = search.ask(2)
            search.fail(first["number"], "it did not start", "crashed")
            search.tell(second["number"], [3.0, 3.5])
            self.assertEqual(search.tell_configuration({"x": 1, "y": 1, "kind": "a"}, 2.0), 2)
            standing = search.standing()
            self.assertEqual((standing["failed"], standing["finished"], standing["pending"]), (1, 3, 0))

    def test_a_space_that_is_wrong_is_an_error_that_names_the_place(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(nocturne.Error, "/space/parameters/0"):
            nocturne.Search(folder, [{"name": "x"}])

    def test_an_answer_that_is_wrong_leaves_the_search_usable(self):
        with tempfile.TemporaryDirectory() as folder, nocturne.Search(folder, SPACE) as search:
            with self.assertRaisesRegex(nocturne.Error, "never asked"):
                search.tell(7, 1.0)
            self.assertEqual(len(search.ask()), 1)


unittest.main()
