"""How long a script trains, as its loops say."""

import ast
import linecache
import operator
import os
import sys
import tempfile
import textwrap
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


class Loops(unittest.TestCase):
    def module(self, name, text, folder=".", **names):
        """What load() makes of a file with this text."""
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        path = os.path.join(place.name, folder, name.rpartition(".")[2] + ".py")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))
        return load(path, name, **names)


class Headers(Loops):
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

    def test_a_number_that_is_set_beside_others_is_set(self):
        patience, epoch = 0, 0
        while patience < 3 and epoch < 30:  # an early stop, of which nobody knows when it comes
            self.assertEqual([(each.count, each.outlives) for each in here()], [(30, False)])
            epoch += 1
            if epoch:
                break
            patience += 1
            best, patience = None, 0

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

    def test_a_loop_over_anything_may_be_ended_by_a_number(self):
        for step, _ in enumerate(["batch"] * 50):
            if step >= 20:
                break
            self.assertEqual([(each.count, each.outlives) for each in here()], [(20 - step, False)])
        for step, _ in tqdm(enumerate(["batch"] * 50), total=50):
            self.assertEqual(counts(here()), [12 - step])
            if step == 11:
                break
        step = 0
        for _ in ["batch"] * 50:
            self.assertEqual(counts(here()), [20 - step])
            step += 1
            if OPTIONS.epochs > 0 and step >= 20:
                break
        most = None
        for step, _ in enumerate(["batch"] * 5):
            self.assertEqual(here(), [])
            if most is not None and step >= most:
                break
        for step, _ in enumerate(["batch"] * 5):
            self.assertEqual(here(), [])
            if step >= 3 and self is None:
                break

    def test_a_number_outlives_the_loop_where_it_is_not_begun_in_the_one_around(self):
        found, steps = [], 0
        for epoch in range(2):
            mine = 0
            for _ in ["batch"] * 3:
                found += [each.outlives for each in here()[:1]]
                mine += 1
                if mine >= 30:
                    break
            for _ in ["batch"] * 3:
                found += [each.outlives for each in here()[:1]]
                steps += 1
                if steps >= 30:
                    break
        self.assertEqual(found, [False] * 3 + [True] * 3 + [False] * 3 + [True] * 3)

    def test_ranges_within_others_are_found(self):
        import itertools
        for _, number in zip(["batch"] * 9, range(3, 30)):
            self.assertEqual([(each.count, each.reached) for each in here()], [(27, number - 3)])
        for step, _ in enumerate(itertools.islice(["batch"] * 9, 4)):
            self.assertEqual([(each.count, each.reached) for each in here()], [(4, step)])

    def test_settings_are_asked(self):
        import math
        settings = {"epochs": 6}
        for _ in range(settings.get("epochs", 1)):
            self.assertEqual(counts(here()), [6])
        for _ in range(int(os.environ.get("NOCTURNE_NO_SUCH_NAME", "5"))):
            self.assertEqual(counts(here()), [5])
        for _ in range(getattr(OPTIONS, "others", 4)):
            self.assertEqual(counts(here()), [4])
        for _ in range(math.ceil(100 / 30)):
            self.assertEqual(counts(here()), [4])
        odd = types.SimpleNamespace(get=lambda name: self.fail("asked"), ceil=lambda x: self.fail("asked"))
        try:
            for _ in range(odd.get("epochs")):
                pass
        except AssertionError:
            pass
        frame = sys._getframe()
        for text in ("odd.get('epochs')", "odd.ceil(3)", "odd.other()", "print(1)"):
            with self.assertRaises(Exception) as raised:
                operator.index(loops._value(ast.parse(text, mode="eval").body, frame))
            self.assertNotIsInstance(raised.exception, AssertionError)

    def test_epochs_may_be_counted_elsewhere(self):
        class Trainer:
            epoch, rounds = 0, 0

            def train(self, found):
                while self.epoch < 4:
                    self.run(found)
                while self.rounds < 3:
                    self.run(found)

            def run(self, found):
                found.append(counts(here()))
                self.epoch += 1
                self.rounds += self.epoch > 4

        found = []
        Trainer().train(found)
        self.assertEqual(found, [[4], [3], [2], [1], [], [], []])

    def test_it_is_told_where_it_stands(self):
        for epoch in range(2):
            found = nearest(sys._getframe())
            self.assertRegex(found.text, r"^for epoch in range\(2\) \(loops_test\.py, line \d+\)$")
            self.assertEqual(found.reached, epoch)

    def test_a_notebooks_cell_is_called_so(self):
        path, text = "/tmp/ipykernel_4711/2372804151.py", "for epoch in range(2):\n    found = here()\n"
        linecache.cache[path] = len(text), None, text.splitlines(True), path  # as the kernel of a notebook does
        names = {"here": here}
        exec(compile(text, path, "exec"), names)
        self.assertEqual([each.text for each in names["found"]], ["for epoch in range(2) (a cell of the notebook, line 1)"])

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
        text = """
            def train(n):
                for epoch in range(n):
                    for batch in range(50):
                        return here()
            """
        self.assertEqual(counts(self.module("transformers.trainer", text, "site-packages").train(3)), [3])
        self.assertEqual(counts(self.module("torch.trainer", text, "site-packages").train(3)), [])
        library = self.module("skorch.net", """
            def train(epochs, n):
                for _ in range(epochs):
                    for _ in range(n):
                        return here()
            """, "site-packages")
        self.assertEqual(counts(library.train(4, 50)), [4])
        rounds = """
            def train(n):
                for i in range(n):
                    return here()
            """
        for boosting in ("xgboost.training", "lightgbm.engine"):
            self.assertEqual(counts(self.module(boosting, rounds, "site-packages").train(60)), [60])
        self.assertEqual(counts(self.module("elsewhere.engine", rounds, "site-packages").train(60)), [])

    def test_lightnings_epochs_are_a_number(self):
        text = """
            class Loop:
                max_epochs = 6
                def run(self):
                    while True:
                        return here()
            """
        for _ in range(2):  # of several fits
            loop = self.module("lightning.fit_loop", text).Loop()
            self.assertEqual([(each.count, each.text) for each in loop.run()], [(6, "max_epochs of the Trainer")])
            loop.max_epochs = -1  # as long as something else says
            self.assertEqual(loop.run(), [])

    def test_lightnings_steps_are_one_where_its_epochs_do_not_end_it_before(self):
        loop = self.module("lightning.fit_loop", """
            class Loop:
                max_epochs, max_steps = -1, 500
                def run(self):
                    while True:
                        return here()
            """).Loop()
        loop.trainer = types.SimpleNamespace(estimated_stepping_batches=500, global_step=7, current_epoch=2)
        self.assertEqual([(each.count, each.reached, each.text) for each in loop.run()], [(500, 7, "max_steps of the Trainer")])
        loop.max_epochs, loop.trainer.estimated_stepping_batches = 6, 60
        self.assertEqual([(each.count, each.reached, each.repeats) for each in loop.run()], [(6, 2, 1)])
        loop.trainer.check_val_every_n_epoch = 4
        self.assertEqual([each.repeats for each in loop.run()], [4])
        del loop.trainer  # not to be estimated
        self.assertEqual(counts(loop.run()), [6])

    def test_an_engine_of_ignite_has_its_epochs_in_its_state(self):
        engine = self.module("ignite.engine.engine", """
            class Engine:
                is_done = False
                def run(self):
                    while not self.is_done:
                        return here()
            """).Engine()
        for _ in range(3):
            self.assertEqual(counts(engine.run()), [3])  # it did not begin yet
        engine.state = types.SimpleNamespace(max_epochs=4)
        for _ in range(3):
            self.assertEqual([(each.count, each.text) for each in engine.run()], [(4, "max_epochs of the engine")])
        engine.state.max_epochs = None
        self.assertEqual(engine.run(), [])

    def test_a_trainer_of_ultralytics_has_its_epochs(self):
        found = self.module("ultralytics.engine.trainer", """
            class Trainer:
                epochs = 30
                def _do_train(self):
                    while True:
                        return here()
            class Model:
                def train(self):
                    return Trainer()._do_train()
            """).Model().train()
        self.assertEqual([(each.count, each.text) for each in found], [(30, "epochs of the trainer")])

    def test_a_file_that_is_no_source_says_nothing(self):
        names = {"here": here}
        exec(compile("for _ in range(3):\n    found = here()\n", "/nowhere/script.py", "exec"), names)
        self.assertEqual(names["found"], [])


