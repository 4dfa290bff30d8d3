"""Configurations beside each other, and the published results of the paper, measured with the fake worker."""

import json
import subprocess
import unittest

from workspace import Workspace, campaign, wait_until

MODES = [{"name": "mode", "stage": "run", "values": ["computed", "unsupported", "crash"], "default": "computed"},
         {"name": "width", "stage": "run", "range": [1, 20], "default": 10}]
PAPER = [{"name": "framework", "stage": "environment", "default": "tensorflow-1.14",
          "values": ["tensorflow-1.14", "tensorflow-2.1", "tensorflow-1.14-ngraph"]},
         {"name": "graph_compiler", "stage": "compile", "values": ["none", "xla", "ngraph"], "default": "none"}]


class Compare(unittest.TestCase):
    def compared(self, workspace, *arguments, check=0):
        return json.loads(workspace.run("compare", *arguments, "--json", check=check).stdout)

    def test_measures_each_against_the_first_in_turns_and_only_once(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(parameters=MODES))
            sides = ["default", "width=3", "width=17", "--campaign", file]
            workspace.run("compare", *sides, check=3)  # nothing is known yet
            found = self.compared(workspace, *sides, "--measure", "--pairs", "3")["sides"]
            self.assertIsNone(found[0]["gain"])
            for side in found[1:]:
                seconds = found[0]["times"][1]["seconds"] / side["times"][1]["seconds"]
                self.assertEqual(side["gain"]["verdict"], "faster" if seconds > 1 else "slower", found)
                self.assertGreaterEqual(side["gain"]["pairs"], 3)
                self.assertLess(side["gain"]["low_percent"], side["gain"]["high_percent"])
            with workspace.database() as database:
                count = "SELECT count(*) FROM pairs"
                roles = database.execute("SELECT role, count(*) FROM comparisons GROUP BY role").fetchall()
                self.assertEqual(roles, [("compare", 2)])
                pairs = database.execute(count).fetchone()
                first = database.execute("SELECT first_side FROM pairs WHERE comparison_id = 1 ORDER BY pair").fetchall()
                self.assertEqual(set(first[:2]), {("baseline",), ("candidate",)})  # both orders
                self.assertEqual(self.compared(workspace, *sides, "--measure", "--pairs", "3")["sides"], found)
                self.assertEqual(database.execute(count).fetchone(), pairs)
            shown = workspace.run("compare", *sides, check=0).stdout
            self.assertIn("A (reference)", shown)
            self.assertIn(found[1]["gain"]["verdict"].upper(), shown)
            # By name and number, from the database alone.
            by_number = self.compared(workspace, "0", "1", "--campaign", "fake")["sides"]
            self.assertEqual(by_number[1]["gain"], found[1]["gain"])
            # One comparison alone shares its error with no other: the same pairs, an interval that is no wider.
            alone = self.compared(workspace, "0", "1", "--measure", "--pairs", "3")["sides"][1]["gain"]
            self.assertEqual((alone["verdict"], alone["pairs"]), (by_number[1]["gain"]["verdict"], by_number[1]["gain"]["pairs"]))
            self.assertGreaterEqual(alone["low_percent"], by_number[1]["gain"]["low_percent"])
            self.assertLessEqual(alone["high_percent"], by_number[1]["gain"]["high_percent"])

    def test_a_side_that_cannot_run_shows_why_and_the_rest_goes_on(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(parameters=MODES))
            measured = ["--measure", "--pairs", "3", "--campaign", file]
            found = self.compared(workspace, "default", "mode=unsupported", "width=3", *measured)["sides"]
            self.assertEqual(found[1]["outcome"], "unsupported")
            self.assertEqual(found[1]["no_gain"], "cannot run")
            self.assertIsNotNone(found[2]["gain"])
            alone = self.compared(workspace, "mode=crash", "default", *measured, check=1)["sides"]
            self.assertEqual(alone[0]["outcome"], "crashed")
            self.assertEqual(alone[1]["no_gain"], "the reference cannot run")

    def test_a_campaign_goes_on_after_a_comparison_as_if_there_had_been_none(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=6))
            workspace.run("compare", "default", "width=3", "--measure", "--pairs", "2", "--campaign", file, check=0)
            tuned = workspace.json("tune", file)
            self.assertEqual(sum(tuned["outcomes"].values()), 6)  # the two compared ones are among them
            workspace.run("compare", "default", "width=4", "--measure", "--pairs", "2", "--campaign", "fake", check=0)
            again = workspace.run("tune", file, check=0)
            self.assertIn("completed before", again.stderr)

    def test_an_exported_profile_is_a_side_and_its_proof_is_known(self):
        with Workspace() as workspace:
            tuned = workspace.json("tune", workspace.write(campaign(trials=12)))
            for word in ["fake", tuned["profile"]["json"], "best"]:
                side = self.compared(workspace, "default", word)["sides"][1]
                self.assertEqual(side["configuration"], tuned["best"]["configuration"])
                self.assertEqual((side["gain"]["verdict"], side["gain"]["role"]), ("faster", "verify"))

    def test_a_campaign_that_is_being_tuned_is_not_disturbed(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(mode="obey", trials=5000, run={"steps": 400}))
            with workspace.start("tune", file, stderr=subprocess.DEVNULL) as tuner:
                try:
                    self.assertTrue(wait_until(lambda: workspace.trials_done() > 1))
                    done = workspace.run("compare", "0", "1", "--measure", "--campaign", file, check=5)
                    self.assertIn(str(tuner.pid), done.stderr)
                finally:
                    tuner.kill()

    def test_without_time_nothing_is_begun(self):
        with Workspace() as workspace:
            file = workspace.write(campaign())
            done = workspace.run("compare", "default", "width=3", "--measure", "--time", "1ms", "--campaign", file, check=1)
            self.assertIn("not compared", done.stdout)
            self.assertIn("goes on", done.stderr)


