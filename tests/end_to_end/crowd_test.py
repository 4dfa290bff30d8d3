"""Many processes on one database: tuners of a campaign each, readers, and random kills among the tuners.

Nothing that a tuner reported is lost, nothing is there twice, and nobody is ever told that the database is locked. By hand:

    crowd_test.py --processes 32 --results 1000 --kills 500 --folder /var/tmp/crowd

for 24 tuners of 1000 trials each and 8 readers. All measure on one machine, so one waits for the other: it takes as long as all
their trials in a row. It says now and then how far it is, and in the last line what it counted. With --folder the same
call goes on where it was.
"""

import argparse
import contextlib
import pathlib
import random
import re
import signal
import sys
import threading
import time
import unittest

from workspace import NOT_SLOWED, Workspace, campaign

WIDE = [{"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "type": "ordinal", "default": 128},
        {"name": "width", "stage": "run", "range": [1, 1000], "default": 10}]
SECONDS_BETWEEN_WORDS = 15
OPTIONS = argparse.Namespace(tuners=4, readers=3, results=12, kills=6, folder=None, seed=None)


class Reader(threading.Thread):
    """Asks in turn what a user would ask, until told to end."""

    QUESTIONS = [["status"], ["list"], ["list", "trials"], ["best"], ["list", "events"]]

    def __init__(self, workspace):
        super().__init__()
        self.workspace = workspace
        self.end = threading.Event()
        self.answers, self.error = 0, []

    def run(self):
        while not self.end.is_set():
            for question in self.QUESTIONS:
                began = time.monotonic()
                done = self.workspace.run(*question, "--json")
                self.answers += 1
                # 3: nothing there yet. 1: nothing runs now. Both are answers.
                if done.returncode not in (0, 1, 3) or "locked" in done.stderr:
                    self.error.append((question, done.returncode, done.stderr))
                # A user reads what was said: as long again, so that a long list leaves the tuners some of the machine.
                if self.end.wait(time.monotonic() - began):
                    return


class Tuner:
    """A campaign and whoever tunes it now."""

    def __init__(self, test, workspace, index):
        self.test, self.workspace, self.name = test, workspace, f"crowd-{index}"
        # As many steps as no other campaign: an equal trial would be reused, and nothing would be measured.
        self.file = workspace.write(
            campaign(name=self.name, trials=OPTIONS.results, strategy="random", parameters=WIDE, run={"steps": 12 + index},
                     verify={"pairs": 2, "most_pairs": 2}), f"{self.name}.json")
        self.said = open(workspace.folder / f"{self.name}.err", "a+")
        self.ended = False
        self.process = None

    def start(self):
        self.process = self.workspace.start("tune", self.file, stderr=self.said)

    def words(self):
        self.said.seek(0)
        return self.said.read()

    def has_ended(self):
        """Looks, and says what is wrong with how it ended."""
        if not self.ended and self.process.poll() is not None:
            self.test.assertEqual(self.process.returncode, 0, f"{self.name}: {self.words()[-2000:]}")
            self.ended = True
        return self.ended

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.check()

    def check(self):
        """What it reported is there. A trial is reported once it is stored."""
        words = self.words()
        self.test.assertNotIn("locked", words, self.name)
        reported = {int(number) for number in re.findall(r"^trial +(\d+)  (?!built in |installed in )", words, re.MULTILINE)}
        if not reported:
            return 0  # killed as it began: perhaps there is no table yet
        with self.workspace.database() as connection:
            stored = {number for number, in connection.execute(
                "SELECT number FROM trials t JOIN campaigns c ON c.id = t.campaign_id WHERE c.name = ? "
                "AND t.state = 'finished'", (self.name,))}
        self.test.assertLessEqual(reported, stored, f"{self.name}: reported, and lost: {sorted(reported - stored)}")
        return len(reported)

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.said.close()


class Crowd(unittest.TestCase):
    maxDiff = None

    def say(self, workspace, began, before, kills, answers):
        done = self.finished(workspace)
        wanted = OPTIONS.tuners * OPTIONS.results
        took = time.monotonic() - began
        rate = (done - before) / took
        left = f"{(wanted - done) / rate / 60:.0f} min left" if rate > 0 else "no forecast yet"
        print(f"  {done} of {wanted} results, {rate:.1f} a second, {kills} kills, {answers} answers to readers, {took:.0f} s, "
              f"{left}", file=sys.stderr, flush=True)

    @staticmethod
    def finished(workspace):
        if not (workspace.data / "nocturne.db").exists():
            return 0
        with workspace.database() as connection:
            if not connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'trials'").fetchone()[0]:
                return 0
            return connection.execute("SELECT count(*) FROM trials WHERE state = 'finished'").fetchone()[0]

    def disturb(self, workspace, tuners, readers, moments):
        """Until every campaign has ended; the number of kills."""
        began = spoke = time.monotonic()
        before, kills = self.finished(workspace), 0
        for tuner in tuners:
            tuner.start()
        for reader in readers:
            reader.start()
        # The kills fall over all of it: as the next so many results are there, the next is due.
        per_kill = max(1, (OPTIONS.tuners * OPTIONS.results - before) // (OPTIONS.kills + 1))
        while alive := [tuner for tuner in tuners if not tuner.has_ended()]:
            time.sleep(moments.uniform(0, 0.4))
            due = (self.finished(workspace) - before) // per_kill
            if kills < OPTIONS.kills and (kills < due or OPTIONS.results < 100):
                victim = moments.choice(alive)
                victim.kill()
                victim.start()
                kills += 1
            if time.monotonic() - spoke > SECONDS_BETWEEN_WORDS:
                spoke = time.monotonic()
                self.say(workspace, began, before, kills, sum(reader.answers for reader in readers))
        return kills

    def check(self, workspace, tuners, readers):
        for reader in readers:
            self.assertEqual(reader.error, [])
            self.assertGreater(reader.answers, 0)
        for tuner in tuners:
            tuner.check()
        with workspace.database() as connection:
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
            stored = connection.execute(
                "SELECT c.name, count(*), count(DISTINCT t.number), max(t.number), count(DISTINCT t.configuration_id) "
                "FROM trials t JOIN campaigns c ON c.id = t.campaign_id WHERE t.state = 'finished' "
                "AND t.outcome = 'ok' GROUP BY c.id ORDER BY c.name").fetchall()
            each = OPTIONS.results
            self.assertEqual(stored, [(name, each, each, each - 1, each) for name in sorted(tuner.name for tuner in tuners)])
            twice = connection.execute(f"SELECT trial_id FROM runs WHERE outcome = 'ok' AND purpose = 'search' AND {NOT_SLOWED} "
                                       "GROUP BY trial_id HAVING count(*) > 1").fetchall()
            self.assertEqual(twice, [])
            self.assertEqual(connection.execute("SELECT count(*) FROM leases").fetchone()[0], 0)

    def test_nothing_is_lost_or_double_and_nobody_hears_of_a_lock(self):
        seed = OPTIONS.seed if OPTIONS.seed is not None else random.randrange(1 << 30)
        print(f"seed {seed}", file=sys.stderr)
        began, kills, error, answers = time.monotonic(), 0, "interrupted", 0
        with contextlib.ExitStack() as stack:
            workspace = stack.enter_context(Workspace(OPTIONS.folder))
            tuners = [Tuner(self, workspace, index) for index in range(OPTIONS.tuners)]
            readers = [Reader(workspace) for _ in range(OPTIONS.readers)]
            try:
                try:
                    kills = self.disturb(workspace, tuners, readers, random.Random(seed))
                finally:
                    for reader in readers:
                        reader.end.set()
                    for reader in readers:
                        if reader.ident is not None:  # it was started
                            reader.join()
                answers = sum(reader.answers for reader in readers)
                self.check(workspace, tuners, readers)
                error = None
            except Exception as error:
                error = (str(error).strip().splitlines() or [type(error).__name__])[0]
                raise
            finally:
                good = error is None
                done = self.finished(workspace)
                for tuner in tuners:
                    tuner.close()
                print(f"processes: {OPTIONS.tuners + OPTIONS.readers} ({OPTIONS.tuners} tuners, {OPTIONS.readers} readers), "
                      f"results: {done} of {OPTIONS.tuners * OPTIONS.results}, kills: {kills}, answers: {answers}, "
                      + ("lost: 0, double: 0, told of a lock: 0, corrupt: 0" if good else f"FAILED: {error}")
                      + f"; {time.monotonic() - began:.0f} s, seed {seed}", file=sys.stderr, flush=True)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, help="so many in all: three tuners for each reader")
    for option, what in [("tuners", "campaigns"), ("readers", ""), ("results", "trials of each campaign"), ("kills", "")]:
        parser.add_argument(f"--{option}", type=int, default=getattr(OPTIONS, option), help=f"{what} (default: %(default)s)")
    parser.add_argument("--folder", type=pathlib.Path, help="kept at the end: the same call goes on with it")
    parser.add_argument("--seed", type=int)
    options, rest = parser.parse_known_args()
    if options.processes:
        options.readers = max(1, options.processes // 4)
        options.tuners = options.processes - options.readers
    return options, rest


if __name__ == "__main__":
    OPTIONS, rest = parse_options()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
