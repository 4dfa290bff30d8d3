"""Reads ahead of the training step: data sets of tf.data that do not do so themselves."""

from .. import tensorflow
from ..hooks import hook

NAME = "tf_prefetch"
FRAMEWORK = "tensorflow"
CHANGES = "nothing"
DESCRIPTION = "batches of tf.data that are made ready while the step before trains"
LINES = {count: "dataset = dataset.prefetch(%s)  # at its end" % count for count in ("1", "2", "8")}
LOADER = True
_changed = []  # whether a data set was


def values(seen):
    loaders = [loader for loader in seen.loaders if loader.kind == "tf.data" and loader.training]
    if not loaders:
        return None, "no data set of tf.data was seen"
    if all(loader.prefetch for loader in loaders):
        return None, "the data set is prefetched already"
    return ["script"] + sorted(LINES, key=int), None


def no_effect(seen):
    return None if _changed else "no data set of tf.data was read that does not read ahead itself"


def install(value, tf):
    if value not in LINES:
        raise ValueError("unknown value %r" % (value,))

    def begins(arguments, named):
        if tf.executing_eagerly() and not tensorflow.prefetches(arguments[0]):
            arguments[0] = arguments[0].prefetch(int(value))
            _changed[:] = [True]

    hook(tensorflow.session(), tf.data.Dataset, "__iter__", begins)
