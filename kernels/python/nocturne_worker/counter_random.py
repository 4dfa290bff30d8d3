"""Random numbers that are functions of a counter: the same ones as the native workers' (kernels/data/counter_random.hpp), so
that a seed means the same weights and the same order of images everywhere.

NumPy computes them where it is there; without it they are the same, slower.
"""

import array

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio, SplitMix64's increment
MASK = (1 << 64) - 1


def numpy_or_none():
    try:
        import numpy
        return numpy
    except ImportError:
        return None


def mix64(value):
    """The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, figure 17)."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def key_of(seed, first, second=0):
    """One well-mixed key from a seed and up to two numbers that distinguish its uses."""
    outer = mix64((mix64((seed + GOLDEN) & MASK) + first * GOLDEN + 1) & MASK)
    return mix64((outer + second * GOLDEN + 2) & MASK)


def draws(key, count):
    """64 bits for each counter from 0 to `count` - 1."""
    numpy = numpy_or_none()
    if numpy is None:
        return [mix64((key + i * GOLDEN) & MASK) for i in range(count)]
    unsigned = numpy.uint64
    values = numpy.arange(count, dtype=unsigned)
    values *= unsigned(GOLDEN)
    values += unsigned(key)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values ^= values >> unsigned(shift)
        values *= unsigned(factor)
    values ^= values >> unsigned(31)
    return values


def symmetric(key, count, limit):
    """`count` values uniform in ±limit, f32, as the native worker has them bit by bit."""
    numpy = numpy_or_none()
    if numpy is None:
        scale = array.array("f", [limit])[0]
        return array.array("f", [(2.0 * ((bits >> 40) * 2.0 ** -24) - 1.0) * scale for bits in draws(key, count)])
    unit = (draws(key, count) >> numpy.uint64(40)).astype(numpy.float32) * numpy.float32(2.0 ** -24)
    return (numpy.float32(2) * unit - numpy.float32(1)) * numpy.float32(limit)


def epoch_order(count, seed, epoch):
    """A random permutation of [0, count), the same for the same seed and epoch everywhere (Fisher and Yates)."""
    numpy = numpy_or_none()
    bits = draws(key_of(seed, 0x0DE5, epoch), count + 1)
    if numpy is None:
        others = [0] + [bits[i] % i for i in range(1, count + 1)]
    else:
        others = [0] + (bits[1:] % numpy.arange(1, count + 1, dtype=numpy.uint64)).tolist()
    order = list(range(count))
    for i in range(count, 1, -1):
        other = others[i]
        order[i - 1], order[other] = order[other], order[i - 1]
    return order
