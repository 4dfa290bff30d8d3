"""The mean of a few values and how well it is known."""

import math
import statistics

# Of Student's t, two-sided 95 %, by degrees of freedom; more than these are counted as 10.
STUDENT_95 = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228}


def mean_and_half(values):
    """(mean, half of its 95 % interval); three values or more."""
    t = STUDENT_95[min(len(values) - 1, max(STUDENT_95))]
    return statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(len(values))
