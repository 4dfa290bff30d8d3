"""What a training begins with, as a file: weights and the images of each step (measure/protocol/initial_state.hpp)."""

import array
import json
import math
import os
import struct
import sys

MAGIC = b"NOCTINIT"
VERSION = 1
LONGEST_HEADER = 1 << 20
MOST_NUMBERS = 1 << 30  # 4 GiB: beyond it is a slip


class StateError(Exception):
    """The file does not fit; its text names the file and what is wrong with it."""


class InitialState(object):
    def __init__(self, network, tensors, batches):
        self.network = network  # name
        self.tensors = tensors  # [(name, shape, array of f32)]
        self.batches = batches  # [[image, …], …]


def _refuse(path, what):
    raise StateError("initial state: %s: %s" % (path, what))


def _little_endian(values):
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values


def _product(shape):
    count = 1
    for side in shape:
        count *= side
    return count


def write_initial_state(path, state):
    """Replaces the file whole."""
    header = json.dumps({"network": state.network, "batches": [len(batch) for batch in state.batches],
                         "tensors": [{"name": name, "shape": list(shape)} for name, shape, _ in state.tensors]})
    packed = header.encode("utf-8")
    beside = path + ".writing"  # a reader sees all of it or nothing
    try:
        with open(beside, "wb") as file:
            file.write(MAGIC + struct.pack("<II", VERSION, len(packed)) + packed)
            for name, shape, values in state.tensors:
                if len(values) != _product(shape) or not all(map(math.isfinite, values)):
                    _refuse(path, "tensor '%s' has not the values that its shape says, all finite" % name)
                file.write(_little_endian(array.array("f", values)).tobytes())
            for batch in state.batches:
                file.write(_little_endian(array.array("i", batch)).tobytes())
        os.rename(beside, path)
    except OSError as error:
        _refuse(path, "cannot be written: %s" % error.strerror)


def _parse_header(path, text):
    try:
        header = json.loads(text.decode("utf-8"))
        network = header["network"]
        tensors = [(each["name"], tuple(each["shape"])) for each in header["tensors"]]
        batches = header["batches"]
        sides = [side for _, shape in tensors for side in shape] + list(batches)
        whole = all(isinstance(side, int) and 1 <= side <= MOST_NUMBERS for side in sides)
    except (ValueError, KeyError, TypeError) as error:
        return _refuse(path, "its header cannot be understood: %r" % error)
    if not whole or not all(shape for _, shape in tensors):
        _refuse(path, "its header has an impossible shape")
    if len({name for name, _ in tensors}) != len(tensors):
        _refuse(path, "a tensor comes twice")
    if sum(_product(shape) for _, shape in tensors) + sum(batches) > MOST_NUMBERS:
        _refuse(path, "it says it holds more than a file may hold")
    return network, tensors, batches


def _take(content, at, kind, count):
    values = array.array(kind)
    values.frombytes(content[at:at + 4 * count])
    return _little_endian(values)


def read_initial_state(path):
    """Believes nothing: sizes are checked before anything is allocated."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        return _refuse(path, "cannot be opened: %s" % error.strerror)
    if len(content) < 16 or content[:8] != MAGIC:
        _refuse(path, "it is no such file")
    version, length = struct.unpack("<II", content[8:16])
    if version != VERSION:
        _refuse(path, "it has version %d, this worker reads %d" % (version, VERSION))
    if length > LONGEST_HEADER or 16 + length > len(content):
        _refuse(path, "its header of %d bytes does not fit" % length)
    network, tensors, batches = _parse_header(path, content[16:16 + length])
    at = 16 + length
    expected = at + 4 * (sum(_product(shape) for _, shape in tensors) + sum(batches))
    if len(content) != expected:
        _refuse(path, "it has %d bytes, its header promises %d" % (len(content), expected))
    state = InitialState(network, [], [])
    for name, shape in tensors:
        values = _take(content, at, "f", _product(shape))
        at += 4 * len(values)
        if not all(map(math.isfinite, values)):
            _refuse(path, "tensor '%s' holds a value that is not finite" % name)
        state.tensors.append((name, shape, values))
    for count in batches:
        images = _take(content, at, "i", count)
        at += 4 * count
        if min(images) < 0:
            _refuse(path, "it names image %d" % min(images))
        state.batches.append(list(images))
    return state
