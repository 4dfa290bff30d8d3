"""Threads of operations that run side by side. A script that sets them itself has the last word."""

from .. import tensorflow

NAME = "tf_inter_threads"
FRAMEWORK = "tensorflow"
CHANGES = "rounding"
DESCRIPTION = "threads of operations that run side by side"
CALL = "set_inter_op_parallelism_threads"


def values(seen):
    return tensorflow.thread_values(seen, CALL)


def no_effect(seen):
    return "the script sets them itself" if CALL in seen.calls else None


def install(value, tf):
    getattr(tf.config.threading, CALL)(int(value))


def LINES(value):
    return "tf.config.threading.%s(%s)" % (CALL, value)
