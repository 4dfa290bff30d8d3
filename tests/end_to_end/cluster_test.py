"""A campaign on the three nodes of a real Slurm: the answer of one machine, through wall limits, from a shell of salloc, as
a file says it, after the loss of nodes.

Skipped (77) where Slurm is not installed. `--task task/affinity`: as on sites that bind steps to CPUs."""

import argparse
import json
import os
import pathlib
import platform
import re
import shlex
import signal
import time

from frameworks_test import Tree, campaign as frameworks_campaign
from full_disk_test import SmallDisk, own_mounts
from slurm import Slurm, kill, skip_without_slurm
from workspace import PATIENCE, Workspace, campaign, wait_until, workers_alive

PARAMETERS = [
    {"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "type": "ordinal", "default": 128},
    {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"},
    {"name": "width", "stage": "run", "values": [1, 10, 20], "default": 10}]
CONFIGURATIONS = 24
FAKETIME = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu/faketime/libfaketime.so.1")


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


def submit(slurm, place, file, *options, variables=None):
    done = place.run("tune", file, "--json", *options, env={**slurm.environment, **(variables or {})}, check=0)
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


def is_whole(place, alone):
    """Every configuration, as one machine measures it, and none measured twice."""
    assert place.trials_done() == CONFIGURATIONS, said(place)
    assert agree(measured(place), alone), (measured(place), alone)
    with place.database() as connection:
        twice = connection.execute("SELECT number FROM trials JOIN runs ON trial_id = trials.id WHERE purpose = 'search'"
                                   " AND runs.outcome <> 'killed' GROUP BY number HAVING count(*) > 2").fetchall()
    assert not twice, twice
    assert not workers_alive(place.data)


def goes_on_after_its_notice(slurm, place, alone):
    file = place.write(document(name="chain"))
    number = submit(slurm, place, file, "--nodes", 3, "--time", "00:30:00", "--fresh")
    assert wait_until(lambda: place.trials_done() >= 4), (slurm.job(number), said(place))
    slurm.call("scancel", "--batch", "--signal=USR1", number)
    assert wait_until(lambda: slurm.job(number).get("Restarts") == "1"), (slurm.job(number), said(place))
    wait_for_end(slurm, place, number)
    assert "asks to be queued again" in said(place), said(place)
    is_whole(place, alone)


def goes_on_in_a_job_that_depends_on_it(slurm, place, alone):
    """Where the site forbids that a job is queued again. --fresh begins once, not in each job."""
    file = place.write(document(name="strict"))
    number = submit(slurm, place, file, "--nodes", 3, "--time", "00:30:00", "--fresh")
    assert wait_until(lambda: place.trials_done() >= 4), (slurm.job(number), said(place))
    assert slurm.call("scontrol", "update", f"jobid={number}", "requeue=0").returncode == 0
    slurm.call("scancel", "--batch", "--signal=USR1", number)
    wait_for_end(slurm, place, number)
    assert slurm.job(number)["Restarts"] == "0", slurm.job(number)
    follows = re.search(f"job {number} may not be queued again; job ([0-9]+) goes on after it", said(place))
    assert follows and follows[1] != number, said(place)
    wait_for_end(slurm, place, follows[1])
    assert [campaign["generation"] for campaign in place.json("list", "campaigns")["campaigns"]] == [1], said(place)
    is_whole(place, alone)


def runs_on_a_registered_cluster(slurm, place, alone):
    """The file says all of it: `nocturne tune FILE`. The doctor has seen the cluster before."""
    module = place.folder / "module"
    config = place.folder / "config/nocturne/infrastructures"
    config.mkdir(parents=True)
    (config / "hill.json").write_text(json.dumps({
        "infrastructure": "hill", "scheduler": "slurm", "modules": [f"touch {module}-$SLURMD_NODENAME"],
        "shared_folder": str(place.folder), "partitions": {"all": {"nodes": 3, "default": True}}}))
    variables = {"XDG_CONFIG_HOME": str(place.folder / "config")}
    found = doctor(slurm, place, "hill", variables=variables, check=0)
    assert found["cluster"] == "hill" and health(found, "registered") == "good", found
    for subject in ["commands", "nodes", "kinds of nodes", "requeue", "data folder", "program", "classes", "likeness", "clocks"]:
        assert health(found, subject) == "good", found
    assert [(node["node"], node["class"]) for node in found["nodes"]] == [("n1", 1), ("n2", 1), ("n3", 1)], found
    assert wait_until(lambda: not slurm.call("squeue", "-h").stdout), "the doctor leaves no job"

    asked = {**document(name="file"), "executor": {"slurm": {"nodes": 2, "cluster": "hill", "time": "00:30:00"}}}
    number = submit(slurm, place, place.write(asked), variables=variables)
    job = wait_for_end(slurm, place, number)
    assert job["Partition"] == "all" and job["TimeLimit"] == "00:30:00", job
    assert (place.folder / "module-n1").exists(), said(place)
    assert len(hosts(place)["search"]) == 2, hosts(place)
    is_whole(place, alone)


def stages_what_it_loads(slurm, place, alone):
    """Each node loads the framework from a disk of its own, but for n3, which has none."""
    for name in ["n1", "n2"]:
        (place.folder / f"disk-{name}").mkdir()
    tree = Tree(place)
    tree.add("slow-1")
    tree.add("quick-1")
    place.run("env", "install", "slow-1", "quick-1", env=tree.variables, check=0)
    number = submit(slurm, place, place.write(frameworks_campaign(["slow-1", "quick-1"])), "--nodes", 3, "--time", "00:30:00",
                    variables=tree.variables)
    wait_for_end(slurm, place, number)
    loaded = {}
    with place.database() as connection:
        rows = connection.execute("SELECT ready_json, fields_json FROM runs JOIN fingerprints ON hash = fingerprint_hash"
                                  " WHERE ready_json IS NOT NULL").fetchall()
    for ready, fields in rows:
        host = next(field["value"] for field in json.loads(fields) if field["name"] == "system.host")
        loaded.setdefault(host, set()).add(str(pathlib.Path(json.loads(ready)["python"]).parents[2]))
    for name in ["n1", "n2"]:
        assert loaded.pop(name) == {f"{place.folder}/disk-{name}/nocturne-0"}, (loaded, said(place))
    assert loaded.pop("n3") == {f"{place.data}/environments"}, (loaded, said(place))
    assert "on the node n3: slow-1 is not copied to this machine's own disk, and loaded from " in said(place), said(place)
    assert "on the node n2: " not in said(place), said(place)
    found = doctor(slurm, place, check=0)
    told = next(each for each in found["findings"] if each["subject"] == "node-local folder")
    assert (told["health"], told["found"]) == ("note", "cannot be written on n3"), told


def a_disk_of_its_own(place):
    """Lines of slurm.conf: each node names one."""
    prolog = place.folder / "prolog"
    prolog.write_text(f"#!/bin/sh\necho export NOCTURNE_LOCAL_FOLDER={place.folder}/disk-$SLURMD_NODENAME\n")
    prolog.chmod(0o755)
    return f"TaskProlog={prolog}\n"


def tunes_each_class(slurm, place, alone):
    """n3 has another processor. A campaign on n1 and n2, then one on n3, which begins with what the first one found."""
    file = place.write(campaign(name="sisters", strategy="auto", trials=8, parameters=PARAMETERS))
    done = place.run("tune", file, "--nodes", 2, "--each-class", "--time", "00:30:00", "--json", env=slurm.environment, check=0)
    sisters = json.loads(done.stdout)["campaigns"]
    assert [(each["on"], each["nodes"]) for each in sisters] == [(["n1", "n2"], 2), (["n3"], 1)], sisters
    names = [each["campaign"] for each in sisters]
    assert all(re.fullmatch("sisters-[0-9a-f]{6}", name) for name in names) and names[0] != names[1], names
    for each in sisters:
        wait_for_end(slurm, place, each["job"])
    with place.database() as connection:
        rows = connection.execute("SELECT campaigns.name, fields_json FROM runs JOIN trials ON trials.id = trial_id JOIN campaigns"
                                  " ON campaigns.id = campaign_id JOIN fingerprints ON hash = runs.fingerprint_hash").fetchall()
    used = {}
    for name, fields in rows:
        used.setdefault(name, set()).add(next(field["value"] for field in json.loads(fields) if field["name"] == "system.host"))
    assert used == {names[0]: {"n1", "n2"}, names[1]: {"n3"}}, (used, said(place))
    logs = [(place.data / "logs" / f"{each['campaign']}-job-{each['job']}.log").read_text() for each in sisters]
    assert "history:" not in logs[0], logs[0]
    assert "history: 1 campaign of another machine, workload or space gives a first order" in logs[1], logs[1]
    inside = slurm.call("srun", "-n1", *place.command("tune", file, "--each-class"))
    assert inside.returncode == 2 and "--each-class submits jobs, and this is inside of job" in inside.stderr, inside.stderr


def measures_on_each_gpu(slurm, place, alone):
    """Two nodes with two GPUs each: four slots, each with half of the cores, of one class with the coordinator."""
    file = place.write(document(name="gpus"))
    refused = place.run("tune", file, "--nodes", 2, "--slots", "gpu", env=slurm.environment, check=2)
    assert "--slots gpu: say which GPUs each node has" in refused.stderr, refused.stderr
    number = submit(slurm, place, file, "--nodes", 2, "--slots", "gpu", "--gres", "gpu:2", "--time", "00:30:00")
    wait_for_end(slurm, place, number)
    assert re.search("On 2 nodes of job [0-9]+, one trial at a time on each of their GPUs: n1, n2", said(place)), said(place)
    assert "GPUs of a node do not disturb each other: the default takes" in said(place), said(place)
    assert agree(measured(place), alone), (measured(place), alone, said(place))
    slots = {f"n{node}/gpu{gpu}" for node in (1, 2) for gpu in (0, 1)}
    assert hosts(place)["search"] == slots, (hosts(place), said(place))
    used = {}
    with place.database() as connection:
        rows = connection.execute("SELECT ready_json, fields_json FROM runs JOIN fingerprints ON hash = fingerprint_hash"
                                  " WHERE ready_json IS NOT NULL").fetchall()
    for ready, fields in rows:
        fields = {field["name"]: field["value"] for field in json.loads(fields)}
        assert fields["cpu.allowed"] == f"{os.cpu_count() // 2} CPUs on {os.cpu_count() // 2} cores for each gpu", fields
        ready = json.loads(ready)
        used.setdefault(fields["system.host"], set()).add((ready["environment"]["CUDA_VISIBLE_DEVICES"], tuple(ready["cpus"])))
    assert used.keys() == slots and all(len(each) == 1 for each in used.values()), used
    (first, first_cpus), (second, second_cpus) = (next(iter(used[f"n1/gpu{gpu}"])) for gpu in (0, 1))
    assert (first, second) == ("0", "1") and not set(first_cpus) & set(second_cpus), used
    assert "on 3 GPUs of this class" in place.run("best", check=0).stdout, said(place)

    # One node is enough; inside of its job the command says so.
    done = slurm.call("salloc", "-Q", "-N1", "--exclusive", "--mem=0", "--gres=gpu:2",
                      *place.command("tune", place.write(document(name="box")), "--slots", "gpu"))
    assert done.returncode in (0, 1), (done.stdout, done.stderr, slurm.log()[-3000:])
    assert re.search("On n1, a node of job [0-9]+, one trial at a time on each of its GPUs\\.", done.stderr), done.stderr
    assert {host for host in hosts(place)["search"] if host.startswith("n1/")} == {"n1/gpu0", "n1/gpu1"}, hosts(place)
    none = slurm.call("srun", "-n1", "-w", "n2", "--gres=none", *place.command("tune", file, "--slots", "gpu"))
    assert none.returncode == 5 and "--slots gpu: no GPU is to be seen" in none.stderr, none.stderr


def another_processor(place):
    cpuinfo = place.folder / "cpuinfo"
    cpuinfo.write_text(re.sub("(?m)^model name.*", "model name\t: another one", pathlib.Path("/proc/cpuinfo").read_text()))
    return {"n3": ("/proc/cpuinfo", cpuinfo)}


def refuses_a_folder_that_is_not_shared(slurm, place, alone):
    """On n3 the data folder is another one."""
    found = doctor(slurm, place, check=1)
    assert health(found, "data folder") == "bad", found
    assert "is not on n3" in next(each["found"] for each in found["findings"] if each["subject"] == "data folder"), found
    number = submit(slurm, place, place.write(document(name="unshared")), "--nodes", 3, "--time", "00:30:00")
    assert wait_until(lambda: slurm.has_ended(number)), slurm.job(number)
    assert slurm.job(number)["JobState"] == "FAILED" and slurm.job(number)["ExitCode"] == "5:0", slurm.job(number)
    assert "the node n3 does not see what this one has just written" in said(place), said(place)


def doctor(slurm, place, *cluster, variables=None, check):
    words = place.run("doctor", "--cluster", *cluster, "--json", env={**slurm.environment, **(variables or {})}, check=check)
    return json.loads(words.stdout)


def health(found, subject):
    return next(each["health"] for each in found["findings"] if each["subject"] == subject)


def has_a_clock_that_is_an_hour_off(slurm, place, alone):
    """What runs on n3 believes that it is an hour later."""
    found = doctor(slurm, place, check=0)
    told = next(each["found"] for each in found["findings"] if each["subject"] == "clocks")
    ahead = re.fullmatch("n3 is ([0-9]+) s ahead", told)
    assert ahead and 3540 < int(ahead[1]) <= 3600, told
    number = submit(slurm, place, place.write(document(name="clock")), "--nodes", 3, "--time", "00:30:00")
    wait_for_end(slurm, place, number)
    assert hosts(place)["search"] == {"n1", "n2", "n3"}, (hosts(place), said(place))
    is_whole(place, alone)
    with place.database() as connection:
        took = connection.execute("SELECT max(finished_unix_ns - reserved_unix_ns), min(finished_unix_ns - reserved_unix_ns) "
                                  "FROM trials").fetchone()
    assert 0 < took[1] <= took[0] < 600e9, took


def uses_the_allocation_of_its_shell(slurm, place, alone):
    file = place.write(document(name="shell"))
    done = slurm.call("salloc", "-Q", "-N2", "--exclusive", "--mem=0", *place.command("tune", file))
    assert done.returncode in (0, 1), (done.stdout, done.stderr, slurm.log()[-3000:])
    assert "going on on n1" in done.stderr and "On 2 nodes of job" in done.stderr, done.stderr
    assert agree(measured(place), alone), (measured(place), alone)
    assert hosts(place)["search"] == {"n1", "n2"}


def is_drained_and_cancelled(slurm, place, alone):
    """A node that is drained takes steps of a running job; scancel ends the session, and the same command goes on."""
    file = place.write(document(name="cancelled"))
    number = submit(slurm, place, file, "--nodes", 3, "--time", "00:30:00")
    assert wait_until(lambda: place.trials_done() >= 2), (slurm.job(number), said(place))
    slurm.call("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
    before = place.trials_done()
    assert wait_until(lambda: place.trials_done() >= before + 3), said(place)
    slurm.call("scancel", number)
    assert wait_until(lambda: slurm.has_ended(number)), slurm.job(number)
    assert slurm.job(number)["JobState"] == "CANCELLED" and place.trials_done() < CONFIGURATIONS, slurm.job(number)
    assert wait_until(lambda: not workers_alive(place.data))
    slurm.call("scontrol", "update", "nodename=n2", "state=resume")
    assert wait_until(slurm.is_idle), slurm.log()[-3000:]
    wait_for_end(slurm, place, submit(slurm, place, file, "--nodes", 3, "--time", "00:30:00"))
    is_whole(place, alone)


def loses_a_node(slurm, place, alone):
    """The daemon of a node and its steps are killed: what it had in hand is measured elsewhere."""
    file = place.write(document(name="lost"))
    number = submit(slurm, place, file, "--nodes", 3, "--time", "00:30:00")
    assert wait_until(lambda: place.trials_done() >= 3), (slurm.job(number), said(place))
    slurm.kill_node("n3")
    wait_for_end(slurm, place, number)
    assert "the node n3 is left out" in said(place) or "on the node n3" in said(place), said(place)
    assert agree(measured(place), alone), (measured(place), alone)


def hears_nothing_of_a_node(slurm, place, alone):
    """What runs there does not come through, and srun waits for ever: the order is given again after a minute."""
    number = submit(slurm, place, place.write(document(name="silent")), "--nodes", 3, "--time", "00:30:00")
    assert wait_until(lambda: place.trials_done() >= 3), (slurm.job(number), said(place))
    stopped = []
    def has_stopped_one():
        stopped.extend(pid for pid in slurm.step_daemons("n3") if pid != slurm.daemons["n3"].pid)
        kill(stopped, signal.SIGSTOP)
        return stopped
    assert wait_until(has_stopped_one), said(place)
    began = time.monotonic()
    try:
        assert wait_until(lambda: "it gave no sign of life for 60 s" in said(place), 2 * PATIENCE), said(place)
    finally:
        kill(stopped)
    print(f"  given again after {time.monotonic() - began:.0f} s", flush=True)
    wait_for_end(slurm, place, number)
    assert agree(measured(place), alone), (measured(place), alone)


def fills_its_data_folder(slurm, place, alone):
    """A sentence, nothing is damaged, no configuration is blamed; and it goes on when there is room again."""
    log = place.folder / "job.log"
    with SmallDisk(place.data, 24 * 1024) as disk:
        tune = shlex.join(place.command("tune", place.write(document(name="full"))))
        script = place.write(f"#!/bin/sh\nexec {tune}\n", "job.sh")
        words = ["sbatch", "--parsable", "-N3", "--exclusive", "--mem=0", "--no-kill", f"--output={log}", script]
        number = slurm.call(*words).stdout.strip()
        assert wait_until(lambda: place.trials_done() >= 4), (slurm.job(number), log.read_text())
        before = place.trials_done()
        def has_ended():
            disk.fill_up()  # what it takes away itself, too
            return slurm.has_ended(number)
        assert wait_until(has_ended), (slurm.job(number), log.read_text())
        assert slurm.job(number)["ExitCode"] == "4:0", (slurm.job(number), log.read_text())
        assert re.search("(?i)no room|no space", log.read_text()), log.read_text()
        assert "left out" not in log.read_text(), log.read_text()
        disk.make_room()
        with place.database() as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("SELECT count(*) FROM trials WHERE outcome <> 'ok'").fetchone() == (0,)
        assert before <= place.trials_done() < CONFIGURATIONS, (before, place.trials_done())
        wait_for_end(slurm, place, slurm.call(*words).stdout.strip())
        is_whole(place, alone)


def loses_its_batch_host(slurm, place, alone):
    """The first node is switched off, coordinator and all: the watchdog on the second one brings the job back."""
    number = submit(slurm, place, place.write(document(name="host")), "--nodes", 2, "--time", "00:30:00")
    assert wait_until(lambda: place.trials_done() >= 3), (slurm.job(number), said(place))
    before = place.trials_done()
    slurm.lose_host("n1")
    began = time.monotonic()
    assert wait_until(lambda: slurm.job(number).get("Restarts") == "1", 3 * PATIENCE), (slurm.job(number), slurm.log()[-3000:])
    print(f"  queued again {time.monotonic() - began:.0f} s after the loss, with {before} trials", flush=True)
    wait_for_end(slurm, place, number)
    assert "On 2 nodes of job" in said(place) and said(place).rstrip().count("n3") > 0, said(place)
    is_whole(place, alone)


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


def an_hour_later(place):
    """Lines of slurm.conf: tasks on n3 see another time."""
    prolog = place.folder / "prolog"
    prolog.write_text("#!/bin/sh\n[ \"$SLURMD_NODENAME\" = n3 ] || exit 0\n"
                      f"echo export LD_PRELOAD={FAKETIME}\necho export FAKETIME=+1h\necho export DONT_FAKE_MONOTONIC=1\n")
    prolog.chmod(0o755)
    return f"TaskProlog={prolog}\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="task/none")
    parser.add_argument("--long", action="store_true", help="lost nodes and a true worker, too")
    parser.add_argument("--scene", action="append", help="this one alone; may be given again")
    options = parser.parse_args()
    skip_without_slurm()
    with Workspace() as machine:
        machine.run("tune", machine.write(document()))
        alone = measured(machine)
        assert len(alone) == CONFIGURATIONS, alone
    scenes = [is_the_campaign_of_one_machine, goes_on_after_its_notice, goes_on_in_a_job_that_depends_on_it,
              uses_the_allocation_of_its_shell, runs_on_a_registered_cluster, stages_what_it_loads]
    if os.cpu_count() > 1:
        scenes.append(measures_on_each_gpu)
    else:
        print("one core: no two GPUs have cores of their own")
    if why := own_mounts():
        print(f"no mounts of its own ({why}): no data folder is full, and no node is of another class")
    else:
        scenes += [fills_its_data_folder, tunes_each_class]
    if options.long:
        scenes += [is_drained_and_cancelled, refuses_a_folder_that_is_not_shared, loses_a_node, loses_its_batch_host,
                   hears_nothing_of_a_node]
        if FAKETIME.exists():
            scenes.append(has_a_clock_that_is_an_hour_off)
        else:
            print(f"no {FAKETIME}: no clock is off by an hour")
    for scene in scenes:
        if options.scene and scene.__name__ not in options.scene:
            continue
        began = time.monotonic()
        with Workspace() as place:
            place.data.mkdir()
            hidden = {"n3": place.data} if scene is refuses_a_folder_that_is_not_shared else {}
            other = another_processor(place) if scene is tunes_each_class else {}
            more = {has_a_clock_that_is_an_hour_off: an_hour_later, stages_what_it_loads: a_disk_of_its_own}.get(scene)
            with Slurm(place.folder / "slurm", nodes=3, task=options.task, hidden=hidden, other=other,
                       more=more(place) if more else "", gpus=2 if scene is measures_on_each_gpu else 0) as slurm:
                scene(slurm, place, alone)
        print(f"{scene.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    if options.long and not options.scene:
        with Workspace() as place, Slurm(place.folder / "slurm") as slurm:
            trains_on_a_node(slurm, place)


if __name__ == "__main__":
    main()
