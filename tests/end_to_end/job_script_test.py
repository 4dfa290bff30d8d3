"""The exported job scripts, run by a real Slurm of one node on this machine; of Torque's script Slurm reads the directives too.

Skipped (77) where Slurm is not installed."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

from workspace import Workspace, campaign, wait_until

CONFIGURATION = """ClusterName=tune
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
EnforcePartLimits=ALL
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node_port} CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes=n1 Default=YES MaxTime=INFINITE State=UP
"""
NEEDED = ["slurmctld", "slurmd", "sbatch", "sinfo", "scontrol"]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Slurm:
    def __init__(self, folder):
        self.folder = folder
        for part in ["state", "spool.n1"]:
            (folder / part).mkdir(parents=True)
        file = folder / "slurm.conf"
        file.write_text(CONFIGURATION.format(host=socket.gethostname(), folder=folder, port=free_port(),
                                             node_port=free_port(), cpus=max(os.cpu_count(), 2)))
        self.environment = {**os.environ, "SLURM_CONF": str(file)}

    def __enter__(self):
        self.programs = [self.start("slurmctld", "-i", "-D"), self.start("slurmd", "-N", "n1", "-D")]
        try:
            assert wait_until(lambda: "idle" in self.call("sinfo", "-h", "-o", "%t").stdout), self.log()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.terminate()
            program.wait()

    def start(self, *words):
        return subprocess.Popen(words, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def call(self, *words, **keywords):
        return subprocess.run(list(map(str, words)), env={**self.environment, **keywords.pop("variables", {})},
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, **keywords)

    def log(self):
        return "".join(file.read_text(errors="replace") for file in self.folder.glob("*.log"))


def runs_to_its_end(slurm, place, script, variables, *arguments):
    folder = place.folder / f"job {script.suffix}"
    folder.mkdir()
    asked = slurm.call("sbatch", "--test-only", script, cwd=folder)
    assert asked.returncode == 0, asked.stderr
    done = slurm.call("sbatch", "-W", "--parsable", script, *arguments, cwd=folder, variables=variables)
    said = "".join(file.read_text() for file in folder.iterdir() if file.is_file())
    assert done.returncode == 0, (done.stderr, said, slurm.log()[-3000:])
    job = slurm.call("scontrol", "show", "job", done.stdout.strip().split(";")[0]).stdout
    events = [file for file in folder.glob("*/events.jsonl")]
    assert len(events) == 1, (list(folder.iterdir()), said)
    assert json.loads(events[0].read_text().splitlines()[-1])["event"] == "end"
    request = json.loads((events[0].parent / "request.json").read_text())
    return job, request


def main():
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        print("no Slurm: " + (" and ".join(missing) + " missing" if missing else "it runs here as root alone"))
        sys.exit(77)
    with Workspace() as place:
        name = "hostile"
        hostile = "it's \"$(touch marker)\"`touch marker`; touch marker\n#SBATCH --uid=1\n\\é"
        tuned = place.run("tune", place.write(campaign(name=name, trials=2, parameters=[
            {"name": "threads", "stage": "run", "values": [2], "default": 2},
            {"name": "env.HOSTILE", "stage": "run", "values": [hostile], "default": hostile}])))
        assert tuned.returncode in (0, 1), tuned.stderr
        scripts = {}
        for format in ["slurm", "torque"]:
            scripts[format] = place.folder / f"train.{format}"
            place.run("export", name, "--force", "--format", format, "--output", scripts[format], check=0)
        with Slurm(pathlib.Path(place.folder) / "slurm") as slurm:
            job, request = runs_to_its_end(slurm, place, scripts["slurm"], {"SEED": "9"}, "--epochs", "1")
            assert request["epochs"] == 1 and request["seed"] == 9, request
            assert request["configuration"]["env.HOSTILE"] == hostile, request
            assert "NumCPUs=2" in job and "MinMemoryNode=" in job and "TimeLimit=00:" in job, job
            job, request = runs_to_its_end(slurm, place, scripts["torque"], {"EPOCHS": "2"})
            assert request["epochs"] == 2, request
            assert "TimeLimit=00:" in job, job
        assert not list(place.folder.rglob("marker"))


if __name__ == "__main__":
    main()
