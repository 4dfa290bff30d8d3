"""Frameworks inside containers: an environment of the host whose compile cache is kept warm, and a recipe of kind image, whose
Python is the image's own. The root file system is made of this Python and its libraries: no network.

Skipped (77) where no runtime can run, or this Python makes no environments."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

from containers_test import containers_left, usable
from frameworks_test import Tree
from workspace import Workspace

# Beside packages of others: what a worker of a hundred lines does without.
LEFT_OUT = shutil.ignore_patterns("__pycache__", "test", "tests", "site-packages", "dist-packages", "idlelib", "tkinter",
                                  "ensurepip", "lib2to3", "turtledemo", "pydoc_data", "config-*", "*.a")
SAYS_WHOSE = "import os\nos.environ['FAKE_IMAGE'] = 'the image itself'\n"


def python_here():
    return pathlib.Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def libraries_of(files):
    said = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True).stdout
    return {path for path in re.findall(r"(/\S+\.so\S*)", said) if not path.endswith(":")}


def make_root(root):
    """This Python at its own path, with its standard library, and what both are linked with."""
    for folder in ["dev", "proc", "sys", "tmp", "etc"]:
        (root / folder).mkdir(parents=True)
    for file in ["passwd", "group", "hosts", "resolv.conf"]:
        (root / "etc" / file).touch()
    program = python_here()
    modules = pathlib.Path(sysconfig.get_path("stdlib"))
    for place in (root / str(program).lstrip("/"), root / str(modules).lstrip("/")):
        place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, root / str(program).lstrip("/"))
    shutil.copytree(modules, root / str(modules).lstrip("/"), ignore=LEFT_OUT, symlinks=True)
    (root / str(modules).lstrip("/") / "sitecustomize.py").unlink(missing_ok=True)  # Debian's is a link out of it
    (root / str(modules).lstrip("/") / "sitecustomize.py").write_text(SAYS_WHOSE)
    for library in libraries_of([program, *modules.glob("lib-dynload/*.so")]):
        place = root / library.lstrip("/")
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)


def campaign(runtimes):
    return {
        "campaign": "contained",
        "objective": {"minimise": "time", "epochs": [1]},
        "space": {"parameters": [
            {"name": "framework", "stage": "environment", "values": ["quick-1", "inside-1"], "default": "quick-1"},
            {"name": "container", "stage": "environment", "values": ["host", *runtimes], "default": "host"},
            {"name": "image", "stage": "environment", "values": ["pythons"], "active_if": "container != 'host'"},
            {"name": "batch", "stage": "run", "values": [64, 128], "default": 128}],
            "constraints": [{"require": "framework != 'inside-1' or container != 'host'", "because": "it is in an image"}]},
        "strategy": {"name": "exhaustive"},
        "run": {"steps": 4, "deadline": "30s", "compile_cache": "warm"},
        "verify": {"pairs": 3, "most_pairs": 3, "finalists": 1, "simplify": False, "slices": 2, "slice_steps": 2,
                   "accuracy_epochs": 0}}


def rows_of(place):
    """(framework, container, outcome, reason, ready, run) of each run of the search, in order."""
    with place.database() as connection:
        found = connection.execute(
            "select canonical_json, runs.outcome, runs.reason, ready_json, run_id from runs join trials on trials.id = trial_id "
            "join configurations on configurations.id = configuration_id where purpose = 'search' order by runs.id").fetchall()
    for text, outcome, reason, ready, run in found:
        configuration = json.loads(text)
        yield configuration["framework"], configuration["container"], outcome, reason, json.loads(ready or "null"), run


def check(place, runtimes):
    tree = Tree(place)
    module = tree.folder / "kernels/python/fake_python_module.py"
    module.write_text("MICROSECONDS = {'quick-1': 100, 'inside-1': 150}\n")
    tree.add("quick-1")
    (tree.recipes / "inside-1.json").write_text(json.dumps({
        "recipe": "inside-1", "kind": "image", "image": "pythons", "interpreter": str(python_here()),
        "worker": "fake_python_worker.py", "licence": "MIT"}))
    images = place.folder / "configuration" / "nocturne" / "images"
    images.mkdir(parents=True)
    (images / "pythons.json").write_text(json.dumps(
        {"image": "pythons", "kind": "folder", "folder": str(place.folder / "root")}))
    make_root(place.folder / "root")
    done = place.run("tune", place.write(campaign(runtimes)), env=tree.variables)
    assert done.returncode in (0, 1), done.stderr
    rows = list(rows_of(place))
    for framework, container, outcome, reason, ready, _ in rows:
        print(framework, container, outcome, reason, len((ready or {}).get("found_in_cache", [])))
    assert {(row[0], row[1]) for row in rows} == (
        {("quick-1", each) for each in ["host", *runtimes]} | {("inside-1", each) for each in runtimes}), rows
    assert all(row[2] == "ok" for row in rows), done.stderr

    # Warm means that a run finds what the one before it left, and leaves its own.
    caches = {}
    for row in rows:
        caches.setdefault(row[4]["cache"], []).append(row)
    for cache, mine in caches.items():
        assert "/compile-caches/" in cache, cache
        assert set(os.listdir(cache)) >= {"of-" + row[5] for row in mine}, mine
        for before, row in zip(mine, mine[1:]):
            assert "of-" + before[5] in row[4]["found_in_cache"], (before, row)
        # What was linked against the host's libraries stays there.
        assert len({(row[0], row[1] == "host") for row in mine}) == 1, mine
    assert len(caches) == 3, caches.keys()
    for framework, container, _, _, ready, _ in rows:
        if framework == "inside-1":
            assert ready["environment"].get("FAKE_IMAGE") == "the image itself", (container, ready)
        if container == "host":
            assert "FAKE_IMAGE" not in ready["environment"], ready
    for runtime in runtimes:
        assert not containers_left(runtime), runtime


def main():
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        print("this Python makes no environments (Debian: python3-venv)")
        sys.exit(77)
    with Workspace() as place:
        runtimes = usable(place)
        if not runtimes:
            print("no container runtime can run here")
            sys.exit(77)
        check(place, runtimes)


if __name__ == "__main__":
    main()
