"""What a script here measures of its own steps: only where EXAMPLE_CLOCK is set, so that nothing it prints depends on time.

EXAMPLE_CLOCK=1 prints how many steps there were and the median of their milliseconds; with the name of a file in place
of the 1 the seconds from each step's end to the next are added to it as well, a line of JSON.
"""

import json
import os
import statistics
import time

SKIPPED = 5  # the first steps: memory is allocated, kernels are chosen


class OwnClock:
    def __init__(self, unit="step"):
        self.unit = unit
        self.file = os.environ.get("EXAMPLE_CLOCK")
        self.ends = []

    def step(self):
        if self.file:
            self.ends.append(time.perf_counter())

    def report(self):
        seconds = [after - before for before, after in zip(self.ends, self.ends[1:])]
        if len(seconds) <= SKIPPED:
            return
        print("own clock: %d times a %s, median %.4f ms" % (
            len(self.ends), self.unit, 1000 * statistics.median(seconds[SKIPPED:])), flush=True)
        if self.file != "1":
            with open(self.file, "a") as file:
                file.write(json.dumps({"unit": self.unit, "seconds": seconds}) + "\n")
