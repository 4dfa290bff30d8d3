"""A request is answered by what was measured, and its job script trains: under a real Slurm where there is one, else in a shell.

The frameworks are small programs in Python; what each costs is known beforehand.
"""

import json
import os
import pathlib
import subprocess

from frameworks_test import Tree, campaign
from slurm import Slurm, can_run_slurm
from workspace import Workspace

COSTS = {"tensorflow-2.1": 400, "tensorflow-2.21": 200, "pytorch-2.15": 100}


def request(framework, version, **more):
    return {"job": {
        "job_options": {"job_name": "answered", "node_count": 1, "wall_time_limit": "00:10:00",
                        "request_event_notification": "n", "email_address": "nobody@example.org"},
        "target": {"queue_type": "slurm"},
        "application": {"app_tag": "mnist", "app_type": "python", "executable": "python3", "arguments": "train.py"},
        "optimization": {"app_type": "ai_training", "ai_training": {
            "config": {"ai_framework": framework}, framework: {"version": version, **more}}}}}


def answer(place, tree, document, check=0):
    file = place.write(document, "job.json")
    return json.loads(place.run("request", file, "--json", "--write", place.folder / "answer", env=tree.variables,
                                check=check).stdout)


def runs_ranks(place, tree):
    """An HPC application that nothing was measured of: Slurm starts its ranks, with what comes before and behind."""
    configuration = pathlib.Path(tree.variables["XDG_CONFIG_HOME"]) / "nocturne"
    folder = place.folder / "hpc"
    for each in (configuration / "infrastructures", configuration / "fragments", folder / "stage"):
        each.mkdir(parents=True)
    (configuration / "infrastructures/here.json").write_text(json.dumps({
        "infrastructure": "here", "scheduler": "slurm", "storage": {f"file://{folder}/stage": "default-common"},
        "modules": ["MODULE=loaded; export MODULE"],
        "partitions": {"all": {"nodes": 1, "default": True, "node": {"cpu": {"ncores": 2}}}}}))
    for stage in ("pre", "post"):
        (configuration / f"fragments/{stage}.json").write_text(json.dumps({
            "fragment": stage, "stage": stage, "raw": f'echo {stage} >> "$preferred_storage_location"/order',
            "conditions": {"infrastructure": {"name": "here"}}}))
    file = place.write({"job": {
        "job_options": {"job_name": "ranks"}, "target": {"name": "here"},
        "application": {"app_type": "mpi", "mpi_ranks": 2, "executable": "sh",
                        "arguments": "-c 'echo $MODULE $OMP_NUM_THREADS > rank-$SLURM_PROCID'"}}}, "hpc.json")
    given = json.loads(place.run("request", file, "--json", "--write", folder, env=tree.variables, check=0).stdout)
    assert given["chosen"] is None and given["offer"] is None and given["infrastructure"] == "here", given
    with Slurm(pathlib.Path(place.folder) / "slurm-hpc") as slurm:
        done = slurm.call("sbatch", "-W", folder / "job.sh", cwd=folder)
        assert done.returncode == 0, (done.stderr, (folder / "job.out").read_text(), slurm.log()[-3000:])
    assert [(folder / f"rank-{rank}").read_text() for rank in range(2)] == ["loaded 1\n"] * 2
    assert (folder / "stage/order").read_text() == "pre\npost\n"


