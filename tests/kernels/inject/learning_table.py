"""What the learning check catches and what it lets pass, on real trainings: a table with figures.

    learning_table.py --judge PROGRAM [--keep FOLDER] [--quick] [SCRIPT ...]

Each case is a lever in front of a script of examples/scripts: one of the engine's, which must pass, or a fault
(planted_lever.py), which must be caught. The module records, as in a campaign: a paired start, and a longer run where the
start does not settle it (of a fault: by the wider bands, those of levers that may change precision). PROGRAM,
nocturne-learning-judge, is the engine's judgement. With --keep a record that is there is not made again. --quick: starts
alone, of some cases of the first script. Exit code: 0 all is as it must be, 1 not so, 77 there is no PyTorch.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from injected import HERE, INJECT, python_with

SKIPPED = 77
SCRIPTS = HERE.parents[2] / "examples" / "scripts"
FIRST_SEED, STARTS, REFERENCES, STEPS = 1000000, 2, (5, 10), 130  # as tuner/campaign/finals/learning_gate.cpp has them
QUICK = ("unchanged", "autocast bf16", "planted rate:2", "planted kept", "planted frozen:0")
FAULTS = ("planted rate:2", "planted rate:0.5", "planted labels", "planted kept")


class Script(object):
    def __init__(self, words, frozen, *levers):
        self.words = words.split()
        self.name = self.words[0]
        self.good = ("unchanged",) + levers
        self.bad = FAULTS + tuple("planted frozen:%d" % each for each in frozen)


def _has_avx512():
    with open("/proc/cpuinfo") as file:
        return " avx512f " in file.read()


ALL = (
    # Without AVX512 oneDNN has no recurrent layer in bf16, and the lever is not offered.
    Script("language_model.py --width 64 --tokens 20000 --epochs 9", range(3), "threads 2", "compile default",
           *(["autocast bf16"] if _has_avx512() else [])),
    Script("mnist.py", range(4), "threads 2", "autocast bf16", "channels_last true", "loader_workers 2",
           "compile default"),
    Script("classifier.py --pictures 1040 --batch-size 16", (0, 8, 10, 15), "threads 2", "autocast bf16", "channels_last true",
           "loader_workers 2", "optimizer fused", "compile default"),
    Script("vae.py", range(4), "threads 2", "autocast bf16", "optimizer fused", "compile default"),
)


class Table(object):
    def __init__(self, judge, folder, keep):
        self.judge = judge
        self.folder = pathlib.Path(keep or folder)
        self.module = pathlib.Path(folder) / "module"
        shutil.copytree(str(INJECT), str(self.module), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(str(INJECT.parent / "python" / "nocturne_steps.py"), str(self.module))
        shutil.copy(str(HERE / "planted_lever.py"), str(self.module / "nocturne_inject" / "levers" / "planted.py"))
        self.wrong = 0

    def record(self, script, case, mode, seed):
        """What the module records of `case`, "unchanged" or a lever and its value."""
        path = self.folder / ("%s %s %s %d.json" % (script.name, case, mode, seed))
        if not path.exists():
            with tempfile.TemporaryDirectory(prefix="nocturne-learning-") as home:
                self.train(script, case, mode, seed, path, home)
        with open(str(path)) as file:
            return json.load(file)

    def train(self, script, case, mode, seed, path, home):
        known = {name: value for name, value in os.environ.items() if not name.startswith("NOCTURNE_")}
        known.update(PYTHONPATH=str(self.module), PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", TMPDIR=home,
                     NOCTURNE_INJECT_LEARNING=str(path), NOCTURNE_INJECT_LEARNING_MODE=mode,
                     NOCTURNE_INJECT_SEED=str(seed), NOCTURNE_STEPS_LIMIT=str(STEPS))
        if not case.startswith("unchanged"):
            name, value = case.split()
            known["NOCTURNE_LEVER_" + name.upper()] = value
        done = subprocess.run([python_with("torch"), str(SCRIPTS / script.name)] + script.words[1:], cwd=home, env=known, timeout=1200,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if not path.exists():
            raise RuntimeError("%s, %s: %s" % (script.name, case, done.stderr.decode()))

    def judged(self, script, case, arithmetic, longer):
        asked = {"arithmetic": arithmetic,
                 "starts": [self.start_of_reference(script, again) for again in range(STARTS)],
                 "start": self.record(script, case, "start", FIRST_SEED), "references": [], "longer": None}
        for count in REFERENCES if longer else (0,):
            if longer:
                asked["references"] = [self.record(script, "unchanged", "run", FIRST_SEED + 1 + each) for each in range(count)]
                asked["longer"] = self.record(script, case, "run", FIRST_SEED)
            judged = json.loads(subprocess.check_output([self.judge], input=json.dumps(asked).encode()).decode())
            if judged["longer"]["verdict"] != "other":
                break
        return judged

    def start_of_reference(self, script, again):
        return self.record(script, "unchanged" if again == 0 else "unchanged again", "start", FIRST_SEED)
    def row(self, script, case, quick):
        """Prints a row; a fault is judged by the narrower bands and, if these catch it, by the wider ones too."""
        good = not case.startswith("planted")
        arithmetic = "precision" if case.startswith("autocast") else "rounding"
        judged = self.judged(script, case, arithmetic, False)
        if judged["start"]["verdict"] != "other" and not quick:
            judged = self.judged(script, case, arithmetic, True)
        lines = ["start %s: %s" % (judged["start"]["verdict"], judged["start"]["sentence"])]
        if judged["longer"]["sentence"] != "not run":
            lines.append("longer run %s: %s" % (judged["longer"]["verdict"], judged["longer"]["sentence"]))
        right = judged["start" if quick and good else "both"]["verdict"] == ("same" if good else "other")
        if not good:
            wider = self.judged(script, case, "precision", False)
            if wider["start"]["verdict"] != "other" and not quick:
                wider = self.judged(script, case, "precision", True)
                lines.append("by the bands of bf16 %s: %s" % (wider["both"]["verdict"], wider["longer"]["sentence"]))
                right = right and wider["both"]["verdict"] == "other"
        self.wrong += not right
        print("%-18s %-19s %s" % (script.name, case.replace("planted ", ""),
                                  ("passes" if good else "caught") if right else "WRONG: " + ("refused" if good else "passes")))
        for line in lines:
            print("    " + line)
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--judge", required=True)
    parser.add_argument("--keep")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT")
    options = parser.parse_args()
    if not python_with("torch"):
        print("skipped: no Python with PyTorch was found, and NOCTURNE_FRAMEWORKS names none")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="nocturne-learning-") as folder:
        table = Table(options.judge, folder, options.keep)
        for script in ALL[:1] if options.quick else ALL:
            if not options.scripts or script.name in options.scripts:
                for case in script.good + script.bad:
                    if not options.quick or case in QUICK:
                        table.row(script, case, options.quick)
    print("%d wrong" % table.wrong if table.wrong else "all is as it must be")
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
