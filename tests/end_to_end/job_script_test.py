"""The exported job scripts, run by a real Slurm of one node on this machine; of Torque's script Slurm reads the directives too.

Skipped (77) where Slurm is not installed."""

import json
import pathlib

from slurm import Slurm, skip_without_slurm
from workspace import Workspace, campaign


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
    skip_without_slurm()
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
