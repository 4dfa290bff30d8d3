"""What the command line prints and answers, from outside."""

import contextlib
import json
import os
import re
import subprocess
import unittest

from workspace import NOCTURNE, PATIENCE, Workspace, campaign


class CommandLine(unittest.TestCase):
    def test_every_subcommand_has_a_help_with_examples(self):
        listed = subprocess.run([NOCTURNE, "--help"], capture_output=True, text=True, check=True).stdout
        subcommands = re.findall(r"(?m)^  ([a-z]+) +\S", listed.split("\nStart:\n")[1].split("\nOptions:\n")[0])
        self.assertGreater(len(subcommands), 20, listed)
        for subcommand in subcommands:
            shown = subprocess.run([NOCTURNE, subcommand, "--help"], capture_output=True, text=True)
            self.assertEqual(shown.returncode, 0, subcommand)
            self.assertIn("Example", shown.stdout, f"{subcommand} --help has no examples")

    def test_unknown_words_name_the_nearest(self):
        done = subprocess.run([NOCTURNE, "tnue"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'tune'", done.stderr)

    def test_version_names_commit_and_libraries(self):
        shown = subprocess.run([NOCTURNE, "--version"], capture_output=True, text=True, check=True).stdout
        for word in ["nocturne", "SQLite", "Eigen"]:
            self.assertIn(word, shown)

    def test_a_bad_campaign_reports_everything_and_stores_nothing(self):
        document = campaign()
        document["budgte"] = 3
        document["space"]["parameters"][0]["default"] = 77
        with Workspace() as workspace:
            done = workspace.run("tune", workspace.write(json.dumps(document, indent=1)), check=2)
            self.assertIn('"budgte"', done.stderr)
            self.assertIn("'budget'", done.stderr)
            self.assertIn("/space/parameters/0/default", done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertFalse((workspace.data / "nocturne.db").exists())

    def test_each_json_is_one_document(self):
        with Workspace() as workspace:
            file = workspace.write(campaign(trials=5))
            tuned = json.loads(workspace.run("tune", file, "--json", check=0).stdout)
            self.assertEqual(tuned["campaign"], "fake")
            self.assertTrue(os.path.exists(tuned["profile"]["json"]))
            for arguments in [["best"], ["list"], ["list", "trials"], ["list", "strategies"], ["show", "0"], ["explain"],
                              ["export", "--format", "json"], ["clean"], ["space", file]]:
                workspace.json(*arguments)

    def test_output_that_cannot_be_written_is_an_error(self):
        with Workspace() as workspace, open("/dev/full", "w") as full:
            workspace.run("tune", workspace.write(campaign(trials=3)), check=0)
            for words in [["--help"], ["--version"], ["best"], ["best", "--json"], ["best", "--help"], ["list", "trials"],
                          ["show", "0"], ["export", "--output", "-"], ["schema", "best"], ["completion", "bash"]]:
                done = subprocess.run(workspace.command(*words), stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 74, (words, done.stderr))
                self.assertEqual(done.stderr.count("No space left on device"), 1, (words, done.stderr))

    def test_a_reader_that_went_away_is_told_nothing(self):
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(campaign(trials=3)), check=0)
            for words in [["--help"], ["best"], ["best", "--json"], ["list", "trials"]]:
                reading, writing = os.pipe()
                os.close(reading)
                done = subprocess.run(workspace.command(*words), stdout=writing, stderr=subprocess.PIPE, text=True)
                os.close(writing)
                self.assertEqual((done.returncode, done.stderr), (141, ""), words)

    def test_a_terminal_is_shown_no_control_sequence_but_ours(self):
        hostile = "a\033]0;owned\007\033[8mb"
        document = campaign(trials=1)
        document["worker"]["command"] = ["sh", "-c", 'printf "%s\\n" "$0"; exit 3', hostile]
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(document))
            for words in [["show", "0"], ["verify", hostile], ["space", hostile], ["--db", hostile, "list"]]:
                ours, theirs = os.openpty()
                subprocess.run(workspace.command(*words), stdout=theirs, stderr=theirs, timeout=PATIENCE)
                os.close(theirs)
                shown = b""
                with contextlib.suppress(OSError):  # the end of a terminal
                    while piece := os.read(ours, 4096):
                        shown += piece
                os.close(ours)
                self.assertIn(b"owned", shown, words)
                for sequence in [b"\x1b]", b"\x1b[8m", b"\x07"]:
                    self.assertNotIn(sequence, shown, words)

    def test_verify_says_by_its_exit_code_whether_there_is_such_a_profile(self):
        with Workspace() as workspace:
            self.assertIn("nowhere", workspace.run("verify", "nowhere.json", check=3).stderr)
            self.assertIn("torn.json", workspace.run("verify", workspace.write("{", "torn.json"), check=2).stderr)

    def test_db_is_accepted_before_and_after_the_subcommand(self):
        with Workspace() as workspace:
            elsewhere = workspace.folder / "other.db"
            workspace.run("--db", elsewhere, "tune", workspace.write(campaign(trials=3)), check=0)
            self.assertTrue(elsewhere.exists())
            self.assertFalse((workspace.data / "nocturne.db").exists())
            workspace.run("best", "--db", elsewhere, check=0)
            workspace.run("best", check=3)

    def test_the_repro_line_repeats_the_run(self):
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(campaign(trials=2)), check=0)
            run = workspace.json("show", "0")["runs"][0]
            done = subprocess.run(["sh", "-c", run["command"]], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_exported_script_runs_what_was_measured(self):
        with Workspace() as workspace:
            tuned = workspace.json("tune", workspace.write(campaign(trials=5)))
            script = tuned["profile"]["sh"]
            subprocess.run(["sh", "-n", script], check=True)
            done = subprocess.run(["sh", script], capture_output=True, text=True, timeout=PATIENCE,
                                  cwd=workspace.folder, env={**os.environ, "EPOCHS": "1"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_verify_measures_a_profile_again(self):
        with Workspace() as workspace:
            profile = workspace.json("tune", workspace.write(campaign(trials=12)))["profile"]["json"]
            few = ["--pairs", "3", "--most-pairs", "15", "--json"]
            found = json.loads(workspace.run("verify", profile, *few, check=0).stdout)["profiles"]
            self.assertEqual(found[0]["finding"], "holds", found)
            self.assertGreaterEqual(found[0]["pairs"], 3)
            timed = json.loads(workspace.run("verify", profile, *few, "--time", "20min", check=0).stdout)["profiles"]
            self.assertEqual((timed[0]["finding"], timed[0]["pairs"]), (found[0]["finding"], found[0]["pairs"]), timed)

            with open(profile) as file:
                document = json.load(file)
            best, default = document["configuration"], document["verdict"]["baseline"]
            document["configuration"], document["verdict"]["baseline"] = default, best
            turned = workspace.write(document, "turned.json")
            found = json.loads(workspace.run("verify", turned, *few, check=1).stdout)["profiles"]
            self.assertEqual(found[0]["finding"], "does not hold", found)

            document["training"]["program"] = "/bin/false"
            found = json.loads(workspace.run("verify", workspace.write(document, "broken.json"), *few, check=5).stdout)["profiles"]
            self.assertEqual(found[0]["finding"], "could not be measured", found)
            self.assertEqual(len(workspace.json("list")["campaigns"]), 1)  # the evidence lies in a database of its own

    def test_verify_all_is_one_test_over_every_profile(self):
        with Workspace() as workspace:
            self.assertIn("no profile is in", workspace.run("verify", "--all", check=3).stderr)
            for name in ["first", "second"]:
                workspace.run("tune", workspace.write(campaign(name=name, trials=12)), check=0)
            few = ["--all", "--pairs", "3", "--most-pairs", "15"]
            found = json.loads(workspace.run("verify", *few, "--json", check=0).stdout)["profiles"]
            self.assertEqual([each["finding"] for each in found], ["holds", "holds"], found)
            self.assertTrue(all(each["low_percent"] > 0 for each in found), found)

            profile = workspace.data / "profiles" / "second.json"
            document = json.loads(profile.read_text())
            best, default = document["configuration"], document["verdict"]["baseline"]
            document["configuration"], document["verdict"]["baseline"] = default, best
            profile.write_text(json.dumps(document))
            done = workspace.run("verify", *few, check=1)
            self.assertRegex(done.stdout, r"first +holds")
            self.assertRegex(done.stdout, r"second +does not hold")
            # Without time nothing is measured, and that is said of each.
            done = workspace.run("verify", *few, "--time", "1ms", check=5)
            self.assertEqual(done.stdout.count("could not be measured"), 2)

    def test_blame_says_what_changed(self):
        with Workspace() as workspace:
            profile = workspace.json("tune", workspace.write(campaign(trials=6)))["profile"]["json"]
            few = ["--pairs", "3", "--most-pairs", "6"]
            same = json.loads(workspace.run("blame", profile, "--list", "--json", check=0).stdout)
            self.assertEqual((same["candidate_causes"], same["told"]), ([], True))
            with open(profile) as file:
                document = json.load(file)
            document["measured_on"]["verify"]["system.kernel"] = "an older one"
            document["measured_on"]["fingerprint"] = "0" * 32  # no database knows it
            document["estimate"]["seconds"] /= 3  # so much faster it was
            older = workspace.write(document, "older.json")
            done = workspace.run("blame", older, *few, check=1)
            self.assertIn("system.kernel", done.stdout)
            self.assertIn("It cannot be told", done.stdout)
            document["estimate"]["seconds"] *= 6
            calm = workspace.run("blame", workspace.write(document, "calm.json"), *few, check=0)
            self.assertIn("Nothing became slower", calm.stdout)
            self.assertRegex(calm.stdout, r"Kept +\S*nocturne[^|]*list[ \\\n]+comparisons[ \\\n]+blame-fake[ \\\n]+--db[ \\\n]+\S*verifications.db")
            kept = json.loads(workspace.run("--db", workspace.data / "verifications.db", "list", "trials", "blame-fake",
                                            "--json", check=0).stdout)["trials"]
            self.assertEqual([(each["outcome"], each["runs"]) for each in kept], [("ok", 3)])
            workspace.run("blame", "no-such-campaign", check=3)

    def test_a_blame_that_was_killed_goes_on(self):
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(campaign(mode="obey", trials=1, run={"steps": 4000})), check=0)
            blamed = workspace.start("blame", "fake")
            for line in blamed.stderr:
                if line.startswith("run 2 of 3"):
                    blamed.kill()
                    break
            blamed.communicate()
            kept = json.loads(workspace.run("blame", "fake", "--json").stdout)["kept"]
            self.assertEqual(kept["generation"], 1, kept)
            self.assertIn(kept["runs_before"], (1, 2), kept)  # the second may have ended before the kill arrived

    def test_noise_that_is_stored_decides_how_campaigns_compare(self):
        with Workspace() as workspace:
            document = campaign(trials=4)
            del document["verify"]["pairs"], document["verify"]["most_pairs"]
            file = workspace.write(document)
            first = workspace.run("tune", file, check=0)
            self.assertIn("Noise: how far equal runs differ here is not known, so the best is compared with the default "
                          "in 6 to 20 pairs", first.stderr)
            self.assertIn(f"noise {file}' measures it in 3 minutes", first.stderr)
            workspace.run("noise", file, "--time", "1s", check=0)
            again = workspace.run("tune", file, "--fresh", check=0)
            self.assertRegex(again.stderr, r"Noise: this machine resolves [0-9.]+ % in \d+ pairs")

    def test_noise_says_what_can_be_told_apart(self):
        with Workspace() as workspace:
            floor = workspace.json("noise", workspace.write(campaign()), "--time", "1s")
            methods = {(row["method"], row["estimator"]) for row in floor["rows"]}
            self.assertLessEqual({("sequential", "median"), ("slices", "paired")}, methods)
            for row in floor["rows"]:
                self.assertGreaterEqual(row["pairs"], 3)
                self.assertEqual([each["percent"] for each in row["to_resolve"]], [1, 2, 5])
            self.assertIn("duet", floor["left_out"][0])

    def test_apply_passes_the_exit_code(self):
        with Workspace() as workspace:
            tuned = workspace.json("tune", workspace.write(campaign(trials=3)))
            done = workspace.run("apply", tuned["profile"]["json"], "--", "sh", "-c", "exit 42")
            self.assertEqual(done.returncode, 42, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
