"""A campaign seen from another terminal, and the program that is started at its end."""

import contextlib
import json
import os
import signal
import sqlite3
import unittest

from workspace import PATIENCE, Workspace, campaign, supervisors_of, wait_until, workers_alive


class Status(unittest.TestCase):
    def test_it_runs_was_killed_goes_on_and_is_finished(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=4, mode="hang", run={"deadline": "600s"}))
            tuner = workspace.start("tune", file)
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            self.assertTrue(wait_until(
                lambda: json.loads(workspace.run("status", "--json").stdout)["activity"] == "measuring"))
            seen = workspace.json("status")
            self.assertEqual((seen["condition"], seen["trial"], seen["pid"]), ("running", 0, tuner.pid))
            shown = workspace.run("status", check=0).stdout
            self.assertIn(f"running (process {tuner.pid})", shown)
            self.assertIn("Doing     measuring trial 0 for ", shown)

            tuner.send_signal(signal.SIGSTOP)
            self.assertTrue(wait_until(lambda: workspace.json("status")["condition"] == "stopped"))
            tuner.send_signal(signal.SIGCONT)
            self.assertTrue(wait_until(lambda: workspace.json("status")["condition"] == "running"))

            tuner.kill()
            _, _ = tuner.communicate()
            died = workspace.run("status", check=1).stdout
            self.assertIn("was killed at about ", died)
            self.assertRegex(died, rf"Go on +\S*nocturne[^|]*tune[ \\\n]+{file}")
            self.assertTrue(wait_until(lambda: not workers_alive(workspace.data)))

            again = workspace.start("tune", file, "--grace", "0s")
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            again.send_signal(signal.SIGTERM)
            _, err = again.communicate(timeout=PATIENCE)
            self.assertRegex(err, "Found after a kill at about [0-9:]+: trial 0 was in flight and runs again, 1 run is "
                                  "marked as killed")
            ended = workspace.json("status")
            self.assertEqual((ended["condition"], ended["because"]), ("interrupted", "interrupted"))

    def test_a_stopped_supervisor_stops_neither_the_night_nor_its_status(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=1, mode="hang", run={"deadline": "5s"}))
            tuner = workspace.start("tune", file)
            self.addCleanup(tuner.kill)  # a stopped one would hold the processors for ever
            self.assertTrue(wait_until(lambda: supervisors_of(tuner.pid)))
            supervisor = supervisors_of(tuner.pid)[0]
            os.kill(supervisor, signal.SIGSTOP)
            self.assertTrue(wait_until(lambda: workspace.json("status")["condition"] == "stalled"))
            self.assertIn(f"the supervisor of its run (process {supervisor}) is stopped", workspace.json("status")["sentence"])
            _, err = tuner.communicate(timeout=PATIENCE)
            self.assertIn(f"(its supervisor (process {supervisor}) was stopped and did not end it at its deadline): "
                          "it runs again", err)
            self.assertEqual([outcome for _, _, outcome in workspace.finished_trials()], ["timeout"])
            self.assertFalse(workers_alive(workspace.data))

    def test_a_supervisor_that_hangs_is_told_from_one_that_is_stopped(self):
        with Workspace() as workspace:
            hung = workspace.folder / "nocturne-supervisor"
            hung.write_text("#!/bin/sh\nwhile :; do sleep 1; done\n")
            hung.chmod(0o755)
            file = workspace.write(campaign(trials=1, run={"deadline": "2s"}))
            tuner = workspace.start("tune", file, env={**os.environ, "NOCTURNE_SUPERVISOR_PROGRAM": str(hung)})
            self.addCleanup(tuner.kill)
            self.assertTrue(wait_until(lambda: supervisors_of(tuner.pid)))
            supervisor = supervisors_of(tuner.pid)[0]
            self.addCleanup(lambda: os.kill(supervisor, signal.SIGKILL))
            self.assertTrue(wait_until(lambda: workspace.json("status")["condition"] == "overdue"))
            self.assertRegex(workspace.json("status")["sentence"],
                             rf"beyond its deadline, for the supervisor of it \(process {supervisor}, in state [A-Z]\) hangs")

    def test_whoever_waits_for_a_stopped_tuner_says_so_and_how_it_goes_on(self):
        with Workspace() as first, Workspace() as second:
            tuner = first.start("tune", first.write(campaign(trials=1, mode="hang", run={"deadline": "600s"})))
            self.addCleanup(tuner.kill)
            self.assertTrue(wait_until(lambda: workers_alive(first.data)))
            waiting = second.start("tune", second.write(campaign(trials=1)))
            self.addCleanup(waiting.kill)
            doing = lambda: json.loads(second.run("status", "--json").stdout or "{}").get("doing") or ""
            self.assertTrue(wait_until(lambda: f"is measured by campaign 'fake' (process {tuner.pid})" in doing()))
            self.assertNotIn("stopped", doing())
            tuner.send_signal(signal.SIGSTOP)
            self.assertTrue(wait_until(lambda: f"that process is stopped: 'kill -CONT {tuner.pid}' continues it, "
                                               f"'kill -KILL {tuner.pid}' ends it" in doing()))
            tuner.kill()
            _, err = waiting.communicate(timeout=PATIENCE)
            self.assertIn(f"'kill -CONT {tuner.pid}' continues it", err)
            self.assertEqual(second.json("status")["condition"], "finished")

    def test_a_finished_campaign_is_finished_and_status_writes_nothing(self):
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(campaign(trials=4)), check=0)
            self.assertEqual(workspace.json("status")["condition"], "finished")
            # A writer in the middle of a transaction does not keep it waiting.
            with workspace.database() as connection:
                connection.execute("BEGIN IMMEDIATE")
                self.assertEqual(workspace.json("status")["condition"], "finished")
                connection.rollback()

    def test_a_database_from_before_the_first_release_is_refused_and_left_as_it_is(self):
        with Workspace() as workspace:
            workspace.data.mkdir(parents=True, exist_ok=True)
            database = workspace.data / "nocturne.db"
            with contextlib.closing(sqlite3.connect(database)) as connection:
                connection.executescript("PRAGMA application_id = 0x4E4F4354; PRAGMA user_version = 9;"
                                         "CREATE TABLE campaigns (name TEXT)")
            before = database.read_bytes()
            for command in (["status"], ["list"], ["tune", workspace.write(campaign(trials=2))]):
                done = workspace.run(*command, check=4)
                self.assertIn("is from before the first release of Nocturne", done.stderr)
                self.assertIn("Move it away, or name another file with --db, and tune again.", done.stderr)
            self.assertEqual(database.read_bytes(), before)


