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


def processes():
    return [entry for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]


def kill(pids, with_signal=signal.SIGKILL):
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, with_signal)


class Slurm:
    def __init__(self, folder, nodes=1, task="task/none", hidden=None, other=None, more="", gpus=0):
        """`hidden`: {node: a folder that is another one there}. `other`: {node: (a file, the one that is there instead)}.
        `more`: lines of slurm.conf. `gpus`: so many of each node, which Slurm believes in: their devices are terminals."""
        self.hidden = hidden or {}
        self.other = other or {}
        self.folder = pathlib.Path(folder)
        self.names = [f"n{number + 1}" for number in range(nodes)]
        for part in ["state"] + [f"spool.{name}" for name in self.names]:
            (self.folder / part).mkdir(parents=True)
        host = socket.gethostname()
        lines = [NODE.format(name=name, host=host, port=free_port(), cpus=max(os.cpu_count(), 2)) for name in self.names]
        if gpus:
            more += "GresTypes=gpu\n"
            lines = [f"{line} Gres=gpu:{gpus}" for line in lines]
            (self.folder / "gres.conf").write_text(f"Name=gpu File=/dev/tty[10-{9 + gpus}]\n")
        file = self.folder / "slurm.conf"
        file.write_text(CONFIGURATION.format(host=host, folder=self.folder, port=free_port(), task=task,
                                             nodes="\n".join(lines), names=",".join(self.names)) + more)
        self.environment = {**os.environ, "SLURM_CONF": str(file)}

    def __enter__(self):
        self.programs, self.daemons = [], {}
        self.start_controller()
        for name in self.names:
            self.start_node(name)
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

    def start_controller(self):
        self.controller = self.start("slurmctld", "-i", "-D")
        self.programs.append(self.controller)

    def start_node(self, name):
        self.daemons[name] = self.start(*self.without(name), "slurmd", "-N", name, "-D")
        self.programs.append(self.daemons[name])

    def without(self, name):
        """Words before the daemon of that node, for a folder that it does not share, or a file that is another one there."""
        mounts = []
        if name in self.hidden:
            mounts.append(f'mount -t tmpfs none "{self.hidden[name]}"')
        if name in self.other:
            file, instead = self.other[name]
            mounts.append(f'mount --bind "{instead}" "{file}"')
        return ["unshare", "-m", "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh"] if mounts else []

    def step_daemons(self, name):
        """They work in that node's spool, or write into its log."""
        own = [f"{self.folder}/spool.{name}", f"{self.folder}/slurmd-{name}.log"]
        found = []
        for entry in processes():
            with contextlib.suppress(OSError):
                opened = os.readlink(entry / "cwd") + str(list(map(os.readlink, (entry / "fd").iterdir())))
                if any(each in opened for each in own):
                    found.append(int(entry.name))
        return found

    def kill_node(self, name):
        """The daemon of that node, and the daemons of its steps."""
        self.daemons[name].kill()
        kill(self.step_daemons(name))

    def lose_host(self, name):
        """As if that machine was switched off: its daemons and all that runs there, at one moment."""
        mark = [f"SLURMD_NODENAME={name}".encode(), f"SLURM_CONF={self.environment['SLURM_CONF']}".encode()]
        def there():
            found = [self.daemons[name].pid, *self.step_daemons(name)]
            for entry in processes():
                with contextlib.suppress(OSError):
                    variables = (entry / "environ").read_bytes().split(b"\0")
                    if all(each in variables for each in mark):
                        found.append(int(entry.name))
            return found
        for _ in range(2):  # what was started meanwhile, too
            kill(there(), signal.SIGSTOP)
        # Children first: stopped processes that are orphaned are woken by a hangup, and srun would end its step.
        kill(sorted(there(), reverse=True))

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

    def state_of(self, name):
        """Of a node: idle, alloc, down*."""
        return self.call("sinfo", "-h", "-N", "-n", name, "-o", "%t").stdout.strip()

    def has_ended(self, number):
        return self.job(number).get("JobState") in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")

    def log(self):
        return "".join(file.read_text(errors="replace") for file in self.folder.glob("*.log"))
