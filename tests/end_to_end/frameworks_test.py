"""Frameworks in environments, from outside: installed, unavailable, failing; a killed installation; the subcommand env.

The recipes need nothing but pip, which an environment begins with, so nothing is downloaded; the worker is a small program in Python.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

from workspace import NOCTURNE, PATIENCE, Workspace, wait_until

SUPPORT = pathlib.Path(__file__).resolve().parent.parent / "support"
WAITS = """import os, pathlib, sys, time
folder = pathlib.Path(os.environ["FAKE_FOLDER"])
(folder / "waiting").write_text("")
while not (folder / "go").exists(): time.sleep(0.01)
"""
CUT = r"the installation of patient-1 was cut \('[^']*env install patient-1' completes it\); the same command goes on"


class Tree:
    """A source tree with recipes of its own, and the variables that lead there."""

    def __init__(self, workspace):
        self.folder = workspace.folder / "tree"
        self.recipes = self.folder / "measure/environment/recipes"
        self.fix_ups = self.folder / "measure/environment/fix_ups"
        workers = self.folder / "kernels/python"
        for each in (self.recipes, self.fix_ups, workers, self.folder / "examples/data/mnist"):
            each.mkdir(parents=True)
        shutil.copy(SUPPORT / "fake_python_worker.py", workers)
        (workers / "fake_python_module.py").write_text(
            "MICROSECONDS = {'slow-1': 400, 'quick-1': 100, 'patient-1': 100}\n")
        (self.fix_ups / "fails.py").write_text("import sys\nsys.exit('the moon is in the way')\n")
        (self.fix_ups / "waits.py").write_text(WAITS)
        # This machine's newest Python would be chosen, and each be asked who it is: they are kept out of sight.
        self.variables = dict(os.environ, NOCTURNE_SOURCE=str(self.folder), NOCTURNE_PYTHONS=str(self.python()),
                              PATH="/usr/sbin:/usr/bin:/sbin:/bin", PYENV_ROOT="/nowhere", UV_PYTHON_INSTALL_DIR="/nowhere",
                              PYTHONPATH="/nowhere", PIP_NO_INDEX="1", FAKE_FOLDER=str(workspace.folder),
                              XDG_CONFIG_HOME=str(workspace.folder / "configuration"))

    def python(self):
        """This one, which copies its pip into new environments, where it has one of its own: ensurepip takes seconds."""
        pip = importlib.util.find_spec("pip")
        packages = pathlib.Path(pip.origin).parent.parent if pip else pathlib.Path()
        if packages.name != "site-packages":
            return sys.executable
        program = self.folder / "python3"
        words = [SUPPORT / "quick_python.sh", sys.executable, packages, program]
        program.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n')
        program.chmod(0o755)
        return program

    def add(self, name, **more):
        recipe = {"recipe": name, "title": "A framework", "kind": "python", "worker": "fake_python_worker.py",
                  "packages": [["pip"]], "licence": "MIT", "download_mb": 1, "disk_mb": 30, **more}
        (self.recipes / f"{name}.json").write_text(json.dumps(recipe))

    def waiting(self):
        """Processes of installations that wait."""
        script = str(self.fix_ups / "waits.py").encode()
        found = []
        for each in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if script in each.read_bytes():
                    found.append(each.parent.name)
        return found


def campaign(values, **more):
    return {
        "campaign": "frameworks",
        "objective": {"minimise": "time", "epochs": [1, 12]},
        "space": {"parameters": [
            {"name": "framework", "stage": "environment", "values": values, "default": values[0]},
            {"name": "batch", "stage": "run", "values": [64, 128], "default": 128}]},
        "strategy": {"name": "exhaustive"},
        "run": {"steps": 8, "deadline": "60s"},
        "verify": {"pairs": 3, "most_pairs": 12, "finalists": 1, "simplify": False, "slices": 2, "slice_steps": 2,
                   "accuracy_epochs": 0},
        **more}


class Frameworks(unittest.TestCase):
    def test_one_is_unavailable_one_fails_and_the_campaign_goes_on(self):
        with Workspace() as workspace:
            tree = Tree(workspace)
            tree.add("slow-1", environment={"FAKE_RECIPE": "said", "FAKE_DEVICE": "power_cap"})
            tree.add("quick-1")
            tree.add("ancient-1", python="<2.5")
            tree.add("broken-1", fix_ups=["fails"])
            file = workspace.write(campaign(["slow-1", "quick-1", "ancient-1", "broken-1"]))
            preview = json.loads(workspace.run("space", file, "--json", check=0, env=tree.variables).stdout)
            self.assertEqual(preview["environments"]["to_install"], ["slow-1", "quick-1", "broken-1"])
            self.assertEqual(preview["environments"]["download_bytes"], 3_000_000)
            self.assertEqual([each["framework"] for each in preview["environments"]["unavailable"]], ["ancient-1"])

            done = workspace.run("tune", file, check=0, env=tree.variables)
            self.assertEqual(done.stderr.count("unavailable here: ancient-1: "), 1)
            self.assertIn("installing slow-1: 1/", done.stderr)
            self.assertEqual(done.stderr.count("installing broken-1: 1/"), 1)
            trials = workspace.json("list", "trials")["trials"]
            outcomes = {}
            for trial in trials:
                outcomes.setdefault(trial["configuration"]["framework"], []).append((trial["outcome"], trial["reason"]))
            self.assertEqual(sorted(outcomes), ["broken-1", "quick-1", "slow-1"])
            self.assertEqual([outcome for outcome, _ in outcomes["broken-1"]], ["build_failed"] * 2)
            self.assertIn("the moon is in the way", outcomes["broken-1"][1][1])
            self.assertIn("quick-1", done.stdout)

            with workspace.database() as database:
                readies = [json.loads(row[0]) for row in database.execute("SELECT ready_json FROM runs")]
            for ready in readies:
                self.assertNotIn("PYTHONPATH", ready["environment"])
                self.assertEqual(ready["environment"]["PYTHONNOUSERSITE"], "1")
                self.assertTrue(ready["python"].startswith(str(workspace.data / "environments")), ready["python"])
                self.assertTrue(ready["cache"].startswith(str(workspace.data / "runs")), ready["cache"])
                self.assertFalse(ready["cache_was_there"])
            self.assertTrue(any(ready["environment"].get("FAKE_RECIPE") == "said" for ready in readies))
            devices = {trial["configuration"]["framework"]: [run["device"] for run in workspace.json(
                "show", str(trial["trial"]))["runs"] if run["outcome"] == "ok"] for trial in trials}
            for device in devices["slow-1"]:
                self.assertEqual((device["name"], device["energy_j"], device["throttled"]),
                                 ("Fake GPU", 12.5, {"power_cap": 0.5}))
            self.assertTrue(devices["slow-1"] and devices["quick-1"])
            self.assertEqual(set(map(str, devices["quick-1"])), {"None"})

            profile = json.loads((workspace.data / "profiles/frameworks.json").read_text())
            self.assertEqual(profile["configuration"]["framework"], "quick-1")
            self.assertRegex(profile["training"]["program"], r"environments/quick-1-[0-9a-f]{12}/bin/python$")
            output = workspace.folder / "deployed"
            subprocess.run(["sh", str(workspace.data / "profiles/frameworks.sh")], check=True, capture_output=True,
                           env=dict(tree.variables, STEPS="3", OUTPUT=str(output)))
            events = [json.loads(line) for line in (output / "events.jsonl").read_text().splitlines()]
            self.assertEqual(events[-1]["status"], "ok")

            again = workspace.run("tune", file, "--trials", "6", check=0, env=tree.variables)
            self.assertNotIn("installing slow-1", again.stderr)

    def test_limits_are_kept_and_caches_are_warm_where_that_is_wanted(self):
        with Workspace() as workspace:
            tree = Tree(workspace)
            tree.add("slow-1")
            tree.add("quick-1", download_mb=900)
            document = campaign(["slow-1", "quick-1"], environments={"download": "500MB"})
            document["run"]["compile_cache"] = "warm"
            file = workspace.write(document)
            preview = workspace.run("space", file, check=0, env=tree.variables)
            self.assertIn("environments.download is 500 MB", preview.stdout)
            workspace.run("tune", file, env=tree.variables)
            trials = workspace.json("list", "trials")["trials"]
            refused = [trial for trial in trials if trial["configuration"]["framework"] == "quick-1"]
            self.assertEqual({trial["outcome"] for trial in refused}, {"unsupported"})
            self.assertIn("900 MB", refused[0]["reason"])
            with workspace.database() as database:
                readies = [json.loads(row[0]) for row in database.execute("SELECT ready_json FROM runs ORDER BY rowid")]
            self.assertIn("/compile-caches/", readies[-1]["cache"])
            self.assertEqual(len({ready["cache"] for ready in readies}), 1)
            self.assertTrue(readies[-1]["cache_was_there"])

    def test_an_installation_that_was_killed_is_none_and_the_campaign_goes_on(self):
        with Workspace() as workspace:
            tree = Tree(workspace)
            tree.add("patient-1", fix_ups=["waits"])
            file = workspace.write(campaign(["patient-1"]))
            waiting = workspace.folder / "waiting"
            killed = workspace.start("tune", file, env=tree.variables)
            self.assertTrue(wait_until(waiting.exists))
            self.assertTrue(tree.waiting())
            killed.kill()
            killed.communicate()
            listed = json.loads(workspace.run("env", "list", "--json", check=0, env=tree.variables).stdout)["environments"]
            self.assertEqual([(row["name"], row["state"]) for row in listed], [("patient-1", "available")])

            for heard, code in (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 130):
                with self.subTest(heard.name):
                    waiting.unlink()
                    interrupted = workspace.start("tune", file, env=tree.variables)
                    self.assertTrue(wait_until(waiting.exists))
                    interrupted.send_signal(heard)
                    _, err = interrupted.communicate(timeout=PATIENCE)
                    self.assertEqual(interrupted.returncode, code, err)
                    self.assertRegex(err, CUT)
                    self.assert_nothing_of_it_is_left(workspace, tree)

            (workspace.folder / "go").write_text("")
            workspace.run("tune", file, env=tree.variables)
            self.assertEqual({outcome for _, _, outcome in workspace.finished_trials()}, {"ok"})

    def assert_nothing_of_it_is_left(self, workspace, tree):
        self.assertEqual(workspace.finished_trials(), [])  # cut is not failed
        self.assertEqual(tree.waiting(), [])
        listed = json.loads(workspace.run("env", "list", "--json", check=0, env=tree.variables).stdout)["environments"]
        self.assertEqual([(row["name"], row["state"]) for row in listed], [("patient-1", "available")])

    def test_an_installation_is_cut_where_the_time_is_over_and_the_same_command_goes_on(self):
        with Workspace() as workspace:
            tree = Tree(workspace)
            tree.add("patient-1", fix_ups=["waits"])
            words = ["tune", workspace.write(campaign(["patient-1"])), "--wall", "1s"]
            done = workspace.run(*words, check=1, env=tree.variables)
            self.assertRegex(done.stderr, CUT)
            self.assertIn("the campaign's time was over: what was being installed or built was cut, and the same command",
                          done.stderr)
            self.assertRegex(done.stdout, r"Go on +\S*nocturne[^|]*tune")
            self.assertIn("the campaign's time was over", workspace.json("status")["because"])
            self.assert_nothing_of_it_is_left(workspace, tree)

            (workspace.folder / "go").write_text("")
            workspace.run("env", "install", "patient-1", check=0, env=tree.variables)
            workspace.run(*words, check=0, env=tree.variables)  # what is there is found, however late it is
            self.assertEqual({outcome for _, _, outcome in workspace.finished_trials()}, {"ok"})

    def test_an_order_whose_time_to_prepare_is_over_says_so(self):
        with Workspace() as workspace:
            tree = Tree(workspace)
            tree.add("patient-1", fix_ups=["waits"])
            configuration = {"framework": "patient-1", "batch": 128}
            side = {"configuration": configuration, "slice_steps": 2}
            run = {"purpose": "gate", "steps": 2, "epochs": 0, "accuracy": False, "seed": 1, "deadline_ns": None, "curve": None,
                   "gate": None, "initial": "", "learning": "none"}
            tasks = {
                "prepare": {"stack": {"framework": "patient-1"}, "ladder": [configuration], "batch": "batch", "steps": 0},
                "trial": {"number": 3, "configuration": configuration, "purpose": "search", "incumbent": None, "expected": None,
                          "limit_ns": None},
                "pair": {"index": 0, "baseline": side, "candidate": side, "slices": 2, "method": "slices", "seed": 1},
                "gate": {"configuration": configuration, "reference": False, "run": run, "against": None}}
            for name, task in tasks.items():
                with self.subTest(name):
                    order = {"schema": "order", "version": 4, "document": campaign(["patient-1"]), "process_sd": 0.05,
                             "cpus": [], "runs_folder": "", "prepare_within_ns": 200_000_000, name: task}
                    done = subprocess.run(workspace.command("execute"), input=json.dumps(order), capture_output=True, text=True,
                                          timeout=PATIENCE, env=tree.variables)
                    self.assertEqual(done.returncode, 5, done.stderr)
                    workspace.check_document(done.stdout)
                    answer = json.loads(done.stdout)[name]
                    self.assertEqual(answer["end"], "out_of_time")
                    told = answer.get("record", answer.get("trial", {})).get("reason", CUT)
                    self.assertIn("the installation of patient-1 was cut", told)
                    self.assertEqual(tree.waiting(), [])

    def test_apply_makes_what_is_missing_and_a_bundle_brings_it_elsewhere(self):
        with Workspace() as workspace:
            tree = Tree(workspace)
            tree.add("slow-1")
            tree.add("quick-1")
            workspace.run("tune", workspace.write(campaign(["slow-1", "quick-1"])), check=0, env=tree.variables)
            profile = json.loads((workspace.data / "profiles/frameworks.json").read_text())
            self.assertEqual(profile["training"]["recipe"], "quick-1")

            def trained(*words, folder, check=0, data=workspace.data):
                done = subprocess.run([NOCTURNE, "--data", str(data), "apply", *words, "--steps", "2", "--output", str(folder)],
                                      capture_output=True, text=True, timeout=PATIENCE, env=tree.variables)
                self.assertEqual(done.returncode, check, done.stderr)
                if check == 0:
                    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
                    self.assertEqual(events[-1]["status"], "ok")
                return done

            packed = json.loads(workspace.run("env", "export", "--profile", "frameworks", "--bundle", str(workspace.folder),
                                              "--json", check=0, env=tree.variables).stdout)
            self.assertEqual(packed["environments"], ["quick-1"])
            workspace.run("env", "remove", "quick-1", check=0, env=tree.variables)
            refused = trained("frameworks", "--no-make", folder=workspace.folder / "a", check=125)
            self.assertIn("the environment quick-1 is missing here", refused.stderr)
            self.assertIn("would first make the environment quick-1", workspace.run(
                "apply", "frameworks", "--dry-run", check=0, env=tree.variables).stdout)
            made = trained("frameworks", folder=workspace.folder / "c")
            self.assertIn("making quick-1: 1/", made.stderr)
            self.assertNotIn("making", trained("frameworks", folder=workspace.folder / "d").stderr)

            elsewhere = workspace.folder / "elsewhere"
            arrived = trained(packed["file"], folder=workspace.folder / "e", data=elsewhere)
            self.assertIn("making quick-1: 1/", arrived.stderr)
            there = json.loads((elsewhere / "profiles/frameworks.json").read_text())
            self.assertTrue(there["training"]["program"].startswith(str(elsewhere / "environments")))

    def test_a_program_of_ones_own_is_a_row_beside_frameworks(self):
        with Workspace() as workspace:
            tree = Tree(workspace)
            tree.add("quick-1")
            (tree.recipes / "own.py").write_text(
                "import sys, time\nfor i in range(int(sys.argv[1])):\n"
                "    time.sleep(0.002)\n    print('step', i, 'of batch', sys.argv[2], flush=True)\n")
            (tree.recipes / "own-1.json").write_text(json.dumps({
                "recipe": "own-1", "kind": "command", "licence": "own",
                "command": {"template": [[sys.executable, "own.py", "{run.steps}", "{batch}"]],
                            "time": {"pattern": "step (?P<step>[0-9]+) of"}}}))
            workspace.run("tune", workspace.write(campaign(["quick-1", "own-1"])), check=0, env=tree.variables)
            outcomes = {(trial["configuration"]["framework"], trial["outcome"])
                        for trial in workspace.json("list", "trials")["trials"]}
            self.assertEqual(outcomes, {("quick-1", "ok"), ("own-1", "ok")})

    def test_the_subcommand_env(self):
        with Workspace() as workspace:
            tree = Tree(workspace)
            tree.add("quick-1")
            tree.add("ancient-1", python="<2.5")
            tree.add("broken-1", fix_ups=["fails"])

            def env(*words, check=0):
                return workspace.run("env", *words, check=check, env=tree.variables)

            self.assertRegex(env("list").stdout, r"(?m)^ancient-1 +not here .*Python")
            failed = env("install", "broken-1", "quick-1", check=1)
            self.assertIn("broken-1: the fix-up fails failed: the moon is in the way", failed.stderr)
            self.assertRegex(failed.stdout, r"(?m)^quick-1: installed in ")
            self.assertRegex(env("install", "quick-1").stdout, r"^quick-1: is installed")
            self.assertIn("Python", env("install", "ancient-1", check=5).stderr)
            self.assertIn("did you mean 'quick-1'?", env("install", "quik-1", check=2).stderr)
            self.assertEqual(env("install", "--", "-rx", check=2).returncode, 2)
            self.assertRegex(env("check", "quick-1").stdout, r"^quick-1: trains")
            self.assertIn("env install broken-1", env("check", "broken-1", check=1).stderr)
            thorough = json.loads(env("check", "--thorough", "--json", "quick-1", "broken-1", check=1).stdout)["environments"]
            self.assertEqual([(row["name"], row["verdict"]) for row in thorough],
                             [("broken-1", "failed"), ("quick-1", "failed")])
            self.assertIn("the reference cannot be prepared", thorough[1]["reason"])  # this tree has no worker of ours
            self.assertIn("environment", env("check", "--all", "--thorough", check=1).stdout)

            lock = workspace.folder / "lock.json"
            env("export", "quick-1", "--output", str(lock))
            exported = json.loads(lock.read_text())
            self.assertEqual(exported["recipe"], "quick-1")
            self.assertTrue(any(line.startswith("pip==") for line in exported["packages"]))
            self.assertEqual(env("remove", "quick-1").stdout, "quick-1: removed\n")
            env("remove", "quick-1", check=3)
            env("install", "--lock", str(lock))
            again = json.loads(env("export", "quick-1").stdout)
            self.assertEqual(again["packages"], exported["packages"])
            lock.write_text("[]")
            self.assertIn("no lock", env("install", "--lock", str(lock), check=2).stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        print("this Python makes no environments (Debian: python3-venv)")
        sys.exit(77)
    unittest.main(verbosity=2)
