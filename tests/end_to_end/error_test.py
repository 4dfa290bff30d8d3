"""Every kind of worker error in one campaign: each gets its outcome with a reason, and the campaign goes on."""

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
# In a campaign of their own, for each lasts as long as it may.
HANGING = dict.fromkeys(["hang", "hang_silent", "ignore_sigterm", "orphan_hang", "stop_self"], "timeout")


class Errors(unittest.TestCase):
    maxDiff = None

    def tuned(self, expected, deadline):
        parameters = [{"name": "mode", "stage": "run", "values": list(expected), "default": next(iter(expected))}]
        document = campaign(strategy="exhaustive", trials=len(expected), parameters=parameters,
                            run={"deadline": deadline, "memory": "64MiB"})
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(document), check=0)
            trials = workspace.json("list", "trials")["trials"]
            outcomes = {trial["configuration"]["mode"]: trial["outcome"] for trial in trials}
            self.assertEqual(outcomes, expected)
            for trial in trials:
                if trial["outcome"] != "ok":
                    self.assertTrue(trial["reason"], f"{trial['configuration']} has no reason")
            self.assertTrue(wait_until(lambda: not workers_alive(workspace.data)), "a process outlived its trial")

    def test_each_gets_its_outcome_and_the_campaign_goes_on(self):
        self.tuned(EXPECTED, "60s")

    def test_each_way_to_hang_is_ended_and_the_campaign_goes_on(self):
        self.tuned({"computed": "ok", **HANGING}, "2s")

    def test_the_largest_batch_that_fits_is_found_with_two_out_of_memories_at_most(self):
        batches = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
        parameters = [{"name": "batch", "stage": "run", "values": batches, "type": "ordinal", "default": 64},
                      {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"},
                      {"name": "width", "stage": "run", "range": [1, 20], "default": 10}]
        # 8 MiB and a quarter an image, beside some 5 MiB of the process: 256 fit, 384 do not.
        document = campaign(mode="hungry", strategy="auto", trials=30, parameters=parameters,
                            run={"memory": "96MiB"})
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(document), check=0)
            trials = workspace.json("list", "trials")["trials"]
            out_of_memory = [trial for trial in trials if trial["outcome"] == "out_of_memory"]
            self.assertLessEqual(len(out_of_memory), 2)
            worked = [trial for trial in trials if trial["outcome"] == "ok"]
            self.assertEqual(max(trial["configuration"]["batch"] for trial in worked), 256)
            for trial in worked:
                expected = (8 + trial["configuration"]["batch"] / 4) * 2**20
                self.assertTrue(expected < trial["peak_bytes"] < expected + 16 * 2**20, trial)
            [line] = workspace.json("model")["memory"]
            self.assertTrue(256 <= line["largest_batch"]["expected"] < 384, line)
            self.assertAlmostEqual(line["bytes_each"] / 2**18, 1, delta=0.1)
            self.assertRegex(workspace.run("model", check=0).stdout,
                             r"memory: [\d.]+ MiB \+ 2\d\d\.\d KiB an image; at most 3\d\d images fit in 96.0 MiB")
            self.assertIn("does not fit in 96.0 MiB", workspace.run("explain", "batch=1024", check=0).stdout)
            self.assertIn("at its peak", workspace.run("show", worked[0]["trial"], check=0).stdout)

    def test_a_default_that_cannot_run_is_said(self):
        with Workspace() as workspace:
            done = workspace.run("tune", workspace.write(campaign(mode="unsupported", trials=3)))
            self.assertEqual(done.returncode, 1)
            self.assertIn("bf16 needs AVX512_BF16", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
