"""Instead of time.monotonic and time.process_time: a clock that nothing but the stand-ins' work moves; of each second of it the
processor works a half."""

import time


class Clock(object):
    now = 100.0

    def spend(self, seconds):
        self.now += seconds


clock = Clock()
time.monotonic = lambda: clock.now
time.process_time = lambda: clock.now / 2
