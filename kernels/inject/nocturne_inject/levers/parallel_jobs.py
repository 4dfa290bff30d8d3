"""How much is fitted at the same time where the script leaves it open, which is one thing after the other.

joblib's own setting for that (parallel_config) does not reach what asks for threads, as forests do, without a backend; a
backend would be for all: so what is left open is filled in.
"""

import functools
import importlib

from . import threads

NAME = "parallel_jobs"
FRAMEWORK = "sklearn"
CHANGES = "nothing"
DESCRIPTION = "trees, folds or candidates that are fitted at the same time"
LINES = threads.counted_lines("# n_jobs=%d where an estimator, a search or a validation is made that has it", fewest=2)


def values(seen):
    if seen.cpus < 2:
        return None, "the process may use one core only"
    if "parallel" not in seen.calls:
        return None, "the script says itself how many" if "n_jobs" in seen.calls else "nothing was fitted that could be shared out"
    return ["script"] + [str(count) for count in threads.counts(seen.cpus) if count > 1], None


def install(value, sklearn):
    joblib, count = importlib.import_module("joblib"), int(value)
    original = joblib.Parallel.__init__

    @functools.wraps(original)
    def made(self, n_jobs=None, *arguments, **named):
        if n_jobs is None and not joblib.parallel.get_active_backend()[0].nesting_level:  # what it helps with has the cores
            n_jobs = count
        original(self, n_jobs, *arguments, **named)

    joblib.Parallel.__init__ = made
