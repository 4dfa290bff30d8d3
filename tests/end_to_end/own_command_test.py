"""Commands that know nothing of Nocturne: timed as a whole, by what they print, by nocturne_steps; and their errors."""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import unittest

from workspace import PATIENCE, Workspace, supervisors_of, wait_until, working_in

# Its work is sleep, so that what is faster is known, and many times faster, so that no noise hides it; its arguments are
# written down, so that what came is known too.
TRAIN = """
    import argparse, json, os, pathlib, signal, sys, time
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="process")
    parser.add_argument("--delay", type=float, default=4.0)
    parser.add_argument("--text", default="")
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--fast", action="store_true")
    options = parser.parse_args()
    with open("arguments.jsonl", "a") as file:
        file.write(json.dumps(sys.argv[1:]) + chr(10))
    delay = options.delay / 1000 / (10 if options.fast else 1)
    if options.mode == "process":
        time.sleep(25 * delay)
    elif options.mode == "print":
        for step in range(options.steps):
            time.sleep(delay)
            print("step %d: loss %.3f" % (step, 1.0 / (step + 1)))
    elif options.mode == "total":
        print("Training took %.3f s" % delay)
    elif options.mode == "exit":
        print("the data set is nowhere", file=sys.stderr)
        sys.exit(3)
    elif options.mode == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif options.mode == "hang":
        time.sleep(1000)
    elif options.mode == "memory":
        hog = [bytearray(os.urandom(1) * (1 << 20)) for _ in range(400)]
        time.sleep(1000)
"""

STEPS = """
    import sys, time
    import nocturne_steps
    delay = 0.004
    for word in sys.argv:
        if word.startswith("--delay="):
            delay = float(word[8:]) / 1000
    with nocturne_steps.phase("data"):
        time.sleep(0.01)
    for step in range(100000):
        time.sleep(delay)
        nocturne_steps.step(1.0 / (step + 1))
        if not nocturne_steps.active() and step == 2:
            print("trained without Nocturne")
            break
"""


# As the training example that users of PyTorch start from prints its lines; an epoch would take minutes.
EPOCH = """
    import sys, time
    for seen in range(0, 6400, 64):
        print(f"Train Epoch: 1 [{seen}/6400 ({100 * seen / 6400:.0f}%)]\\tLoss: {2.0:.6f}")
        time.sleep(0.02)
"""


# Larger batches make a shorter epoch and teach less in it: 16 needs three epochs of 20 steps, 32 four of 10, 160 more than it may.
LEARNS = """
    import sys, time
    import nocturne_steps
    batch = int(sys.argv[1].partition("=")[2])
    for epoch in range(1, 41):
        for step in range(320 // batch):
            time.sleep(0.006)
            nocturne_steps.step()
        learnt = epoch * {16: 1.0, 32: 0.8, 160: 0.05}[batch]
        print(f"epoch {epoch}: test accuracy {100 * (1 - 0.5 ** learnt):.2f} %")
        nocturne_steps.epoch()
"""


def written(workspace, text, name="train.py"):
    path = workspace.folder / name
    path.write_text(textwrap.dedent(text))
    return path


def unwrapped(text):
    return " ".join(text.split())


def own_campaign(words, parameters, time="process", run=None, **more):
    document = {
        "campaign": "own",
        "worker": {"template": words, "time": time},
        "space": {"parameters": parameters},
        "strategy": {"name": "exhaustive"},
        "run": {"steps": 6, "deadline": "60s", **(run or {})},
        "verify": {"pairs": 3, "most_pairs": 20, "finalists": 1, "simplify": False, "slices": 2, "slice_steps": 2},
        **more,
    }
    if time != "process" and "total_seconds" not in str(time):
        document["workload"] = {"training_examples": 100}
    return document


DELAY = {"name": "delay", "stage": "run", "values": [40, 4], "type": "ordinal", "default": 40}


