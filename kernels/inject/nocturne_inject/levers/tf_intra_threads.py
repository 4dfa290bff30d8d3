"""Threads of one operation. A script that sets them itself has the last word."""

from .. import tensorflow

NAME = "tf_intra_threads"
FRAMEWORK = "tensorflow"
CHANGES = "rounding"
DESCRIPTION = "threads of one operation"
CALL = "set_intra_op_parallelism_threads"


def values(seen):
    return tensorflow.thread_values(seen, CALL)


def no_effect(seen):
    return "the script sets them itself" if CALL in seen.calls else None


def install(value, tf):
    getattr(tf.config.threading, CALL)(int(value))


def LINES(value):
    return "tf.config.threading.%s(%s)" % (CALL, value)
