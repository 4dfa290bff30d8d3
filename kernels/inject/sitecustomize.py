"""Lets Nocturne see an unchanged script train. Python imports this file when it starts and its folder is in PYTHONPATH.

It takes its folder out of sys.path, waits for a framework to be imported, and runs the sitecustomize that would have
run without it. README.md beside it says what follows then. Python 3.7 or newer; nothing is imported here that Python
has not imported already, for every interpreter that a script starts passes by.
"""

import os
import sys
from _thread import get_ident


class _Finder(object):
    """Waits in sys.meta_path for a framework's import, and says so when the framework's own code has run."""

    def __init__(self, folder):
        self.folder = folder
        self.awaited = {"torch", "tensorflow", "keras", "tf_keras", "mxnet", "paddle", "jax", "xgboost", "lightgbm",
                        "sklearn"}
        if os.environ.get("NOCTURNE_INJECT_EVALUATIONS") or os.environ.get("NOCTURNE_INJECT_EPOCH"):
            self.awaited.add("transformers.trainer")
        self.asking = set()  # a finder that asks all finders again asks this one too

    def find_spec(self, name, path=None, target=None):
        asked = (name, get_ident())
        if name not in self.awaited or asked in self.asking:
            return None
        self.asking.add(asked)
        try:
            spec = self.ask_others(name, path, target)
        finally:
            self.asking.discard(asked)
        try:
            self.follow(spec, name)
        except Exception:  # there is none, or its loader is of a kind of its own
            pass
        return spec

    def ask_others(self, name, path, target):
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None

    def follow(self, spec, name):
        loader = spec.loader
        load = loader.exec_module

        def exec_module(module):
            if module.__name__ == name:
                self.importing(name)
            try:
                load(module)
            except BaseException as error:
                error.__traceback__ = error.__traceback__.tb_next  # as without this frame
                raise
            if module.__name__ == name:
                if loader.__dict__.get("exec_module") is exec_module:
                    del loader.exec_module
                self.imported(name, module)

        loader.exec_module = exec_module

    def importing(self, name):
        if any(each.startswith("NOCTURNE_LEVER_") for each in os.environ):
            try:
                self.package().importing(name)
            except Exception as error:
                sys.stderr.write("nocturne: no variables are set: %s: %s\n" % (type(error).__name__, error))

    def imported(self, name, module):
        self.awaited.discard(name)  # only now: whoever merely asks where a framework is does not import it
        try:
            self.package().imported(name, module, self.leave)
        except Exception as error:
            sys.stderr.write("nocturne: the script runs unseen: %s: %s\n" % (type(error).__name__, error))

    def package(self):
        found = sys.modules.get("nocturne_inject")
        if found is None:
            from importlib.machinery import PathFinder
            from importlib.util import module_from_spec
            spec = PathFinder.find_spec("nocturne_inject", [self.folder])
            found = module_from_spec(spec)
            sys.modules["nocturne_inject"] = found
            try:
                spec.loader.exec_module(found)
            except BaseException:
                del sys.modules["nocturne_inject"]
                raise
        return found

    def leave(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def _wanted(environment):
    if environment.get("NOCTURNE_DISABLE") == "1":
        return False
    named = ("NOCTURNE_STEPS_EVENTS", "NOCTURNE_INJECT_REPORT", "NOCTURNE_INJECT_LEARNING", "NOCTURNE_WATCH")
    return any(environment.get(name) for name in named) or any(name.startswith("NOCTURNE_LEVER_") for name in environment)


def _step_aside(folder):
    sys.path[:] = [each for each in sys.path if each != folder]
    sys.path_importer_cache.pop(folder, None)
    if _wanted(os.environ):
        sys.meta_path.insert(0, _Finder(folder))


_step_aside(os.path.dirname(os.path.abspath(__file__)))
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401  the next one; where there is none Python is told what it would have been told
