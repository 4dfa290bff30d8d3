"""A script that waits for its DataLoader, measured in turns with another one and by whole runs: both must say the same.

While one waits for its turn, its loader's processes would fill their queue, and the steps that find it full look free. How long an
example takes is slept, not worked, so that other work on the machine moves both ways alike. With the processes left running during
the wait, turns say 25 % too little.
"""

import os
import statistics
import sys
import time
import unittest

from injected import Injected, python_with

SKIPPED = 77
PYTHON = python_with("torch")
SLICE = 20   # steps of a turn: an even number, as two processes deliver in pairs
TURNS = 10   # of each script, after two that are not counted
LIMIT = 0.03

SCRIPT = """
    import sys, time, torch
    class Slow(torch.utils.data.Dataset):
        def __len__(self): return 100000
        def __getitem__(self, index):
            time.sleep(float(sys.argv[1]) / 1000)
            return torch.ones(100)
    if __name__ == "__main__":
        torch.set_num_threads(1)
        model = torch.nn.Linear(100, 10)
        optimizer = torch.optim.SGD(model.parameters(), 0.001)
        for images in torch.utils.data.DataLoader(Slow(), batch_size=8, num_workers=2, prefetch_factor=8):
            optimizer.zero_grad(); model(images).square().mean().backward(); optimizer.step()
"""


class Turns(unittest.TestCase):
    def setUp(self):
        """Two scripts, whose examples take 4 and 5 ms."""
        self.runs = []
        for _ in range(2):
            run = Injected(SCRIPT, python=PYTHON, fake=False, NOCTURNE_STEPS_PER_SAMPLE=SLICE, OMP_NUM_THREADS=1)
            self.addCleanup(run.__exit__)
            self.runs.append(run)

    def milliseconds(self, run):
        """Time of a step: the median of the samples."""
        return statistics.median(each["wall_ns"] / each["steps"] / 1e6 for each in run.events("sample")[2:])

    def start(self, number, **environment):
        run = self.runs[number]
        return run.start(str(run.script), "45"[number], **environment)

    def finished(self, process):
        out, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, errors), (0, "", ""))

    def whole(self):
        found = []
        for number, run in enumerate(self.runs):
            self.finished(self.start(number, NOCTURNE_STEPS_LIMIT=SLICE * (TURNS + 2)))
            found.append(self.milliseconds(run))
        return found

    def in_turns(self):
        processes, files = [], []
        for number, run in enumerate(self.runs):
            os.mkfifo(run.path("turns"))
            processes.append(self.start(number, NOCTURNE_STEPS_TURNS=run.path("turns")))
            files.append(open(run.path("turns"), "w"))
        for turn in range(TURNS + 2):
            for run, file in list(zip(self.runs, files))[::1 if turn % 2 else -1]:
                file.write("%d\n" % SLICE)
                file.flush()
                end = time.monotonic() + 60
                while len(run.events("sample")) <= turn:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.005)
        for process, file in zip(processes, files):
            file.close()
            self.finished(process)
        return [self.milliseconds(run) for run in self.runs]

    def test_turns_and_whole_runs_agree(self):
        whole, turns = self.whole(), self.in_turns()
        for one, other in zip(whole, turns):
            print("a step: %.2f ms in a whole run, %.2f ms in turns: %+.1f %%" % (one, other, 100 * (other / one - 1)))
        for one, other in zip(whole, turns):
            self.assertAlmostEqual(other / one, 1, delta=LIMIT)
        self.assertAlmostEqual(turns[1] / turns[0] / (whole[1] / whole[0]), 1, delta=LIMIT)


if __name__ == "__main__":
    if not PYTHON:
        print("skipped: no Python with PyTorch was found, and NOCTURNE_FRAMEWORKS names none")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
