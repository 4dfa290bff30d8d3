"""Lets the nGraph bridge 0.18 train on AMD processors with AVX-512.

Its own copy of MKL-DNN 0.x asks there for the size of a cache that it only knows of Intel's, and ends the process
("bad err=45") when it weighs Winograd's convolution against the direct one. In that library the functions
…is_winograd_faster_than_direct… are made to answer no: three bytes (xor eax, eax; ret) at the beginning of each. The
losses are then those of plain TensorFlow. Does nothing on other processors, nor where it was done before.

Run as: python3 ngraph_amd_winograd.py ENVIRONMENT. Needs readelf.
"""

import os
import re
import shutil

from _shared_library import Missing, lines_of, run, site_packages

FUNCTION = "is_winograd_faster_than_direct"
ANSWERS_NO = b"\x31\xc0\xc3"
CPU_INFO = "NOCTURNE_FIX_UP_CPUINFO"  # another file than /proc/cpuinfo, for the test


def fix(environment):
    with open(os.environ.get(CPU_INFO, "/proc/cpuinfo")) as file:
        processor = file.read()
    if "AuthenticAMD" not in processor or not re.search(r"^flags\s*:.*\bavx512f\b", processor, re.MULTILINE):
        return "nothing to do: only AMD processors with AVX-512 need it"
    packages = site_packages(environment)
    libraries = [os.path.join(folder, name) for folder, _, names in os.walk(packages) for name in sorted(names)
                 if name.startswith("libmkldnn.so") and "ngraph" in os.path.relpath(folder, packages)]
    libraries = [path for path in libraries if not os.path.islink(path)]
    if not libraries:
        raise Missing("there is no libmkldnn.so of nGraph in %s" % environment)
    changed, before = 0, 0
    for path in libraries:
        offsets = function_offsets(path)
        if not offsets:
            raise Missing("%s has no function %s: another version, which this fix-up does not know" % (path, FUNCTION))
        done, already = patch(path, offsets)
        changed, before = changed + done, before + already
    return "%d functions answer no now, %d did before" % (changed, before)


def function_offsets(path):
    """Where in the file each of the functions begins."""
    segments, addresses = [], []
    for line in lines_of(["readelf", "-W", "-l", "-s", path]):
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in "".join(words[6:-1]):  # LOAD offset virtual physical size memory flags align
            segments.append([int(word, 16) for word in (words[1], words[2], words[4])])
        elif len(words) >= 8 and words[3] == "FUNC" and words[6] != "UND" and FUNCTION in words[7]:
            if int(words[2], 0) >= len(ANSWERS_NO):
                addresses.append(int(words[1], 16))
    result = []
    for address in sorted(set(addresses)):
        inside = [offset + address - begin for offset, begin, size in segments if begin <= address < begin + size]
        if len(inside) != 1:
            raise Missing("%s: a function lies outside of its code" % path)
        result.append(inside[0])
    return result


def patch(path, offsets):
    """(functions changed, functions that were so already); all of them in one move."""
    fresh = path + ".new"
    shutil.copy2(path, fresh)
    changed = 0
    with open(fresh, "r+b") as file:
        for offset in offsets:
            file.seek(offset)
            if file.read(len(ANSWERS_NO)) != ANSWERS_NO:
                file.seek(offset)
                file.write(ANSWERS_NO)
                changed += 1
    os.replace(fresh, path)
    return changed, len(offsets) - changed


if __name__ == "__main__":
    run("ngraph_amd_winograd", fix)
