"""A command with an option one value of which computes 5 % less: is it found?

    NOCTURNE=build/release/bin/nocturne python3 tests/end_to_end/planted_option.py [--campaigns 10] [--wall 3min]

Half a second a run, timed as whole processes, which differ by themselves by a tenth. As many campaigns over four equal values
stand beside, in turns. In at least 8 of 10 the planted value is FASTER, with the option among the changes; of the equal ones
at most 1 of 10 says FASTER. Minutes on a quiet machine: campaigns times twice the wall time.
"""

import argparse
import json
import os
import pathlib
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


def campaign(program, option, wall):
    with tempfile.TemporaryDirectory(prefix="nocturne-planted-") as name:
        folder = pathlib.Path(name)
        script = folder / "loop.py"
        script.write_text(LOOP)
        began = time.monotonic()
        result = run_campaign(program, folder, wall, ["--vary", option, "--", sys.executable, str(script)])
        print(f"{option} {time.monotonic() - began:.0f} s {json.dumps(result)}", flush=True)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=10)
    parser.add_argument("--wall", default="3min")
    arguments = parser.parse_args()
    program = str(pathlib.Path(os.environ["NOCTURNE"]).absolute())
    found = false = 0
    for _ in range(arguments.campaigns):
        planted = campaign(program, PLANTED, arguments.wall)
        found += planted["verdict"] == "faster" and "mode" in planted["changes"]
        false += campaign(program, EQUAL, arguments.wall)["verdict"] == "faster"
    print(f"of {arguments.campaigns} campaigns {found} found the planted 5 %; of as many over equal values {false} say FASTER")
    sys.exit(found < FEWEST_FOUND * arguments.campaigns or false > MOST_FALSE * arguments.campaigns)


if __name__ == "__main__":
    main()
