"""A worker for tests that simulates a training: its times, its waiting and a device's memory are functions of its configuration.

`data_wait_percent` of each step is said to be waiting for data (0). With `device_mib` it has a device of so much memory, and
takes 100 MiB and a MiB an image of it; where that is too much it ends as `out_of_memory` before it is ready, and then says half
of what it needed, as an allocator had given it by then. A larger batch is faster by the image. Its import alone differs
between processes, by at most 10 us.
"""

import argparse
import json
import os
import zlib

MIB = 1 << 20


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

    def end(status, reason, device_bytes):
        say("memory", peak_rss_bytes=8 * MIB, device_bytes=device_bytes)
        say("end", status=status, reason=reason)

    batch = configuration.get("batch", 1)
    has = configuration.get("device_mib", 0) * MIB
    needs = (100 + batch) * MIB if has else 0
    say("hello", protocol=1, worker="simulated")
    process_sd = 1e-9 * (zlib.crc32(os.environ.get("NOCTURNE_RUN_ID", "").encode()) % 10000)
    for phase, seconds in (("import", 0.001 + process_sd), ("data", 0.001)):
        say("phase_begin", name=phase)
        say("phase_end", name=phase, wall_s=seconds, cpu_s=seconds)
    say("phase_begin", name="compile")
    if needs > has:
        return end("out_of_memory", "the device has %d MiB" % (has // MIB), needs // 2)
    say("phase_end", name="compile", wall_s=0.001, cpu_s=0.001)
    say("ready", threads=1, versions={"simulated": "1"}, **({"device_memory_bytes": has} if has else {}))
    step_ns = 200000 + 100 * batch
    say("phase_begin", name="first_step")
    say("phase_end", name="first_step", wall_s=step_ns * 1e-9, cpu_s=step_ns * 1e-9)
    step = 1

    def train(steps):
        nonlocal step
        for _ in range(steps):
            say("sample", first_step=step, steps=1, wall_ns=step_ns, cpu_ns=step_ns,
                data_wait_ns=step_ns * configuration.get("data_wait_percent", 0) // 100, loss=2.3 / step)
            step += 1

    if request.get("turns"):
        with open(request["turns"]) as turns:
            for line in iter(turns.readline, ""):
                train(int(line))
    else:
        train(request["steps"])
    return end("ok", "", needs)


main()
