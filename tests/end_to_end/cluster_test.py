"""A campaign on the three nodes of a real Slurm: the answer of one machine, through a wall limit, from a shell of salloc.

Skipped (77) where Slurm is not installed. `--task task/affinity`: as on sites that bind steps to CPUs."""

import argparse
import json
import time

from slurm import Slurm, skip_without_slurm
from workspace import PATIENCE, Workspace, campaign, wait_until, workers_alive

PARAMETERS = [
    {"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "type": "ordinal", "default": 128},
    {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"},
    {"name": "width", "stage": "run", "values": [1, 10, 20], "default": 10}]
CONFIGURATIONS = 24


def document(**keywords):
    return campaign(strategy="exhaustive", trials=CONFIGURATIONS, parameters=PARAMETERS, **keywords)


def measured(place):
    """{configuration: (outcome, seconds)}"""
    trials = place.json("list", "trials")["trials"]
    return {json.dumps(trial["configuration"], sort_keys=True): (trial["outcome"], trial["estimate"]["seconds"])
            for trial in trials}


def agree(one, other):
    """The same configurations, outcomes, fastest, and times: these are computed, but for 10 us of the import."""
    return (one.keys() == other.keys() and min(one, key=lambda each: one[each][1]) == min(other, key=lambda each: other[each][1])
            and all(one[each][0] == other[each][0] and abs(one[each][1] / other[each][1] - 1) < 1e-3 for each in one))


def hosts(place):
    """Of the trials, and of the default's runs on the nodes."""
    with place.database() as connection:
        rows = connection.execute(
            "SELECT runs.purpose, fields_json FROM runs JOIN fingerprints ON hash = fingerprint_hash").fetchall()
    found = {"search": set(), "verify": set()}
    for purpose, fields in rows:
        host = next(field["value"] for field in json.loads(fields) if field["name"] == "system.host")
        found.setdefault(purpose, set()).add(host)
    return found


def said(place):
    return "".join(file.read_text() for file in (place.data / "logs").glob("*-job-*.log"))


def submit(slurm, place, file, *options):
    done = place.run("tune", file, "--json", *options, env=slurm.environment, check=0)
    number = json.loads(done.stdout)["job"]
    assert number.isdigit(), done.stdout
    return number


def wait_for_end(slurm, place, number):
    assert wait_until(lambda: slurm.has_ended(number), 4 * PATIENCE), (slurm.job(number), said(place), slurm.log()[-3000:])
    job = slurm.job(number)
    assert job["JobState"] == "COMPLETED", (job, said(place))
    return job


def is_the_campaign_of_one_machine(slurm, place, alone):
    file = place.write(document())
    script = place.run("tune", file, "--nodes", 3, "--print", env=slurm.environment, check=0).stdout
    assert "#SBATCH --nodes=3\n" in script and script.splitlines()[-1].startswith("exec "), script
    refused = place.run("tune", file, "--nodes", 30, env=slurm.environment, check=5)
    assert "Slurm refuses the job" in refused.stderr, refused.stderr

    number = submit(slurm, place, file, "--nodes", 3, "--partition", "all", "--time", "00:30:00")
    wait_for_end(slurm, place, number)
    assert "On 3 nodes of job" in said(place), said(place)
    assert agree(measured(place), alone), (measured(place), alone, said(place))
    assert hosts(place)["search"] == {"n1", "n2", "n3"}, (hosts(place), said(place))
    assert {"n2", "n3"} <= hosts(place)["verify"], hosts(place)
    gain = place.json("best")["gain"]
    assert gain["nodes"] == 3 and "differs_by_node" in gain, (gain, said(place))
    assert "on 3 nodes of this class" in place.run("best", check=0).stdout, said(place)
    assert not (place.data / "cluster").exists() or not list((place.data / "cluster").iterdir())
    assert not workers_alive(place.data)


def goes_on_after_its_notice(slurm, place, alone):
    file = place.write(document(name="chain"))
    number = submit(slurm, place, file, "--nodes", 3, "--time", "00:30:00", "--fresh")
    assert wait_until(lambda: place.trials_done() >= 4), (slurm.job(number), said(place))
    slurm.call("scancel", "--batch", "--signal=USR1", number)
    assert wait_until(lambda: slurm.job(number).get("Restarts") == "1"), (slurm.job(number), said(place))
    wait_for_end(slurm, place, number)
    assert "The campaign goes on in job" in said(place), said(place)
    assert 4 <= place.trials_done() == CONFIGURATIONS, said(place)
    assert agree(measured(place), alone), (measured(place), alone)
    with place.database() as connection:
        twice = connection.execute("SELECT number FROM trials JOIN runs ON trial_id = trials.id WHERE purpose = 'search'"
                                   " AND runs.outcome <> 'killed' GROUP BY number HAVING count(*) > 2").fetchall()
    assert not twice, twice


def uses_the_allocation_of_its_shell(slurm, place, alone):
    file = place.write(document(name="shell"))
    done = slurm.call("salloc", "-Q", "-N2", "--exclusive", "--mem=0", *place.command("tune", file))
    assert done.returncode in (0, 1), (done.stdout, done.stderr, slurm.log()[-3000:])
    assert "going on on n1" in done.stderr and "On 2 nodes of job" in done.stderr, done.stderr
    assert agree(measured(place), alone), (measured(place), alone)
    assert hosts(place)["search"] == {"n1", "n2"}


def loses_a_node(slurm, place, alone):
    """The daemon of a node and its steps are killed: what it had in hand is measured elsewhere."""
    file = place.write(document(name="lost"))
    number = submit(slurm, place, file, "--nodes", 3, "--time", "00:30:00")
    assert wait_until(lambda: place.trials_done() >= 3), (slurm.job(number), said(place))
    slurm.kill_node("n3")
    wait_for_end(slurm, place, number)
    assert "the node n3 is left out" in said(place) or "on the node n3" in said(place), said(place)
    assert agree(measured(place), alone), (measured(place), alone)


def trains_on_a_node(slurm, place):
    """The true worker, from `tune --nodes 1` to `apply`."""
    parameters = [{"name": "batch", "stage": "run", "values": [64, 256], "type": "ordinal", "default": 64},
                  {"name": "threads", "stage": "run", "values": [1, 2], "default": 1}]
    true = campaign(name="true", trials=4, strategy="exhaustive", parameters=parameters)
    true["worker"] = {"recipe": "onednn"}
    number = submit(slurm, place, place.write(true), "--nodes", 1, "--time", "00:30:00")
    wait_for_end(slurm, place, number)
    assert "a node of job" in said(place), said(place)
    assert place.json("best")["best"] is not None, said(place)
    out = place.folder / "out"
    place.run("apply", "true", "--steps", "4", "--output", out, check=0)
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    assert events[-1]["event"] == "end" and events[-1]["status"] == "ok", events[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="task/none")
    parser.add_argument("--long", action="store_true", help="a lost node and a true worker, too")
    options = parser.parse_args()
    skip_without_slurm()
    with Workspace() as machine:
        machine.run("tune", machine.write(document()))
        alone = measured(machine)
        assert len(alone) == CONFIGURATIONS, alone
    scenes = [is_the_campaign_of_one_machine, goes_on_after_its_notice, uses_the_allocation_of_its_shell]
    if options.long:
        scenes.append(loses_a_node)
    for scene in scenes:
        began = time.monotonic()
        with Workspace() as place, Slurm(place.folder / "slurm", nodes=3, task=options.task) as slurm:
            scene(slurm, place, alone)
        print(f"{scene.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    if options.long:
        with Workspace() as place, Slurm(place.folder / "slurm") as slurm:
            trains_on_a_node(slurm, place)


if __name__ == "__main__":
    main()
