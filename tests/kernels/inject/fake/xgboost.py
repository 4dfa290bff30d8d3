"""As much of XGBoost as the hooks touch. A round takes one thread 4 s, an evaluation 0.5."""

import json

from fake_clock import clock

__version__ = "3.2.0"


class Booster(object):
    def __init__(self, params):
        self.settings = {"nthread": "0", "device": "cpu"}
        self.set_param(params)

    def set_param(self, params):
        self.settings.update((name, str(value)) for name, value in params.items())

    def save_config(self):
        return json.dumps({"learner": {"generic_param": self.settings}})

    def update(self, data, iteration, fobj=None):
        if fobj is None:
            clock.spend(4.0 / (int(self.settings["nthread"]) or 1))
        else:
            self.boost(data, iteration, *fobj(data))

    def boost(self, data, iteration, grad, hess):
        clock.spend(1.0)


def train(params, rounds, fobj=None):
    booster = Booster(params)
    for i in range(rounds):
        booster.update(None, i, fobj)
        clock.spend(0.5)
    return booster
