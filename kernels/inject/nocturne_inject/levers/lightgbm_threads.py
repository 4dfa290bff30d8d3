"""Threads of LightGBM. Without a number of the script's own OMP_NUM_THREADS has it, and is varied anyway."""

import functools

from . import Refused, threads

NAME = "lightgbm_threads"
FRAMEWORK = "lightgbm"
CHANGES = "rounding"
DESCRIPTION = "threads that grow a tree"
LINES = threads.counted_lines('params["num_threads"] = %d')
# What it may be called in parameters, most wanted first.
NAMES = ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs")
values = threads.own_values


def install(value, lightgbm):
    """Wherever its library is handed parameters: data that were prepared with other threads would slow a booster down."""
    called = next((name for name in ("_param_dict_to_str", "param_dict_to_str") if hasattr(lightgbm.basic, name)), None)
    if called is None:
        raise Refused("LightGBM %s hands on its parameters in another way" % lightgbm.__version__)
    original = getattr(lightgbm.basic, called)

    @functools.wraps(original)
    def as_text(data):
        others = {name: each for name, each in (data or {}).items() if name not in NAMES}
        return original(dict(others, num_threads=value))

    setattr(lightgbm.basic, called, as_text)
