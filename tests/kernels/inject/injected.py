"""A script under the module in front of it, as a process: what it printed, the events and the report."""

import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
INJECT = HERE.parents[2] / "kernels" / "inject"
FAKE = HERE / "fake"


def _pythons():
    for entry in os.environ.get("NOCTURNE_FRAMEWORKS", "").split():
        yield entry.rsplit("=", 1)[1]
    yield sys.executable
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    data = os.environ.get("NOCTURNE_DATA") or os.path.join(data, "nocturne")
    for current in sorted(glob.glob(os.path.join(data, "environments", "*.current")), reverse=True):
        with open(current) as file:
            yield os.path.join(os.path.dirname(current), file.read().strip(), "bin", "python")


_known = {}


def python_with(*modules):
    """A Python that finds these modules, of those that NOCTURNE_FRAMEWORKS names ("pytorch=/…/bin/python …"), this one, and
    those of environments that `nocturne env install` made; or None."""
    if modules not in _known:
        asks = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
        _known[modules] = next((each for each in _pythons() if os.path.exists(each) and
                                subprocess.call([each, "-c", asks] + list(modules), stderr=subprocess.DEVNULL) == 0), None)
    return _known[modules]


class Injected(object):
    """A folder for one script; run() as often as wanted. Environment variables that are None are left out."""

    def __init__(self, script, folder=INJECT, python=sys.executable, fake=True, **environment):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nocturne-inject-"))
        self.script = self.folder / "train.py"
        self.script.write_text(textwrap.dedent(script))
        self.python = python
        self.variables = {"NOCTURNE_STEPS_EVENTS": self.path("events.jsonl"), "NOCTURNE_STEPS_PID_FILE": self.path("steps.pid"),
                          "NOCTURNE_INJECT_REPORT": self.path("report.json"), "PYTHONDONTWRITEBYTECODE": "1",
                          "PYTHONPATH": os.pathsep.join([str(folder)] + [str(FAKE)] * fake)}
        self.variables.update(environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(str(self.folder), ignore_errors=True)

    def path(self, name):
        return str(self.folder / name)

    def environment(self, **more):
        known = {name: value for name, value in os.environ.items()
                 if not name.startswith("NOCTURNE_") and name not in ("RANK", "LOCAL_RANK", "PYTHONPATH", "PYTHONUNBUFFERED")}
        known.update(self.variables)
        known.update(more)
        return {name: str(value) for name, value in known.items() if value is not None}

    def start(self, *arguments, **more):
        for name in ("steps.pid", "steps.pid.others", "report.json"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        open(self.path("events.jsonl"), "w").close()
        return subprocess.Popen([self.python] + list(arguments or [str(self.script)]), cwd=str(self.folder),
                                env=self.environment(**more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, universal_newlines=True)

    def run(self, *arguments, **more):
        """Returns (exit code, stdout, stderr)."""
        process = self.start(*arguments, **more)
        out, errors = process.communicate(timeout=240)
        return process.returncode, out, errors

    def events(self, name):
        with open(self.path("events.jsonl")) as file:
            return [event for event in map(json.loads, file) if event["event"] == name]

    def phases(self, name):
        """Seconds of each phase of this name."""
        return [each["wall_s"] for each in self.events("phase_end") if each["name"] == name]

    def seconds(self, key="wall_ns"):
        return [round(each[key] / 1e9, 3) for each in self.events("sample")]

    def json(self, name="report.json"):
        with open(self.path(name)) as file:
            return json.load(file)

    def notes(self):
        return " ".join(self.json()["notes"])