def trains(place, script):
    """Runs the script to its end; the request that its worker was given."""
    folder = place.folder / "job"
    folder.mkdir()
    variables = {"STEPS": "4", "OUTPUT": str(folder / "out")}
    if can_run_slurm():
        with Slurm(pathlib.Path(place.folder) / "slurm") as slurm:
            assert slurm.call("sbatch", "--test-only", script, cwd=folder).returncode == 0
            done = slurm.call("sbatch", "-W", "--parsable", script, cwd=folder, variables=variables)
            said = "".join(file.read_text() for file in folder.iterdir() if file.is_file())
            assert done.returncode == 0, (done.stderr, said, slurm.log()[-3000:])
            job = slurm.call("scontrol", "show", "job", done.stdout.strip().split(";")[0]).stdout
            assert "JobName=answered" in job and "TimeLimit=00:10:00" in job, job
            print("run by Slurm")
    else:
        subprocess.run(["sh", script], cwd=folder, env={**os.environ, **variables}, check=True)
        print("run by a shell: no Slurm here")
    events = [json.loads(line) for line in (folder / "out" / "events.jsonl").read_text().splitlines()]
    assert events[-1]["event"] == "end" and events[-1]["status"] == "ok", events[-1]
    return json.loads((folder / "out" / "request.json").read_text())


def main():
    with Workspace() as place:
        tree = Tree(place)
        (tree.folder / "kernels/python/fake_python_module.py").write_text(f"MICROSECONDS = {COSTS}\n")
        for name in COSTS:
            tree.add(name)
        place.run("tune", place.write(campaign(list(COSTS))), env=tree.variables, check=0)

        given = answer(place, tree, request("pytorch", ">=2"))
        best = given["chosen"]
        assert (best["labels"]["name"], best["labels"]["version"]) == ("pytorch", "2.15"), best
        assert given["evidence"] == "pairs on this machine" and best["price"] is None, given

        # What is demanded is honoured although it is slower, and that is said.
        given = answer(place, tree, request("tensorflow", "2.1"))
        chosen = given["chosen"]
        assert chosen["configuration"] == {"framework": "tensorflow-2.1", "batch": 128}, chosen
        assert "does not satisfy it and" in chosen["price"], chosen
        assert sorted(given["files"]) == ["Dockerfile", "campaign.json", "image.def", "job.sh", "profile.json", "why.md"], given
        trained = trains(place, given["files"]["job.sh"])
        assert trained["configuration"] == chosen["configuration"], trained

        newest = answer(place, tree, request("tensorflow", ">=2,<3"))["chosen"]
        assert newest["configuration"]["framework"] == "tensorflow-2.21", newest

        # Nothing that was measured: no script, and the reason.
        for document in [request("mxnet", "1.9"), request("tensorflow", "1.14"), request("tensorflow", "2.1", xla=True)]:
            none = answer(place, tree, document, check=3)
            assert none["chosen"] is None and none["job_script"] is None, none
            assert none["others"][0]["name"] == "frameworks" and "demanded" in none["others"][0]["reason"], none

        if can_run_slurm():
            runs_ranks(place, tree)

        # What is open is tuned, and the script is the winner's.
        open_request = request("pytorch", ">=2")
        open_request["job"]["application"]["app_tag"] = "mnist_cnn"
        file = place.write(open_request, "open.json")
        tuned = json.loads(place.run("request", file, "--tune", "--trials", "3", "--json", env=tree.variables, check=0).stdout)
        assert tuned["chosen"]["campaign"].startswith("request-mnist_cnn-"), tuned["chosen"]
        varied = {each["name"]: each for each in tuned["campaign"]["space"]["parameters"]}
        assert varied["framework"]["values"] == ["pytorch-2.15"], varied
        assert set(varied) == {"framework", "threads", "batch"}, varied

        # So is a command of one's own.
        own = place.folder / "own"
        own.mkdir()
        (own / "train.py").write_text("print(sum(range(1000)))\n")
        file = place.write({"job": {"application": {"executable": "python3", "arguments": "train.py"}}}, "own.json")
        tuned = json.loads(place.run("request", file, "--tune", "--trials", "2", "--json", env=tree.variables, cwd=own,
                                     check=0).stdout)
        assert tuned["chosen"]["campaign"].startswith("request-command-"), tuned["chosen"]
        assert tuned["campaign"] is None and "train.py" in tuned["job_script"], tuned


if __name__ == "__main__":
    main()