class OwnCommand(unittest.TestCase):
    maxDiff = None

    def tuned(self, workspace, document):
        workspace.run("tune", workspace.write(document), check=0)
        best = workspace.json("best")
        self.assertEqual(best["best"]["configuration"]["delay"], 4)
        self.assertEqual(best["gain"]["verdict"], "faster", best)
        return best

    def test_a_process_is_timed_as_a_whole_and_pairs_run_one_after_the_other(self):
        with Workspace() as workspace:
            written(workspace, TRAIN)
            best = self.tuned(workspace, own_campaign(["python3", "train.py", "--delay={delay}"], [DELAY]))
            self.assertEqual(best["epochs"], 1)
            # 1 s and 0.1 s of sleep, and a Python that starts
            self.assertTrue(0.02 < best["best"]["seconds"] < best["default"]["seconds"], best)
            self.assertGreater(best["default"]["seconds"], 0.5)  # it is fitted, too
            self.assertIn(best["gain"]["pairs"], range(3, 21))
            page = workspace.run("best", check=0).stdout
            self.assertIn("trains as long as it trains", workspace.run("best", "--epochs", "3", check=2).stderr)
            self.assertIn("times of one run", page)
            self.assertIn("Command   python3 train.py --delay=4", page)
            self.assertNotIn("examples/s", page)
            self.assertIn("compare what both learn", workspace.run("list", "events", check=0).stdout)

    def test_the_lines_it_prints_are_its_steps(self):
        pattern = {"pattern": "step (?P<step>[0-9]+): loss (?P<loss>[0-9.]+)"}
        with Workspace() as workspace:
            written(workspace, TRAIN)
            words = ["python3", "train.py", "--mode", "print", "--delay={delay}"]
            best = self.tuned(workspace, own_campaign(words, [DELAY], time=pattern))
            # lines may be read late, and the parts are fitted to few runs: 40 ms is what it is about
            self.assertTrue(0.004 < best["default"]["parts_s"]["steady_step"] < 0.4, best)
            self.assertLess(best["best"]["parts_s"]["steady_step"], best["default"]["parts_s"]["steady_step"], best)
            run = workspace.json("show", "0", "--samples")["runs"][0]  # of the search; those of pairs follow
            self.assertGreaterEqual(len(run["samples"]), 6)  # more, where it printed on before it was ended
            self.assertAlmostEqual(run["samples"][0]["loss"], 0.5)

    def test_a_training_that_counts_examples_is_advised_how_to_time_its_steps_and_the_advice_works(self):
        with Workspace() as workspace:
            written(workspace, EPOCH)
            own = ["--", "python3", "train.py"]
            probed = workspace.run("tune", "--trials", "2", "--write-campaign", "own.json", *own, check=0,
                                   cwd=workspace.folder)
            [advice] = [line.strip() for line in probed.stderr.splitlines() if " tune --pattern " in line]
            words = shlex.split(advice)  # as the program was called, its folder of data included
            self.assertEqual(words[-4:], ["6400", *own][-4:])
            self.assertEqual(words[words.index("--examples") + 1], "6400")
            self.assertEqual(words[:3], workspace.command())
            workspace.run("tune", "--trials", "2", *words[4:], check=0, cwd=workspace.folder)
            run = workspace.json("show", "0", "--samples")["runs"][0]
            self.assertEqual({sample["steps"] for sample in run["samples"]}, {64})
            self.assertAlmostEqual(run["samples"][0]["loss"], 2.0)
            self.assertLess(len(run["samples"]), 90)  # not all of its epoch

    def test_a_pattern_is_tried_before_a_campaign_begins(self):
        lines = "import time\nfor step in range(0, 1000, %d):\n    time.sleep(%g)\n    print('iter', step, 'loss', 0.05)\n"
        with Workspace() as workspace:
            (workspace.folder / "train.py").write_text(lines % (1, 0.002))
            command = ["--", "python3", "train.py"]
            for pattern, reason in (("step ([0-9]+)", "failed: no line of its output matches"),
                                    ("iter ([0-9]+)", "(?P<step>...) is its number")):
                refused = workspace.run("tune", "--pattern", pattern, *command, check=1, cwd=workspace.folder)
                self.assertIn("--pattern finds no steps", refused.stderr)
                self.assertIn(reason, refused.stderr)
                self.assertIn("They would be found by this", refused.stderr)
                self.assertFalse((workspace.data / "nocturne.db").exists())
            (workspace.folder / "train.py").write_text(lines % (100, 0.02))  # ten lines, and no more
            tune = ["tune", "--trials", "2", "--pattern", "iter (?P<step>[0-9]+)", "--examples", "1000"]
            written = workspace.run(*tune, "--write-campaign", "-", *command, check=0, cwd=workspace.folder)
            turns = json.loads(written.stdout)["verify"]
            self.assertEqual(turns["slice_steps"] % 100, 0)
            self.assertLessEqual(turns["slices"] * (turns["slice_steps"] + 100), 900)
            done = workspace.run(*tune, *command, check=None, cwd=workspace.folder)
            self.assertNotIn(": failed: ", done.stderr)
            self.assertIn("runs once", done.stderr)
            whole = workspace.run("tune", "--trials", "1", "--name", "whole", "--pattern", "iter 900 loss (?P<total_seconds>[0-9.]+)",
                                  *command, check=None, cwd=workspace.folder)
            self.assertIn("timed as a whole", whole.stderr)
            self.assertEqual(workspace.json("best", "whole")["best"]["seconds"], 0.05)
            again = workspace.run(*tune, *command, check=None, cwd=workspace.folder)
            self.assertNotIn("runs once", again.stderr)  # what the database knows of it serves

    def test_a_time_that_it_prints_itself_is_believed(self):
        pattern = {"pattern": "took (?P<total_seconds>[0-9.]+) s"}
        with Workspace() as workspace:
            written(workspace, TRAIN)
            best = self.tuned(workspace, own_campaign(["python3", "train.py", "--mode=total", "--delay={delay}"], [DELAY],
                                                      time=pattern))
            self.assertAlmostEqual(best["best"]["seconds"], 0.004)
            self.assertAlmostEqual(best["default"]["seconds"], 0.04)

    def test_steps_that_it_reports_are_measured_in_turns(self):
        with Workspace() as workspace:
            written(workspace, STEPS)
            best = self.tuned(workspace, own_campaign(["python3", "train.py", "--delay={delay}"], [DELAY], time="steps"))
            self.assertGreater(best["best"]["parts_s"]["data"], 0.009)
            self.assertGreater(best["best"]["parts_s"]["import"], 0)
            run = workspace.json("show", "0", "--samples")["runs"][0]  # of the search; those of pairs follow
            self.assertEqual([sample["first_step"] for sample in run["samples"]], [1, 2, 3, 4, 5, 6])
            self.assertAlmostEqual(run["samples"][0]["loss"], 0.5)

    def test_values_arrive_as_one_argument_each_whatever_they_hold(self):
        with Workspace() as workspace:
            marker = workspace.folder / "marker"
            hostile = f"a b'; touch {marker}; $(touch {marker}) `touch {marker}` \"\\ {{delay}} %s -rf"
            written(workspace, TRAIN)
            parameters = [{"name": "delay", "stage": "run", "values": [2, 1], "type": "ordinal", "default": 2},
                          {"name": "text", "stage": "run", "values": ["plain", hostile]},
                          {"name": "fast", "stage": "run", "type": "boolean"},
                          {"name": "extra", "stage": "run", "values": [5, 6], "active_if": "fast == True"}]
            words = ["python3", "train.py", "--delay", "{delay}", "--text", "{text}", "{fast?--fast}",
                     ["--steps", "{extra}"]]
            workspace.run("tune", workspace.write(own_campaign(words, parameters)), "--trials", "12", check=0)
            seen = [json.loads(line) for line in (workspace.folder / "arguments.jsonl").read_text().splitlines()]
            self.assertIn(["--delay", "1", "--text", hostile, "--fast", "--steps", "6"], seen)
            self.assertIn(["--delay", "2", "--text", "plain"], seen)
            self.assertTrue(all(("--steps" in words) == ("--fast" in words) for words in seen))
            self.assertFalse(marker.exists())

    def test_each_error_has_its_outcome_and_its_reason(self):
        modes = ["process", "exit", "crash", "hang", "memory", "nothing"]
        parameters = [{"name": "mode", "stage": "run", "values": modes}]
        with Workspace() as workspace:
            written(workspace, TRAIN)
            document = own_campaign(["python3", "train.py", "--delay=1", "--mode={mode}"], parameters,
                                    run={"deadline": "6s", "memory": "150MiB"})
            workspace.run("tune", workspace.write(document), check=0)
            found = {trial["configuration"]["mode"]: trial for trial in workspace.json("list", "trials")["trials"]}
            self.assertEqual({mode: trial["outcome"] for mode, trial in found.items()},
                             {"process": "ok", "exit": "failed", "crash": "crashed", "hang": "timeout",
                              "memory": "out_of_memory", "nothing": "ok"})
            self.assertEqual(found["exit"]["reason"], "exit code 3: the data set is nowhere")
            self.assertIn("SIGSEGV", found["crash"]["reason"])
            self.assertIn("in phase 'command'", found["hang"]["reason"])
            self.assertTrue(wait_until(lambda: not working_in(workspace.folder)), working_in(workspace.folder))

    def test_a_command_without_steps_or_lines_says_so(self):
        cases = [("steps", "does not import nocturne_steps"),
                 ({"pattern": "step (?P<step>[0-9]+) of"}, "no line of its output matches"),
                 ({"pattern": "(?P<total_seconds>[0-9]+) hours"}, "how long it took")]
        for number, (time, reason) in enumerate(cases):
            with self.subTest(reason=reason), Workspace() as workspace:
                written(workspace, TRAIN)
                threads = [{"name": "threads", "stage": "run", "values": [1]}]
                document = own_campaign(["python3", "train.py", "--delay=1"], threads, time=time, campaign=f"own-{number}")
                workspace.run("tune", workspace.write(document), check=1)
                [trial] = workspace.json("list", "trials")["trials"]
                self.assertEqual(trial["outcome"], "failed")
                self.assertIn(reason, trial["reason"])

    def test_a_program_that_is_not_there_is_named(self):
        with Workspace() as workspace:
            document = own_campaign(["./trian.sh"], [{"name": "threads", "stage": "run", "values": [1]}])
            workspace.run("tune", workspace.write(document), check=1)
            [trial] = workspace.json("list", "trials")["trials"]
            self.assertIn("cannot start './trian.sh': No such file or directory", trial["reason"])


