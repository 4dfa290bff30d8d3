"""What a script here measures of its own steps: only where EXAMPLE_CLOCK is set, so that nothing it prints depends on time."""

import os
import statistics
import time

SKIPPED = 5  # the first steps: memory is allocated, kernels are chosen


class OwnClock:
    def __init__(self, unit="step"):
        self.unit = unit
        self.on = bool(os.environ.get("EXAMPLE_CLOCK"))
        self.ends = []

    def step(self, *_, **__):
        """A step has ended; as a callback of a framework it may be given anything."""
        if self.on:
            self.ends.append(time.perf_counter())

    def report(self):
        if self.on and len(self.ends) > SKIPPED + 1:
            seconds = [after - before for before, after in zip(self.ends, self.ends[1:])][SKIPPED:]
            print("own clock: %d times a %s, median %.4f ms" % (len(self.ends), self.unit, 1000 * statistics.median(seconds)), flush=True)
