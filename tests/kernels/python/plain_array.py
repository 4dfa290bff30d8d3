"""As much of NumPy's array as the layouts between frameworks and the protocol use: tests run without NumPy."""

import itertools


class PlainArray(object):
    """`values`: flat, row-major."""

    def __init__(self, shape, values):
        self.shape, self.values = tuple(shape), list(values)

    @property
    def ndim(self):
        return len(self.shape)

    def at(self, *index):
        flat = 0
        for side, i in zip(self.shape, index):
            flat = flat * side + i
        return self.values[flat]

    def transpose(self, *axes):
        axes = axes or tuple(reversed(range(len(self.shape))))
        shape = [self.shape[axis] for axis in axes]
        values = []
        for index in itertools.product(*map(range, shape)):
            before = [0] * len(axes)
            for axis, i in zip(axes, index):
                before[axis] = i
            values.append(self.at(*before))
        return PlainArray(shape, values)

    def reshape(self, *shape):
        shape = list(shape[0] if isinstance(shape[0], tuple) else shape)
        known = 1
        for side in shape:
            known *= side if side != -1 else 1
        shape = [side if side != -1 else len(self.values) // known for side in shape]
        return PlainArray(shape, self.values)

    def copy(self, order="C"):
        return PlainArray(self.shape, self.values)


def counted(*shape):
    """Each value is its own position."""
    count = 1
    for side in shape:
        count *= side
    return PlainArray(shape, range(count))
