"""Pages of what measures, on a narrow terminal and on a wide one; and pages of a database that is read elsewhere."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import textwrap
import unicodedata
import unittest

from workspace import Workspace, campaign

TRAIN = """
    import sys, time
    for step in range(300):
        time.sleep(0.002 if "--fast=1" in sys.argv else 0.006)
        print("step %d of the training with a long line: loss %.3f" % (step, 1 / (step + 1)), flush=True)
"""

# A space that asks for what a machine has.
OVER_MACHINE = [
    {"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "type": "ordinal", "default": 128},
    {"name": "compiler", "stage": "build", "values": ["g++", "clang++-19", "icx"], "default": "g++"},
    {"name": "width", "stage": "run", "range": [1, 20], "default": 1}]
RULES = [{"require": "compiler in machine.compilers", "because": "it is not installed"},
         {"require": "width <= 4 * machine.threads", "because": "there are no more"}]


def width(text):
    return sum(0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def overflowing(page, columns):
    """Lines wider than the page, but for one word, which nothing may break."""
    lines = [line.rsplit("\r", 1)[-1] for line in page.splitlines()]
    return [line for line in lines if width(line) > columns and " " in line.strip().removesuffix(" \\")]


class Widths(unittest.TestCase):
    def check(self, workspace, name, *words, codes=(0,), widths=(80,)):
        """Runs it at these widths. Standard error is no terminal here, but a log, whose lines stay whole."""
        for columns in widths:
            with self.subTest(page=name, columns=columns):
                done = workspace.run(*words, env={**os.environ, "COLUMNS": str(columns)}, cwd=workspace.folder)
                self.assertIn(done.returncode, codes, done.stderr)
                self.assertTrue(done.stdout)
                self.assertEqual(overflowing(done.stdout, columns), [])

    def test_what_measures_keeps_to_its_terminal(self):
        with Workspace() as workspace:
            few = ["--pairs", "3", "--most-pairs", "6"]
            file = workspace.write(campaign(name="an-evening-with-a-long-name", trials=12))
            self.check(workspace, "tune", "tune", file, widths=(80, 120))  # the second time it only prints
            profile = workspace.json("tune", file)["profile"]["json"]
            self.check(workspace, "noise", "noise", file, "--time", "1s")
            self.check(workspace, "verify", "verify", profile, *few, codes=(0, 1))
            self.check(workspace, "verify --all", "verify", "--all", *few, codes=(0, 1))
            # `apply --dry-run` prints a line for a shell, and nothing else there: it is not broken.
            line = workspace.run("apply", profile, "--dry-run", "--", "echo", "trained", check=0,
                                 env={**os.environ, "COLUMNS": "80"}).stdout
            self.assertEqual(line.count("\n"), 1, line)
            self.check(workspace, "blame --list", "blame", profile, "--list", codes=(0, 1))
            document = json.loads(pathlib.Path(profile).read_text())
            document["measured_on"]["verify"]["system.kernel"] = "an older one"
            document["measured_on"]["fingerprint"] = "0" * 32  # no database knows it
            document["estimate"]["seconds"] /= 3  # so much faster it was
            self.check(workspace, "blame", "blame", workspace.write(document, "older.json"), *few, codes=(0, 1))

    def test_a_command_of_ones_own_keeps_to_its_terminal(self):
        with Workspace() as workspace:
            (workspace.folder / "train.py").write_text(textwrap.dedent(TRAIN))
            words = ["--", "python3", "train.py", "--fast={0,1}"]
            self.check(workspace, "first screen", "tune", "--preflight", *words, codes=(0, 1))
            self.check(workspace, "last page", "tune", "--fresh", "--trials", "3", *words)


class Elsewhere(unittest.TestCase):
    PAGES = [["best"], ["best", "--by", "compiler"], ["model"], ["explain"], ["explain", "1"], ["explain", "width=3"],
             ["compare", "default", "best"], ["compare", "0", "1"], ["list", "campaigns"], ["list", "trials"],
             ["list", "parameters"], ["list", "comparisons"], ["list", "events"], ["list", "builds"],
             ["show", "0"], ["show", "1", "--runs"], ["status"], ["pareto"], ["roofline"],
             ["export", "json"]]

    # `replay` is left out: it says how long its strategies thought just now.
    # What speaks of the machine it is on, and differs therefore: doctor, machine, env and space (this machine's own
    # facts), apply, verify and blame (whether this is the machine that was measured), report (whether the evidence is of
    # this machine), tune (it measures here).

    def pages(self, workspace, environment, preexec=None):
        found = {}
        for words in self.PAGES:
            for form in ([], ["--json"]):
                done = subprocess.run(workspace.command(*words, *form), capture_output=True, text=True, env=environment,
                                      preexec_fn=preexec, stdin=subprocess.DEVNULL)
                found[" ".join(words + form)] = (done.returncode, done.stdout, done.stderr)
        return found

    def test_a_database_says_the_same_on_every_machine(self):
        with Workspace() as workspace, Workspace() as elsewhere:
            document = campaign(trials=14, parameters=OVER_MACHINE)
            document["space"]["constraints"] = RULES
            file = workspace.write(document)
            workspace.run("tune", file, check=0)
            # The other machine has one processor and no compiler; its copy is of before any page was made.
            empty = elsewhere.folder / "no-programs"
            empty.mkdir()
            home = {**os.environ, "PATH": str(empty), "HOME": str(empty), "LD_LIBRARY_PATH": ""}
            one = {min(os.sched_getaffinity(0))}

            def on_one():
                os.sched_setaffinity(0, one)

            seen = [workspace.run("space", file, env=environment, preexec_fn=preexec).stdout
                    for environment, preexec in ((dict(os.environ), None), (home, on_one))]
            self.assertNotEqual(*seen, "the other machine is no other")
            copy = workspace.folder / "copy"
            # Not the pipes of runs that ended.
            shutil.copytree(workspace.data, copy, ignore=lambda folder, names: [
                name for name in names if not stat.S_ISDIR(mode := os.lstat(os.path.join(folder, name)).st_mode)
                and not stat.S_ISREG(mode)])
            here = self.pages(workspace, dict(os.environ))
            shutil.rmtree(workspace.data)
            shutil.move(copy, workspace.data)
            there = self.pages(workspace, home, on_one)
            for page, shown in here.items():
                with self.subTest(page=page):
                    self.assertEqual(there[page], shown)
            self.assertGreaterEqual(sum(shown[0] == 0 for shown in here.values()), 2 * len(self.PAGES) - 4, here)


if __name__ == "__main__":
    unittest.main(verbosity=2)
