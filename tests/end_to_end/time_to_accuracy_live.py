"""Does a training take as long to its accuracy as was predicted, and does the winner get there first?

    NOCTURNE=build/release/bin/nocturne python3 tests/end_to_end/time_to_accuracy_live.py [--wall 20min] [--data DIR]

Tunes examples/mnist-to-accuracy.json, and the same space for the time of 12 epochs. Then, with seeds that no campaign has seen:

- 20 configurations drawn from the trials train until the target is reached; at least 17 must take what was predicted of one
  training (90 % interval);
- the default, the winner, and the winner for 12 epochs train five times each, in turns: the winner is to be there before both,
  by the interval of the paired ratios, or its campaign must have said that it cannot tell.

An hour and a half on a quiet machine. With --data what was measured there is kept, and goes on.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from mean_interval import mean_and_half

HERE = pathlib.Path(__file__).resolve()
EXAMPLE = HERE.parents[2] / "examples" / "mnist-to-accuracy.json"
DRAWN, FEWEST_WITHIN, TRAININGS = 20, 17, 5
FRESH_SEED = 7_000_000  # behind those of curves and finals


def without_comments(text):
    """The example's comments stand on lines of their own."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


class Bench:
    def __init__(self, data):
        self.program = [str(pathlib.Path(os.environ["NOCTURNE"]).absolute()), "--data", str(data)]
        self.folder = pathlib.Path(data)
        self.document = json.loads(without_comments(EXAMPLE.read_text()))
        self.document.pop("$schema")
        self.target = self.document["objective"]["accuracy"]
        self.most_epochs = self.document["objective"]["most_epochs"]

    def run(self, *words, given=None):
        done = subprocess.run([*self.program, *words], input=given, capture_output=True, text=True, check=False)
        if not done.stdout.strip():
            sys.exit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    def tune(self, document, wall):
        file = self.folder / f"{document['campaign']}.json"
        file.write_text(json.dumps(document))
        return self.run("tune", str(file), "--wall", wall, "--json")

    def for_epochs(self):
        """The same space for a number of epochs: what changes what is learnt alone is not a choice there."""
        document = json.loads(json.dumps(self.document))
        document["campaign"] += "-12-epochs"
        document["objective"] = {"epochs": [12]}
        document["space"]["parameters"] = [each for each in document["space"]["parameters"]
                                           if each["name"] != "learning_rate_rule"]
        document["space"]["constraints"] = document["space"]["constraints"][:1]
        return document

    def train(self, configuration, seed):
        """Seconds until the target, evaluations not counted; None: it is not reached."""
        order = {"schema": "order", "version": 4, "document": self.document, "process_sd": 0.05, "cpus": [],
                 "runs_folder": "", "prepare_within_ns": None,
                 "gate": {"configuration": configuration, "reference": False, "against": None,
                          "run": {"purpose": "verify", "steps": 0, "epochs": self.most_epochs, "accuracy": False, "seed": seed,
                                  "deadline_ns": 1200 * 10**9, "gate": None, "initial": "", "learning": "none",
                                  "curve": {"points_per_epoch": 4, "until": self.target}}}}
        run = self.run("execute", given=json.dumps(order))["gate"]["run"]["run"]
        reached = [point["steps"] for point in run["curve"] if point["test"]["accuracy"] >= self.target]
        if not reached:
            return None
        took = sum(phase["wall_ns"] for phase in run["phases"] if phase["finished"] and phase["name"] != "accuracy")
        took += sum(sample["wall_ns"] for sample in run["samples"] if sample["first_step"] < reached[0])
        return took / 1e9


def check_predictions(bench, name):
    trials = [each for each in bench.run("list", "trials", name, "--json")["trials"] if each["outcome"] == "ok"]
    drawn = random.Random(1).sample(trials, min(DRAWN, len(trials)))
    within = 0
    for count, trial in enumerate(drawn):
        expected = bench.run("explain", str(trial["trial"]), name, "--json")["target"]
        took = bench.train(trial["configuration"], FRESH_SEED + count)
        low, high = expected["one_training_low"], expected["one_training_high"]
        inside = took is not None and low <= took <= high
        within += inside
        print(f"trial {trial['trial']} {json.dumps(trial['configuration'])}: {took} s, predicted {low:.1f} to {high:.1f}, "
              f"{'within' if inside else 'outside'}", flush=True)
    print(f"{within} of {len(drawn)} trainings took what was predicted")
    return within >= FEWEST_WITHIN * len(drawn) / DRAWN


def ratio(others, winners):
    """How many times as fast the winner is, with its 95 % interval (Student's t of paired log ratios)."""
    logs = [math.log(other / winner) for other, winner in zip(others, winners) if other and winner]
    if len(logs) < 3:
        return None
    mean, error = mean_and_half(logs)
    return {"times": math.exp(mean), "low": math.exp(mean - error), "high": math.exp(mean + error), "pairs": len(logs)}


def check_winner(bench, page, for_epochs):
    sides = {"default": page["default"]["configuration"], "winner": page["best"]["configuration"],
             "winner of 12 epochs": {**page["default"]["configuration"], **for_epochs["best"]["configuration"]}}
    seconds = {name: [] for name in sides}
    for count in range(TRAININGS):
        for name in random.Random(count).sample(list(sides), len(sides)):
            seconds[name].append(bench.train(sides[name], FRESH_SEED + 1000 + count))
            print(f"{name}: {seconds[name][-1]} s", flush=True)
    good = True
    for name in "default", "winner of 12 epochs":
        if sides[name] == sides["winner"]:
            print(f"the winner is the {name}")
            continue
        found = ratio(seconds[name], seconds["winner"])
        print(f"the winner against the {name}: {json.dumps(found)}; {json.dumps(sides[name])}")
        good = good and found is not None and found["low"] > 1
    return good or page["gain"] is None or page["gain"]["verdict"] != "faster"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wall", default="20min", help="of each campaign")
    parser.add_argument("--data", help="a data folder that is kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nocturne-accuracy-") as temporary:
        bench = Bench(pathlib.Path(arguments.data or temporary).absolute())
        bench.folder.mkdir(exist_ok=True)
        began = time.monotonic()
        page = bench.tune(bench.document, arguments.wall)
        spent = time.monotonic() - began
        print(json.dumps({"seconds": round(spent), "target": page["target"], "gain": page["gain"],
                          "best": page["best"]["configuration"]}), flush=True)
        for_epochs = bench.tune(bench.for_epochs(), arguments.wall)
        predicted = check_predictions(bench, bench.document["campaign"])
        won = check_winner(bench, page, for_epochs)
    sys.exit(not (predicted and won))


if __name__ == "__main__":
    main()
