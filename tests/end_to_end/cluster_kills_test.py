"""Any process of a campaign on a cluster is killed at any moment: coordinator, srun and its group, supervisor, worker, the
daemon of a node with its step daemons and without, the controller.

After each kill the database is sound and what was finished is still there; at most the runs in flight are lost. When the
campaign ends every configuration was measured once, as one machine measures it, and no worker is left. By hand:

    cluster_kills_test.py --kills 200

The last line says what was counted. Skipped (77) where Slurm is not installed.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import random
import sys
import time

from cluster_test import CONFIGURATIONS, document, is_whole, measured, said, submit
from slurm import Slurm, kill, processes, skip_without_slurm
from workspace import PATIENCE, Workspace, wait_until, workers_alive

NODES = 3
VICTIMS = (["coordinator"] * 4 + ["srun"] * 4 + ["srun and its group"] * 3 + ["supervisor"] * 3 + ["worker"] * 3
           + ["slurmd"] * 3 + ["slurmd and its steps"] + ["slurmctld"] * 3)
# Three kills of one run in a row would say that it crashes.
MOST_IN_A_ROW = 2


def words_of(process):
    try:
        return [word.decode(errors="replace") for word in (process / "cmdline").read_bytes().split(b"\0")]
    except OSError:
        return []


def parent_of(process):
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def measuring(place, kind):
    """Workers of the campaign in that folder, or their supervisors. A run lasts some milliseconds, so they are waited for."""
    found = []
    def is_there():
        found.extend(filter(None, workers_alive(place.data) if kind == "worker" else map(parent_of, workers_alive(place.data))))
        return found
    wait_until(is_there, 5)
    return [process for process in found if process > 1]


def of_campaign(place, kind):
    """Processes of the campaign in that folder: its coordinator, the sruns of its steps."""
    found = []
    for process in processes():
        words = words_of(process)
        if not any(str(place.data) in word for word in words):
            continue
        program = pathlib.Path(words[0]).name
        if program == {"coordinator": "nocturne", "srun": "srun"}[kind]:
            if kind != "coordinator" or "tune" in words:
                found.append(int(process.name))
    return found


class Disturbed:
    """One campaign from its beginning to its end, with as many kills as fall into it."""

    def __init__(self, place, slurm, alone, moments, victims):
        self.place, self.slurm, self.alone, self.moments, self.victims = place, slurm, alone, moments, victims
        self.file = place.write(document(name="kills"))
        self.kills, self.finished, self.lost, self.in_a_row = 0, 0, 0, 0
        self.number = None

    def run(self, most):
        end = time.monotonic() + 10 * PATIENCE
        while not self.is_done():
            assert time.monotonic() < end, ("it does not end", self.job(), said(self.place)[-3000:])
            self.forget_number_given_twice()
            if not self.job() or self.slurm.has_ended(self.number):
                assert wait_until(self.slurm.is_idle), self.slurm.call("sinfo", "-N").stdout
                self.number = submit(self.slurm, self.place, self.file, "--nodes", NODES, "--time", "00:30:00")
            time.sleep(self.moments.choice([self.moments.uniform(0, 0.3), self.moments.uniform(0, 2)]))
            if self.kills >= most or self.job().get("JobState") != "RUNNING":
                continue
            victim = self.moments.choice(VICTIMS)
            of_run = victim in ("worker", "supervisor")
            if of_run and self.in_a_row == MOST_IN_A_ROW:
                continue
            if not self.strike(victim):
                continue
            self.in_a_row = self.in_a_row + 1 if of_run else 0
            self.kills += 1
            self.victims[victim] += 1
            self.check(victim)
        assert wait_until(lambda: not workers_alive(self.place.data)), "a worker outlived its campaign"
        is_whole(self.place, self.alone)

    def job(self):
        """Empty: there is none, or the controller that was killed had not written it down yet."""
        return self.slurm.job(self.number) if self.number else {}

    def forget_number_given_twice(self):
        """A controller that is killed before it wrote a job down gives its number to the next one. A node that still has the
        first is drained then, and the second is held."""
        if "held" not in self.job().get("Reason", ""):
            return
        self.slurm.call("scancel", "--user", "root")
        for name in self.slurm.names:
            self.slurm.call("scontrol", "update", f"nodename={name}", "state=resume")
        assert wait_until(lambda: self.slurm.has_ended(self.number)), self.job()

    def is_done(self):
        return (self.number is not None and self.slurm.has_ended(self.number) and self.job()["JobState"] == "COMPLETED"
                and self.place.trials_done() == CONFIGURATIONS)

    def strike(self, victim):
        """Whether there was somebody to be killed."""
        if victim == "slurmctld":
            self.slurm.controller.kill()
            self.slurm.controller.wait()
            self.slurm.start_controller()
            assert wait_until(lambda: self.slurm.call("sinfo", "-h").returncode == 0), self.slurm.log()[-3000:]
            return True
        if victim.startswith("slurmd"):
            return self.strike_daemon(victim)
        if victim in ("worker", "supervisor"):
            there = measuring(self.place, victim)
        else:
            there = of_campaign(self.place, "srun" if victim.startswith("srun") else victim)
        if not there:
            return False
        chosen = self.moments.choice(there)
        if victim == "srun and its group":
            try:
                group = os.getpgid(chosen)
            except OSError:
                return False
            if group == os.getpgid(0):
                return False
            kill([-group])
        else:
            kill([chosen])
        return True

    def strike_daemon(self, victim):
        """A daemon that is alone comes back at once; with its step daemons its node is lost first, never the first node's."""
        name = self.moments.choice(self.slurm.names if victim == "slurmd" else self.slurm.names[1:])
        if not self.slurm.state_of(name).startswith(("alloc", "mix")):
            return False
        if victim == "slurmd":
            self.slurm.daemons[name].kill()
        else:
            self.slurm.kill_node(name)
        self.slurm.daemons[name].wait()
        if victim != "slurmd":
            assert wait_until(lambda: self.slurm.state_of(name).startswith("down")), self.slurm.state_of(name)
        self.slurm.start_node(name)
        return True

    def check(self, victim):
        if not (self.place.data / "nocturne.db").exists():
            return
        with self.place.database() as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], victim
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == [], victim
            if not connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'trials'").fetchone()[0]:
                return
            finished = connection.execute("SELECT count(*) FROM trials WHERE state = 'finished'").fetchone()[0]
            assert finished >= self.finished, f"what was finished is lost (after {victim})"
            self.finished = finished
            self.lost = connection.execute("SELECT count(*) FROM runs WHERE purpose = 'search' AND in_flight = 0 "
                                           "AND outcome <> 'ok'").fetchone()[0]
            assert self.lost <= NODES * self.kills, f"{self.kills} kills cost {self.lost} runs (after {victim})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    skip_without_slurm()
    with Workspace() as machine:
        machine.run("tune", machine.write(document()))
        alone = measured(machine)
    moments, victims = random.Random(options.seed), collections.Counter()
    print(f"seed {options.seed}", flush=True)
    began, kills, lost, campaigns = time.monotonic(), 0, 0, 0
    while kills < options.kills:
        with Workspace() as place:
            place.data.mkdir()
            with Slurm(place.folder / "slurm", nodes=NODES) as slurm:
                disturbed = Disturbed(place, slurm, alone, moments, victims)
                try:
                    disturbed.run(options.kills - kills)
                except BaseException:
                    print(said(place)[-6000:], file=sys.stderr)
                    raise
        kills, lost, campaigns = kills + disturbed.kills, lost + disturbed.lost, campaigns + 1
        print(f"  {kills} of {options.kills} kills, {lost} runs lost, {time.monotonic() - began:.0f} s", flush=True)
    print(f"kills: {kills} ({dict(victims)}), campaigns: {campaigns}, runs lost: {lost}, corrupt: 0, as on one machine: yes; "
          f"{time.monotonic() - began:.0f} s, seed {options.seed}")


if __name__ == "__main__":
    main()
