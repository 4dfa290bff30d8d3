"""Lets CNTK run in one process on a machine without the MPI it was built with (Open MPI 1.10).

Its libraries cannot be loaded without libmpi.so.12 and libmpi_cxx.so.1. Where the machine has none, libraries of these
names are linked into cntk/libs: the objects that CNTK takes the address of, and functions that end the process with a
sentence, for none is called by one process alone.

Run as: python3 mpi_stand_ins.py ENVIRONMENT. May be run again. Needs gcc and readelf.
"""

import os
import re

from _shared_library import MARK, Library, Missing, link_stand_in, run, shared_objects, site_packages, system_library

SONAMES = re.compile(r"libmpi(_cxx)?\.so\.")
FUNCTIONS = re.compile(r"(P?MPI_|_ZNK?3MPI|ompi_op_set_cxx|ompi_mpi_cxx_op)[A-Za-z0-9_]*$")
# Objects of the C interface (a communicator, types, an operation). Nobody but MPI reads them: size does not matter.
OBJECTS = re.compile(r"(ompi_mpi_(?!cxx_op)|_ZT[VIS]N3MPI|_ZN3MPI\d+COMM_(WORLD|NULL|SELF))[A-Za-z0-9_]*$")
OBJECT_BYTES = 1024
ENDS = ('static const char text[] = "MPI is not there: this environment of CNTK trains in one process only\\n";'
        ' long r; __asm__ volatile("syscall" : "=a"(r) : "a"(1L), "D"(2L), "S"(text), "d"(sizeof text - 1)'
        ' : "rcx", "r11", "memory"); __builtin_trap();')


def fix(environment):
    folder = os.path.join(site_packages(environment), "cntk", "libs")
    if not os.path.isdir(folder):
        raise Missing("there is no CNTK in %s" % environment)
    libraries = [Library(path) for path in cntk_objects(folder)]
    libraries = [library for library in libraries if MARK not in library.defined]  # those of an earlier run
    asked = sorted({soname for library in libraries for soname in library.needed if SONAMES.match(soname)})
    missing = [soname for soname in asked if system_library(soname) is None]
    if not missing:
        return "nothing to do: CNTK's MPI is there"
    defined = set().union(*(library.defined for library in libraries))
    functions, data, versions = {}, {}, {}
    for library in libraries:
        for symbol in library.undefined:
            if symbol.name in defined:
                continue
            if OBJECTS.match(symbol.name) or (symbol.is_data and FUNCTIONS.match(symbol.name)):
                data[symbol.name] = max(symbol.size, OBJECT_BYTES)
            elif FUNCTIONS.match(symbol.name):
                functions[symbol.name] = ENDS
            else:
                continue
            if symbol.version:
                versions[symbol.name] = symbol.version
    # The first has everything; the others are only asked for by name.
    for number, soname in enumerate(missing):
        first = number == 0
        link_stand_in(os.path.join(folder, soname), soname, functions if first else {}, data if first else {},
                      versions if first else {})
    return "%s stand in for MPI with %d functions and %d objects" % (" and ".join(missing), len(functions), len(data))


def cntk_objects(libs):
    """CNTK's libraries and the modules beside their folder that are linked with them."""
    return shared_objects(libs) + shared_objects(os.path.dirname(libs))


if __name__ == "__main__":
    run("mpi_stand_ins", fix)
