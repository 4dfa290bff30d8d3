"""Which events make a step: the smallest period of the sequence of those who caused them.

A training with one optimizer has steps of one event. A GAN's are of two, of five critics' and a generator's of six.
"""

UNDECIDED = 40  # events without a period: from then on each event is a step
ALONE = 12      # events of one optimizer after which another, made but never used, is no longer awaited


class Periods(object):
    """event() says where a step ends. Until a period is found none ends; what passed until then is no step."""

    def __init__(self, irregular=lambda: None, alive=lambda: ()):
        self.irregular = irregular  # called when each event is made a step for want of a period
        self.alive = alive          # the keys that may yet come
        self.failures = 0           # periods that were found and did not last
        self.forget()

    def forget(self):
        self.history = []
        self.pattern = None         # of one step, beginning behind its last event
        self.place = 0

    @property
    def length(self):
        """Events of a step; None: undecided."""
        return len(self.pattern) if self.pattern else None

    @property
    def regular(self):
        return self.pattern != [None]

    def event(self, key):
        """An event caused by `key`. Returns whether a step ends here."""
        if self.pattern == [None]:
            return True
        if self.pattern:
            if self.pattern[self.place] == key:
                self.place = (self.place + 1) % len(self.pattern)
                return self.place == 0
            if set(self.pattern).intersection(self.alive()):  # else another one has taken their place
                self.failures += 1
            self.forget()
        self.history.append(key)
        if self.failures > 2 or len(self.history) >= UNDECIDED:
            self.pattern = [None]
            self.irregular()
            return True
        period = self.found(set(self.alive()))
        if period:
            self.pattern = self.history[-period:]
        return bool(period)

    def found(self, awaited):
        seen = set(self.history)
        if len(seen) == 1:
            return 1 if awaited <= seen or len(self.history) >= ALONE else None
        if self.history[-ALONE:] == self.history[-1:] * ALONE:  # the others came before the training began in earnest
            return 1
        for period in range(len(seen), len(self.history) // 2 + 1):
            last = self.history[-period:]
            if set(last) == seen and self.history[-2 * period:-period] == last:
                return period
        return None
