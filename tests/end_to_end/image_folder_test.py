"""A folder of JPEGs through nocturne-onednn in a campaign: its readers are parameters, its waiting is told, its faults have names."""

import importlib.util
import os
import pathlib
import shutil
import sys
import unittest

from workspace import Workspace, campaign

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ONEDNN = os.environ.get("NOCTURNE_ONEDNN", "")
READERS = [
    {"name": "data_threads", "stage": "run", "values": [0, 1, 2], "type": "ordinal", "default": 0},
    {"name": "prefetch", "stage": "run", "values": [1, 3], "type": "ordinal", "default": 1, "active_if": "data_threads > 0"},
    {"name": "threads", "stage": "run", "values": [1], "default": 1},
    {"name": "batch", "stage": "run", "values": [4], "default": 4}]


def draw(folder, each=4):
    """Three classes, `each` images in each."""
    sys.dont_write_bytecode = True  # the examples are read by other tests at the same time
    where = importlib.util.spec_from_file_location("draw_shapes", ROOT / "examples/data/draw_shapes.py")
    module = importlib.util.module_from_spec(where)
    where.loader.exec_module(module)
    module.draw_folder(folder, each)


def pictures(folder, parameters=None, trials=10, **workload):
    document = campaign("pictures", trials=trials, strategy="exhaustive", parameters=parameters or READERS,
                        run={"steps": 6, "deadline": "60s"},
                        verify={"pairs": 2, "most_pairs": 2, "slice_steps": 1, "gate": {"on": False}})
    document["worker"] = {"command": [ONEDNN]}
    document["workload"] = {"network": "resnet20", "data": "folder", "data_folder": str(folder), "training_examples": 12,
                            "optimizer": "sgd_momentum", **workload}
    return document


