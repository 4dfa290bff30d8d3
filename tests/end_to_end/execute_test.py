"""One order from standard input, and what is left where its process is killed."""

import contextlib
import json
import signal
import subprocess
import threading
import time
import unittest

from workspace import PATIENCE, Workspace, campaign, wait_until, workers_alive, working_in

CONFIGURATION = {"batch": 128, "precision": "f32", "width": 10}


def order(document, prepare_within_ns=None, **task):
    return json.dumps({"schema": "order", "version": 4, "document": document, "process_sd": 0.05, "cpus": [],
                       "runs_folder": "", "prepare_within_ns": prepare_within_ns, **task})


def trial(document, **configuration):
    return order(document, trial={"number": 0, "configuration": {**CONFIGURATION, **configuration},
                                  "purpose": "search", "incumbent": None, "expected": None,
                                  "limit_ns": None})


@contextlib.contextmanager
def killed_after(seconds, process):
    """So that who reads of it does not wait for ever."""
    fuse = threading.Timer(seconds, process.kill)
    fuse.start()
    try:
        yield
    finally:
        fuse.cancel()


class Execute(unittest.TestCase):
    def test_an_order_from_standard_input_is_answered_on_standard_output(self):
        with Workspace() as workspace:
            done = subprocess.run(workspace.command("execute"), input=trial(campaign()), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            workspace.check_document(done.stdout)
            answer = json.loads(done.stdout)
            self.assertEqual(answer["trial"]["trial"]["outcome"], "ok")
            self.assertEqual(len(answer["trial"]["runs"][0]["run"]["samples"]), 12)
            self.assertFalse((workspace.data / "nocturne.db").exists())  # the coordinator's alone

    def test_nothing_is_left_of_a_worker_whose_execute_was_killed(self):
        for mode in "hang", "grandchildren":
            with self.subTest(mode), Workspace() as workspace:
                started = workspace.start("execute", stdin=subprocess.PIPE)
                started.stdin.write(trial(campaign(mode=mode), until=str(workspace.folder / "never")))
                started.stdin.close()
                self.assertTrue(wait_until(lambda: workers_alive(workspace.data)), "no worker was started")
                started.send_signal(signal.SIGKILL)
                started.wait()
                self.assertTrue(wait_until(lambda: not workers_alive(workspace.data)), "a worker outlived its order")
                self.assertTrue(wait_until(lambda: not working_in(workspace.data)), "a process is left")
                after = subprocess.run(workspace.command("execute"), input=trial(campaign()), capture_output=True, text=True)
                self.assertEqual(after.returncode, 0, after.stderr)  # the machine's CPUs were given back

    def test_an_order_gives_signs_of_life(self):
        with Workspace() as workspace:
            started = workspace.start("execute", "--beat", "20ms", stdin=subprocess.PIPE)
            with killed_after(PATIENCE, started):
                self.assertEqual([started.stderr.readline() for _ in range(20)], 20 * ["\n"])  # before there is an order
            started.stdin.write(trial(campaign(mode="hang"), until=str(workspace.folder / "never")))
            started.stdin.close()
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)), "no worker was started")
            # Later than what waited in the pipe.
            until = time.monotonic() + 1
            with killed_after(PATIENCE, started):
                while time.monotonic() < until:
                    line = started.stderr.readline()
                    if not line.startswith("Waiting: CPU "):  # another test had it when the order began
                        self.assertEqual(line, "\n")
            # Nobody listens any more.
            started.stderr.close()
            self.assertTrue(wait_until(lambda: started.poll() is not None), "an order outlived who gave it")
            self.assertEqual(started.returncode, 143)
            self.assertEqual(workers_alive(workspace.data), [])

    def test_an_order_that_is_ended_says_so(self):
        with Workspace() as workspace:
            started = workspace.start("execute", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            started.stdin.write(trial(campaign(mode="hang")))
            started.stdin.close()
            self.assertTrue(wait_until(lambda: workers_alive(workspace.data)), "no worker was started")
            for _ in range(2):
                started.send_signal(signal.SIGTERM)
                wait_until(lambda: started.poll() is not None, 0.5)
            text = started.stdout.read()
            self.assertEqual(started.wait(), 143)
            self.assertEqual(json.loads(text)["trial"]["end"], "interrupted", text)
            self.assertEqual(workers_alive(workspace.data), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
