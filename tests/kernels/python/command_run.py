"""A worker as a process: its request, its events, and images of MNIST's format that are learnt in seconds."""

import gzip
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WORKERS = HERE.parents[2] / "kernels" / "python"
PLAIN_PYTHON = HERE / "plain_python_worker.py"


def _write_listed(folder, name, dimensions, values):
    packed = gzip.compress(struct.pack(">HBB%dI" % len(dimensions), 0, 8, len(dimensions), *dimensions) + values)
    (folder / name).write_bytes(packed)
    with open(str(folder / "SHA256SUMS"), "a") as sums:
        sums.write("%s  %s\n" % (hashlib.sha256(packed).hexdigest(), name))


def write_tiny_images(folder, train, test):
    """In an image of class c the two rows from 2 c + 4 on are bright."""
    for prefix, count in (("train", train), ("t10k", test)):
        labels = bytes(n % 10 for n in range(count))
        images = b"".join(bytes(200 if pixel // 28 // 2 == label + 2 else (pixel * 7 + n) % 50 for pixel in range(784))
                          for n, label in enumerate(labels))
        _write_listed(folder, prefix + "-images-idx3-ubyte.gz", (count, 28, 28), images)
        _write_listed(folder, prefix + "-labels-idx1-ubyte.gz", (count,), labels)


class CommandRun(object):
    """One run in a folder of its own. `request` may be changed before start()."""

    def __init__(self, train=100, test=30):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nocturne-worker-"))
        write_tiny_images(self.folder, train, test)
        self.request = {"protocol": 1, "run_id": "test", "configuration": {"batch": 16}, "seed": 1, "steps": 3,
                        "workload": {"network": "tiny", "data": "mnist", "optimizer": "adadelta",
                                     "data_folder": str(self.folder)}}
        self.environment = {"NOCTURNE_PYTHON_WORKERS": str(WORKERS), "PYTHONDONTWRITEBYTECODE": "1"}
        self.stderr = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(str(self.folder), ignore_errors=True)

    def path(self, name):
        return str(self.folder / name)

    def start(self, program=PLAIN_PYTHON, python=sys.executable):
        with open(self.path("request.json"), "w") as file:
            json.dump(self.request, file)
        command = ([python] if str(program).endswith(".py") else []) + [str(program)]
        with open(self.path("stderr"), "w") as errors:
            return subprocess.Popen(
                command + ["--request", self.path("request.json"), "--events", self.path("events.jsonl")],
                cwd=str(self.folder), env=dict(os.environ, **self.environment), stdin=subprocess.DEVNULL, stderr=errors)

    def run(self, **keywords):
        """Returns the exit code."""
        code = self.start(**keywords).wait(timeout=100)
        with open(self.path("stderr")) as file:
            self.stderr = file.read()
        return code

    def events(self, name=None):
        """Those written whole."""
        try:
            with open(self.path("events.jsonl")) as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            return []
        return [event for event in map(json.loads, lines) if name is None or event["event"] == name]

    def end(self):
        return self.events()[-1]

    def steps_reported(self):
        return sum(sample["steps"] for sample in self.events("sample"))
