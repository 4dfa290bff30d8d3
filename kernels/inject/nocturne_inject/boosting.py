"""XGBoost and LightGBM: a step is a round of boosting, Booster.update, which train() and the estimators call.

What is evaluated behind a round is a part of the next one. No loss is told: a round has it only where the script evaluates.
"""

import json
import weakref

from .hooks import Events, hook
from .levers.lightgbm_threads import NAMES


def install(name, module, session):
    session.install_levers(name, module)
    if session.timing:
        Training(name, module, session)


class Training(object):
    def __init__(self, framework, module, session):
        self.framework, self.module, self.session = framework, module, session
        self.boosters = weakref.WeakSet()  # that live
        self.events = Events(session, framework, lambda: {id(each) for each in self.boosters})
        self.rounds = 0  # under way: XGBoost's update calls boost where the script has an objective of its own
        hook(session, module.Booster, "__init__", lambda arguments, named: self.boosters.add(arguments[0]))
        for name in ("update", "boost"):
            if hasattr(module.Booster, name):
                hook(session, module.Booster, name, self.round_begins, self.round_ended, self.round_left)

    def round_begins(self, arguments, named):
        self.rounds += 1
        return arguments[0]

    def round_left(self, booster):
        self.rounds -= 1

    def round_ended(self, booster, result):
        if self.rounds or not self.events.speaks("boosting round"):
            return
        if self.events.recorder.steps < 0:
            self.session.guarded(self.know)(booster)
        self.events.event(id(booster), None)

    def know(self, booster):
        self.events.recorder.facts["versions"][self.framework] = str(self.module.__version__)
        seen, (device, threads) = self.session.report.seen, SETTINGS[self.framework](booster)
        seen.device = "cuda" if device.startswith(("cuda", "gpu")) else "cpu"
        if threads > 0:
            seen.threads = threads
            seen.calls |= {"set_num_threads"}


def of_xgboost(booster):
    """Its device, and the number of threads that was asked for; 0: none was."""
    settings = json.loads(booster.save_config())["learner"]["generic_param"]
    usual = "cuda" if int(settings.get("gpu_id", -1)) >= 0 else "cpu"  # before 2.0
    return settings.get("device", usual), int(settings.get("nthread", settings.get("n_jobs", 0)))


def of_lightgbm(booster):
    device = booster.params.get("device_type", booster.params.get("device", "cpu"))
    return device, next((int(booster.params[name] or 0) for name in NAMES if name in booster.params), 0)


SETTINGS = {"xgboost": of_xgboost, "lightgbm": of_lightgbm}
