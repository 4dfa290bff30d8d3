"""Work that takes seconds of a clock that nothing else moves."""

import time


class Clock(object):
    now = 100.0

    def spend(self, seconds):
        self.now += seconds


clock = Clock()
time.monotonic = lambda: clock.now
time.process_time = lambda: clock.now / 2
