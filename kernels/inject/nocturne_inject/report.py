"""The report: what a run has shown, for the first screen and for the search. ../README.md lists its keys.

It is written by the process that trains, when the limit is reached or at its exit; and by one that has imported a
framework and trained nothing, if there is none yet.
"""

import atexit
import json
import os
import platform
import shutil
import sys

from . import learning, levers, loops

MOST_FILES = 500


def cpu_flags():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()


def cpus():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compiler():
    """Path of the C++ compiler that a framework's compiler would call."""
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        found = name and shutil.which(name)
        if found:
            return found
    return None


def file_of(module):
    """None: it has none. A module is not asked itself: a lazy one would be loaded by that, or fail."""
    try:
        return object.__getattribute__(module, "__dict__").get("__file__")
    except AttributeError:  # an object that was put among the modules
        return None


def own_files(folder, script):
    """The script and the files of its modules that are neither installed nor Python's, where they lie in `folder`, as
    paths from there, or in the script's."""
    script = os.path.join(folder, script or "")
    module = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    roots = folder + os.sep, os.path.dirname(script) + os.sep
    found = set()
    for file in [script] + [file_of(each) for each in list(sys.modules.values())]:
        path = os.path.join(folder, file) if isinstance(file, str) and file.endswith(".py") else ""
        if not path.startswith(roots) or path.startswith((module + os.sep, loops.PYTHONS)) or not os.path.isfile(path):
            continue
        if not path.isprintable():  # bytes that are no text, which nobody could read in the report
            continue
        if not {"site-packages", "dist-packages"}.intersection(path.split(os.sep)):
            found.add(os.path.relpath(path, folder) if path.startswith(folder + os.sep) else path)
    return sorted(found)[:MOST_FILES]


class Report(object):
    """A framework's file fills in `unit`, `events_per_step` and its place in `looks`, which completes `seen` when needed."""

    def __init__(self, session):
        self.session = session
        self.path = session.environment.get("NOCTURNE_INJECT_REPORT")
        self.unit = None             # "optimizer step", "backward", "call", "batch"
        self.events_per_step = None
        self.looks = {}              # {framework: a function that completes `seen`}
        self.length = loops.Length()
        self.loader_examples = None  # of the training's loader, where an epoch trains on a part of them
        self.read = []               # checkpoints, as the script names them
        self.seen = levers.Seen()
        self.seen.python = platform.python_version()
        self.seen.cpus = cpus()
        self.written = False
        self.ended = False           # the script is done by itself
        atexit.register(self.at_exit)

    def others_path(self):
        pid_file = self.session.environment.get("NOCTURNE_STEPS_PID_FILE")
        return pid_file + ".others" if pid_file else None

    def another_trains(self):
        """This process trains as well as the one that is timed, which shall say so."""
        if self.others_path():
            with open(self.others_path(), "a") as file:
                file.write("%d\n" % os.getpid())

    def own_steps(self):
        """Whether the script, in this process, tells its steps itself."""
        return getattr(sys.modules.get("nocturne_steps"), "_recorder", None) is not None

    def at_exit(self):
        if self.session.pid != os.getpid() or self.session.report is not self or self.written or not self.path:
            return
        if self.session.speaks or self.own_steps():
            error = getattr(sys, "last_value", None)
            if error is not None:
                self.session.note("the script ended with %s: %s" % (type(error).__name__, error))
        elif os.path.exists(self.path) or self.session.speaks is False:
            return
        else:
            self.session.note(self.without_steps())
        self.ended = True
        self.session.write_report()

    def without_steps(self):
        if not self.read:
            return "no step of a training was seen"
        return ("no step of a training was seen; it read %s: a training that was finished there has nothing left to train, "
                "and would be tuned without it" % " and ".join(self.read[:2]))

    def write(self):
        if not self.path:
            return
        text = json.dumps(self.content())
        beside = "%s.%d" % (self.path, os.getpid())
        with open(beside, "w") as file:
            file.write(text + "\n")
        os.replace(beside, self.path)
        self.written = True

    def look_now(self):
        """At the first step's end, for at exit a model that was a function's own is no more; and at the end."""
        if self.path:
            self.session.guarded(self.looks.get(self.seen.framework, lambda seen: None))(self.seen)

    def content(self):
        seen, speaker, note = self.seen, self.session.recorder, self.session.note
        self.look_now()
        seen.cpu_flags, seen.compiler = cpu_flags(), compiler()
        found = {"version": 1, "framework": seen.framework, "framework_version": seen.framework_version,
                 "python": seen.python, "device": seen.device, "unit": self.unit,
                 "events_per_step": self.events_per_step}
        if speaker:
            seen.step_seconds, seen.share = speaker.step_seconds(), speaker.share()
            facts = {name: speaker.facts.get(name) for name in ("batch", "steps_per_epoch", "examples_per_epoch")}
            found.update(facts, loader_examples=self.loader_examples, steps=max(0, speaker.steps), step_seconds=seen.step_seconds, share=seen.share)
            found.update(self.length.facts(facts["steps_per_epoch"]))
            found["round"] = speaker.round()
            drift = speaker.drift()
            if drift:
                note("steps become %s: %.3g s in the first quarter of the %d that were seen, %.3g s in the last; times are of the first ones"
                     % ("shorter" if drift[0] > drift[1] else "longer", drift[0], speaker.steps, drift[1]))
        if self.others_path() and os.path.exists(self.others_path()):
            note("more than one process trains: one of them is timed")
        for name, (_, reason) in sorted(self.session.failed_levers.items()):
            note("lever %s: %s" % (name, reason))
        found["levers"], found["refused"], problems = levers.offered(seen)
        for text in problems:
            note(text)
        found["records_learning"] = bool(self.unit) and seen.framework in learning.frameworks()
        found["sets_threads"] = "set_num_threads" in seen.calls
        found["omp_num_threads"] = os.environ.get("OMP_NUM_THREADS", "")  # what starts it may have set that
        found["ended"] = self.ended
        found["sources"] = self.session.guarded(own_files)(self.session.folder, self.session.script) or []
        found["notes"] = self.session.notes
        return found
