"""Many processes on one database: tuners of a campaign each, readers, and random kills among the tuners.

Nothing is lost, nothing is there twice, and nobody is ever told that the database is locked. By hand:
crowd_test.py --tuners 16 --readers 16 --trials 100 --kills 200.
"""

import argparse
import random
import signal
import sys
import threading
import time
import unittest

from workspace import Workspace, campaign

WIDE = [{"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "type": "ordinal", "default": 128},
        {"name": "width", "stage": "run", "range": [1, 1000], "default": 10}]
OPTIONS = argparse.Namespace(tuners=4, readers=3, trials=12, kills=6, seed=None)


class Reader(threading.Thread):
    """Asks in turn what a person would ask, until told to end."""

    QUESTIONS = [["status"], ["list"], ["list", "trials"], ["best"], ["list", "events"]]

    def __init__(self, workspace):
        super().__init__()
        self.workspace = workspace
        self.end = threading.Event()
        self.answers, self.trouble = 0, []

    def run(self):
        while not self.end.is_set():
            for question in self.QUESTIONS:
                done = self.workspace.run(*question, "--json")
                self.answers += 1
                # 3: nothing there yet. 1: nothing runs now. Both are answers.
                if done.returncode not in (0, 1, 3):
                    self.trouble.append((question, done.returncode, done.stderr))


class Crowd(unittest.TestCase):
    maxDiff = None

    def test_nothing_is_lost_or_double_and_nobody_hears_of_a_lock(self):
        seed = OPTIONS.seed if OPTIONS.seed is not None else random.randrange(1 << 30)
        print(f"seed {seed}", file=sys.stderr)
        moments = random.Random(seed)
        with Workspace() as workspace:
            names = [f"crowd-{index}" for index in range(OPTIONS.tuners)]
            # As many steps as no other campaign: an equal trial would be reused, and nothing would be measured.
            files = {name: workspace.write(
                campaign(name=name, trials=OPTIONS.trials, strategy="random", parameters=WIDE, run={"steps": 12 + index},
                         verify={"pairs": 2, "most_pairs": 2}), f"{name}.json") for index, name in enumerate(names)}
            began = time.monotonic()
            said = {name: open(workspace.folder / f"{name}.err", "w+") for name in names}

            def start(name):
                return workspace.start("tune", files[name], stderr=said[name])

            tuners = {name: start(name) for name in names}
            readers = [Reader(workspace) for _ in range(OPTIONS.readers)]
            for reader in readers:
                reader.start()
            kills = 0
            try:
                while tuners:
                    time.sleep(moments.uniform(0, 0.4))
                    for name, tuner in list(tuners.items()):
                        if tuner.poll() is not None:
                            said[name].seek(0)
                            words = said[name].read()
                            self.assertEqual(tuner.returncode, 0, f"{name}: {words}")
                            self.assertNotIn("locked", words)
                            del tuners[name]
                    if kills < OPTIONS.kills and tuners:
                        name = moments.choice(sorted(tuners))
                        tuners[name].send_signal(signal.SIGKILL)
                        tuners[name].wait()
                        tuners[name] = start(name)
                        kills += 1
            finally:
                for reader in readers:
                    reader.end.set()
                for reader in readers:
                    reader.join()
                for tuner in tuners.values():
                    tuner.kill()
                    tuner.wait()
                for file in said.values():
                    file.close()
            took = time.monotonic() - began
            for reader in readers:
                self.assertEqual(reader.trouble, [])
                self.assertGreater(reader.answers, 0)
            with workspace.database() as connection:
                self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                self.assertEqual(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
                stored = connection.execute(
                    "SELECT c.name, count(*), count(DISTINCT t.number), max(t.number), count(DISTINCT t.configuration_id) "
                    "FROM trials t JOIN campaigns c ON c.id = t.campaign_id WHERE t.state = 'finished' "
                    "AND t.outcome = 'ok' GROUP BY c.id ORDER BY c.name").fetchall()
                each = OPTIONS.trials
                self.assertEqual(stored, [(name, each, each, each - 1, each) for name in sorted(names)])
                twice = connection.execute("SELECT trial_id FROM runs WHERE outcome = 'ok' AND purpose = 'search' "
                                           "GROUP BY trial_id HAVING count(*) > 1").fetchall()
                self.assertEqual(twice, [])
                self.assertEqual(connection.execute("SELECT count(*) FROM leases").fetchone()[0], 0)
            answers = sum(reader.answers for reader in readers)
            print(f"{OPTIONS.tuners} tuners, {OPTIONS.trials} trials each, {kills} kills; {OPTIONS.readers} readers, "
                  f"{answers} answers; {took:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ["tuners", "readers", "trials", "kills"]:
        parser.add_argument(f"--{option}", type=int, default=getattr(OPTIONS, option))
    parser.add_argument("--seed", type=int)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
