"""The go / no-go list, from outside."""

import json
import unittest

from workspace import Workspace, campaign

PARAMETERS = [
    {"name": "mode", "stage": "build", "values": ["computed", "crash", "eat_memory"], "default": "computed"},
    {"name": "batch", "stage": "run", "values": [32, 64, 128], "type": "ordinal", "default": 64},
]


class Rehearsal(unittest.TestCase):
    def test_it_lists_what_goes_and_what_does_not_and_measures_nothing(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(parameters=PARAMETERS, run={"memory": "64MiB"}))
            done = workspace.run("tune", file, "--rehearse", check=6)
            self.assertRegex(done.stdout, r"(?m)^go +\S.* mode=computed *$")
            self.assertRegex(done.stdout, r"(?m)^no-go .* mode=crash +crashed: SIG")
            self.assertRegex(done.stdout, r"(?m)^no-go .* mode=eat_memory +out_of_memory: .*so were batches 128, 64")
            self.assertIn("The rehearsal: 1 of 3 rows go, 2 are a no-go.", done.stdout)
            self.assertEqual(workspace.finished_trials(), [])
            self.assertEqual(list((workspace.data / "runs").iterdir()), [])  # nothing is left lying about

            again = workspace.run("tune", file, "--rehearse", "--json", check=6)
            document = json.loads(again.stdout)
            self.assertFalse(document["go"])
            rows = {row["row"]["mode"]: row for row in document["rows"]}
            self.assertTrue(rows["computed"]["go"])
            self.assertEqual(rows["computed"]["configuration"]["batch"], 128)
            self.assertEqual(rows["eat_memory"]["too_large"], [128, 64])

    def test_a_long_campaign_begins_with_it_and_goes_on(self):
        with Workspace() as workspace:
            document = campaign(parameters=PARAMETERS, trials=8, strategy="random", run={"memory": "64MiB"})
            document["budget"]["wall"] = "8h"
            file = workspace.write(document)
            done = workspace.run("tune", file, "--no-noise", check=0)
            self.assertIn("The rehearsal: each of 3 rows is prepared and trained 3 steps", done.stderr)
            self.assertRegex(done.stderr, r"row +1/3  go ")
            self.assertRegex(done.stderr, r"no-go .*mode=crash: crashed")
            trials = workspace.json("list", "trials")["trials"]
            self.assertEqual(trials[0]["outcome"], "ok")
            told = [trial for trial in trials if (trial["reason"] or "").startswith("in the rehearsal: ")]
            self.assertEqual({trial["configuration"]["mode"] for trial in told}, {"crash", "eat_memory"})
            self.assertTrue(all(trial["runs"] == 0 for trial in told))
            self.assertEqual([trial["trial"] for trial in told], [1, 2])

    def test_a_short_campaign_and_one_that_does_not_want_it_begin_at_once(self):
        with Workspace() as workspace:
            short = workspace.run("tune", workspace.write(campaign(trials=2)), check=0)
            self.assertNotIn("rehearsal", short.stderr)
        with Workspace() as workspace:
            document = campaign(name="long", trials=2)
            document["budget"]["wall"] = "8h"
            done = workspace.run("tune", workspace.write(document), "--no-rehearsal", "--no-noise", check=0)
            self.assertNotIn("rehearsal", done.stderr)
            refused = workspace.run("tune", workspace.write(document), "--no-rehearsal", "--rehearse", check=2)
            self.assertIn("--no-rehearsal", refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
