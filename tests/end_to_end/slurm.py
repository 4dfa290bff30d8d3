"""A real Slurm on this machine: its nodes are daemons on loopback, without munge, cgroups and accounting."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

from workspace import wait_until

CONFIGURATION = """ClusterName=tune
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
SlurmctldPort={port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin={task}
MpiDefault=none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
SlurmdTimeout=10
KillWait=2
EnforcePartLimits=ALL
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=4000 State=UNKNOWN"
NEEDED = ["slurmctld", "slurmd", "sbatch", "sinfo", "scontrol", "srun", "squeue", "scancel"]


def can_run_slurm():
    return os.geteuid() == 0 and all(map(shutil.which, NEEDED))


def skip_without_slurm():
    """Ends the test as skipped where none can be started."""
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        print("no Slurm: " + (" and ".join(missing) + " missing" if missing else "it runs here as root alone"))
        sys.exit(77)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Slurm:
    def __init__(self, folder, nodes=1, task="task/none"):
        self.folder = pathlib.Path(folder)
        self.names = [f"n{number + 1}" for number in range(nodes)]
        for part in ["state"] + [f"spool.{name}" for name in self.names]:
            (self.folder / part).mkdir(parents=True)
        host = socket.gethostname()
        lines = [NODE.format(name=name, host=host, port=free_port(), cpus=max(os.cpu_count(), 2)) for name in self.names]
        file = self.folder / "slurm.conf"
        file.write_text(CONFIGURATION.format(host=host, folder=self.folder, port=free_port(), task=task,
                                             nodes="\n".join(lines), names=",".join(self.names)))
        self.environment = {**os.environ, "SLURM_CONF": str(file)}

    def __enter__(self):
        self.programs = [self.start("slurmctld", "-i", "-D")]
        self.daemons = {name: self.start("slurmd", "-N", name, "-D") for name in self.names}
        self.programs += self.daemons.values()
        try:
            assert wait_until(self.is_idle), self.log()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.terminate()
            program.wait()

    def kill_node(self, name):
        """The daemon of that node, and the daemons of its steps."""
        self.daemons[name].kill()
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and f"spool.{name}" in os.readlink(entry / "cwd") + str(list(map(os.readlink, (entry / "fd").iterdir()))):
                    os.kill(int(entry.name), signal.SIGKILL)

    def is_idle(self):
        return self.call("sinfo", "-h", "-N", "-o", "%t").stdout.split() == ["idle"] * len(self.names)

    def start(self, *words):
        return subprocess.Popen(words, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def call(self, *words, **keywords):
        return subprocess.run(list(map(str, words)), env={**self.environment, **keywords.pop("variables", {})},
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, **keywords)

    def job(self, number):
        """What Slurm knows of a job: JobState, ExitCode, Restarts and so on."""
        words = self.call("scontrol", "show", "job", number).stdout.split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def has_ended(self, number):
        return self.job(number).get("JobState") in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")

    def log(self):
        return "".join(file.read_text(errors="replace") for file in self.folder.glob("*.log"))
