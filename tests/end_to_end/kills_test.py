"""Any process of a campaign is killed at any moment: tuner, supervisor, worker, or the first two at once.

After each kill the database is sound and what was finished is still there; at most one run is lost; when the campaign ends
it asked the same trials, with the same outcomes, as one that nobody disturbed. By hand: kills_test.py --kills 1000.
"""

import argparse
import contextlib
import os
import pathlib
import random
import signal
import sys
import time
import unittest

from workspace import Workspace, campaign, wait_until, workers_alive

TRIALS = 40
VICTIMS = ["tuner"] * 4 + ["supervisor"] * 2 + ["worker"] * 2 + ["tuner and supervisor"]
# Of one run three kills in a row would say that it crashes.
MOST_IN_A_ROW = 2
OPTIONS = argparse.Namespace(kills=15, seed=None)


def children_of(process):
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            found += [int(pid) for pid in task.read_text().split()]
    return found


def supervisors_of(tuner):
    """A search starts no other processes."""
    return children_of(tuner)


def workers_of(tuner):
    return [worker for supervisor in supervisors_of(tuner) for worker in children_of(supervisor)]


def spinning():
    """Runs of 20 ms; what is asked depends on no time."""
    return campaign(trials=TRIALS, mode="obey", strategy="random", run={"steps": 400})


def kill(pids):
    """Whether one of them was there to be killed."""
    killed = False
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            killed = True
        except ProcessLookupError:
            continue
    return killed


class Disturbed:
    """One campaign from its beginning to its end, with as many kills as fall into it."""

    def __init__(self, test, workspace, expected, moments):
        self.test, self.workspace, self.expected, self.moments = test, workspace, expected, moments
        self.file = workspace.write(spinning())
        self.tuner = None
        self.kills, self.lost, self.finished, self.in_a_row = 0, 0, 0, 0

    def run(self, most_kills, count):
        while self.kills < most_kills:
            if self.tuner is None:
                self.tuner = self.workspace.start("tune", self.file)
            time.sleep(self.moments.choice([self.moments.uniform(0, 0.08), self.moments.uniform(0, 0.5)]))
            if self.tuner.poll() is not None:
                break
            victim = self.moments.choice(VICTIMS)
            of_run = victim in ("worker", "supervisor")
            if (of_run and self.in_a_row == MOST_IN_A_ROW) or not self.strike(victim):
                continue
            self.in_a_row = self.in_a_row + 1 if of_run else 0
            self.kills += 1
            count[victim] = count.get(victim, 0) + 1
            self.check(victim)
        if self.tuner is None:
            self.tuner = self.workspace.start("tune", self.file)
        _, err = self.tuner.communicate(timeout=120)
        self.test.assertEqual(self.tuner.returncode, 0, err)
        self.test.assertEqual(self.workspace.finished_trials(), self.expected, err)
        self.check("nobody")

    def strike(self, victim):
        if victim in ("worker", "supervisor"):
            find = workers_of if victim == "worker" else supervisors_of
            return wait_until(lambda: kill(find(self.tuner.pid)), 1)
        supervisors = supervisors_of(self.tuner.pid) if victim == "tuner and supervisor" else []
        if not kill([self.tuner.pid]):
            return False
        kill(supervisors)
        self.tuner.communicate()
        self.tuner = None
        self.test.assertTrue(wait_until(lambda: not workers_alive(self.workspace.data), 10), "a worker outlived its tuner")
        return True

    def check(self, victim):
        if not (self.workspace.data / "nocturne.db").exists():
            return
        with self.workspace.database() as connection:
            self.test.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.test.assertEqual(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
            if not connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'trials'").fetchone()[0]:
                return  # killed before there was anything in it
            finished = connection.execute("SELECT count(*) FROM trials WHERE state = 'finished'").fetchone()[0]
            self.test.assertGreaterEqual(finished, self.finished, "what was finished is lost")
            self.finished = finished
            lost = connection.execute("SELECT count(*) FROM runs WHERE purpose = 'search' AND in_flight = 0 "
                                      "AND outcome <> 'ok'").fetchone()[0]
            self.test.assertLessEqual(lost, self.kills, "a kill cost more than one run")
            self.lost = lost
            twice = connection.execute("SELECT trial_id FROM runs WHERE outcome = 'ok' AND purpose = 'search' "
                                       "AND in_flight = 0 GROUP BY trial_id HAVING count(*) > 1").fetchall()
            self.test.assertEqual(twice, [], f"measured twice (after {victim} was killed)")


class Kills(unittest.TestCase):
    maxDiff = None

    def test_whoever_is_killed_whenever_the_campaign_ends_as_if_nobody_was(self):
        seed = OPTIONS.seed if OPTIONS.seed is not None else random.randrange(1 << 30)
        print(f"seed {seed}", file=sys.stderr)
        moments = random.Random(seed)
        with Workspace() as undisturbed:
            undisturbed.run("tune", undisturbed.write(spinning()), check=0)
            expected = undisturbed.finished_trials()
            self.assertEqual(len(expected), TRIALS)
        kills = lost = campaigns = 0
        count = {}
        while kills < OPTIONS.kills:
            with Workspace() as workspace:
                disturbed = Disturbed(self, workspace, expected, moments)
                disturbed.run(OPTIONS.kills - kills, count)
                kills, lost, campaigns = kills + disturbed.kills, lost + disturbed.lost, campaigns + 1
        print(f"{kills} kills ({count}) in {campaigns} campaigns of {TRIALS} trials: {lost} runs lost", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=OPTIONS.kills)
    parser.add_argument("--seed", type=int)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
