"""Any process of a campaign is killed at any moment: tuner, supervisor, worker, or the first two at once.

After each kill the database is sound and what was finished is still there; at most one run is lost; when the campaign ends
it asked the same trials, with the same outcomes, as one that nobody disturbed. By hand:

    kills_test.py --kills 1000 --real 50 --keep /var/tmp/kills.json

of which 50 hit our own worker in the midst of training MNIST; the rest the fake one, whose runs take 20 ms. It says now
and then how far it is, and in the last line what it counted. With --keep the same call goes on after the campaigns that
are done.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import sys
import time
import unittest

from workspace import NOCTURNE, NOT_SLOWED, Workspace, campaign, wait_until, workers_alive

TRIALS = 40
VICTIMS = ["tuner"] * 4 + ["supervisor"] * 2 + ["worker"] * 2 + ["tuner and supervisor"]
# Three kills of one run in a row would say that it crashes.
MOST_IN_A_ROW = 2
SECONDS_BETWEEN_WORDS = 10
OPTIONS = argparse.Namespace(kills=15, real=0, keep=None, worker=None, seed=None)


def children_of(process):
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            found += [int(pid) for pid in task.read_text().split()]
    return found


def is_supervisor(process):
    with contextlib.suppress(OSError):
        return b"nocturne-supervisor" in pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def supervisors_of(tuner):
    """Not what it asks of the machine as it begins, of compilers for example."""
    return list(filter(is_supervisor, children_of(tuner)))


def workers_of(tuner):
    return [worker for supervisor in supervisors_of(tuner) for worker in children_of(supervisor)]


class Spinning:
    """Runs of 20 ms; what is asked depends on no time."""

    name = "fake"
    trials = TRIALS
    document = campaign(trials=TRIALS, mode="obey", strategy="random", run={"steps": 400})

    @staticmethod
    def pause(moments):
        return moments.choice([moments.uniform(0, 0.08), moments.uniform(0, 0.5)])


class Training:
    """Our own worker on the MNIST images, runs of a second or so: every point of a small space."""

    name = "real"
    trials = 12

    def __init__(self, worker):
        self.document = campaign(
            name="real", trials=self.trials, strategy="random",
            run={"steps": 30, "deadline": "120s"}, verify={"pairs": 2, "most_pairs": 2, "gate": {"on": False}},
            parameters=[{"name": "batch", "stage": "run", "values": [32, 64, 128], "type": "ordinal", "default": 64},
                        {"name": "threads", "stage": "run", "values": [1, 2], "type": "ordinal", "default": 1},
                        {"name": "layout", "stage": "run", "values": ["blocked", "plain"], "default": "blocked"}])
        self.document["worker"] = {"command": [str(worker)]}

    @staticmethod
    def pause(moments):
        return moments.uniform(0, 2.5)


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


class Tally:
    """What was counted so far; kept in a file, if one is named."""

    def __init__(self, options):
        self.file = pathlib.Path(options.keep) if options.keep else None
        self.wanted = {"kills": options.kills, "real": options.real}
        self.kills, self.real, self.in_run, self.lost, self.campaigns, self.seconds = 0, 0, 0, 0, 0, 0.0
        self.victims, self.expected = {}, {}
        self.seed = options.seed if options.seed is not None else random.randrange(1 << 30)
        if self.file and self.file.exists():
            self.__dict__.update(json.loads(self.file.read_text()))
            self.wanted = {"kills": options.kills, "real": options.real}
        self.began = time.monotonic() - self.seconds
        self.spoke = time.monotonic()

    def save(self):
        if not self.file:
            return
        self.seconds = time.monotonic() - self.began
        kept = {name: getattr(self, name) for name in ["kills", "real", "in_run", "lost", "campaigns", "seconds", "victims",
                                                       "expected", "seed"]}
        unfinished = self.file.with_name(self.file.name + ".new")
        unfinished.write_text(json.dumps(kept))
        unfinished.replace(self.file)

    def moments(self):
        """Draws the moments of the next campaign: what went before does not matter to it."""
        return random.Random(f"{self.seed} {self.campaigns}")

    def took(self):
        return time.monotonic() - self.began

    def say(self, disturbed):
        if time.monotonic() - self.spoke < SECONDS_BETWEEN_WORDS:
            return
        self.spoke = time.monotonic()
        print(f"  {self.kills + disturbed.kills} of {self.wanted['kills']} kills ({self.real + disturbed.real} of "
              f"{self.wanted['real']} in real training), {self.lost + disturbed.lost} runs lost, campaign "
              f"{self.campaigns + 1}, {self.took():.0f} s", file=sys.stderr, flush=True)

    def add(self, disturbed):
        """Adds a campaign that ended, or the one in which something fails, which is not saved."""
        self.kills += disturbed.kills
        self.real += disturbed.real
        self.in_run += disturbed.in_run
        self.lost += disturbed.lost
        self.campaigns += 1
        for victim, count in disturbed.victims.items():
            self.victims[victim] = self.victims.get(victim, 0) + count

    def last_line(self, error):
        found = f"FAILED: {error}" if error else "corrupt: 0, equal to undisturbed: yes"
        return (f"kills: {self.kills} ({self.real} in real training, {self.in_run} in the midst of a run; {self.victims}), "
                f"campaigns: {self.campaigns}, runs lost: {self.lost} (at most one a kill), {found}; {self.took():.0f} s, "
                f"seed {self.seed}")


class Disturbed:
    """One campaign from its beginning to its end, with as many kills as fall into it."""

    def __init__(self, test, workspace, kind, expected, tally):
        self.test, self.workspace, self.kind, self.expected, self.tally = test, workspace, kind, expected, tally
        self.moments = tally.moments()
        self.file = workspace.write(kind.document)
        self.tuner = None
        self.kills, self.real, self.in_run, self.lost, self.finished, self.in_a_row = 0, 0, 0, 0, 0, 0
        self.victims = {}

    def run(self, enough):
        while not enough(self):
            if self.tuner is None:
                self.tuner = self.workspace.start("tune", self.file)
            if self.kind.name == "real":  # most of its time a tuner trains, but it takes a moment to begin
                wait_until(lambda: self.tuner.poll() is not None or workers_of(self.tuner.pid), 30)
            time.sleep(self.kind.pause(self.moments))
            if self.tuner.poll() is not None:
                break
            victim = self.moments.choice(VICTIMS)
            of_run = victim in ("worker", "supervisor")
            if of_run and self.in_a_row == MOST_IN_A_ROW:
                continue
            trained = bool(workers_of(self.tuner.pid))
            if not self.strike(victim):
                continue
            trained = trained or of_run
            self.in_a_row = self.in_a_row + 1 if of_run else 0
            self.kills += 1
            self.in_run += trained
            self.real += trained and self.kind.name == "real"
            self.victims[victim] = self.victims.get(victim, 0) + 1
            self.check(victim)
            self.tally.say(self)
        if self.tuner is None:
            self.tuner = self.workspace.start("tune", self.file)
        _, err = self.tuner.communicate(timeout=300)
        self.test.assertEqual(self.tuner.returncode, 0, err)
        self.test.assertEqual(as_kept(self.workspace.finished_trials()), self.expected, err)
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
        self.test.assertTrue(wait_until(lambda: not workers_alive(self.workspace.data)), "a worker outlived its tuner")
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
            twice = connection.execute(f"SELECT trial_id FROM runs WHERE outcome = 'ok' AND purpose = 'search' AND {NOT_SLOWED} "
                                       "AND in_flight = 0 GROUP BY trial_id HAVING count(*) > 1").fetchall()
            self.test.assertEqual(twice, [], f"measured twice (after {victim} was killed)")


def as_kept(trials):
    """As JSON gives them back: lists, not tuples."""
    return [list(trial) for trial in trials]


class Kills(unittest.TestCase):
    maxDiff = None

    def expected(self, tally, kind):
        """What the campaign gives that nobody disturbs."""
        if kind.name not in tally.expected:
            with Workspace() as undisturbed:
                undisturbed.run("tune", undisturbed.write(kind.document), check=0)
                tally.expected[kind.name] = as_kept(undisturbed.finished_trials())
        expected = tally.expected[kind.name]
        self.assertEqual(len(expected), kind.trials)
        self.assertEqual({outcome for _, _, outcome in expected}, {"ok"}, expected)
        return expected

    def disturb(self, tally, kind, enough):
        """Campaigns until `enough` says of the one in flight that it is."""
        expected = self.expected(tally, kind)
        while not enough(None):
            with Workspace() as workspace:
                disturbed = Disturbed(self, workspace, kind, expected, tally)
                try:
                    disturbed.run(enough)
                finally:
                    tally.add(disturbed)
                tally.save()

    def test_whoever_is_killed_whenever_the_campaign_ends_as_if_nobody_was(self):
        tally = Tally(OPTIONS)
        print(f"seed {tally.seed}", file=sys.stderr)
        worker = pathlib.Path(OPTIONS.worker or pathlib.Path(NOCTURNE).parent / "nocturne-onednn")
        if OPTIONS.real > 0 and not worker.exists():
            self.skipTest(f"there is no {worker}; --worker names it")
        error = None
        try:
            if OPTIONS.real > 0:
                self.disturb(tally, Training(worker), lambda now: tally.real + (now.real if now else 0) >= OPTIONS.real)
            self.disturb(tally, Spinning(), lambda now: tally.kills + (now.kills if now else 0) >= OPTIONS.kills)
        except BaseException as error:
            error = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise
        finally:
            print(tally.last_line(error), file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=OPTIONS.kills, help="in all (default: %(default)s)")
    parser.add_argument("--real", type=int, default=OPTIONS.real, help="of these in real training (default: %(default)s)")
    parser.add_argument("--keep", metavar="FILE", help="what was counted: the same call goes on with it")
    parser.add_argument("--worker", metavar="PROGRAM", help="nocturne-onednn, where it is not beside nocturne")
    parser.add_argument("--seed", type=int)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