class OnFinish(unittest.TestCase):
    def program(self, workspace, exit_code=0):
        script = workspace.folder / "finished"
        script.write_text(f'#!/bin/sh\nenv | grep ^NOCTURNE_ > "{workspace.folder}/seen"\n'
                          f'printf "%s\\n" "$@" >> "{workspace.folder}/seen"\nexit {exit_code}\n')
        script.chmod(0o755)
        return str(script)

    def test_it_is_told_the_result_of_a_complete_campaign(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=5))
            done = workspace.run("tune", file, "--json", "--on-finish", self.program(workspace),
                                 "--on-finish-arg", "a b", "--on-finish-arg=--c", check=0)
            answer = json.loads(done.stdout)
            lines = (workspace.folder / "seen").read_text().splitlines()
            seen = dict(line.split("=", 1) for line in lines if line.startswith("NOCTURNE_"))
            self.assertEqual(lines[-2:], ["a b", "--c"])
            self.assertEqual(seen["NOCTURNE_CAMPAIGN"], "fake")
            self.assertEqual(seen["NOCTURNE_ENDING"], "complete")
            self.assertEqual(seen["NOCTURNE_EXIT_CODE"], "0")
            self.assertEqual(seen["NOCTURNE_BEST_TRIAL"], str(answer["best"]["trial"]))
            self.assertEqual(seen["NOCTURNE_PROFILE"], answer["profile"]["json"])
            if answer["gain"]:
                self.assertAlmostEqual(float(seen["NOCTURNE_GAIN_PERCENT"]), answer["gain"]["percent"], delta=0.006)

    def test_it_is_told_of_an_interruption_and_its_failure_changes_nothing(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=500, mode="obey", run={"steps": 200}))
            tuner = workspace.start("tune", file, "--on-finish", self.program(workspace, 9))
            self.assertTrue(wait_until(lambda: workspace.trials_done() >= 2))
            tuner.send_signal(signal.SIGINT)
            _, err = tuner.communicate(timeout=PATIENCE)
            self.assertEqual(tuner.returncode, 130)
            self.assertIn("--on-finish", err)
            self.assertIn("ended with exit code 9", err)
            self.assertIn("NOCTURNE_ENDING=interrupted\n", (workspace.folder / "seen").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
