"""make_wheel.py FOLDER VERSION OUT: a wheel of an installed folder. pip puts its bin/, lib/ and share/ into the environment."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

METADATA = """Metadata-Version: 2.1
Name: nocturne
Version: {version}
Summary: Autotuning search engine for training deployments
License: Apache-2.0
Requires-Python: >=3.7
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: nocturne ({version})
Root-Is-Purelib: false
Tag: py3-none-manylinux_2_34_x86_64
"""


def soname_of(library):
    return next(each for each in subprocess.check_output(["objdump", "-p", library], text=True).splitlines()
                if "SONAME" in each).split()[-1]


def without_links(folder):
    """A wheel has no symbolic links: a library gets the name that programs ask for, the linker's name becomes a linker script."""
    links = [(path, path.resolve()) for path in folder.rglob("*") if path.is_symlink()]
    names = {target: soname_of(target) for _, target in links}
    for link, target in links:
        link.unlink()
        if link.suffix == ".so":
            link.write_text("INPUT ( %s )\n" % names[target])
    for target, name in names.items():
        target.rename(target.with_name(name))


def main():
    folder, version, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch) / ("nocturne-" + version)
        data = root / ("nocturne-%s.data" % version) / "data"
        shutil.copytree(folder, data, symlinks=True)
        without_links(data)
        shutil.copy(folder / "share/nocturne/python/nocturne.py", root / "nocturne.py")  # import nocturne
        info = root / ("nocturne-%s.dist-info" % version)
        info.mkdir()
        readme = (folder / "share/doc/nocturne/README.md").read_text()
        (info / "METADATA").write_text(METADATA.format(version=version, readme=readme))
        (info / "WHEEL").write_text(WHEEL.format(version=version))
        for name in ("LICENSE", "NOTICE"):
            shutil.copy(folder / "share/doc/nocturne" / name, info / name)
        tools = pathlib.Path(scratch) / "tools"  # `wheel pack` writes the record of hashes
        venv.create(tools, with_pip=True)
        subprocess.check_call([tools / "bin/pip", "install", "-q", "wheel"])
        subprocess.check_call([tools / "bin/python", "-m", "wheel", "pack", root, "--dest-dir", out])


main()
