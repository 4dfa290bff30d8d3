"""A campaign killed at random moments goes on as if nothing had happened."""

import os
import random
import signal
import sys
import time
import unittest

from workspace import NOT_SLOWED, PATIENCE, Workspace, campaign, wait_until, workers_alive

TRIALS = 40
KILLS = int(os.environ.get("NOCTURNE_TEST_KILLS", "10"))


class KilledCampaign(unittest.TestCase):
    def test_resumed_equals_undisturbed(self):
        seed = int(os.environ.get("NOCTURNE_TEST_SEED", str(random.randrange(1 << 30))))
        print(f"seed {seed}", file=sys.stderr)
        moments = random.Random(seed)
        with Workspace() as undisturbed, Workspace() as disturbed:
            began = time.monotonic()
            undisturbed.run("tune", undisturbed.write(campaign(trials=TRIALS)), check=0)
            whole = time.monotonic() - began
            expected = undisturbed.finished_trials()
            self.assertEqual(len(expected), TRIALS)

            file = disturbed.write(campaign(trials=TRIALS))
            known = 0
            for _ in range(KILLS):
                tuner = disturbed.start("tune", file)
                time.sleep(moments.uniform(0.0, max(0.3, whole / KILLS * 1.5)))
                tuner.send_signal(signal.SIGKILL)
                tuner.communicate()
                self.assertTrue(wait_until(lambda: not workers_alive(disturbed.data)), "a worker outlived its tuner")
                if not (disturbed.data / "nocturne.db").exists():
                    continue
                with disturbed.database() as connection:
                    self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                    self.assertEqual(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
                finished = disturbed.finished_trials()
                self.assertGreaterEqual(len(finished), known)  # nothing that was finished is lost
                self.assertEqual(finished, expected[:len(finished)])  # same trials, same order
                known = len(finished)

            done = disturbed.run("tune", file, check=0)
            self.assertEqual(disturbed.finished_trials(), expected, done.stderr)
            with disturbed.database() as connection:
                # A run that was cut off is kept as killed; a trial has at most one good search run: none ran twice.
                twice = connection.execute(
                    f"SELECT trial_id, count(*) FROM runs WHERE outcome = 'ok' AND purpose = 'search' AND {NOT_SLOWED} "
                    "GROUP BY trial_id HAVING count(*) > 1").fetchall()
                self.assertEqual(twice, [])
                killed = connection.execute("SELECT count(*) FROM runs WHERE outcome = 'killed'").fetchone()[0]
                self.assertLessEqual(killed, 2 * KILLS)  # a pair in flight is two runs
            self.assertEqual(disturbed.runs_nobody_names(), set())

    def test_what_a_killed_pair_left_is_gone_when_the_campaign_goes_on(self):
        with Workspace() as workspace:
            go = workspace.folder / "go"  # until it is there, a pair stays in its turns
            file = workspace.write(campaign(trials=2, mode="obey", run={"deadline": "600s"}, strategy="exhaustive", parameters=[
                {"name": "step_us", "stage": "run", "values": [2000, 20], "default": 2000},
                {"name": "until_in_turns", "stage": "run", "values": [str(go)]}]))
            tuner = workspace.start("tune", file)
            self.addCleanup(tuner.kill)
            self.assertTrue(wait_until(lambda: workspace.trials_done() == 2 and len(workers_alive(workspace.data)) == 2))
            alive = workspace.runs_nobody_names()
            self.assertEqual(len(alive), 2)
            # Its owner lives: neither a user who cleans nor another campaign takes it away.
            workspace.run("clean", "--yes", "--older-than", "1s", check=0)
            other = workspace.start("tune", workspace.write(campaign("other", trials=1), "other.json"))
            while "Waiting" not in other.stderr.readline():  # for the processors; it has swept by then
                self.assertIsNone(other.poll())
            other.kill()
            other.communicate()
            self.assertEqual(workspace.runs_nobody_names() & alive, alive)
            tuner.kill()
            tuner.communicate()
            self.assertTrue(wait_until(lambda: not workers_alive(workspace.data)))
            self.assertIn("Would remove 2 of ", workspace.run("clean", check=0).stdout)
            # Another database does not know what this one's rows name.
            workspace.run("tune", workspace.folder / "other.json", "--db", workspace.folder / "other.db")
            workspace.run("clean", "--yes", "--db", workspace.folder / "other.db", check=0)
            self.assertEqual(workspace.runs_nobody_names() & alive, alive)
            go.touch()
            workspace.run("tune", file, check=0)
            self.assertFalse(workspace.runs_nobody_names() & alive)

    def test_pairs_of_noise_are_gone_after_clean(self):
        with Workspace() as workspace:
            workspace.run("noise", workspace.write(campaign()), "--time", "1s", check=0)
            self.assertTrue(workspace.runs_nobody_names())
            workspace.run("clean", "--yes", check=0)
            self.assertFalse(workspace.runs_nobody_names())

    def test_a_second_tune_repeats_nothing(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=6))
            workspace.run("tune", file, check=0)
            with workspace.database() as connection:
                before = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
            workspace.run("tune", file, check=0)
            with workspace.database() as connection:
                self.assertEqual(connection.execute("SELECT count(*) FROM runs").fetchone()[0], before)

    def test_ctrl_c_finishes_the_run_in_flight_and_answers(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=500, mode="obey", run={"steps": 200}))
            tuner = workspace.start("tune", file)
            self.assertTrue(wait_until(lambda: workspace.trials_done() >= 3))
            tuner.send_signal(signal.SIGINT)
            _, err = tuner.communicate(timeout=PATIENCE)
            self.assertEqual(tuner.returncode, 130, err)
            self.assertIn("Ending after the run in flight", err)
            with workspace.database() as connection:
                self.assertEqual(connection.execute("SELECT count(*) FROM runs WHERE outcome = 'killed'").fetchone()[0], 0)

    def test_a_second_tuner_of_the_same_campaign_is_refused(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=5, mode="hang", run={"deadline": "600s"}))
            tuner = workspace.start("tune", file)
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            second = workspace.run("tune", file)
            tuner.kill()
            tuner.communicate()
            self.assertNotEqual(second.returncode, 0)
            self.assertIn(str(tuner.pid), second.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