class TuneCommand(unittest.TestCase):
    maxDiff = None
    QUICK = ("--trials", "3", "--strategy", "random")

    def test_a_command_that_reports_its_steps_is_tuned_without_a_file_and_applied(self):
        with Workspace() as workspace:
            script = written(workspace, STEPS)
            tune = ("tune", "--vary", "--delay=1", "--measure", "delay=1", *self.QUICK, "--", "python3", "train.py",
                    "--delay=10")
            done = workspace.run(*tune, check=0, cwd=workspace.folder)
            self.assertIn("Its steps are seen", done.stderr)
            self.assertIn("Command   python3 train.py --delay=1", done.stdout)
            best = workspace.json("best")
            self.assertEqual(best["campaign"], "train")
            self.assertEqual(best["default"]["configuration"]["delay"], 10)
            self.assertNotIn("threads", best["default"]["configuration"])
            again = workspace.run(*tune, check=0, cwd=workspace.folder)
            self.assertIn("Continuing after 3 finished trials", again.stderr)
            heartbeat = json.loads((workspace.data / "nocturne.db-heartbeat-1.json").read_text())
            self.assertEqual(heartbeat["file"], "")  # so that status names the command to go on with, and no file
            profile = json.loads((workspace.data / "profiles" / "train.json").read_text())
            self.assertAlmostEqual(profile["estimate"]["seconds"] / best["best"]["seconds"], 1, delta=0.05)
            self.assertNotIn("runs once", again.stderr)

            dry = workspace.run("apply", "train", "--dry-run", check=0, cwd=workspace.folder).stdout
            self.assertTrue(dry.rstrip().endswith("python3 train.py --delay=1"), dry)
            (workspace.folder / "nocturne_steps.py").symlink_to(
                pathlib.Path(__file__).parents[2] / "kernels/python/nocturne_steps.py")
            applied = workspace.run("apply", "train", check=0)  # in the command's own folder
            self.assertIn("trained without Nocturne", applied.stdout)
            other = workspace.run("apply", "train", "--", "python3", str(script), check=0)
            self.assertIn("measured with '--delay=1', which this command does not have", other.stderr)
            exported = subprocess.run(["sh", workspace.data / "profiles" / "train.sh"], capture_output=True, text=True,
                                      timeout=PATIENCE)
            self.assertIn("trained without Nocturne", exported.stdout)

    def test_a_command_that_reports_nothing_is_timed_as_a_whole(self):
        with Workspace() as workspace:
            written(workspace, TRAIN)
            tune = ("tune", "--name", "whole", "--vary", "--fast", "--measure", "fast=true", *self.QUICK)
            done = workspace.run(*tune, "--wall", "1h", "--", "python3", "train.py", "--delay", "16", check=0,
                                 cwd=workspace.folder)
            self.assertIn("timed as a whole", done.stderr)
            self.assertRegex(unwrapped(done.stderr), r"trials about \S+ \w+ each, so about \d+ in 1 h 00 min, which keep")
            self.assertNotIn("keeps both", done.stderr)
            best = workspace.json("best")
            self.assertEqual((best["campaign"], best["best"]["configuration"]["fast"]), ("whole", True))
            # What leaves this machine forecasts what was measured.
            exported = workspace.run("export", "whole", "--force", "--format", "json", "--output", "-", check=0)
            profile = json.loads(exported.stdout)
            self.assertAlmostEqual(profile["estimate"]["seconds"] / best["best"]["seconds"], 1, delta=0.05)

            done = workspace.run(*tune, "--wall", "2s", "--", "python3", "train.py", "--delay", "15", check=0,
                                 cwd=workspace.folder)
            self.assertIn("'whole' was of 'python3 train.py --delay 16", done.stderr)
            self.assertIn("--name keeps both", done.stderr)
            self.assertRegex(unwrapped(done.stderr), "for which 2.00 s may be too short: --wall 1min has room")

    def test_what_waits_at_standard_input_is_said_to_stay_there(self):
        with Workspace() as workspace:
            words = workspace.command("tune", "--write-campaign", "-", "--", "sh", "-c", "read line; test -z $line")
            def said(**stdin):
                done = subprocess.run(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, timeout=PATIENCE, **stdin)
                self.assertEqual(done.returncode, 0, done.stderr)
                return "read nothing from standard input" in done.stderr
            script = workspace.folder / "input.txt"
            script.write_text("print(1)")
            with open(script) as file:
                self.assertTrue(said(stdin=file))
                file.seek(0, os.SEEK_END)
                self.assertFalse(said(stdin=file))
            self.assertTrue(said(input="print(1)"))
            self.assertFalse(said(stdin=subprocess.DEVNULL))

    def test_what_it_writes_beside_its_folder_is_private_unless_that_is_allowed(self):
        with Workspace() as workspace:
            beside, project = workspace.folder / "beside", workspace.folder / "project"
            for folder in (beside, project):
                folder.mkdir()
            (project / "train.py").write_text(
                f"open({str(beside / 'runs')!r}, 'a').write('.')\nopen('model', 'w').close()\n")
            tune = ("tune", *self.QUICK)
            seen = workspace.run(*tune, "--", "python3", "train.py", check=None, cwd=project)
            self.assertIn("likewise private, and yours stays as it is", unwrapped(seen.stderr))
            self.assertEqual(list(beside.iterdir()), [])
            trials = workspace.json("list", "trials")["trials"]
            self.assertEqual([trial["outcome"] for trial in trials], ["ok"] * 3)
            seen = workspace.run(*tune, "--name", "real", "--writes-outside", "--", "python3", "train.py", check=None, cwd=project)
            self.assertIn("each run writes it for real", unwrapped(seen.stderr))
            self.assertGreaterEqual(len((beside / "runs").read_text()), 3)
            self.assertEqual([path.name for path in project.iterdir()], ["train.py"])

    def test_the_time_until_it_is_as_accurate_as_wanted_is_tuned(self):
        with Workspace() as workspace:
            written(workspace, LEARNS)
            done = workspace.run("tune", "--time", "steps", "--examples", "320", "--vary", "--batch=16,32,160", "--measure",
                                 "batch=160", "--measure", "batch=32", "--accuracy", "test accuracy ([0-9.]+) %",
                                 "--target", "0.87", "--trials", "4", "--", "python3", "train.py", "--batch=16", check=0,
                                 cwd=workspace.folder)
            best = workspace.json("best")
            self.assertEqual(best["best"]["configuration"]["batch"], 32, done.stdout)
            self.assertEqual(best["target"]["accuracy"], 0.87)
            self.assertAlmostEqual(best["target"]["default"]["epochs"], 3, delta=0.6)
            self.assertIsNotNone(best["gain"], done.stdout)
            self.assertIn("to 87.00 %", done.stdout)

    def test_an_accuracy_is_nothing_without_a_target(self):
        with Workspace() as workspace:
            written(workspace, LEARNS)
            refused = workspace.run("tune", "--accuracy", "x", "--", "python3", "train.py", "--batch=16", check=2,
                                    cwd=workspace.folder)
            self.assertIn("--target", refused.stderr)

    def test_a_first_run_that_another_hand_ends_is_no_word_about_the_command(self):
        with Workspace() as workspace:
            written(workspace, TRAIN)
            tuner = workspace.start("tune", "--", "python3", "train.py", "--mode", "hang", cwd=workspace.folder)
            self.assertTrue(wait_until(lambda: supervisors_of(tuner.pid) and working_in(workspace.data / "runs")))
            os.kill(supervisors_of(tuner.pid)[0], signal.SIGKILL)
            _, err = tuner.communicate(timeout=PATIENCE)
            self.assertIn("another hand ended the run of your command (killed: its supervisor was killed)", err)
            self.assertEqual(tuner.returncode, 5, err)
            # What is left of it goes with the next look.
            workspace.run("tune", "--name", "other", "--time", "process", "--trials", "1", "--", "true", cwd=workspace.folder)
            self.assertFalse(workspace.runs_nobody_names())

    def test_the_campaign_can_be_written_down_and_is_one(self):
        with Workspace() as workspace:
            written(workspace, TRAIN)
            arguments = ("--vary", "--delay 2,4", "--vary", "OMP_SCHEDULE=static,dynamic", "--time", "process", "--",
                         "python3", "train.py", "--text", "{text}")
            printed = workspace.run("tune", "--write-campaign", "-", *arguments, check=0, cwd=workspace.folder).stdout
            document = json.loads(printed)
            self.assertEqual(document["worker"]["template"],
                             ["python3", "train.py", "--text", "{{text}}", "--delay", "{delay}"])
            self.assertEqual(document["worker"]["folder"], str(workspace.folder))
            self.assertFalse((workspace.data / "nocturne.db").exists())
            workspace.run("space", workspace.write(document, "again.json"), check=0)

    def test_what_cannot_be_tuned_is_refused_with_a_sentence(self):
        cases = [(("--",), "no command behind"),
                 (("x.json", "--", "true"), "not both"),
                 (("--vary", "--a=1"), "file is required"),
                 (("--vary", "=1", "--", "true"), "no name of an option"),
                 (("--vary", "--a=1,1", "--", "true"), "twice"),
                 (("--vary", "--a=1", "--vary", "--a=2", "--", "true"), "there is already"),
                 (("--time", "steps", "--vary", "--batch-size=1,2", "--", "true"), "--examples"),
                 (("--time", "process", "--epochs", "3", "--", "true"), "timed as a whole"),
                 (("--epochs", "0", "--", "true"), "--epochs"),
                 (("--pattern", "(", "--", "true"), "regular expression")]
        with Workspace() as workspace:
            for arguments, sentence in cases:
                with self.subTest(arguments=arguments):
                    refused = workspace.run("tune", *arguments, check=2, cwd=workspace.folder)
                    self.assertIn(sentence, refused.stderr)
            failed = workspace.run("tune", "--", "sh", "-c", "echo no data here; exit 7", check=1, cwd=workspace.folder)
            self.assertIn("your command does not run: failed: exit code 7: no data here", failed.stderr)


