"""The list of what passed and what failed, from outside."""

import json
import unittest

from workspace import Workspace, campaign

PARAMETERS = [
    {"name": "mode", "stage": "build", "values": ["computed", "crash", "eat_memory"], "default": "computed"},
    {"name": "batch", "stage": "run", "values": [32, 64, 128], "type": "ordinal", "default": 64},
]


class Preflight(unittest.TestCase):
    def test_it_lists_what_goes_and_what_does_not_and_measures_nothing(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(parameters=PARAMETERS, run={"memory": "64MiB"}))
            done = workspace.run("tune", file, "--preflight", check=6)
            self.assertRegex(done.stdout, r"(?m)^passed +\S.* mode=computed *$")
            self.assertRegex(done.stdout, r"(?m)^failed .* mode=crash +crashed: SIG")
            self.assertRegex(done.stdout, r"(?m)^failed .* mode=eat_memory +out_of_memory: .*so were batches 128, 64")
            self.assertIn("The preflight: 1 of 3 software stacks passed, 2 failed.", done.stdout)
            self.assertEqual(workspace.finished_trials(), [])
            self.assertEqual(list((workspace.data / "runs").iterdir()), [])  # nothing is left lying about

            again = workspace.run("tune", file, "--preflight", "--json", check=6)
            document = json.loads(again.stdout)
            self.assertFalse(document["passed"])
            stacks = {stack["stack"]["mode"]: stack for stack in document["stacks"]}
            self.assertTrue(stacks["computed"]["passed"])
            self.assertEqual(stacks["computed"]["configuration"]["batch"], 128)
            self.assertEqual(stacks["eat_memory"]["too_large"], [128, 64])

    def test_a_long_campaign_begins_with_it_and_goes_on(self):
        with Workspace() as workspace:
            document = campaign(parameters=PARAMETERS, trials=8, strategy="random", run={"memory": "64MiB"})
            document["budget"]["wall"] = "8h"
            file = workspace.write(document)
            done = workspace.run("tune", file, "--no-noise", check=0)
            self.assertIn("The preflight: each of 3 software stacks is prepared and trained 3 steps", done.stderr)
            self.assertRegex(done.stderr, r"software stack +1/3  passed ")
            self.assertRegex(done.stderr, r"failed .*mode=crash: crashed")
            trials = workspace.json("list", "trials")["trials"]
            self.assertEqual(trials[0]["outcome"], "ok")
            told = [trial for trial in trials if (trial["reason"] or "").startswith("in the preflight: ")]
            self.assertEqual({trial["configuration"]["mode"] for trial in told}, {"crash", "eat_memory"})
            self.assertTrue(all(trial["runs"] == 0 for trial in told))
            self.assertEqual([trial["trial"] for trial in told], [1, 2])

    def test_a_short_campaign_and_one_that_does_not_want_it_begin_at_once(self):
        with Workspace() as workspace:
            short = workspace.run("tune", workspace.write(campaign(trials=2)), check=0)
            self.assertNotIn("preflight", short.stderr)
        with Workspace() as workspace:
            document = campaign(name="long", trials=2)
            document["budget"]["wall"] = "8h"
            done = workspace.run("tune", workspace.write(document), "--no-preflight", "--no-noise", check=0)
            self.assertNotIn("preflight", done.stderr)
            refused = workspace.run("tune", workspace.write(document), "--no-preflight", "--preflight", check=2)
            self.assertIn("--no-preflight", refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
