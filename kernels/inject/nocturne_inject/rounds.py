"""Rounds of steps that a pause ends: what an agent plays between two updates, an evaluation every so many steps.

    found(seconds)    of the times of single steps, in order from the second one on: (steps, seconds) of a round; None: none

Where no loader says what an epoch is, only their times tell that they belong together. A sample that is a whole round has
the pause in it; in samples of single steps it is an outlier, although the training is never without.
"""

import collections

FEWEST = 3      # pauses that are evidence, the one before the first step among them
SPAN = 32       # steps from the first of them to the last, at least: on a busy machine pauses of few steps come by chance
MATTERS = 1.15  # times what its steps alone would take: below, a round is not worth longer samples
LIKE_IT = 4     # a pause is at least so large a part of the largest that must be one
STRAY = 0.2     # other long steps for each of them: a busy machine makes some


def found(seconds):
    if len(seconds) < FEWEST:
        return None
    ordered = sorted(seconds)
    median = ordered[len(ordered) // 2]
    bound = median + (ordered[1 - FEWEST] - median) / LIKE_IT
    long = [-1] + [at for at, each in enumerate(seconds) if each > bound]
    gaps = collections.Counter(after - before for before, after in zip(long, long[1:]))
    length = gaps.most_common(1)[0][0] if gaps else 0
    if length < 2:
        return None
    phase = collections.Counter(at % length for at in long).most_common(1)[0][0]
    ends = [at for at in long if at % length == phase]
    strays = sum(at >= 0 and at % length != phase for at in long)
    if len(ends) < FEWEST or ends[-1] - ends[0] < SPAN or strays > STRAY * len(ends) or ends[-1] - ends[0] != length * (len(ends) - 1):
        return None
    mean = sum(seconds[ends[0] + 1:ends[-1] + 1]) / (len(ends) - 1)
    return (length, mean) if mean > MATTERS * length * median else None
