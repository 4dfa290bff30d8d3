"""What a shared library needs and gives, read with readelf, and how a stand-in for a missing one is linked.

Not a fix-up itself. Python 3.6 or later, standard library only; the programs readelf and gcc.
"""

import ctypes
import os
import re
import shutil
import subprocess
import tempfile

MARK = "nocturne_stand_in"  # a symbol of each library made here, by which it is known again


class Missing(Exception):
    """Something the fix-up cannot do without; its text is the sentence a user sees."""


class Symbol:
    """A dynamic symbol: its name, its version ('' where it has none), whether it is data, and its size in bytes."""

    def __init__(self, name, version, is_data, size):
        self.name, self.version, self.is_data, self.size = name, version, is_data, size


class Library:
    """needed: sonames. defined: names. undefined: symbols that it cannot be loaded without.
    versions: of which soname a version of an undefined symbol is asked for."""

    def __init__(self, path):
        self.path = path
        self.needed, self.defined, self.undefined, self.versions = [], set(), [], {}
        self._read()

    def _read(self):
        file_of_versions = None
        in_needs = False
        for line in lines_of(["readelf", "-W", "-d", "-V", "--dyn-syms", self.path]):
            needed = re.search(r"\(NEEDED\).*\[(.+)\]", line)
            if needed:
                self.needed.append(needed.group(1))
            elif line.startswith("Version needs section"):
                in_needs = True
            elif line.startswith(("Version definition", "Version symbols", "Symbol table")):
                in_needs = False
            elif in_needs and " File: " in line:
                file_of_versions = re.search(r"File: (\S+)", line).group(1)
            elif in_needs and " Name: " in line:
                self.versions[re.search(r"Name: (\S+)", line).group(1)] = file_of_versions
            else:
                self._read_symbol(line.split())

    def _read_symbol(self, words):
        # Num: Value Size Type Bind Vis Ndx Name@VERSION (number)
        if len(words) < 8 or not words[0].rstrip(":").isdigit() or words[4] not in ("GLOBAL", "WEAK", "UNIQUE"):
            return
        name, _, version = words[7].partition("@")
        if words[6] != "UND":
            self.defined.add(name)
        elif words[4] == "GLOBAL":  # a weak one may stay away
            self.undefined.append(Symbol(name, version.lstrip("@"), words[3] == "OBJECT", int(words[2], 0)))


def lines_of(command):
    """Lines of a command's output in English."""
    if shutil.which(command[0]) is None:
        raise Missing("the program %s is missing; install the package binutils" % command[0])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, LC_ALL="C"))
    if done.returncode != 0:
        raise Missing("%s: %s" % (" ".join(command), done.stderr.decode("utf-8", "replace").strip()))
    return done.stdout.decode("utf-8", "replace").splitlines()


def site_packages(environment):
    """The folder of an environment that packages are installed into."""
    found = [os.path.join(environment, "lib", name, "site-packages")
             for name in sorted(os.listdir(os.path.join(environment, "lib"))) if name.startswith("python")]
    found = [folder for folder in found if os.path.isdir(folder)]
    if not found:
        raise Missing("%s is no Python environment: it has no lib/python3.*/site-packages" % environment)
    return found[0]


def shared_objects(folder):
    """The ELF files directly in a folder, ascending."""
    result = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if ".so" not in name or not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            if file.read(4) == b"\x7fELF":
                result.append(path)
    return result


def system_library(soname):
    """A handle of the library the machine itself has under this name; None where it has none."""
    try:
        return ctypes.CDLL(soname)
    except OSError:
        return None


def link_stand_in(path, soname, functions, data, versions):
    """Writes a library to `path`, in one move.

    functions: name → body in C, what stands between the braces. data: name → bytes. versions: name → version, for
    those that have one.
    """
    if shutil.which("gcc") is None:
        raise Missing("the program gcc is missing; install the package gcc")
    lines = ["const int %s = 1;" % MARK]
    lines += ["unsigned long %s(void) { %s }" % item for item in sorted(functions.items())]
    lines += ["char %s[%d] __attribute__((aligned(16)));" % item for item in sorted(data.items())]
    nodes = {}
    for name, version in versions.items():
        nodes.setdefault(version, []).append(name)
    script = ["%s { global: %s; };" % (version, "; ".join(sorted(names))) for version, names in sorted(nodes.items())]
    with tempfile.TemporaryDirectory() as folder:
        source, exports, result = (os.path.join(folder, name) for name in ("stand_in.c", "versions.map", "stand_in.so"))
        for file, text in ((source, lines), (exports, script)):
            with open(file, "w") as out:
                out.write("\n".join(text) + "\n")
        command = ["gcc", "-shared", "-fPIC", "-O1", "-w", "-fno-builtin", "-nostdlib", "-o", result, source,
                   "-Wl,-soname," + soname]
        if script:
            command.append("-Wl,--version-script=" + exports)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Missing("gcc could not link a stand-in for %s: %s" % (soname, done.stdout.decode("utf-8", "replace")))
        shutil.copy(result, path + ".new")
        os.replace(path + ".new", path)


def run(program, fix):
    """The frame of a fix-up: `PROGRAM ENVIRONMENT`, one line said, exit code 0 or 1 (2: wrong usage)."""
    import sys
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.stderr.write("usage: %s.py FOLDER-OF-AN-ENVIRONMENT\n" % program)
        sys.exit(2)
    try:
        print("%s: %s" % (program, fix(os.path.abspath(sys.argv[1]))))
    except (Missing, OSError) as error:
        print("%s: %s" % (program, error))
        sys.exit(1)
