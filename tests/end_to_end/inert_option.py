"""Campaigns of a command with an option that does nothing, beside a neighbour that comes and goes: who believes in it?

Of 20 campaigns at most 2 pages may give the option an effect, and at most 3 may find something faster than the default.

    NOCTURNE=build/release/bin/nocturne python3 tests/end_to_end/inert_option.py [--campaigns 20] [--wall 90s]
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


def disturb(over, seed):
    """Every core busy for a second or a few, every half minute or so."""
    chance = random.Random(seed)
    while not over.wait(chance.uniform(10, 40)):
        until = str(chance.uniform(1, 5))
        spin = f"import time\nend = time.time() + {until}\nwhile time.time() < end: pass"
        for process in [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(os.cpu_count())]:
            process.wait()


def run_campaign(program, folder, wall):
    """What its page says of the option, and its verdict."""
    script = folder / "loop.py"
    script.write_text(LOOP)
    common = [program, "--data", str(folder / "data")]
    tuned = subprocess.run([*common, "tune", "--vary", "--mode=a,b,c,d", "--wall", wall, "--json", "--",
                            "python3", str(script)], cwd=folder, capture_output=True, text=True, check=False)
    if not tuned.stdout.strip():
        sys.exit(f"tune ended with {tuned.returncode}: {tuned.stderr[-2000:]}")
    page = json.loads(tuned.stdout)
    matters = page["matters"] or {"much": [], "hardly": [], "unsure": []}
    effects = [each for each in matters["much"] if each["parameter"] == "mode"]
    verdict = page["gain"]["verdict"] if page["gain"] else "none"
    return {"trials": sum(page["outcomes"].values()), "effects": effects, "verdict": verdict,
            "much": [each["parameter"] for each in matters["much"]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=20)
    parser.add_argument("--wall", default="90s")
    arguments = parser.parse_args()
    program = os.environ["NOCTURNE"]
    over = threading.Event()
    neighbour = threading.Thread(target=disturb, args=(over, 1), daemon=True)
    neighbour.start()
    results = []
    for number in range(arguments.campaigns):
        with tempfile.TemporaryDirectory(prefix="nocturne-inert-") as folder:
            began = time.monotonic()
            results.append(run_campaign(str(pathlib.Path(program).absolute()), pathlib.Path(folder), arguments.wall))
            print(f"{number + 1}/{arguments.campaigns} {time.monotonic() - began:.0f} s {json.dumps(results[-1])}", flush=True)
    over.set()
    effects = sum(bool(each["effects"]) for each in results)
    faster = sum(each["verdict"] == "faster" for each in results)
    print(f"of {len(results)} pages {effects} give the option an effect, {faster} say FASTER")
    sys.exit(effects > MOST_EFFECTS * len(results) or faster > MOST_FASTER * len(results))


if __name__ == "__main__":
    main()
