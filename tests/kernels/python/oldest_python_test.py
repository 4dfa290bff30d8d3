"""The shared module on the oldest Python it promises, 3.6, where this machine has one: it trains, and every worker's and
fix-up's file is one that this Python understands."""

import ast
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from command_run import WORKERS, CommandRun

SKIPPED = 77
FIX_UPS = WORKERS.parents[1] / "measure" / "environment" / "fix_ups"
# What an environment's Python runs before or without its framework.
OF_PYTHON_ALONE = list(WORKERS.glob("nocturne_worker/*.py")) + [WORKERS / "nocturne_steps.py"] + list(FIX_UPS.glob("*.py"))


def python_3_6():
    """Looked for on PATH and in pyenv's folder; None if there is none that runs."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv")
    found = [shutil.which("python3.6")] + sorted(map(str, pyenv.glob("versions/3.6*/bin/python3.6")))
    for each in filter(None, found):
        if subprocess.run([each, "-c", "import gzip, hashlib, ctypes"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0:
            return each
    return None


PYTHON = python_3_6()


class OldestPython(unittest.TestCase):
    def test_it_trains_and_tells_the_accuracy(self):
        with CommandRun() as talk:
            talk.request.update({"epochs": 1, "partial_batch": "train", "accuracy": True})
            self.assertEqual(talk.run(python=PYTHON), 0, talk.stderr)
            self.assertEqual(talk.end()["status"], "ok")
            self.assertTrue(talk.events("ready")[0]["versions"]["python"].startswith("3.6."))
            self.assertEqual(talk.steps_reported(), 6)

    def test_it_compiles_every_worker_and_fix_up(self):
        program = "import ast, sys\nfor path in sys.argv[1:]: ast.parse(open(path, encoding='utf-8').read(), path)"
        files = sorted(map(str, list(WORKERS.glob("**/*.py")) + list(FIX_UPS.glob("*.py"))))
        self.assertGreater(len(files), 20)
        subprocess.run([PYTHON, "-c", program] + files, check=True)

    def test_what_is_shared_imports_the_standard_library_alone(self):
        allowed = {"argparse", "array", "contextlib", "ctypes", "functools", "gzip", "hashlib", "importlib", "json",
                   "math", "operator", "os", "platform", "re", "resource", "shutil", "struct", "subprocess", "sys",
                   "tempfile", "time", "traceback", "zlib", "_shared_library"}
        self.assertGreater(len(OF_PYTHON_ALONE), 15)
        for path in OF_PYTHON_ALONE:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module]
                self.assertLessEqual(set(names), allowed, path)


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: there is no Python 3.6 on PATH or in pyenv's folder")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
