"""How the learning rate follows the batch size: the parameter `learning_rate_rule`, as the native workers have it
(kernels/worker/learning_rate.hpp is the manual)."""

import math

USUAL_BATCH = 128
RULES = ("none", "linear", "square_root", "linear_warm_up", "square_root_warm_up")


class LearningRate(object):
    def __init__(self, rule, batch):
        larger = batch / float(USUAL_BATCH)
        self.full = 1.0 if rule == "none" else larger if rule.startswith("linear") else math.sqrt(larger)
        self.warms_up = rule.endswith("_warm_up")

    def factor(self, step, steps_per_epoch):
        """On the optimizer's rate, in a step counted from 0."""
        if not self.warms_up:
            return self.full
        return 1.0 + (self.full - 1.0) * min((step + 1) / float(max(steps_per_epoch, 1)), 1.0)