class Example(unittest.TestCase):
    """examples/own-command.json as it stands, with fewer steps and pairs."""

    @unittest.skipUnless(shutil.which("make") and shutil.which("cc"), "make or a C compiler is missing")
    def test_the_program_is_made_tuned_and_made_again(self):
        examples = pathlib.Path(__file__).parents[2] / "examples"
        text = (examples / "own-command.json").read_text()
        document = json.loads("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")))
        document["space"]["parameters"][0]["values"] = ["O1", "O2"]
        document["strategy"] = {"name": "random"}
        document["run"] = {"steps": 4, "deadline": "60s"}
        document["verify"] = {"pairs": 3, "most_pairs": 3, "finalists": 1, "simplify": False, "slices": 2, "slice_steps": 2}
        document["budget"] = {"trials": 3}
        with Workspace() as workspace:
            folder = workspace.folder / "own-command"
            folder.mkdir()
            for name in ("Makefile", "train.c"):
                shutil.copy(examples / "own-command" / name, folder)

            def make(*words):
                subprocess.run(["make", "-C", folder, f"MNIST={examples / 'data/mnist'}", *words], check=True,
                               capture_output=True, timeout=120)

            def trials_of(name, check=0):
                workspace.run("tune", workspace.write({**document, "campaign": name}), check=check)
                return [trial for trial in workspace.json("list", "trials", name)["trials"] if trial["outcome"] is not None]

            self.assertIn("cannot start './train-O", trials_of("unmade", check=1)[0]["reason"])
            make("train-O1", "train-O2", "images", "labels")
            first = trials_of("made")
            self.assertEqual([trial["outcome"] for trial in first], ["ok"] * 3)
            losses = [sample["loss"] for sample in workspace.json("show", "0", "--samples")["runs"][0]["samples"]]
            self.assertEqual(len(losses), 4)
            self.assertTrue(all(0 < loss < 5 for loss in losses), losses)
            self.assertTrue(all(trial["reused"] for trial in trials_of("same")))
            (folder / "train.c").write_text((folder / "train.c").read_text() + "int another_program;\n")
            make("train-O1", "train-O2")
            self.assertFalse(any(trial["reused"] for trial in trials_of("again")))


class Shim(unittest.TestCase):
    def test_without_nocturne_it_does_nothing(self):
        folder = pathlib.Path(__file__).parents[2] / "kernels/python"
        script = "import nocturne_steps as n\nfor i in range(3): n.step(i)\nwith n.phase('data'): n.epoch()\nprint(n.active())"
        done = subprocess.run([sys.executable, "-B", "-c", script], cwd=folder, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("False\n", "", 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
