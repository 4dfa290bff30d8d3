"""What `cmake --install` writes runs from wherever it is moved to, without the checkout."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("BUILD_FOLDER", "")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["nocturne", "nocturne-supervisor", "nocturne-command-worker", "nocturne-machine"]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="nocturne-installation-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        subprocess.check_call(["cmake", "--install", BUILD, "--prefix", cls.folder / "before"], stdout=subprocess.DEVNULL)
        cls.prefix = (cls.folder / "before").rename(cls.folder / "after")
        (cls.folder / "home").mkdir()

    def nocturne(self, *words, path="/usr/bin:/bin", **more):
        """In an environment that names nothing of the checkout."""
        return subprocess.run([self.prefix / "bin" / "nocturne", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={"PATH": path, "HOME": str(self.folder / "home"), "COLUMNS": "1000"}, **more)

    def test_its_programs_and_manuals_are_there(self):
        for program in PROGRAMS:
            self.assertTrue(os.access(self.prefix / "bin" / program, os.X_OK), program)
        self.assertTrue((self.prefix / "share/man/man1/nocturne-tune.1").exists())
        self.assertIn("nocturne", (self.prefix / "share/bash-completion/completions/nocturne").read_text())
        self.assertEqual(self.nocturne("--version").returncode, 0)
        self.assertTrue((self.prefix / "share/nocturne/python/nocturne.py").exists())

    def test_sources_recipes_and_examples_are_found_in_it(self):
        done = self.nocturne("doctor")
        self.assertIn(str(self.prefix / "share/nocturne"), done.stdout)
        self.assertNotIn(str(SOURCE), done.stdout)
        self.assertIn("mxnet-1.9.1", self.nocturne("env", "list").stdout)
        self.assertIn("modak-pytorch-1.5-cpu-pip", self.nocturne("list", "images").stdout)
        self.assertIn("local", self.nocturne("list", "infrastructures").stdout)

    def test_a_worker_is_built_from_it_and_trains(self):
        if not (self.prefix / "bin/nocturne-onednn").exists():
            self.skipTest("built without oneDNN")
        done = self.nocturne("tune", str(self.prefix / "share/nocturne/examples/mnist.json"), "--trials", "1", "--json",
                             "--set", "/verify/accuracy_epochs=0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"outcome": "ok"', done.stdout)
        builds = self.folder / "home/.local/share/nocturne/builds"
        self.assertEqual(len([each for each in builds.iterdir() if (each / "manifest.json").exists()]), 1)  # the gate's, too

    def test_without_a_compiler_what_came_along_trains_and_what_cannot_vary_is_said_first(self):
        if not (self.prefix / "bin/nocturne-onednn").exists():
            self.skipTest("built without oneDNN")
        tools = self.folder / "tools"
        tools.mkdir()
        for tool in ["sh", "python3", "taskset"]:
            (tools / tool).symlink_to(shutil.which(tool))
        done = self.nocturne("tune", str(self.prefix / "share/nocturne/examples/mnist.json"), "--trials", "2", "--json",
                             "--set", '/verify={"pairs": 3, "most_pairs": 3, "accuracy_epochs": 0}', path=str(tools))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("used as it is; these parameters stay at: compiler=g++, optimisation=O3, march=x86-64, lto=false, "
                      "fast_math=false", done.stderr)
        self.assertLess(done.stderr.index("these parameters stay at"), done.stderr.index("trial    0"))
        self.assertNotIn("build_failed", done.stdout + done.stderr)
        profile = self.nocturne("export", "mnist", "--force", "--format", "json", "--output", "-", path=str(tools))
        self.assertIn('"program": "%s"' % (self.prefix / "bin/nocturne-onednn"), profile.stdout, profile.stderr)
        doctor = self.nocturne("doctor", path=str(tools))
        self.assertIn("how it is built (compiler, optimisation, march, lto, fast_math) cannot vary", doctor.stdout)
        self.assertIn("can run campaigns", doctor.stdout)

    def test_a_command_of_ones_own_is_tuned_with_it(self):
        folder = self.folder / "own"
        folder.mkdir()
        (folder / "train.py").write_text("print(sum(range(1000)))\n")
        done = self.nocturne("tune", "--trials", "2", "--", "python3", "train.py", cwd=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([each.name for each in folder.iterdir()], ["train.py"])


unittest.main()