@unittest.skipUnless(ONEDNN, "nocturne-onednn is not built here")
class ImageFolder(unittest.TestCase):
    def test_who_reads_changes_the_waiting_and_nothing_that_is_learnt(self):
        with Workspace() as workspace:
            draw(workspace.folder / "images")
            document = pictures("images")  # relative to the campaign file
            workspace.run("tune", workspace.write(document), check=0)
            trials = workspace.json("list", "trials")["trials"]
            self.assertEqual([trial["outcome"] for trial in trials], ["ok"] * 5, trials)
            losses = []
            for trial in trials:
                shown = workspace.json("show", trial["trial"], "--samples")
                first = next(run for run in shown["runs"] if run["purpose"] == "search")
                wanted = trial["configuration"]
                self.assertEqual(first["ready"]["data_threads"], wanted["data_threads"])
                self.assertEqual(first["ready"].get("prefetch"), wanted.get("prefetch"))
                self.assertIn("data", [phase["name"] for phase in first["phases"]])
                for sample in first["samples"]:
                    self.assertTrue(0 < sample["data_wait_ns"] < sample["wall_ns"], sample)
                self.assertTrue(0 < shown["data_wait"]["share"] < 1, shown["data_wait"])
                losses.append([sample["loss"] for sample in first["samples"]])
            self.assertTrue(all(each == losses[0] for each in losses), losses)
            self.assertRegex(workspace.run("show", 0, check=0).stdout, r"of each step .* waits for data: .* of an epoch")

    def test_the_wait_of_a_horizon_is_its_steps_waits(self):
        with Workspace() as workspace:
            draw(workspace.folder / "images")
            workspace.run("tune", workspace.write(pictures("images", READERS[2:])), check=0)
            best = workspace.json("best")["best"]
            self.assertAlmostEqual(best["data_wait"]["seconds"], 12 * 3 * best["data_wait"]["step_s"])
            self.assertLess(best["data_wait"]["step_s"], best["parts_s"]["steady_step"])

    def failure(self, workspace, **workload):
        """The reason of a default that could not train."""
        done = workspace.run("tune", workspace.write(pictures("images", READERS[2:], trials=1, **workload)), check=1)
        [trial] = workspace.json("list", "trials")["trials"]
        self.assertEqual(trial["outcome"], "failed")
        self.assertIn("failed: ", done.stdout)
        return trial["reason"]

    def test_a_broken_image_is_named_or_replaced(self):
        for readers in (0, 2):
            with self.subTest(readers=readers), Workspace() as workspace:
                draw(workspace.folder / "images")
                broken = workspace.folder / "images/disc/02.jpg"
                broken.write_bytes(broken.read_bytes()[:100])
                parameters = [{"name": "data_threads", "stage": "run", "values": [readers], "default": readers}] + READERS[2:]
                workspace.run("tune", workspace.write(pictures("images", parameters, trials=1)), check=1)
                [trial] = workspace.json("list", "trials")["trials"]
                self.assertEqual(trial["outcome"], "failed")
                self.assertIn(f"{broken}: cannot be decoded as JPEG", trial["reason"])
                self.assertIn("skip_broken", trial["reason"])

                forgiving = pictures("images", parameters, trials=1, skip_broken=True)
                workspace.run("tune", workspace.write(forgiving), check=0)
                [trial] = workspace.json("list", "trials")["trials"]
                self.assertEqual(trial["outcome"], "ok", trial)
                self.assertRegex(workspace.run("show", trial["trial"], "--log", check=0).stdout,
                                 r"warning: \d+ times a file was no image that could be decoded")

    def test_an_empty_class_and_one_too_many_are_named(self):
        with Workspace() as workspace:
            draw(workspace.folder / "images")
            empty = workspace.folder / "images/empty"
            empty.mkdir()
            self.assertIn(f"{empty}: there is no JPEG in it", self.failure(workspace))
        with Workspace() as workspace:
            draw(workspace.folder / "images", each=1)
            for number in range(8):
                shutil.copytree(workspace.folder / "images/disc", workspace.folder / f"images/more{number}")
            self.assertIn("it has 11 classes, the network has 10", self.failure(workspace))

    def test_a_folder_that_vanished_is_said_before_anything_runs(self):
        with Workspace() as workspace:
            draw(workspace.folder / "images")
            file = workspace.write(pictures("images", READERS[2:], trials=1))
            workspace.run("tune", file, check=0)
            shutil.rmtree(workspace.folder / "images")
            done = workspace.run("tune", file, check=2)
            self.assertIn(f"there is no folder {workspace.folder / 'images'}", done.stderr)
            self.assertIn("/workload/data_folder", done.stderr)

    def test_images_that_are_gone_end_the_session_and_blame_no_trial(self):
        with Workspace() as workspace:
            images = workspace.folder / "images"
            images.mkdir()
            file = workspace.write(pictures("images", READERS[2:], trials=1))
            done = workspace.run("tune", file, check=5)
            self.assertIn(f"the folder of images {images} is empty", done.stderr)
            self.assertEqual(workspace.finished_trials(), [])
            draw(images)
            workspace.run("tune", file, check=0)
            [(_, _, outcome)] = workspace.finished_trials()
            self.assertEqual(outcome, "ok")

    def test_a_folder_without_classes_is_named(self):
        with Workspace() as workspace:
            (workspace.folder / "images").mkdir()
            (workspace.folder / "images/notes.txt").write_text("to be filled")
            self.assertIn("images: there is no class in it", self.failure(workspace))


def simulated(parameters):
    document = campaign(parameters=parameters, strategy="exhaustive")
    document["worker"] = {"command": [sys.executable, str(ROOT / "tests/support/simulated_worker.py")]}
    return document


class Waiting(unittest.TestCase):
    def test_the_answer_says_how_long_the_best_waits_where_that_matters(self):
        def parameters(percent):
            return [{"name": "data_wait_percent", "stage": "run", "values": [percent], "default": percent},
                    {"name": "batch", "stage": "run", "values": [64, 128], "default": 64}]
        with Workspace() as workspace:
            done = workspace.run("tune", workspace.write(simulated(parameters(40))), check=0)
            self.assertRegex(done.stdout, r"(?m)^Data +the best waits for it [\d.]+ .s of each step \(40\.0 %, .* in all\)")
            self.assertAlmostEqual(workspace.json("best")["best"]["data_wait"]["share"], 0.4, places=3)
        with Workspace() as workspace:
            done = workspace.run("tune", workspace.write(simulated(parameters(0))), check=0)
            self.assertNotRegex(done.stdout, r"(?m)^Data ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
