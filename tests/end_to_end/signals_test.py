"""A scheduler's SIGTERM, a terminal that goes, Ctrl-Z and fg: each on the real program with a worker in flight."""

import contextlib
import os
import pathlib
import pty
import signal
import subprocess
import threading
import unittest

from workspace import Workspace, campaign, wait_until, workers_alive


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


def run_outcomes(workspace):
    with workspace.database() as connection:
        return [row[0] for row in connection.execute(
            "SELECT runs.outcome FROM runs WHERE purpose = 'search' AND in_flight = 0 ORDER BY id")]


class Terminate(unittest.TestCase):
    def test_the_run_in_flight_is_finished_within_the_grace_period_and_the_answer_given(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=5000, mode="obey", run={"steps": 200}))
            tuner = workspace.start("tune", file, stdout=subprocess.PIPE)
            self.assertTrue(wait_until(lambda: len(workspace.finished_trials()) >= 3, 60))
            tuner.send_signal(signal.SIGTERM)
            out, err = tuner.communicate(timeout=20)
            self.assertEqual(tuner.returncode, 143, err)
            self.assertIn("the run in flight has 20 s to be finished", err)
            self.assertIn("Best      trial", out)
            self.assertIn(f"Go on     nocturne tune {file}", out)
            self.assertNotIn("killed", run_outcomes(workspace))

    def test_a_run_that_does_not_fit_is_killed_and_repeated_by_the_next_sitting(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=1, mode="hang", run={"deadline": "60s"}))
            tuner = workspace.start("tune", file, "--grace", "50ms")
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data), 20))
            tuner.send_signal(signal.SIGTERM)
            tuner.communicate(timeout=20)
            self.assertEqual(tuner.returncode, 143)
            self.assertEqual(workers_alive(workspace.data), [])
            self.assertEqual(run_outcomes(workspace), ["killed"])
            again = workspace.start("tune", file, "--grace", "0s")
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data), 20))
            again.send_signal(signal.SIGTERM)
            _, err = again.communicate(timeout=20)
            self.assertIn("The last sitting ended in trial 0: it runs again", err)

    def test_a_second_one_ends_at_once(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=1, mode="hang", run={"deadline": "60s"}))
            tuner = workspace.start("tune", file, "--grace", "60s")
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data), 20))
            tuner.send_signal(signal.SIGTERM)
            while "SIGTERM again ends at once" not in tuner.stderr.readline():
                self.assertIsNone(tuner.poll())
            tuner.send_signal(signal.SIGTERM)
            tuner.communicate(timeout=20)
            self.assertEqual(tuner.returncode, 143)

    def test_a_wait_for_the_slot_ends_at_once(self):
        with Workspace() as first, Workspace() as second:
            holder = first.start("tune", first.write(campaign(trials=1, mode="hang", run={"deadline": "60s"})))
            self.assertTrue(wait_until(lambda: workers_alive(first.data), 20))
            waiter = second.start("tune", second.write(campaign(trials=1)))
            while "Waiting: CPU" not in waiter.stderr.readline():
                self.assertIsNone(waiter.poll())
            self.assertTrue(wait_until(lambda: second.json("status")["activity"] == "waiting", 5))
            waiter.send_signal(signal.SIGINT)
            waiter.communicate(timeout=10)
            self.assertEqual(waiter.returncode, 130)
            holder.kill()
            holder.communicate()


class HangUp(unittest.TestCase):
    def test_the_campaign_goes_on_and_its_words_go_into_a_file(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=5, mode="obey", run={"steps": 3000}))
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
            self.assertTrue(wait_until(lambda: len(workspace.finished_trials()) >= 2, 20))
            tuner.send_signal(signal.SIGHUP)
            self.assertEqual(tuner.wait(timeout=60), 0)
            reader.join(timeout=20)
            os.close(terminal)
            self.assertEqual(len(workspace.finished_trials()), 5)
            log = (workspace.data / "logs" / "fake.log").read_text()
            self.assertIn("the campaign goes on", log)
            self.assertIn("Profile   ", log)  # the answer, to its last lines
            self.assertNotIn("\x1b", log)
            self.assertNotIn(b"Profile   ", b"".join(shown))

    def test_without_a_terminal_it_is_nothing(self):
        with Workspace() as workspace:
            tuner = workspace.start("tune", workspace.write(campaign(trials=3, mode="obey", run={"steps": 3000})))
            self.assertTrue(wait_until(lambda: len(workspace.finished_trials()) >= 1, 20))
            tuner.send_signal(signal.SIGHUP)
            tuner.communicate(timeout=60)
            self.assertEqual(tuner.returncode, 0)
            self.assertFalse((workspace.data / "logs").exists())


class StopAndContinue(unittest.TestCase):
    def test_nothing_measures_while_it_is_stopped_and_the_run_is_repeated(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=2, mode="obey", run={"steps": 8000, "deadline": "60s"}))
            tuner = workspace.start("tune", file, "--no-rehearsal", "--no-noise")
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data), 20))
            tuner.send_signal(signal.SIGTSTP)
            self.assertTrue(wait_until(lambda: state_of(tuner.pid) == "T", 10))
            self.assertEqual(workers_alive(workspace.data), [])
            self.assertEqual(workspace.json("status")["condition"], "stopped")
            self.assertEqual(run_outcomes(workspace), ["killed"])
            tuner.send_signal(signal.SIGCONT)
            _, err = tuner.communicate(timeout=60)
            self.assertEqual(tuner.returncode, 0, err)
            self.assertIn("Goes on.", err)
            self.assertEqual(run_outcomes(workspace), ["killed", "ok", "ok"])
            self.assertEqual([trial[0] for trial in workspace.finished_trials()], [0, 1])

    def test_the_finals_go_on_too(self):
        with Workspace() as workspace:
            speeds = [{"name": "step_us", "stage": "run", "values": [50, 20], "default": 50}]
            file = workspace.write(campaign(trials=2, mode="obey", parameters=speeds, strategy="exhaustive",
                                            run={"steps": 12, "deadline": "60s"},
                                            verify={"pairs": 3, "most_pairs": 3, "slices": 2, "slice_steps": 8000}))
            tuner = workspace.start("tune", file, "--no-rehearsal", "--no-noise")
            # Each stop falls into another moment of the pair; more of them than pairs may fail.
            for _ in range(5):
                self.assertTrue(wait_until(lambda: workspace.run("status").stdout.count("measuring pair") == 1, 60))
                tuner.send_signal(signal.SIGTSTP)
                self.assertTrue(wait_until(lambda: state_of(tuner.pid) == "T", 60))
                self.assertEqual(workers_alive(workspace.data), [])
                self.assertEqual(slots_held(tuner.pid), [])  # others may measure now
                tuner.send_signal(signal.SIGCONT)
            _, err = tuner.communicate(timeout=60)
            self.assertEqual(tuner.returncode, 0, err)
            with workspace.database() as connection:
                self.assertEqual(connection.execute("SELECT count(*) FROM pairs").fetchone()[0], 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
