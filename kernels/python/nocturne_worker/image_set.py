"""Labelled images in memory as they are stored, one byte a pixel: MNIST's IDX files, checked against SHA256SUMS, or
synthetic ones, which are the same in every run."""

import array
import gzip
import hashlib
import os
import struct
import zlib

from .counter_random import draws, key_of, numpy_or_none
from .refusal import Unsupported


PIXEL_SCALE = 1.0 / 255.0


class DataError(Exception):
    """The files are missing, torn, or do not fit the network."""


class ImageSet(object):
    """`images`: bytes, so many times the pixels of `shape` (C, H, W) as there are `labels`: bytes or a sequence of
    numbers. `count`: of the data set, in which they repeat; None: as many as there are."""

    def __init__(self, shape, images, labels, count=None):
        self.shape, self.images, self.labels = shape, images, labels
        self.stored = len(labels)
        self.count = count or self.stored
        self.pixels = len(images) // self.stored
        self._arrays = None

    def take_stored(self, indices):
        """(N, C, H, W) bytes as they are stored, and N labels as int64: NumPy arrays of their own."""
        numpy = numpy_or_none()
        if self._arrays is None:
            images = numpy.frombuffer(self.images, dtype=numpy.uint8).reshape((self.stored, self.pixels))
            self._arrays = images, numpy.array(list(self.labels), dtype=numpy.int64)
        images, labels = self._arrays
        if self.count > self.stored:
            indices = [index % self.stored for index in indices]
        return images[indices].reshape((len(indices),) + self.shape), labels[indices]

    def take(self, indices):
        """The same, the images as f32 scaled to [0, 1]."""
        stored, labels = self.take_stored(indices)
        numpy = numpy_or_none()
        batch = stored.astype(numpy.float32)
        batch *= numpy.float32(PIXEL_SCALE)
        return batch, labels


def _stated_checksum(folder, name):
    path = os.path.join(folder, "SHA256SUMS")
    try:
        with open(path) as file:
            for line in file:
                digits, _, listed = line.strip().partition(" ")
                if listed.lstrip(" *") == name:
                    return digits
    except OSError:
        raise DataError("%s: is missing: without it %s cannot be checked" % (path, name))
    raise DataError("%s: does not name %s" % (path, name))


def _read_idx(folder, name):
    """Returns (dimensions, bytes)."""
    path = os.path.join(folder, name)
    stated = _stated_checksum(folder, name)
    try:
        with open(path, "rb") as file:
            packed = file.read()
    except OSError as error:
        raise DataError("%s: cannot be opened: %s" % (path, error.strerror))
    found = hashlib.sha256(packed).hexdigest()
    if found != stated:
        raise DataError("%s: wrong checksum: SHA256SUMS states %s, the file has %s; copy the file again"
                        % (path, stated, found))
    try:
        values = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        raise DataError("%s: is not a whole gzip file" % path)
    if len(values) < 4 or values[:3] != b"\0\0\x08" or len(values) < 4 + 4 * values[3]:
        raise DataError("%s: is not an IDX file of unsigned bytes" % path)
    dimensions = struct.unpack(">%dI" % values[3], values[4:4 + 4 * values[3]])
    count = 1
    for side in dimensions:
        count *= side
    content = values[4 + 4 * len(dimensions):]
    if count != len(content):
        raise DataError("%s: its dimensions do not fit its size" % path)
    return dimensions, content


def read_mnist(folder, split, network):
    """`split`: "train" or "t10k"."""
    if not folder:
        raise DataError("the folder of the data set is not named")
    label_dimensions, labels = _read_idx(folder, split + "-labels-idx1-ubyte.gz")
    dimensions, images = _read_idx(folder, split + "-images-idx3-ubyte.gz")
    where = os.path.join(folder, split)
    if len(label_dimensions) != 1 or len(dimensions) != 3 or dimensions[0] != len(labels) or not labels:
        raise DataError("%s: images and labels do not belong together" % where)
    if (1,) + dimensions[1:] != network.image:
        raise DataError("%s: the images have not the shape that network %s reads" % (where, network.name))
    if max(labels) >= network.classes:
        raise DataError("%s: there is a label that is no class of network %s" % (where, network.name))
    return ImageSet(network.image, images, labels)


SYNTHETIC_COUNT, SYNTHETIC_STEPS = 256, 64


def synthetic_images(network, batch):
    """Random pixels and labels: for the time of a step, which does not depend on what is in an image. The same as the
    native workers' (kernels/data/stored_images.hpp); they repeat, so that an epoch is 64 steps or more and has no smaller batch."""
    pixels = network.image[0] * network.image[1] * network.image[2]
    bits = draws(key_of(0, 0x5e7), SYNTHETIC_COUNT * pixels // 8)
    images = (bits if hasattr(bits, "tobytes") else array.array("Q", bits)).tobytes()
    labels = [int(each) % network.classes for each in draws(key_of(0, 0x5e8), SYNTHETIC_COUNT)]
    return ImageSet(network.image, images, labels, max(SYNTHETIC_STEPS, -(-SYNTHETIC_COUNT // batch)) * batch)


def load_images(request, network, split, batch):
    """Raises Unsupported for a data set that this network is not trained with, DataError where files do not fit."""
    if request.data != network.data:
        raise Unsupported("unknown data set '%s', known for network %s: %s" % (request.data, network.name, network.data))
    if network.data == "synthetic":
        return synthetic_images(network, batch)
    return read_mnist(request.data_folder, split, network)
