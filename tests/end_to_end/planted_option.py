"""A command with an option one value of which computes 5 % less: is it found?

    NOCTURNE=build/release/bin/nocturne python3 tests/end_to_end/planted_option.py [--campaigns 10] [--wall 3min]

Half a second a run, timed as whole processes, which differ by themselves by a tenth. As many campaigns over four equal values
stand beside, in turns. In at least 8 of 10 the planted value is FASTER, with the option among the changes; of the equal ones
at most 1 of 10 says FASTER of what is not: their other settings (an allocator, huge pages) may truly matter, so each FASTER is
measured again by 80 fresh pairs. Minutes on a quiet machine: campaigns times twice the wall time.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from inert_option import run_campaign

LOOP = """import sys
count = 9_000_000
if "p" in sys.argv[-1].rpartition("=")[2]:
    count = count * 95 // 100
x = 1
for _ in range(count):
    x = x * 3 % 1000003
"""
PLANTED, EQUAL = "--mode=a,p", "--mode=a,b,c,d"
FEWEST_FOUND, MOST_FALSE = 0.8, 0.1
FRESH_PAIRS = "80"


def verified(program, folder):
    """What fresh pairs say of the winner."""
    common = [program, "--data", str(folder / "data")]
    profile = folder / "winner.json"
    subprocess.run([*common, "export", "-o", str(profile)], cwd=folder, capture_output=True, check=True)
    again = subprocess.run([*common, "verify", str(profile), "--pairs", FRESH_PAIRS, "--most-pairs", FRESH_PAIRS, "--json"],
                           cwd=folder, capture_output=True, text=True, check=False)
    return {key: value for key, value in json.loads(again.stdout)["profiles"][0].items()
            if key in ("finding", "because", "gain_percent", "low_percent", "high_percent", "pairs")}


def campaign(program, option, wall):
    with tempfile.TemporaryDirectory(prefix="nocturne-planted-") as name:
        folder = pathlib.Path(name)
        script = folder / "loop.py"
        script.write_text(LOOP)
        began = time.monotonic()
        result = run_campaign(program, folder, wall, ["--vary", option, "--", sys.executable, str(script)])
        if option == EQUAL and result["verdict"] == "faster":
            result["again"] = verified(program, folder)
        print(f"{option} {time.monotonic() - began:.0f} s {json.dumps(result)}", flush=True)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=10)
    parser.add_argument("--wall", default="3min")
    parser.add_argument("--only", choices=("planted", "equal"))
    arguments = parser.parse_args()
    program = str(pathlib.Path(os.environ["NOCTURNE"]).absolute())
    found = faster = false = 0
    for _ in range(arguments.campaigns):
        if arguments.only != "equal":
            planted = campaign(program, PLANTED, arguments.wall)
            found += planted["verdict"] == "faster" and "mode" in planted["changes"]
        if arguments.only != "planted":
            equal = campaign(program, EQUAL, arguments.wall)
            faster += equal["verdict"] == "faster"
            false += equal["verdict"] == "faster" and equal["again"].get("low_percent", 0) <= 0
    print(f"of {arguments.campaigns} campaigns {found} found the planted 5 %; of as many over equal values {faster} say FASTER, "
          f"{false} of them of what fresh pairs do not find faster" + (f" (only {arguments.only})" if arguments.only else ""))
    few = arguments.only != "equal" and found < FEWEST_FOUND * arguments.campaigns
    sys.exit(few or false > MOST_FALSE * arguments.campaigns)


if __name__ == "__main__":
    main()
