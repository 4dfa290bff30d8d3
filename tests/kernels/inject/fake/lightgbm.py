"""As much of LightGBM as the hooks touch."""

import types

from fake_clock import clock

__version__ = "4.7.0"


def _param_dict_to_str(data):
    return " ".join("%s=%s" % each for each in sorted((data or {}).items()))


basic = types.SimpleNamespace(_param_dict_to_str=_param_dict_to_str)


class Booster(object):
    def __init__(self, params):
        self.params = params
        self.text = basic._param_dict_to_str(params)

    def update(self, train_set=None, fobj=None):
        clock.spend(2.0)
        return False
