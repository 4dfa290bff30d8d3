"""Turns device code into C++ for the CPU: launches and mma.sync, the two things that are not C++, become calls.

usage: device_code.py IN.cu OUT.cpp"""

import re
import sys

LAUNCH = re.compile(r"(\w+(?:<[^<>;]*>)?)<<<(.*?)>>>\(", re.DOTALL)
MMA = re.compile(r'asm volatile\(\s*"mma\.sync\.aligned\.m16n8k(\d+)\..*?\);', re.DOTALL)


def translated(text):
    text = LAUNCH.sub(r"::nocturne::simulated::Launch(\2)([](auto... given) { \1(given...); }, ", text)
    text = MMA.sub(r"::nocturne::simulated::multiply_ones(c, ones, \1);", text)
    for left in ("<<<", ">>>", "asm "):
        if left in text:
            raise SystemExit("device_code.py: '%s' is left in the translation: teach this script what it means" % left)
    return '#include "tests/kernels/cuda/simulated_gpu/device_side.hpp"\n' + text


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        written = translated(source.read())
    with open(sys.argv[2], "w", encoding="utf-8") as target:
        target.write(written)
