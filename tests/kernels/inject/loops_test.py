"""How long a script trains, as its loops say."""

import os
import sys
import tempfile
import types
import unittest

from injected import INJECT

sys.path.insert(0, str(INJECT / "nocturne_inject"))

import loops  # noqa: E402
from loops import Length, enclosing, nearest  # noqa: E402

OPTIONS = types.SimpleNamespace(epochs=7, plan={"epochs": 9})


def tqdm(iterable, **_):
    return iterable


def counts(found):
    return [each.count for each in found]


def here():
    return enclosing(sys._getframe(1))


def load(path, name="script", **names):
    """A module made of the file's text, which may call here()."""
    module = types.ModuleType(name)
    module.__dict__.update(here=here, **names)
    with open(path) as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


class Headers(unittest.TestCase):
    def test_the_numbers_of_a_loop_are_counted_as_its_header_says(self):
        first, last = 2, 12
        for _ in range(3):
            self.assertEqual(counts(here()), [3])
        for _ in range(first, last + 1):
            self.assertEqual(counts(here()), [11])
        for _ in range(0, OPTIONS.epochs * 10, 2):
            self.assertEqual(counts(here()), [35])
        for _ in tqdm(range(int(OPTIONS.plan["epochs"])), desc="epochs"):
            self.assertEqual(counts(here()), [9])
        for step, _ in enumerate(range(0, 100, 10)):
            self.assertEqual([(each.count, each.reached) for each in here()], [(10, step)])
        numbers = range(4)
        for _ in numbers:
            self.assertEqual(counts(here()), [4])
            break
        else:
            self.fail()

    def test_the_rounds_of_a_while_are_those_that_its_number_still_takes(self):
        step = self.step = 0
        while step < 20:
            self.assertEqual([(each.count, each.reached) for each in here()], [(20 - step, step)])
            step += 1
        while 50 >= step and self:
            step = step + 5
            self.assertEqual([(each.count, each.reached) for each in here()], [((60 - step) // 5, step // 5 - 1)])
        rounds = []
        while True:
            if self.step >= 10:
                break
            rounds += here()
            self.step += 1
        self.assertEqual(counts(rounds), list(range(10, 0, -1)))
        rounds = []
        while 1:
            rounds += here()
            self.step += 1
            if self.step > 13 or len(rounds) > 100:
                break
        self.assertEqual(counts(rounds), [4, 3, 2, 1])
        self.assertRegex(rounds[0].text, r"^if self\.step > 13 or len\(rounds\) > 100 \(loops_test\.py, line \d+\)$")

    def test_it_is_told_where_it_stands(self):
        for epoch in range(2):
            found = nearest(sys._getframe())
            self.assertRegex(found.text, r"^for epoch in range\(2\) \(loops_test\.py, line \d+\)$")
            self.assertEqual(found.reached, epoch)

    def test_what_is_no_loop_over_numbers_is_none(self):
        for _ in [1, 2]:
            self.assertEqual(here(), [])
        while True:
            self.assertEqual(here(), [])
            break
        number = 0
        while number < 3:  # increased in two places
            self.assertEqual(here(), [])
            number += 1
            if number:
                number = number + 2
        while number > 0:  # decreased
            self.assertEqual(here(), [])
            number -= 1
        while number < float("inf"):
            self.assertEqual(here(), [])
            number += 1
            if number == "never":
                break
            if number:
                self.assertEqual(here(), [])
                break
        for _ in range(3):
            pass
        self.assertEqual(here(), [])
        for _ in range(10 ** 9):  # until something breaks it
            self.assertEqual(here(), [])
            break
        for _ in range(len([each for each in (1, 2)])):  # the header's expression is not one that is surely harmless
            self.assertEqual(here(), [])
            break

    def test_the_loops_of_callers_count_the_innermost_first(self):
        def an_epoch():
            for _ in ("batch",):
                return here()
        for _ in range(5):  # folds
            for _ in range(20):
                self.assertEqual(counts(an_epoch()), [20, 5])

    def test_what_the_header_names_is_gone(self):
        count = 3
        for _ in range(count):
            del count
            self.assertEqual(here(), [])
            break

    def test_of_a_library_only_loops_over_epochs_count_and_none_of_a_framework(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "site-packages"))
            path = os.path.join(folder, "site-packages", "trainer.py")
            with open(path, "w") as file:
                file.write("def train(n):\n"
                           "    for epoch in range(n):\n"
                           "        for batch in range(50):\n"
                           "            return here()\n")
            self.assertEqual(counts(load(path, "transformers.trainer").train(3)), [3])
            self.assertEqual(counts(load(path, "torch.trainer").train(3)), [])

    def test_lightnings_epochs_are_a_number(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "fit_loop.py")
            with open(path, "w") as file:
                file.write("class Loop:\n"
                           "    max_epochs = 6\n"
                           "    def run(self):\n"
                           "        while True:\n"
                           "            return here()\n")
            for _ in range(2):  # of several fits
                loop = load(path, "lightning.fit_loop").Loop()
                self.assertEqual([(each.count, each.text) for each in loop.run()], [(6, "max_epochs of the Trainer")])
                loop.max_epochs = -1  # as long as something else says
                self.assertEqual(loop.run(), [])

    def test_a_file_that_is_no_source_says_nothing(self):
        names = {"here": here}
        exec(compile("for _ in range(3):\n    found = here()\n", "/nowhere/script.py", "exec"), names)
        self.assertEqual(names["found"], [])


class Lengths(unittest.TestCase):
    def setUp(self):
        self.length, self.steps = Length(), 0

    def step(self):
        self.length.stepped(sys._getframe(1), self.steps)
        self.steps += 1

    def says(self, steps_per_epoch=None):
        found = self.length.facts(steps_per_epoch)
        found.pop("trains", None)
        return found

    def test_one_loop_counts_all_steps(self):
        for number in range(500):
            self.step()
            if number == 20:
                break
        self.assertEqual(self.says(), {"steps_in_all": 500})
        self.assertEqual(self.says(steps_per_epoch=100), {"steps_in_all": 500})

    def test_where_steps_take_several_numbers_there_are_fewer(self):
        for number in range(400):
            if number % 4 == 3:
                self.step()
        self.assertEqual(self.says(), {"steps_in_all": 100})

    def test_a_loop_around_that_of_the_steps_counts_epochs(self):
        for epoch in range(6):
            for step, begin in enumerate(range(0, 1000, 10)):
                self.step()
        self.assertEqual(self.says(), {"steps_per_epoch": 100, "epochs": 6})
        self.assertIn("for epoch in range(6)", self.length.facts(None)["trains"])

    def test_where_more_loops_are_around_all_steps_are_counted(self):
        for update in range(30):
            for epoch in range(4):
                for begin in range(0, 128, 32):
                    self.step()
        self.assertEqual(self.says(), {"steps_in_all": 480})
        self.assertIn("for update in range(30)", self.length.facts(None)["trains"])

    def test_so_they_are_where_a_loader_began_before_all_loops(self):
        for epoch in range(6):
            for number in range(100):
                self.step()
        self.assertEqual(self.says(steps_per_epoch=10), {"steps_in_all": 600})

    def test_a_while_around_a_loader_may_count_epochs_or_steps(self):
        epoch = 0
        while epoch < 3:
            self.length.epochs = self.length.epochs or nearest(sys._getframe())
            for _ in ["batches"] * 10:
                self.step()
            epoch += 1
        self.assertEqual(self.says(steps_per_epoch=10), {"epochs": 3})
        self.setUp()
        step = 0
        while step < 70:
            self.length.epochs = self.length.epochs or nearest(sys._getframe())
            for _ in ["batches"] * 10:
                self.step()
                step += 1
        self.assertEqual(self.says(steps_per_epoch=10), {"steps_in_all": 70})

    def test_a_loop_that_does_not_go_on_with_each_step_counts_none(self):
        for epoch in range(6):
            for _ in ["batches"] * 10:
                self.step()
        self.assertEqual(self.says(), {})

    def test_irregular_steps_say_nothing(self):
        for number in range(1000):
            if number % 7 in (0, 1, 3):
                self.step()
        self.assertEqual(self.says(), {})

    def test_the_loop_around_a_loader_counts_epochs(self):
        for epoch in range(3):
            self.length.epochs = self.length.epochs or nearest(sys._getframe())
            for _ in ["batches"] * 10:
                self.step()
        self.assertEqual(self.says(), {})  # of how many steps, nobody knows
        self.assertEqual(self.says(steps_per_epoch=10), {"epochs": 3})

    def test_a_loader_that_begins_within_the_loop_over_steps_counts_no_epochs(self):
        for number in range(25):
            self.length.epochs = self.length.epochs or nearest(sys._getframe())
            self.step()
        self.assertEqual(self.says(steps_per_epoch=10), {"steps_in_all": 25})

    def test_nor_does_one_that_begins_in_the_first_of_several_rounds(self):
        for part in range(4):
            for number in range(25):
                self.length.epochs = self.length.epochs or nearest(sys._getframe())
                self.step()
        self.assertEqual(self.says(steps_per_epoch=10), {"steps_in_all": 100})

    def test_looks_become_rare(self):
        looks = []
        enclosing_of, loops.enclosing = loops.enclosing, lambda frame: looks.append(1) or enclosing_of(frame)
        try:
            for number in range(10000):
                self.step()
        finally:
            loops.enclosing = enclosing_of
        self.assertLess(len(looks), 20)

    def test_a_number_of_a_call_is_taken_where_it_is_one(self):
        self.assertEqual(loops.told(12, "epochs of fit").count, 12)
        for odd in (None, 0, -1, 2.5, "3", 10 ** 9):
            self.assertIsNone(loops.told(odd, "epochs of fit"))


if __name__ == "__main__":
    unittest.main()
