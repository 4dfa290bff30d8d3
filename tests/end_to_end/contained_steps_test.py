"""A profile of the containers example, applied and by its exported script, trains as fast as the campaign measured: within 3 %,
for every runtime that can run here. The campaign's own run is repeated by the line that the profile keeps of it, in turns with
both; compared are medians of steps, a round at a time, until the mean is known to 1.5 %.

Skipped (77) where no runtime can run, or our worker was not built. The image is debian-12 where debootstrap can make it
(NOCTURNE_DATA_OF_IMAGES: a data folder that has it), else one of the worker and its libraries."""

import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

from containers_test import usable
from mean_interval import mean_and_half
from workspace import Workspace

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONEDNN = os.environ.get("NOCTURNE_ONEDNN", "")
MARGIN, ENOUGH, FEWEST, MOST = 0.03, 0.015, 5, 20


def example(runtime):
    text = (ROOT / "examples" / "containers.json").read_text()
    document = json.loads(re.sub(r"(?m)^\s*//.*$", "", text))
    document["campaign"] = f"containers-{runtime}"
    container = next(each for each in document["space"]["parameters"] if each["name"] == "container")
    container["values"], container["default"] = ["host", runtime], runtime
    document["verify"].update({"pairs": 3, "most_pairs": 3, "simplify": False})
    document["budget"] = {"trials": 1}
    return document


def median_step(text):
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert events[-1]["event"] == "end" and events[-1]["status"] == "ok", events[-1]
    return statistics.median(event["wall_ns"] / event["steps"] for event in events if event["event"] == "sample")


def ran(words, **keywords):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600, **keywords)
    assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


class Trained:
    """The three ways to train, each in a folder of its own."""

    def __init__(self, place, runtime):
        self.place, self.name = place, f"containers-{runtime}"
        done = place.run("tune", place.write(example(runtime), f"{runtime}.json"))
        assert done.returncode in (0, 1), done.stderr
        place.run("export", self.name, "--force", check=0)
        self.profile = json.loads((place.data / "profiles" / f"{self.name}.json").read_text())
        assert self.profile["configuration"]["container"] == runtime, self.profile["configuration"]
        self.steps = self.profile["training"]["steps"]

    def campaign(self):
        return median_step(ran(["sh", "-c", self.profile["repeat"]]))  # its events come on standard output

    def applied(self):
        out = self.place.folder / "applied"
        self.place.run("apply", self.name, "--steps", self.steps, "--output", out, check=0)
        return median_step((out / "events.jsonl").read_text())

    def script(self):
        out = self.place.folder / "by script"
        ran(["sh", self.place.data / "profiles" / f"{self.name}.sh"],
            env={**os.environ, "OUTPUT": str(out), "STEPS": str(self.steps)})
        return median_step((out / "events.jsonl").read_text())


def compare(trained):
    """{way: (mean of ln against the campaign's, half of its interval)}"""
    ways = {"applied": trained.applied, "script": trained.script}
    ratios = {way: [] for way in ways}
    for round_number in range(MOST):
        order = [("campaign", trained.campaign), *ways.items()]
        times = {way: train() for way, train in (order if round_number % 2 else reversed(order))}
        for way in ways:
            ratios[way].append(math.log(times[way] / times["campaign"]))
        known = {way: mean_and_half(each) for way, each in ratios.items() if len(each) >= FEWEST}
        if known and all(half <= ENOUGH for _, half in known.values()):
            break
    return known, len(ratios["applied"])


def main():
    if not ONEDNN or not os.path.exists(ONEDNN):
        print("nocturne-onednn was not built")
        sys.exit(77)
    with Workspace() as place:
        runtimes = usable(place)
        images = os.environ.get("NOCTURNE_DATA_OF_IMAGES")
        if not runtimes or not (images or (shutil.which("debootstrap") and os.geteuid() == 0)):
            print("no container runtime can run here, or no image be made")
            sys.exit(77)
        if images:
            place.data.mkdir(parents=True)
            (place.data / "images").symlink_to(pathlib.Path(images) / "images")
        wrong = []
        for runtime in runtimes:
            trained = Trained(place, runtime)
            known, rounds = compare(trained)
            for way, (mean, half) in known.items():
                print(f"{runtime}, {way}: {100 * math.expm1(mean):+.1f} % (± {100 * half:.1f}, {rounds} rounds)", flush=True)
                if abs(mean) > MARGIN:
                    wrong.append((runtime, way, mean, half))
        assert not wrong, wrong


if __name__ == "__main__":
    main()
