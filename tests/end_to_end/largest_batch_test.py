"""The largest batch that fits, found by a campaign with two out-of-memories at most: in a device's memory and in the machine's."""

import os
import pathlib
import sys
import unittest

from workspace import Workspace, campaign

SIMULATED = pathlib.Path(__file__).resolve().parent.parent / "support/simulated_worker.py"
ONEDNN = os.environ.get("NOCTURNE_ONEDNN", "")


def tried(workspace):
    """(batches that trained, trials out of memory)"""
    trials = workspace.json("list", "trials")["trials"]
    return (sorted({trial["configuration"]["batch"] for trial in trials if trial["outcome"] == "ok"}),
            [trial for trial in trials if trial["outcome"] == "out_of_memory"])


class OnADevice(unittest.TestCase):
    BATCHES = [16, 32, 64, 128, 256, 384, 512, 768, 896, 1024, 1536, 2048, 4096]

    def tune(self, workspace, parameters, trials):
        batch = {"name": "batch", "stage": "run", "values": self.BATCHES, "type": "ordinal", "default": 64}
        device = {"name": "device_mib", "stage": "run", "values": [1024], "default": 1024}
        document = campaign(strategy="auto", trials=trials, parameters=[batch, device] + parameters)
        document["worker"] = {"command": [sys.executable, str(SIMULATED)]}
        return workspace.run("tune", workspace.write(document), check=0)

    def test_its_memory_is_modelled_and_met_twice_at_most(self):
        with Workspace() as workspace:
            done = self.tune(workspace, [{"name": "width", "stage": "run", "range": [1, 20], "default": 10}], trials=40)
            fitted, exceeded = tried(workspace)
            self.assertEqual(max(fitted), 896)  # of 924 that there is room for
            self.assertLessEqual(len(exceeded), 2, exceeded)
            for trial in exceeded:
                self.assertIn("the device has 1024 MiB", trial["reason"])
            # Alone it fits, beside the default it does not.
            self.assertIn("together they need 1.1 GiB of the GPU's 1.0", done.stderr)
            self.assertRegex(workspace.run("model", check=0).stdout, r"at most 92\d images fit in 1\.0 GiB")
            self.assertRegex(workspace.run("show", 0, check=0).stdout, r"(?m)^device +164\.0 MiB of 1\.0 GiB")

    def test_a_small_space_is_walked_through_without_what_cannot_fit(self):
        with Workspace() as workspace:
            self.tune(workspace, [], trials=len(self.BATCHES))
            fitted, exceeded = tried(workspace)
            self.assertEqual(fitted, [batch for batch in self.BATCHES if batch <= 924])
            self.assertLessEqual(len(exceeded), 2, exceeded)


@unittest.skipUnless(ONEDNN, "nocturne-onednn is not built here")
class InMemory(unittest.TestCase):
    BATCHES = [32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096]
    LIMIT = 640 * 2**20

    def test_our_own_worker_trains_what_the_limit_allows(self):
        parameters = [{"name": "batch", "stage": "run", "values": self.BATCHES, "type": "ordinal", "default": 64}]
        document = campaign(strategy="auto", trials=len(self.BATCHES), parameters=parameters,
                            run={"steps": 2, "deadline": "60s", "memory": "640MiB"},
                            verify={"pairs": 2, "most_pairs": 2, "slice_steps": 1, "gate": {"on": False}})
        document["worker"] = {"command": [ONEDNN]}
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(document))
            fitted, exceeded = tried(workspace)
            self.assertLessEqual(len(exceeded), 2, exceeded)
            self.assertEqual(fitted, self.BATCHES[:len(fitted)])
            self.assertLess(len(fitted), len(self.BATCHES), "the limit is too high for this test")
            peaks = {trial["configuration"]["batch"]: trial["peak_bytes"] for trial in workspace.json("list", "trials")["trials"]
                     if trial["outcome"] == "ok"}
            self.assertLess(max(peaks.values()), self.LIMIT)
            low, high, following = fitted[-2], fitted[-1], self.BATCHES[len(fitted)]
            needed = peaks[high] + (following - high) * (peaks[high] - peaks[low]) / (high - low)
            self.assertGreater(needed, 0.9 * self.LIMIT, peaks)  # so the next one was left out for a reason

    def test_memory_that_the_system_refuses_is_out_of_memory_and_no_failure(self):
        parameters = [{"name": "batch", "stage": "run", "values": [32, 8192], "type": "ordinal", "default": 32}]
        document = campaign(strategy="exhaustive", trials=2, parameters=parameters, run={"steps": 2, "deadline": "60s"},
                            verify={"pairs": 2, "most_pairs": 2, "slice_steps": 1, "gate": {"on": False}})
        document["worker"] = {"command": ["/bin/sh", "-c", 'ulimit -v 1500000; exec "$0" "$@"', ONEDNN]}
        with Workspace() as workspace:
            workspace.run("tune", workspace.write(document))
            outcomes = {trial["configuration"]["batch"]: (trial["outcome"], trial["reason"])
                        for trial in workspace.json("list", "trials")["trials"]}
            if outcomes[32][0] != "ok":
                self.skipTest(f"a process needs more addresses here: {outcomes[32][1]}")  # a sanitizer's
            self.assertEqual(outcomes[8192][0], "out_of_memory", outcomes)
            self.assertIn("it was refused", outcomes[8192][1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
