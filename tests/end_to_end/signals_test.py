"""A scheduler's SIGTERM, a terminal that goes, Ctrl-Z and fg: each on the real program with a worker in flight."""

import contextlib
import os
import pathlib
import pty
import signal
import subprocess
import threading
import unittest

from workspace import PATIENCE, Workspace, campaign, wait_until, workers_alive


def state_of(pid):
    """The state letter of /proc/PID/stat."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def slots_held(pid):
    """The machine's lock files that a process has open."""
    opened = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            opened.append(os.readlink(entry))
    return [path for path in opened if "/cpu-" in path and path.endswith(".lock")]


def held(workspace, what="until", **settings):
    """(go, file): a campaign whose workers stay in their work, in turns or out of them, until somebody touches `go`."""
    go = workspace.folder / "go"
    document = campaign(mode="obey", run={"deadline": "600s"}, **settings)
    document["space"]["parameters"].append({"name": what, "stage": "run", "values": [str(go)]})
    return go, workspace.write(document)


def run_outcomes(workspace):
    with workspace.database() as connection:
        return [row[0] for row in connection.execute(
            "SELECT runs.outcome FROM runs WHERE purpose = 'search' AND in_flight = 0 ORDER BY id")]


class Terminate(unittest.TestCase):
    def test_the_run_in_flight_is_finished_within_the_grace_period_and_the_answer_given(self):
        with Workspace() as workspace:
            go, file = held(workspace, trials=5000)
            go.touch()
            tuner = workspace.start("tune", file, "--grace", "600s", stdout=subprocess.PIPE)
            self.assertTrue(wait_until(lambda: workspace.trials_done() >= 3))
            go.unlink()
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            tuner.send_signal(signal.SIGTERM)
            while "the run in flight has 600 s to be finished" not in tuner.stderr.readline():
                self.assertIsNone(tuner.poll())
            go.touch()
            out, err = tuner.communicate(timeout=PATIENCE)
            self.assertEqual(tuner.returncode, 143, err)
            self.assertIn("Best      trial", out)
            self.assertRegex(out, rf"Go on +\S*nocturne[^|]*tune[ \\\n]+{file}")
            self.assertNotIn("killed", run_outcomes(workspace))

    def test_a_run_that_does_not_fit_is_killed_and_repeated_by_the_next_session(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=1, mode="hang", run={"deadline": "600s"}))
            tuner = workspace.start("tune", file, "--grace", "50ms")
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            tuner.send_signal(signal.SIGTERM)
            tuner.communicate(timeout=PATIENCE)
            self.assertEqual(tuner.returncode, 143)
            self.assertEqual(workers_alive(workspace.data), [])
            self.assertEqual(run_outcomes(workspace), ["killed"])
            again = workspace.start("tune", file, "--grace", "0s")
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            again.send_signal(signal.SIGTERM)
            _, err = again.communicate(timeout=PATIENCE)
            # Another sentence where it found something of somebody else's that had to be ended first.
            self.assertRegex(err, "The last session ended in trial 0: it runs again|trial 0 was in flight and runs again")

    def test_a_second_one_ends_at_once(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=1, mode="hang", run={"deadline": "600s"}))
            tuner = workspace.start("tune", file, "--grace", "60s")
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            tuner.send_signal(signal.SIGTERM)
            while "SIGTERM again ends at once" not in tuner.stderr.readline():
                self.assertIsNone(tuner.poll())
            tuner.send_signal(signal.SIGTERM)
            tuner.communicate(timeout=PATIENCE)
            self.assertEqual(tuner.returncode, 143)

    def test_a_wait_for_the_slot_ends_at_once(self):
        with Workspace() as first, Workspace() as second:
            holder = first.start("tune", first.write(campaign(trials=1, mode="hang", run={"deadline": "600s"})))
            self.assertTrue(wait_until(lambda: workers_alive(first.data)))
            waiter = second.start("tune", second.write(campaign(trials=1)))
            while "Waiting: CPU" not in waiter.stderr.readline():
                self.assertIsNone(waiter.poll())
            self.assertTrue(wait_until(lambda: second.json("status")["activity"] == "waiting"))
            waiter.send_signal(signal.SIGINT)
            waiter.communicate(timeout=PATIENCE)
            self.assertEqual(waiter.returncode, 130)
            holder.kill()
            holder.communicate()


