"""Campaigns of what does nothing: who believes in it?

    NOCTURNE=build/release/bin/nocturne python3 tests/end_to_end/inert_option.py [--campaigns 20] [--wall 90s]

A command with an option that does nothing, beside a neighbour that comes and goes. Of 20 campaigns at most 2 pages may give the
option an effect, and at most 3 may find something faster than the default.

    … inert_option.py --python PYTHON --script mnist.py [--wall 2min]

A training of PyTorch in examples/scripts, unchanged, whose steps are seen, with five environment variables that nothing reads; no
neighbour. At most 1 campaign in 10 may find something faster.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

LOOP = "import time\nend = time.process_time() + 0.45\nx = 1\nwhile time.process_time() < end:\n    x = x * 3 % 1000003\n"
MOST_EFFECTS, MOST_FASTER = 0.1, 0.15  # of the campaigns
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "scripts"
TRAININGS = {"mnist.py": ["--epochs", "4"], "language_model.py": [], "classifier.py": [], "vae.py": []}


def disturb(over, seed):
    """Every core busy for a second or a few, every half minute or so."""
    chance = random.Random(seed)
    while not over.wait(chance.uniform(10, 40)):
        until = str(chance.uniform(1, 5))
        spin = f"import time\nend = time.time() + {until}\nwhile time.time() < end: pass"
        for process in [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(os.cpu_count())]:
            process.wait()


def loop(folder):
    """Words of tune behind its options: a loop and its option."""
    script = folder / "loop.py"
    script.write_text(LOOP)
    return ["--vary", "--mode=a,b,c,d", "--", "python3", str(script)]


def training(folder, python, script, seed):
    """Words of tune: a campaign of variables that nothing reads, before a script of examples/scripts."""
    names = ["mode", "nothing_1", "nothing_2", "nothing_3", "nothing_4"]
    file = folder / "inert.json"
    file.write_text(json.dumps({
        "campaign": "inert",
        "worker": {"template": [python, str(SCRIPTS / script), *TRAININGS[script]], "folder": str(folder), "time": "steps",
                   "files": "private", "environment": {name.upper(): "{%s}" % name for name in names}},
        "workload": {"training_examples": 500}, "objective": {"epochs": [1]},
        "space": {"parameters": [{"name": name, "stage": "run", "values": ["a", "b", "c", "d"]} for name in names]},
        "strategy": {"name": "auto", "seed": seed}}))
    return [str(file)]


def run_campaign(program, folder, wall, words):
    """What its page says of the option, and its verdict."""
    common = [program, "--data", str(folder / "data")]
    tuned = subprocess.run([*common, "tune", "--wall", wall, "--json", *words], cwd=folder, capture_output=True, text=True,
                           check=False)
    if not tuned.stdout.strip():
        sys.exit(f"tune ended with {tuned.returncode}: {tuned.stderr[-2000:]}")
    page = json.loads(tuned.stdout)
    matters = page["matters"] or {"much": [], "hardly": [], "unsure": []}
    effects = [each for each in matters["much"] if each["parameter"] == "mode"]
    verdict = page["gain"]["verdict"] if page["gain"] else "none"
    return {"trials": sum(page["outcomes"].values()), "effects": effects, "verdict": verdict,
            "much": [each["parameter"] for each in matters["much"]],
            "changes": [each["parameter"] for each in page["changes"]], "processes": page["processes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=20)
    parser.add_argument("--wall", default="90s")
    parser.add_argument("--script", choices=TRAININGS)
    parser.add_argument("--python", default=sys.executable, help="with PyTorch")
    arguments = parser.parse_args()
    program = os.environ["NOCTURNE"]
    over = threading.Event()
    if not arguments.script:
        threading.Thread(target=disturb, args=(over, 1), daemon=True).start()
    results = []
    for number in range(arguments.campaigns):
        with tempfile.TemporaryDirectory(prefix="nocturne-inert-") as folder:
            began = time.monotonic()
            place = pathlib.Path(folder)
            words = training(place, arguments.python, arguments.script, number + 1) if arguments.script else loop(place)
            results.append(run_campaign(str(pathlib.Path(program).absolute()), place, arguments.wall, words))
            print(f"{number + 1}/{arguments.campaigns} {time.monotonic() - began:.0f} s {json.dumps(results[-1])}", flush=True)
    over.set()
    effects = sum(bool(each["effects"]) for each in results)
    faster = sum(each["verdict"] == "faster" for each in results)
    print(f"of {len(results)} pages {effects} give the option an effect, {faster} say FASTER")
    most = MOST_EFFECTS if arguments.script else MOST_FASTER
    sys.exit(effects > MOST_EFFECTS * len(results) or faster > most * len(results))


if __name__ == "__main__":
    main()
