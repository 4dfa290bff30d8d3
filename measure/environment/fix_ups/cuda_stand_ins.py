"""Lets the ordinary PyTorch wheel run on a machine without CUDA and without gigabytes of CUDA wheels.

Its libraries cannot be loaded without CUDA's. For each of those that nothing provides, a small library of the same
name is linked into torch/lib; its functions return cudaErrorNoDevice (100), so that PyTorch finds no GPU and uses the
CPU. The stand-ins hide real ones from PyTorch: never for an environment that is meant for a GPU.

Run as: python3 cuda_stand_ins.py ENVIRONMENT. May be run again. Needs gcc and readelf.
"""

import os
import re

from _shared_library import MARK, Library, Missing, link_stand_in, run, shared_objects, site_packages, system_library

NO_DEVICE = 100
CUDA = re.compile(r"lib(cu|nv|nccl)[A-Za-z0-9_]*\.so")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
# These give a text; a caller would print the number as if it were an address.
GIVES_TEXT = re.compile(r"(cuda|cudnn|cublas|cublasLt|cusparse|nccl|nvrtc)Get(Error|Status)(String|Name)$")


def is_from_interpreter(symbol):
    return symbol.name.startswith(("Py", "_Py"))


def fix(environment):
    packages = site_packages(environment)
    torch = os.path.join(packages, "torch", "lib")
    if not os.path.isdir(torch):
        raise Missing("there is no PyTorch in %s" % environment)
    libraries = [Library(path) for path in shared_objects(torch)]
    libraries = [library for library in libraries if MARK not in library.defined]  # those of an earlier run
    vision = os.path.join(packages, "torchvision")
    if os.path.isdir(vision):
        libraries += [Library(path) for path in shared_objects(vision)]
    present = {os.path.basename(library.path) for library in libraries} | real_ones_beside(packages)
    handles, missing = {}, set()
    has_driver = system_library("libcuda.so.1") is not None
    for soname in sorted({soname for library in libraries for soname in library.needed} - present):
        # A toolkit without a driver is of no use, slow to load and of a version of its own: it does not count.
        handles[soname] = system_library(soname) if has_driver or not CUDA.match(soname) else None
        if handles[soname] is None and CUDA.match(soname):
            missing.add(soname)
    symbols = wanted(libraries, missing, handles)
    for soname in sorted(missing):
        make(torch, soname, symbols[soname])
    if not missing:
        return "nothing to do: every CUDA library that PyTorch asks for is there"
    return "%d libraries with %d functions stand in for CUDA: %s" % (
        len(missing), sum(len(found) for found in symbols.values()), ", ".join(sorted(missing)))


def real_ones_beside(packages):
    """Names of the CUDA libraries of packages (nvidia/*/lib): PyTorch finds those by itself."""
    result = set()
    for folder, _, names in os.walk(os.path.join(packages, "nvidia")):
        if os.path.basename(folder) == "lib":
            result.update(names)
    return result


def wanted(libraries, missing, handles):
    """Soname of each missing library → the symbols it must have, by (name, version).

    A versioned symbol names its library. One without a version is looked for by the loader in all of them; which one
    had it the file does not say, so each missing library that its user asks for gets it.
    """
    defined = set().union(*(library.defined for library in libraries))
    result = {soname: {} for soname in missing}
    for library in libraries:
        asked = [soname for soname in library.needed if soname in missing]
        others = [handles[soname] for soname in library.needed if handles.get(soname) is not None]
        for symbol in library.undefined:
            if not IDENTIFIER.match(symbol.name):
                continue
            if symbol.version:
                soname = library.versions.get(symbol.version)
                if soname in missing:
                    result[soname][symbol.name, symbol.version] = symbol
            elif asked and symbol.name not in defined and not is_from_interpreter(symbol):
                if not any(hasattr(handle, symbol.name) for handle in others):
                    for soname in asked:
                        result[soname][symbol.name, ""] = symbol
    return result


def make(folder, soname, symbols):
    functions, data, versions = {}, {}, {}
    for (name, version), symbol in symbols.items():
        if symbol.is_data:
            data[name] = max(symbol.size, 64)
        elif GIVES_TEXT.match(name):
            functions[name] = 'return (unsigned long)"this environment has no CUDA, only stand-ins for it";'
        else:
            functions[name] = "return %d;" % NO_DEVICE
        if version:
            versions[name] = version
    link_stand_in(os.path.join(folder, soname), soname, functions, data, versions)


if __name__ == "__main__":
    run("cuda_stand_ins", fix)