class HangUp(unittest.TestCase):
    def test_the_campaign_goes_on_and_its_words_go_into_a_file(self):
        with Workspace() as workspace:
            go, file = held(workspace, trials=5)
            terminal, end = pty.openpty()
            tuner = workspace.start("tune", file, stdout=end, stderr=end, start_new_session=True)
            os.close(end)
            shown = []

            def read():
                try:
                    while text := os.read(terminal, 4096):
                        shown.append(text)
                except OSError:
                    pass  # nobody has the other end any more

            reader = threading.Thread(target=read)
            reader.start()
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            tuner.send_signal(signal.SIGHUP)
            log = workspace.data / "logs" / "fake.log"
            self.assertTrue(wait_until(lambda: log.exists() and "the campaign goes on" in log.read_text()))
            go.touch()
            self.assertEqual(tuner.wait(timeout=PATIENCE), 0)
            reader.join(timeout=PATIENCE)
            os.close(terminal)
            self.assertEqual(len(workspace.finished_trials()), 5)
            self.assertIn("More time ", log.read_text())  # the answer, to its last lines; a profile, where noise allows one
            self.assertNotIn("\x1b", log.read_text())
            self.assertNotIn(b"More time ", b"".join(shown))

    def test_without_a_terminal_it_is_nothing(self):
        with Workspace() as workspace:
            go, file = held(workspace, trials=2)
            tuner = workspace.start("tune", file)
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            tuner.send_signal(signal.SIGHUP)
            go.touch()
            tuner.communicate(timeout=PATIENCE)
            self.assertEqual(tuner.returncode, 0)
            self.assertFalse((workspace.data / "logs").exists())


class StopAndContinue(unittest.TestCase):
    def test_nothing_measures_while_it_is_stopped_and_the_run_is_repeated(self):
        with Workspace() as workspace:
            go, file = held(workspace, trials=2)
            tuner = workspace.start("tune", file, "--no-preflight", "--no-noise")
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)))
            tuner.send_signal(signal.SIGTSTP)
            self.assertTrue(wait_until(lambda: state_of(tuner.pid) == "T"))
            self.assertEqual(workers_alive(workspace.data), [])
            self.assertEqual(workspace.json("status")["condition"], "stopped")
            self.assertEqual(run_outcomes(workspace), ["killed"])
            go.touch()
            tuner.send_signal(signal.SIGCONT)
            _, err = tuner.communicate(timeout=PATIENCE)
            self.assertEqual(tuner.returncode, 0, err)
            self.assertIn("Goes on.", err)
            outcomes = run_outcomes(workspace)
            self.assertEqual((outcomes[0], set(outcomes[1:])), ("killed", {"ok"}))
            self.assertEqual([trial[0] for trial in workspace.finished_trials()], [0, 1])

    def test_the_finals_go_on_too(self):
        with Workspace() as workspace:
            speeds = [{"name": "step_us", "stage": "run", "values": [2000, 20], "default": 2000}]
            go, file = held(workspace, "until_in_turns", trials=2, parameters=speeds, strategy="exhaustive",
                            verify={"pairs": 3, "most_pairs": 3})
            tuner = workspace.start("tune", file, "--no-preflight", "--no-noise")
            # Some stops fall to the first side, some to both; more of them than pairs may fail.
            for sides in [1, 2, 1, 2, 2]:
                self.assertTrue(wait_until(lambda: workspace.run("status").stdout.count("measuring pair") == 1))
                self.assertTrue(wait_until(lambda: len(workers_alive(workspace.data)) >= sides))
                tuner.send_signal(signal.SIGTSTP)
                self.assertTrue(wait_until(lambda: state_of(tuner.pid) == "T"))
                self.assertEqual(workers_alive(workspace.data), [])
                self.assertEqual(slots_held(tuner.pid), [])  # others may measure now
                tuner.send_signal(signal.SIGCONT)
            go.touch()
            _, err = tuner.communicate(timeout=PATIENCE)
            self.assertEqual(tuner.returncode, 0, err)
            with workspace.database() as connection:
                self.assertEqual(connection.execute("SELECT count(*) FROM pairs").fetchone()[0], 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