class Report(unittest.TestCase):
    def test_measures_what_is_missing_and_names_what_cannot_be(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(parameters=PAPER))
            def report(*more):
                shown = workspace.run("report", "paper", "--campaign", file, "--json", *more).stdout
                return {row["result"]: row for row in json.loads(shown)["results"]}
            before = report()
            self.assertEqual(before["tensorflow-2.1"]["finding"], "not measured")
            self.assertIn("--measure", before["tensorflow-2.1"]["command"])
            after = report("--measure", "--time", "1h", "--pairs", "3")
            for result in ["tensorflow-2.1", "ngraph", "xla-cpu"]:
                row = after[result]
                self.assertEqual(row["measured"]["by"], "pairs")
                percent = row["measured"]["percent"]
                as_published = (percent > 0) == (row["published_percent"] > 0)
                self.assertEqual(row["finding"], "confirmed" if as_published else "reversed", row)
                size = row["readings"]["speed_percent" if row["reading"] == "speed" else "time_saved_percent"]
                inside = row["measured"]["low_percent"] <= size <= row["measured"]["high_percent"]
                self.assertEqual(row["published_size"] == "inside", inside, row)
                self.assertEqual(row["command"], "")
            self.assertEqual(after["pytorch-from-source"]["finding"], "not measurable here")
            self.assertIn("source=hub", after["pytorch-from-source"]["command"])
            self.assertEqual(after["first-epoch"]["measured"]["by"], "epochs")
            # Five processes answer both rows: neither trains its own.
            self.assertEqual(after["first-epoch"]["measured"]["repetitions"], 5)
            self.assertEqual(after["first-epoch"]["finding"], "confirmed")
            self.assertEqual(after["later-epochs"]["measured"]["by"], "epochs")
            table = workspace.run("report", "paper", "--markdown", check=0).stdout
            self.assertIn("| XLA on TF 2.1, CPU | -30 % (or -23 %) |", table)


if __name__ == "__main__":
    unittest.main(verbosity=2)
