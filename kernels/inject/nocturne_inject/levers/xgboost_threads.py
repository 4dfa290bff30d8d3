"""Threads of XGBoost. Without a number of the script's own OMP_NUM_THREADS has it, and is varied anyway."""

import functools

from . import threads

NAME = "xgboost_threads"
FRAMEWORK = "xgboost"
CHANGES = "rounding"
DESCRIPTION = "threads that grow a tree"
LINES = threads.counted_lines('params["nthread"] = %d')
values = threads.own_values


def install(value, xgboost):
    original, count = xgboost.Booster.set_param, int(value)

    @functools.wraps(original)
    def set_param(booster, *arguments, **named):  # the constructor calls it too
        original(booster, *arguments, **named)
        original(booster, {"nthread": count})

    xgboost.Booster.set_param = set_param
