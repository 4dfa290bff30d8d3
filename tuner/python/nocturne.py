"""Nocturne from Python: campaigns and trials as plain records, its search for any objective, and a sampler for Optuna.

Needs the program `nocturne` (on PATH, or named by $NOCTURNE) and the standard library; pandas and Optuna where they are used.

    import nocturne
    nocturne.trials("mnist-evening")                      # a list of dictionaries
    nocturne.frame(nocturne.trials("mnist-evening"))      # the same as a pandas.DataFrame

    with nocturne.Search("folder", space) as search:      # the search of `nocturne tune`, for an objective of your own
        for trial in search.ask(4):
            search.tell(trial["number"], measure(**trial["configuration"]))

    study = optuna.create_study(sampler=nocturne.Sampler())   # the same search in a study
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

__all__ = ["Error", "Sampler", "Search", "campaigns", "document", "frame", "program", "trials"]


class Error(RuntimeError):
    """What `nocturne` says is wrong, in its words."""


def program():
    """Path of the program: $NOCTURNE, the one beside this Python, the one on PATH. Raises Error where there is none."""
    named = os.environ.get("NOCTURNE")
    found = named or shutil.which("nocturne", path=os.path.join(sys.prefix, "bin")) or shutil.which("nocturne")
    if not found:
        raise Error("the program 'nocturne' is not on PATH; the variable NOCTURNE can name it")
    return found


def document(*words, db=None):
    """The document that `nocturne WORDS --json` prints, as a dictionary (`nocturne schema` describes each)."""
    command = [program(), *words, "--json"] + (["--db", os.fspath(db)] if db else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        raise Error(done.stderr.strip() or "%s ended with %d" % (" ".join(command), done.returncode))
    return json.loads(done.stdout)


def campaigns(db=None):
    """All campaigns of a database (default: the user's own), the last opened first: a list of dictionaries."""
    return document("list", "campaigns", db=db)["campaigns"]


def trials(campaign=None, generation=None, db=None):
    """Trials of a campaign (default: the one opened last), by number: a list of dictionaries.

    Keys are those of `nocturne list trials --json`; `configuration` is a dictionary, and absent parameters are not active.
    """
    words = ["list", "trials"]
    if campaign is not None:
        words.append(campaign)
    if generation is not None:
        words += ["--generation", str(generation)]
    return document(*words, db=db)["trials"]


def frame(records):
    """Records as a pandas.DataFrame, a column for each key; of nested ones `configuration.batch`. Needs pandas."""
    import pandas
    return pandas.json_normalize(records)


class Search:
    """A search by ask and tell that lives in a folder (`nocturne ask`), open in one process until close().

    folder: made where it is missing. Everything is stored there: another Search of the same folder goes on.
    space: a space file's contents as a dictionary, or a list of its parameters; None: the folder has a search already.
    """

    def __init__(self, folder, space=None):
        command = [program(), "ask", os.fspath(folder), "--lines"]
        self._file = None
        if space is not None:
            contents = space if isinstance(space, dict) else {"space": {"parameters": list(space)}}
            handle, self._file = tempfile.mkstemp(suffix=".json", prefix="space-")
            with os.fdopen(handle, "w") as file:
                json.dump(contents, file)
            command += ["--space", self._file]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         universal_newlines=True)
        try:
            self.standing()  # so that what is wrong with the space is said here
        except BaseException:
            self.close()
            raise

    def _request(self, request):
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (BrokenPipeError, ValueError):
            line = ""
        if not line:
            said = "" if self._process.stderr.closed else self._process.stderr.read().strip()
            raise Error(said or "the search is closed")
        reply = json.loads(line)
        if "error" in reply:
            raise Error(reply["error"])
        return reply

    def ask(self, count=1):
        """Up to `count` trials to be measured: dictionaries with number, configuration, reason. Empty: nothing is left."""
        return self._request({"ask": count})["asked"]

    def tell(self, number, value):
        """What came of trial `number`: a number, or a list of them where it was measured several times."""
        key = "values" if isinstance(value, (list, tuple)) else "value"
        return self._request({"tell": {"number": number, key: value}})["told"]

    def fail(self, number, reason, outcome="failed"):
        """It failed: the search learns from that, too. outcome: failed, crashed, timeout, out_of_memory, …"""
        return self._request({"tell": {"number": number, "failed": reason, "outcome": outcome}})["told"]

    def tell_configuration(self, configuration, value=None, failed=None):
        """The same for what was measured without being asked. Gives the number of its trial."""
        result = {"failed": failed} if failed is not None else {"value": value}
        return self._request({"tell": dict(result, configuration=configuration)})["told"]

    def standing(self):
        """A dictionary: finished, failed, pending, best (None: nothing ended well yet)."""
        return self._request({"standing": True})["standing"]

    def close(self):
        """Ends the process; the folder stays."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass
        self._process.wait()
        if self._file and os.path.exists(self._file):
            os.unlink(self._file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Axis:
    """A distribution of Optuna as a parameter of ours, and the way of values between the two."""

    def __init__(self, name, distribution):
        self.name = name
        kind = type(distribution).__name__
        self._values = None  # of ours, values are numbers of these
        if kind == "CategoricalDistribution":
            self._categories(distribution.choices)
        elif kind == "IntDistribution":
            self._integers(distribution)
        elif kind == "FloatDistribution":
            self._floats(distribution)
        else:
            raise Error("no parameter of ours is like Optuna's %s" % kind)

    def _categories(self, choices):
        numbers = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in choices)
        if numbers and len(set(choices)) == len(choices):  # their order means something
            self._values = sorted(choices)
            self.parameter = {"values": list(range(len(choices))), "type": "ordinal"}
        elif set(map(repr, choices)) == {"False", "True"}:
            self.parameter = {"type": "boolean"}
        else:
            self._values = list(choices)
            self.parameter = {"values": ["%d" % i for i in range(len(choices))], "type": "categorical"}

    def _integers(self, distribution):
        low, high, step = distribution.low, distribution.high, distribution.step
        self.parameter = {"range": [low, low + (high - low) // step * step], "type": "integer"}
        if step != 1:
            self.parameter["step"] = step
        if distribution.log:
            self.parameter["scale"] = "logarithmic"

    def _floats(self, distribution):
        if distribution.step is not None:
            count = int(round((distribution.high - distribution.low) / distribution.step)) + 1
            self._values = [distribution.low + i * distribution.step for i in range(count)]
            self.parameter = {"range": [0, count - 1], "type": "integer"}
            return
        self.parameter = {"range": [float(distribution.low), float(distribution.high)], "type": "real"}
        if distribution.log:
            self.parameter["scale"] = "logarithmic"

    def described(self, alias):
        return dict(self.parameter, name=alias)

    def from_ours(self, value):
        return value if self._values is None else self._values[int(value)]

    def to_ours(self, value):
        if self._values is None:
            return value
        if self.parameter["type"] == "integer":
            return min(range(len(self._values)), key=lambda i: abs(self._values[i] - value))
        index = next(i for i, each in enumerate(self._values) if each == value and type(each) is type(value))
        return "%d" % index if self.parameter["type"] == "categorical" else index


def _sampler_class():
    """Made when it is first asked for, so that this module needs no Optuna."""
    import optuna
    from optuna.trial import TrialState

    class Sampler(optuna.samplers.BaseSampler):
        """The search of `nocturne tune` as a sampler of Optuna: optuna.create_study(sampler=nocturne.Sampler()).

        Of one objective. Parameters that each trial has are sampled by the search; others, and all of the first trial, at
        random, as Optuna's own samplers do. With `space` (names to distributions) the first trial is asked, too.
        constraints: expressions over the names, such as "tile * threads <= 1024", with `space` only; a parameter's first
        value, or the lower end of its range, is the configuration that must satisfy them.
        folder: where the search is kept (default: a temporary folder, removed at the end). What is in the study is told to
        a new search, so a study goes on with either.
        scale: "logarithmic" where values are positive and ratios count, "linear" where differences do; default: logarithmic
        while all values are positive.
        """

        def __init__(self, seed=None, space=None, constraints=(), folder=None, scale=None):
            self._seed = seed if seed is not None else int.from_bytes(os.urandom(4), "little")
            self._random = optuna.samplers.RandomSampler(seed=seed)
            self._space = dict(space) if space else None
            self._constraints = list(constraints)
            self._intersection = optuna.search_space.IntersectionSearchSpace()
            self._own = tempfile.TemporaryDirectory(prefix="nocturne-") if folder is None else None
            self._folder = os.fspath(folder) if folder is not None else self._own.name
            self._scale = scale
            self._search, self._of = None, None  # and of which space and scale it is
            self._axes, self._names = [], []
            self._numbers, self._told = {}, set()
            self._searches = 0

        def reseed_rng(self):
            self._random.reseed_rng()

        def infer_relative_search_space(self, study, trial):
            space = self._space or self._intersection.calculate(study)
            return {name: each for name, each in space.items() if not each.single()}

        def sample_independent(self, study, trial, name, distribution):
            return self._random.sample_independent(study, trial, name, distribution)

        def sample_relative(self, study, trial, search_space):
            if len(study.directions) != 1:
                raise ValueError("Nocturne's sampler is for one objective")
            if not search_space:
                return {}
            self._open(study, search_space)
            self._tell(study)
            asked = self._search.ask(1)
            if not asked:  # all of it was tried
                return {}
            self._numbers[trial.number] = asked[0]["number"]
            configuration = asked[0]["configuration"]
            return {axis.name: axis.from_ours(configuration[alias])
                    for alias, axis in zip(self._names, self._axes) if alias in configuration}

        def _finished(self, study):
            states = (TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)
            return study.get_trials(deepcopy=False, states=states)

        def _scale_of(self, study):
            if self._scale:
                return self._scale
            positive = all(each.value > 0 for each in self._finished(study) if each.state == TrialState.COMPLETE)
            return "logarithmic" if positive else "linear"

        def _open(self, study, search_space):
            of = (json.dumps({name: repr(each) for name, each in search_space.items()}, sort_keys=True),
                  self._scale_of(study))
            if self._search is not None and self._of == of:
                return
            if self._search is not None:
                self._search.close()
            self._axes = [_Axis(name, each) for name, each in sorted(search_space.items())]
            known = all(each.name.isidentifier() for each in self._axes)
            self._names = [each.name if known else "p%d" % i for i, each in enumerate(self._axes)]
            contents = {
                "objective": {"direction": study.direction.name.lower().replace("ize", "ise"), "scale": of[1]},
                "strategy": {"seed": self._seed},
                "space": {"parameters": [each.described(alias) for alias, each in zip(self._names, self._axes)]},
            }
            if self._constraints and self._space:
                contents["space"]["constraints"] = [
                    {"require": each, "because": "the study says so"} for each in self._constraints]
            self._searches += 1
            self._numbers, self._told, self._of = {}, set(), of
            self._search = Search(os.path.join(self._folder, "search-%d" % self._searches), contents)

        def _tell(self, study):
            for trial in self._finished(study):
                if trial.number in self._told:
                    continue
                self._told.add(trial.number)
                answer = self._answer(trial)
                if trial.number in self._numbers:
                    answer["number"] = self._numbers[trial.number]
                elif all(axis.name in trial.params for axis in self._axes):
                    answer["configuration"] = {alias: axis.to_ours(trial.params[axis.name])
                                               for alias, axis in zip(self._names, self._axes)}
                else:
                    continue
                try:
                    self._search._request({"tell": answer})
                except Error:  # of a wider space: it was sampled before the constraints were
                    if "number" in answer:
                        raise

        @staticmethod
        def _answer(trial):
            if trial.state == TrialState.COMPLETE and math.isfinite(trial.value):
                return {"value": trial.value}
            return {"failed": "Optuna's trial ended as " + trial.state.name}

        def close(self):
            """Ends the search's process, and removes its folder if that is a temporary one."""
            if self._search is not None:
                self._search.close()
                self._search = None
            if self._own is not None:
                self._own.cleanup()

        def __del__(self):
            try:
                self.close()
            except Exception:  # the interpreter may be half gone
                pass

    Sampler.__module__ = __name__
    return Sampler


def __getattr__(name):
    if name != "Sampler":
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    globals()["Sampler"] = _sampler_class()
    return globals()["Sampler"]
