#!/usr/bin/env python3
"""A training as it is, under PyTorch's launcher for CPUs, and under `nocturne apply`: milliseconds a step, in turns.

    examples/scripts/launcher_table.py PROFILE [--rounds 5] [--images 12800] [--python PYTHON] [--nocturne PROGRAM] [-- WORDS...]

PROFILE is what `nocturne export` wrote for the script, or the name of its campaign; without one there are two rows. Each round
runs every row once, in another order than the round before; what else the machine does meets all of them alike. A run's time a
step is the median of the script's own clock (own_clock.py). Prints Markdown: the median of the runs and their range, and how many
times as fast as the script itself, as the median of the rounds and their range; that is by the time of all steps, as a profile may
take a larger batch and so fewer of them. WORDS: the script and its arguments, in place of mnist.py; it must print what own_clock.py
does. Exit codes: 0 done, 1 no row could be measured.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
OWN_CLOCK = re.compile(r"^own clock: (\d+) times a \w+, median ([\d.]+) ms", re.MULTILINE)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=12800, help="of mnist.py's one epoch: 64 of them are a step")
    parser.add_argument("--python", default=sys.executable, help="with PyTorch")
    parser.add_argument("--nocturne", default=str(FOLDER.parents[1] / "build" / "release" / "bin" / "nocturne"))
    words = sys.argv[1:]
    own = words[words.index("--") + 1:] if "--" in words else []
    chosen = parser.parse_args(words[:words.index("--")] if "--" in words else words)
    chosen.words = own or [str(FOLDER / "mnist.py"), "--epochs", "1", "--images", str(chosen.images)]
    return chosen


def rows(chosen):
    """{name: command}"""
    found = {"as it is": [chosen.python] + chosen.words,
             "PyTorch's launcher": [chosen.python, "-m", "torch.backends.xeon.run_cpu"] + chosen.words}
    if chosen.profile:
        found["`nocturne apply`"] = [chosen.nocturne, "apply", chosen.profile, "--"] + found["as it is"]
    return found


def clocked(command):
    """(milliseconds of a step, steps) by the script's own clock, or a sentence why there are none."""
    try:
        done = subprocess.run(command, env=dict(os.environ, EXAMPLE_CLOCK="1"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    except OSError as error:
        return str(error)
    told = OWN_CLOCK.search(done.stdout)
    if done.returncode == 0 and told:
        return float(told.group(2)), int(told.group(1))
    if done.returncode == 0:
        return "its own clock told no time: it made too few steps"
    return "exit code %d: %s" % (done.returncode, (done.stderr.strip().splitlines() or [""])[-1])


def measured(chosen):
    """{name: [(milliseconds, steps) of each round]} and {name: why there are none}."""
    left, found, failed = rows(chosen), {}, {}
    for number in range(chosen.rounds):
        names = list(left)
        for name in names[number % len(names):] + names[:number % len(names)]:
            begin = time.monotonic()
            told = clocked(left[name])
            if isinstance(told, str):
                failed[name] = told
                del left[name]
                found.pop(name, None)
                print("%s: %s" % (name, told), file=sys.stderr)
                continue
            found.setdefault(name, []).append(told)
            print("round %d, %s: %.2f ms a step, %d steps, %.0f s in all" % ((number + 1, name) + told + (time.monotonic() - begin,)),
                  file=sys.stderr)
        if not left:
            break
    return found, failed


def middle(values, form):
    return (form + " (" + form + " to " + form + ")") % (statistics.median(values), min(values), max(values))


def main():
    chosen = options()
    found, failed = measured(chosen)
    print("| %s, %d rounds in turns | ms a step (range) | times as fast (range) |" % (
        os.path.basename(chosen.words[0]), chosen.rounds))
    print("| --- | --- | --- |")
    plain = found.get("as it is")
    for name in rows(chosen):
        if name in failed:
            print("| %s | %s | |" % (name, failed[name]))
            continue
        ratios = [one[0] * one[1] / (other[0] * other[1]) for one, other in zip(plain, found[name])] if plain else []
        print("| %s | %s | %s |" % (name, middle([each[0] for each in found[name]], "%.2f"),
                                    "1" if name == "as it is" else middle(ratios, "%.2f") if ratios else ""))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
