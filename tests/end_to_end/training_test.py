"""A training of PyTorch that knows nothing of Nocturne, as its user meets it: tuned, applied, written down; its files stay."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import unittest

from workspace import Workspace

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "kernels" / "inject"))
from injected import python_with  # noqa: E402

SKIPPED = 77
SCRIPTS = ["mnist.py", "own_clock.py"]
TRAINING = ["mnist.py", "--epochs", "2", "--images", "1920", "--save-model"]

SAYS_ITS_THREADS = """
import torch
model = torch.nn.Linear(64, 64)
for step in range(300):
    model(torch.randn(8, 64)).square().mean().backward()
    if step == 5:
        print('computes with', torch.get_num_threads(), flush=True)
"""


def fingerprint(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
            for path in folder.rglob("*")}


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Workspace()
        cls.addClassCleanup(cls.place.__exit__)
        cls.folder = cls.place.folder / "own" / "training"
        cls.folder.mkdir(parents=True)
        (cls.place.folder / "own" / "data").symlink_to(ROOT / "examples" / "data")
        for name in SCRIPTS:
            shutil.copy(ROOT / "examples" / "scripts" / name, cls.folder)
        cls.python = python_with("torch")
        cls.before = fingerprint(cls.folder)
        cls.tuned = cls.place.run("tune", "--trials", "6", "--wall", "3min", "--seed", "3", "--", cls.python, *TRAINING,
                                  cwd=cls.folder)

    def test_it_is_tuned_by_its_steps_and_levers(self):
        self.assertEqual(self.tuned.returncode, 0, self.tuned.stdout + self.tuned.stderr)
        self.assertRegex(self.tuned.stderr, r"Its steps are seen: \d+ in ")
        self.assertRegex(self.tuned.stderr, r"a step +one optimizer step, 64 examples, [\d.]+ ms; 30 an epoch")
        for lever in ("channels_last", "compile", "loader_workers"):
            self.assertIn(lever, self.tuned.stderr)
        trials = self.place.json("list", "trials")["trials"]
        if len(trials) < 6:  # on a busy machine time is over before
            self.assertRegex(self.tuned.stderr, "the search ended after %d trials, .* the rest of the budget's time" % len(trials))
        self.assertIn(len(trials), (4, 5, 6))
        self.assertNotIn("failed", {each["outcome"] for each in trials if "compile" not in each["configuration"]})

    def looked_at(self, script, *options):
        """What the first screen says of a script, and the campaign that it would be."""
        (self.folder / "other.py").write_text("import time, torch\nmodel = torch.nn.Linear(64, 64)\n"
                                              "optimizer = torch.optim.SGD(model.parameters(), 0.01)\n"
                                              "def train(x):\n"
                                              "    optimizer.zero_grad(); model(x).square().mean().backward(); optimizer.step()\n"
                                              + textwrap.dedent(script))
        try:
            written = self.place.run("tune", *options, "--write-campaign", "-", "--", self.python, "other.py", check=0, cwd=self.folder)
        finally:
            (self.folder / "other.py").unlink()
        return written.stderr, json.loads(written.stdout)

    def test_steps_that_come_in_rounds_are_timed_in_whole_rounds(self):
        script = """
            for update in range(1, 51):
                time.sleep(0.1)  # plays
                for epoch in range(4):
                    for begin in range(0, 512, 128):
                        train(torch.randn(128, 64))
            """
        said, document = self.looked_at(script)
        self.assertRegex(said, r"a step +one optimizer step, [\d.]+ (ms|µs) \(with the pause that\s+returns every 16\s+steps")
        self.assertRegex(said, r"it trains +800 steps, called an epoch below: for update in range\(1, 51\)")
        self.assertEqual(document["run"]["steps_per_sample"], 16)
        for section, key in (("run", "steps"), ("verify", "slice_steps")):
            self.assertEqual(document[section][key] % 16, 0, section)
        self.assertEqual(document["workload"]["training_examples"], 800)
        said, document = self.looked_at(script, "--examples", "400")
        self.assertRegex(said, r"400 an epoch \(about [^)]*\)\n +it trains +800 steps: for update")
        self.assertEqual((document["workload"]["training_examples"], document["objective"]["epochs"]), (400, [2]))

    def test_no_more_steps_are_asked_for_than_there_are(self):
        said, document = self.looked_at("""
            batches = [torch.randn(32, 64) for _ in range(30)]
            for epoch in range(2):
                for batch in batches:
                    train(batch)
            """)
        self.assertRegex(said, r"30 an epoch \(about [^)]*\)\n +it trains +2 epochs: for epoch in range\(2\)")
        self.assertEqual(document["run"]["steps"], 59)  # behind the first
        self.assertLessEqual(document["verify"]["slices"] * (document["verify"]["slice_steps"] + 5), 59)  # a turn leaves out five
        said, document = self.looked_at("""
            for step in range(80):
                time.sleep(0.1)
                train(torch.randn(32, 64))
            """)
        self.assertRegex(said, r"it trains +80 steps, called an epoch below: for step in range\(80\)")
        self.assertLessEqual(document["run"]["steps"], 78)
        said, document = self.looked_at("""
            for step in range(30):
                time.sleep(0.1)
                train(torch.randn(32, 64))
            """)
        turns = document["verify"]
        self.assertLessEqual(turns["slices"] * (turns["slice_steps"] + 5), 29)

    def test_of_short_epochs_a_run_has_several_unless_what_is_between_them_takes_long(self):
        script = """
            data = torch.utils.data.DataLoader(torch.randn(80, 64), batch_size=8)
            for epoch in range(50):
                for batch in data:
                    time.sleep(0.02)
                    train(batch)
                time.sleep({pause})
            """
        for pause, several in ((0, True), (8, False)):  # of a run less than a third, where a start takes 10 s, too
            said, document = self.looked_at(script.format(pause=pause))
            self.assertRegex(said, "10 an epoch")
            self.assertEqual(document["run"]["steps"] > 8, several, document["run"])

    def test_what_stands_between_epochs_is_part_of_the_time(self):
        script = """
            data = torch.utils.data.DataLoader(torch.randn(804, 64), batch_size=8, shuffle=True)
            test = torch.utils.data.DataLoader(torch.randn(100, 64), batch_size=50)
            for epoch in range({epochs}):
                for batch in data:
                    train(batch)
                if epoch % 4 == 3:
                    with torch.no_grad():
                        for batch in test:
                            model(batch)
                    time.sleep(2)
            """
        for epochs, options, looks in ((50, (), True), (2, (), False), (50, ("--in-place",), False)):
            said, document = self.looked_at(script.format(epochs=epochs), *options)
            self.assertEqual(document["worker"].get("epoch_ends"), {"steps": 5, "examples": 804, "every": 4} if looks else None)
            between = re.search(r"between +epochs (\d+) ms of .* \(the mean of 4 epochs\): each run cuts its first 5 epochs short",
                                " ".join(said.split()))
            self.assertEqual(between is not None, looks, said)
            if looks:
                self.assertAlmostEqual(int(between[1]), 500, delta=100)

    def test_where_no_end_of_an_epoch_is_seen_that_is_said(self):
        trainer = self.folder / "ignite.py"  # by this name a trainer that counts batches, whose epochs are not cut
        trainer.write_text("def fit(train, batches):\n    for batch in batches:\n        train(batch)\n")
        self.addCleanup(trainer.unlink)
        said, document = self.looked_at("""
            import ignite
            data = torch.utils.data.DataLoader(torch.randn(404, 64), batch_size=8, shuffle=True)
            for epoch in range(6):
                ignite.fit(train, data)
                time.sleep(0.5)
            """)
        self.assertRegex(said, r"51 an epoch")
        self.assertRegex(" ".join(said.split()), "no end of one was seen within [0-9.]+ s, so times are without evaluation and the like")
        self.assertNotIn("epoch_ends", document["worker"])

    def threads_of(self, name, text, *words):
        """What sets a command's threads: as the first run says, and as the database knows it. And how many compute in a
        trial that shall have one of them."""
        script = self.folder / name
        script.write_text(text + SAYS_ITS_THREADS)
        self.addCleanup(script.unlink)
        found = []
        for _ in range(2):
            written = self.place.run("tune", "--write-campaign", "-", *words, check=0, cwd=self.folder)
            document = json.loads(written.stdout)
            found.append(document["worker"].get("environment"))
            self.place.run("tune", "--trials", "1", *words, cwd=self.folder)
        self.assertNotIn("runs once", written.stderr)
        self.assertEqual(found[1], found[0])
        campaign = self.place.folder / "threads.json"
        document["space"]["parameters"] = [
            dict(each, default=True) if each["name"] == "threads_set" else dict(each, range=[1, 1], default=1) if each["name"] == "threads" else each
            for each in document["space"]["parameters"]]
        campaign.write_text(json.dumps(dict(document, campaign="replaced-" + script.stem)))
        self.place.run("tune", "--trials", "1", campaign, check=0, cwd=self.folder)
        shown = self.place.run("show", "0", "replaced-" + script.stem, "--log", check=0).stdout
        return found[0], re.findall(r"computes with (\d+)", shown)

    def test_threads_that_the_script_sets_are_replaced_by_those_of_a_trial(self):
        sets, computed = self.threads_of("threads.py", "import os\nos.environ['OMP_NUM_THREADS'] = '2'\n", "--", self.python, "threads.py")
        self.assertEqual(sets, {"NOCTURNE_LEVER_THREADS": "{threads}"})
        self.assertEqual(set(computed), {"1"})
        starter = self.folder / "start.sh"
        starter.write_text("export OMP_NUM_THREADS=2\nexec %s called.py\n" % self.python)
        self.addCleanup(starter.unlink)
        sets, computed = self.threads_of("called.py", "import torch\ntorch.set_num_threads(2)\n", "--", "/bin/sh", "start.sh")
        self.assertEqual(sets, {"NOCTURNE_LEVER_THREADS": "{threads}"})
        self.assertEqual(set(computed), {"1"})

    def test_the_default_has_the_threads_of_the_user_s_shell(self):
        script = self.folder / "shell.py"
        script.write_text(SAYS_ITS_THREADS)
        self.addCleanup(script.unlink)
        tuned = self.place.run("tune", "--trials", "1", "--", self.python, "shell.py", cwd=self.folder, env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertIn("Your shell sets OMP_NUM_THREADS=1: so does the default.", tuned.stderr)
        shown = self.place.run("show", "0", "shell", "--log", check=0).stdout
        self.assertEqual(set(re.findall(r"computes with (\d+)", shown)), {"1"})
        written = self.place.run("tune", "--write-campaign", "-", "--", self.python, "shell.py", check=0, cwd=self.folder,
                                 env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertNotIn("environment", json.loads(written.stdout)["worker"])  # it is the shell that sets them

    def test_the_time_is_that_of_the_epochs_that_its_loop_trains(self):
        self.assertRegex(self.tuned.stderr, r"it trains +2 epochs: for epoch in range\(1, options\.epochs \+ 1\)")
        self.assertIn("times of 2 epochs", self.tuned.stdout)
        for more, epochs in (([], 2), (["--epochs", "5"], 5)):
            written = self.place.run("tune", *more, "--write-campaign", "-", "--", self.python, *TRAINING, check=0, cwd=self.folder)
            self.assertEqual(json.loads(written.stdout)["objective"]["epochs"], [epochs])
            self.assertNotIn("runs once", written.stderr)  # what the database knows of it serves

    def test_who_edits_a_file_of_it_has_it_looked_at_anew(self):
        words = ("tune", "--write-campaign", "-", "--", self.python, *TRAINING)
        imported = self.folder / "own_clock.py"
        text = imported.read_text()
        try:
            imported.write_text(text + "# edited\n")
            written = self.place.run(*words, check=0, cwd=self.folder)
            again = self.place.run("tune", "--trials", "1", "--wall", "1min", "--", self.python, *TRAINING, cwd=self.folder)
            same = self.place.run(*words, check=0, cwd=self.folder)
        finally:
            imported.write_text(text)
        self.assertIn("was edited since it was tuned", written.stderr)
        self.assertIn("runs once", written.stderr)
        self.assertIn("measured anew, as generation 2: a file of its training was edited", " ".join(again.stderr.split()))
        self.assertNotIn("edited", same.stderr)  # than it was in the last generation
        self.assertEqual([pathlib.Path(each).name for each in json.loads(written.stdout)["worker"]["sources"]], sorted(SCRIPTS))
        self.assertIn("was edited", self.place.run(*words, check=0, cwd=self.folder).stderr)

    def test_its_folder_is_left_as_it_was(self):
        self.assertEqual(fingerprint(self.folder), self.before)

    def test_the_best_is_applied_and_trains_where_the_user_is(self):
        profile = self.place.folder / "best.json"
        self.place.run("export", "--force", "-o", profile, check=0)
        applied = self.place.run("apply", profile, "--", self.python, *TRAINING, check=0, cwd=self.folder)
        self.assertRegex(applied.stdout, r"accuracy|Accuracy")
        self.assertTrue((self.folder / "mnist_cnn.pt").exists())
        (self.folder / "mnist_cnn.pt").unlink()
        script = self.place.folder / "best.sh"
        self.place.run("export", "--force", "-o", script, check=0)
        alone = subprocess.run(["sh", str(script)], capture_output=True, text=True,
                               env={"PATH": "/usr/bin:/bin", "HOME": str(self.place.folder)})
        self.assertEqual(alone.returncode, 0, alone.stdout + alone.stderr)
        (self.folder / "mnist_cnn.pt").unlink()
        form = re.compile(r"\d+")
        self.assertEqual(form.sub("N", applied.stdout.splitlines()[-1]), form.sub("N", alone.stdout.splitlines()[-1]))


if __name__ == "__main__":
    if not python_with("torch"):
        print("skipped: no Python with PyTorch was found, and NOCTURNE_FRAMEWORKS names none")
        sys.exit(SKIPPED)
    unittest.main()
