"""ResNet50's losses over 15 steps (`--long`: 50), the native worker's and PyTorch's, from the same weights and images.

NOCTURNE_FRAMEWORKS names workers and the Pythons of their environments (framework_test.py); without pytorch_worker there,
or without NOCTURNE_ONEDNN, there is nothing to do.
"""

import os
import sys
import unittest

from command_run import WORKERS, CommandRun

SKIPPED = 77
NATIVE = os.environ.get("NOCTURNE_ONEDNN", "")
STEPS = 50 if "--long" in sys.argv else 15
RATE = 1e-3
# Largest relative differences of a loss. Rounding is all that differs, and each step multiplies it: at batch 4 a program's
# own losses with one thread and with two are 1e-3 apart in the second or third step and up to 4e-2 by the tenth, ours and
# PyTorch's alike. So the first loss shows what the forward pass does, the second what gradients and update do, and the
# rest that nothing drifts away. Seen: 5.6e-6, 1.0e-3, 3.8e-2.
FIRST, SECOND, LATER = 1e-5, 5e-3, 1e-1


def pytorch():
    """Python of the first pytorch_worker without keys of its own; None where there is none."""
    for entry in os.environ.get("NOCTURNE_FRAMEWORKS", "").split():
        worker, _, python = entry.partition("=")
        if worker == "pytorch_worker":
            return python
    return None


class Residual(unittest.TestCase):
    def losses(self, state, written, **program):
        with CommandRun() as talk:
            talk.request["workload"] = {"network": "resnet50", "data": "synthetic", "optimizer": "sgd_momentum",
                                        "learning_rate": RATE}
            talk.request["configuration"] = {"batch": 4, "threads": 2}
            talk.request["gate"] = {"steps": STEPS, "write": state} if written else {"steps": STEPS}
            if not written:
                talk.request["initial"] = state
            code = talk.start(**program).wait(timeout=280)
            self.assertEqual((code, talk.end()["status"]), (0, "ok"), talk.end())
            return [sample["loss"] for sample in talk.events("sample")]

    def test_losses_agree(self):
        with CommandRun() as shared:
            state = shared.path("initial")
            ours = self.losses(state, True, program=NATIVE)
            theirs = self.losses(state, False, program=WORKERS / "pytorch_worker.py", python=pytorch())
        self.assertEqual(len(ours), STEPS)
        apart = [abs(a / b - 1) for a, b in zip(ours, theirs)]
        print("largest relative difference: first loss %.1e, second %.1e, later %.1e"
              % (apart[0], apart[1], max(apart[2:])))
        self.assertLess(apart[0], FIRST)
        self.assertLess(apart[1], SECOND)
        self.assertLess(max(apart[2:]), LATER)


if __name__ == "__main__":
    if not pytorch() or not NATIVE:
        print("skipped: NOCTURNE_FRAMEWORKS names no pytorch_worker and its Python, or the native worker was not built")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
