"""Every kind of worker trouble in one campaign: each gets its outcome with a reason, and the campaign goes on."""

import time
import unittest

from workspace import Workspace, campaign, wait_until, workers_alive

EXPECTED = {
    "computed": "ok",
    "unsupported": "unsupported",
    "diverge": "diverged",
    "not_finite": "diverged",
    "say_failed": "failed",
    "exit": "failed",
    "crash": "crashed",
    "no_end": "protocol_error",
    "torn": "protocol_error",
    "hang": "timeout",
    "hang_silent": "timeout",
    "ignore_sigterm": "timeout",
    "orphan_hang": "timeout",
    "stop_self": "timeout",
    "orphan": "ok",
    "grandchildren": "ok",
    "flood_output": "ok",
    "eat_memory": "out_of_memory",
    "lie_version": "protocol_error",
    "lie_order": "protocol_error",
    "lie_negative": "protocol_error",
    "lie_time": "protocol_error",
    "lie_no_hello": "protocol_error",
    "lie_steps": "protocol_error",
    "not_json": "protocol_error",
    "after_end": "protocol_error",
}


class Trouble(unittest.TestCase):
    maxDiff = None

    def test_each_gets_its_outcome_and_the_campaign_goes_on(self):
        parameters = [{"name": "mode", "stage": "run", "values": list(EXPECTED), "default": "computed"}]
        document = campaign(strategy="exhaustive", trials=len(EXPECTED), parameters=parameters,
                            run={"deadline": "3s", "memory": "64MiB"})
        with Workspace() as workspace:
            began = time.monotonic()
            workspace.run("tune", workspace.write(document), check=0)
            took = time.monotonic() - began
            trials = workspace.json("list", "trials")
            outcomes = {trial["configuration"]["mode"]: trial["outcome"] for trial in trials}
            self.assertEqual(outcomes, EXPECTED)
            for trial in trials:
                if trial["outcome"] != "ok":
                    self.assertTrue(trial["reason"], f"{trial['configuration']} has no reason")
            self.assertTrue(wait_until(lambda: not workers_alive(workspace.data), 0.5), "a process outlived its trial")
            self.assertLess(took, 120)  # five hangs of 3 s and their ends: not a sum of forgotten deadlines

    def test_a_default_that_cannot_run_is_said(self):
        with Workspace() as workspace:
            done = workspace.run("tune", workspace.write(campaign(mode="unsupported", trials=3)))
            self.assertEqual(done.returncode, 1)
            self.assertIn("bf16 needs AVX512_BF16", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
