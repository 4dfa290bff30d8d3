#!/usr/bin/env python3
"""Draws discs, crosses and frames as small JPEGs: a folder of images to try a training on, made without any library.

    python3 draw_shapes.py FOLDER [EACH]       FOLDER/CLASS/NN.jpg, EACH of a class (8)

An image is a mosaic of flat blocks of 8 by 8 pixels. So a block has a mean and nothing else, and no cosine transform is
needed: baseline JPEG, three components of full size, one Huffman table for the means' differences and one with the single
word "no more in this block".
"""

import pathlib
import random
import struct
import sys

BLOCKS = 12  # a side: 96 pixels
CLASSES = {
    "cross": lambda x, y, size: min(abs(x), abs(y)) < 0.35 * size and max(abs(x), abs(y)) < size,
    "disc": lambda x, y, size: x * x + y * y < size * size,
    "frame": lambda x, y, size: 0.5 * size < max(abs(x), abs(y)) < size,
}


def draw(name, number):
    """Rows of blocks, each (red, green, blue): a shape somewhere on a darker ground. The same for the same arguments."""
    chance = random.Random("%s %d" % (name, number))
    ground = [chance.randrange(0, 90) for _ in range(3)]
    colour = [chance.randrange(130, 256) for _ in range(3)]
    size = chance.uniform(0.3, 0.45) * BLOCKS
    left, top = (chance.uniform(0.4, 0.6) * BLOCKS - 0.5 for _ in range(2))
    inside = CLASSES[name]
    return [[colour if inside(x - left, y - top, size) else ground for x in range(BLOCKS)] for y in range(BLOCKS)]


def _components(pixel):
    """Brightness and two differences of colour, each a whole number about 0 (JFIF 1.02, page 3)."""
    red, green, blue = pixel
    brightness = 0.299 * red + 0.587 * green + 0.114 * blue
    values = brightness - 128, 0.564 * (blue - brightness), 0.713 * (red - brightness)
    return [max(-128, min(127, round(value))) for value in values]


def _scan(blocks):
    """The coded means. A difference is told as its number of bits, in four bits, and then those bits."""
    bits, before = [], [0, 0, 0]
    for row in blocks:
        for pixel in row:
            for i, value in enumerate(_components(pixel)):
                difference, before[i] = value - before[i], value
                length = abs(difference).bit_length()
                low = difference if difference > 0 else difference + (1 << length) - 1
                bits.append(format(length, "04b") + (format(low, "0%db" % length) if length else "") + "0")
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    data = bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))
    return data.replace(b"\xff", b"\xff\x00")


def jpeg(blocks):
    """The file's bytes."""
    def segment(marker, content):
        return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content

    width, height = 8 * len(blocks[0]), 8 * len(blocks)
    lengths = bytes([0, 0, 0, 12] + [0] * 12)  # twelve words of four bits
    one = bytes([1] + [0] * 15)                # a single word, of one bit
    return b"".join([
        b"\xff\xd8",
        segment(0xE0, b"JFIF\0" + struct.pack(">BBBHHBB", 1, 2, 0, 1, 1, 0, 0)),
        segment(0xDB, bytes([0] + [8] * 64)),  # a mean is stored as eight times itself
        segment(0xC0, struct.pack(">BHHB", 8, height, width, 3) + bytes([1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0])),
        segment(0xC4, b"\x00" + lengths + bytes(range(12))),
        segment(0xC4, b"\x10" + one + b"\x00"),
        segment(0xDA, bytes([3, 1, 0, 2, 0, 3, 0, 0, 63, 0])),
        _scan(blocks), b"\xff\xd9"])


def draw_folder(folder, each=8):
    for name in CLASSES:
        place = pathlib.Path(folder) / name
        place.mkdir(parents=True, exist_ok=True)
        for number in range(each):
            (place / ("%02d.jpg" % number)).write_bytes(jpeg(draw(name, number)))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    draw_folder(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 8)
