"""A worker in Python for tests: trains nothing; a step takes as long as its configuration says, on paper only.

It says what it was started with in `ready`: variables, interpreter, whether the compile cache was there already, and
what other runs had left in it; it leaves a file there itself.
"""

import argparse
import json
import os
import sys

import fake_python_module  # so that a worker has a second file


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--request")
    parser.add_argument("--events")
    places = parser.parse_args()
    with open(places.request) as file:
        request = json.load(file)
    configuration = request["configuration"]
    events = open(places.events, "a", buffering=1)

    def say(event, **fields):
        events.write(json.dumps(dict(fields, event=event)) + "\n")

    say("hello", protocol=1, worker="fake-python")
    for phase in ("import", "data"):
        say("phase_begin", name=phase)
        say("phase_end", name=phase, wall_s=0.001, cpu_s=0.001)
    cache = os.environ.get("NOCTURNE_COMPILE_CACHE", "")
    was_there = os.path.isdir(cache)
    found = []
    if cache:  # a deployment has none
        os.makedirs(cache, exist_ok=True)
        found = sorted(os.listdir(cache))
        open(os.path.join(cache, "of-" + request["run_id"]), "w").close()
    say("ready", threads=1, versions={"fake": "1"}, python=sys.executable, cache=cache, cache_was_there=was_there,
        found_in_cache=found,
        environment={name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "FAKE_"))})
    step_ns = 1000 * fake_python_module.MICROSECONDS[configuration["framework"]] + 10 * configuration.get("batch", 0)
    say("phase_begin", name="first_step")
    say("phase_end", name="first_step", wall_s=step_ns * 1e-9, cpu_s=step_ns * 1e-9)
    step = 1

    def train(steps):
        nonlocal step
        for _ in range(steps):
            say("sample", first_step=step, steps=1, wall_ns=step_ns, cpu_ns=step_ns, data_wait_ns=0, loss=2.3 / step)
            step += 1

    if request.get("turns"):
        with open(request["turns"]) as turns:
            for line in iter(turns.readline, ""):
                train(int(line))
    else:
        train(request["steps"])
    if os.environ.get("FAKE_DEVICE"):  # the reason for which it lowers its clocks
        say("device", name="Fake GPU", readings=4, energy_j=12.5, temperature_c={"min": 60.0, "max": 91.0},
            throttled={os.environ["FAKE_DEVICE"]: 0.5})
    say("memory", peak_rss_bytes=8 << 20, device_bytes=0)
    say("end", status="ok", reason="")


main()