class Lengths(Loops):
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

    def test_lightnings_epochs_are_counted_by_its_number_where_no_loader_is_seen(self):
        fit = self.module("lightning.fit_loop", """
            class Loop:
                max_epochs, max_steps = 6, -1
                def run(self, step, epochs, count):
                    for self.trainer.current_epoch in range(epochs):
                        for _ in range(count):
                            step()
                            self.trainer.global_step += 1
            """).Loop()
        fit.trainer = types.SimpleNamespace(current_epoch=0, global_step=0, estimated_stepping_batches=90)
        fit.run(self.step, 3, 15)
        self.assertEqual(self.says(), {"steps_per_epoch": 15, "epochs": 6})
        self.setUp()
        fit.run(self.step, 1, 15)
        self.assertEqual(self.says(), {})  # none has ended
        self.setUp()
        fit.max_steps, fit.trainer.global_step = 90, 0
        self.length.epochs = loops.Loop(90, "max_steps of the Trainer", None, 0, True)  # that of a loader
        fit.run(self.step, 1, 15)
        self.assertEqual(self.says(10), {"steps_in_all": 90})

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

    def test_a_loop_whose_number_goes_on_within_another_counts_the_steps(self):
        step = 0
        while step < 700:
            for begin in range(0, 400, 40):
                self.step()
                step += 1
        self.assertEqual(self.says(), {"steps_in_all": 700})
        self.setUp()
        for epoch in range(30):
            for begin in range(0, 400, 400):
                self.step()
        self.assertEqual(self.says(), {"steps_in_all": 30})

    def test_a_loop_that_ends_before_its_loader_counts_all_steps(self):
        for epoch in range(5):
            self.length.epochs = self.length.epochs or nearest(sys._getframe())
            for number, _ in enumerate(["batches"] * 100):
                if number >= 20:
                    break
                self.step()
        self.assertEqual(self.says(steps_per_epoch=100), {"steps_in_all": 100})
        self.length.seen = 10
        self.assertEqual(self.says(steps_per_epoch=15), {"epochs": 5})

    def test_a_number_that_outlives_its_loop_ends_them_all(self):
        done = 0
        for epoch in range(1000):
            self.length.epochs = self.length.epochs or nearest(sys._getframe())
            for _ in ["batches"] * 10:
                self.step()
                done += 1
                if done >= 25:
                    break
            if done >= 25:
                break
        self.assertEqual(self.says(steps_per_epoch=10), {"steps_in_all": 25})
        self.assertEqual(self.says(), {"steps_in_all": 25})
        self.length.epochs, self.length.seen = self.length.epochs._replace(count=2), 10
        self.assertEqual(self.says(steps_per_epoch=10), {"epochs": 2})

    def test_a_loop_that_stays_for_as_many_steps_counts_epochs(self):
        for epoch in range(6):
            for _ in ["batches"] * 10:
                self.step()
                if self.steps == 20:  # the second epoch has not been seen to end
                    self.assertEqual(self.says(), {})
        self.assertEqual(self.says(), {"steps_per_epoch": 10, "epochs": 6})
        self.assertEqual(self.says(steps_per_epoch=7), {})  # a loader that began nobody knows where
        self.setUp()
        for epoch in range(2):
            for _ in ["batches"] * 10:
                self.step()
        self.assertEqual(self.says(), {"steps_per_epoch": 10, "epochs": 2})

    def test_fewer_steps_than_were_seen_are_not_all(self):
        for update in iter([1, 2]):
            for epoch in range(4):
                for _ in ["batches"] * 10:
                    self.step()
                    if self.steps == 40:
                        self.assertEqual(self.says(), {"steps_per_epoch": 10, "epochs": 4})
        self.assertEqual(self.says(), {})

    def test_one_that_stays_for_other_numbers_of_steps_counts_none(self):
        for epoch in range(6):
            for _ in ["batches"] * (20 - epoch):
                self.step()
        self.assertEqual(self.says(), {})
        self.setUp()
        for epoch in range(6):
            for _ in ["batches"] * 10:
                self.step()
            for part in range(5):  # another phase
                self.step()
        self.assertEqual(self.says(), {})

    def test_a_number_that_what_a_loop_calls_counts_on_says_how_many_steps_there_are(self):
        class Agent:
            played, updates = 0, 0

            def play(agent, count=2048):
                agent.played += count

            def learn(agent, epochs=5):
                for epoch in range(epochs):
                    for batch in range(0, 2048, 512):
                        self.step()

        agent, most = Agent(), 20000
        while agent.played < most:
            agent.play()
            agent.learn()
            if agent.played == 2048 * 3:
                self.assertEqual(self.says(), {"steps_in_all": 10 * 20})
        self.assertEqual((self.steps, self.says()), (200, {"steps_in_all": 200}))

        self.setUp()
        agent = Agent()
        while agent.played <= most:  # and behind the steps
            agent.learn()
            agent.play(4000)
        self.assertEqual((self.steps, self.says()), (120, {"steps_in_all": 120}))

        self.setUp()
        agent, plays = Agent(), iter([2048, 2048, 1000, 2048, 2048, 2048])
        while agent.played < 10000:
            agent.play(next(plays))
            agent.learn()
        self.assertEqual(self.says(), {})

        self.setUp()
        agent, epochs = Agent(), iter([4, 3, 4, 3, 3])
        while agent.played < 5 * 2048:
            agent.play()
            agent.learn(next(epochs))
        self.assertEqual(self.says(), {})

    def test_rounds_of_a_loop_that_counts_what_it_calls_are_no_epochs_of_all(self):
        class Agent:
            played = 0

            def learn(agent, batches):
                agent.played += 8192
                for epoch in range(10):
                    for batch in batches:
                        self.step()
                        if self.steps == 128 * 9:  # nine epochs of the first round
                            raise TimeoutError

        for batches in (range(0, 8192, 64), ["batches"] * 128):
            self.setUp()
            agent = Agent()
            with self.assertRaises(TimeoutError):
                while agent.played < 60000:
                    agent.learn(batches)
            self.assertEqual(self.says(), {})

    def test_a_number_of_updates_is_that_of_the_steps(self):
        class Trainer:
            updates = 0

            def update(trainer, before):
                trainer.updates += before
                self.step()
                trainer.updates += not before

        for before in (True, False):
            self.setUp()
            trainer = Trainer()
            while trainer.updates < 30 and self.steps < 1000:
                trainer.update(before)
                if self.steps == 5:
                    self.assertEqual(self.says(), {"steps_in_all": 30})
            self.assertEqual(self.steps, 30)

    def test_where_a_loader_has_epochs_their_loop_says_how_long(self):
        trainer = types.SimpleNamespace(updates=0)

        def update():
            self.step()
            trainer.updates += 1

        while trainer.updates < 1000:
            for _ in range(3):
                self.length.epochs = nearest(sys._getframe())
                for _ in "ten steps!":
                    update()
            break
        self.assertEqual(self.says(10), {"epochs": 3})

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
        self.assertEqual(self.length.stays.seen, [])  # the loader knows
        self.assertEqual(self.says(), {"epochs": 3})  # a stream's length is not known
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

    def test_the_scripts_loop_around_that_of_the_epochs_is_named(self):
        found = self.module("folds", """
            def train():
                for epoch in range(4):
                    for batch in [1]:
                        return say()
            for fold, part in enumerate(["a"]):
                within = train()
            alone = train()
            """, say=lambda: loops.of_training(sys._getframe(1)))
        own = "for epoch in range(4) (folds.py, line 3)"
        self.assertEqual((found.alone.text, found.alone.count), (own, 4))
        self.assertEqual((found.within.text, found.within.count),
                         (own + ', in each round of: for fold, part in enumerate(["a"]) (folds.py, line 6)', 4))

    def test_a_loop_repeats_what_it_does_behind_some_epochs_only(self):
        say = dict(say=lambda: loops.of_training(sys._getframe(1)), options=types.SimpleNamespace(every=4, zero=0))
        for body, repeats in (
                ("if (epoch + 1) % options.every == 0: evaluate()", 4), ("if epoch % 6 == 0 or epoch == 29: evaluate()", 6),
                ("if not epoch % 4: evaluate()\n    if epoch % 6 == 5: save()", 12), ("evaluate()", 1),
                ("if epoch % 10 == 0: print(epoch)", 1), ("if epoch % 10 == 0:\n        print(epoch)\n        save()", 10),
                ("for step in batches:\n        if step % 100 == 0: log()", 1), ("learning_rate = 0.1 if epoch % 9 else 1", 1),
                ("if epoch % options.zero == 0: save()", 1), ("if epoch % options.gone == 0: save()", 0)):
            for header in ("for epoch in range(30):", "while epoch < 30:"):
                text = "epoch = 0\n%s\n    seen = say()\n    break\n    epoch += 1\n    %s" % (header, body)
                with self.subTest(text):
                    self.assertEqual(self.module("rare", text, **say).seen.repeats, repeats)

    def test_a_number_of_a_call_is_taken_where_it_is_one(self):
        self.assertEqual(loops.told(12, "epochs of fit").count, 12)
        for odd in (None, 0, -1, 2.5, "3", 10 ** 9):
            self.assertIsNone(loops.told(odd, "epochs of fit"))


if __name__ == "__main__":
    unittest.main()
