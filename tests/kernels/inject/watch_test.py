"""A deployed script compares its first steps with what was measured: the same findings as `apply --watch` has."""

import importlib.util
import json
import os
import subprocess
import sys
import time
import unittest

from injected import HERE, INJECT, Injected

spec = importlib.util.spec_from_file_location("watch", str(INJECT / "nocturne_inject" / "watch.py"))
watch = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(watch)

TRAIN = """
    import time
    import torch
    load = %r
    if load is not None:
        from nocturne_inject import watch
        watch.Load.until_now = lambda self: load
    optimizer = torch.optim.SGD([torch.Tensor(1.0)])
    for step in range(%d):
        time.sleep(%f)
        torch.Tensor(0.5).backward()
        optimizer.step()
    print("trained to the end")
"""
QUIET = {"other_cpu": 0.0, "steal": 0.0, "held_back": False}
BUSY = {"other_cpu": 0.6, "steal": 0.0, "held_back": False}
LIMITS = {"profile": "mnist", "trial": 7, "cpu": "", "expected_s": 0.01, "limit_s": 0.015, "default_limit_s": 0.02, "window_s": 0.3}


class Table(unittest.TestCase):
    def test_the_table_of_canary_hpp(self):
        with open(str(HERE.parents[1] / "tuner" / "deploy" / "canary_cases.json")) as file:
            cases = json.load(file)
        self.assertGreater(len(cases), 10)
        for case in cases:
            with self.subTest(case["name"]):
                samples = [(1, case["step_s"], case.get("waited_s", 0.0))] * 30
                if "spike_s" in case:
                    samples[17] = (1, case["spike_s"], 0.0)
                limits = {"limit_s": 0.125, "default_limit_s": case.get("default_limit_s", 0.2)}
                finding, step, reasons, explained = watch.judge(samples, case, limits, case.get("differences", ()))
                self.assertEqual((finding, reasons, explained), (case["expected"], case["reasons"], case["explained"]))
                self.assertAlmostEqual(step, case["step_s"])


class Load(unittest.TestCase):
    def seen(self):
        """What a Load says while a busy child lives beside this process, on its processors."""
        code = "import time\nend = time.monotonic() + 10\nwhile time.monotonic() < end: pass"
        cpu = min(os.sched_getaffinity(0))
        known = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {cpu})
        busy = subprocess.Popen([sys.executable, "-c", code])
        try:
            time.sleep(0.3)
            load = watch.Load()
            time.sleep(1.0)
            return load.until_now()
        finally:
            os.sched_setaffinity(0, known)
            busy.kill()
            busy.wait()

    def test_a_child_is_part_of_the_job(self):
        self.assertLess(self.seen()["other_cpu"], 0.5)

    def test_a_process_of_somebody_else_is_not(self):
        code = ("import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time\\nend = time.monotonic() + 4\\n"
                "while time.monotonic() < end: pass'], start_new_session=True)")
        cpu = min(os.sched_getaffinity(0))
        known = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {cpu})
        try:
            subprocess.check_call([sys.executable, "-c", code])  # an orphan
            time.sleep(0.3)
            load = watch.Load()
            time.sleep(1.0)
            self.assertGreater(load.until_now()["other_cpu"], 0.5)
        finally:
            os.sched_setaffinity(0, known)


class Watched(unittest.TestCase):
    def train(self, step_s, steps, load=QUIET, fall_back=True, **limits):
        with Injected(TRAIN % (load, steps, step_s)) as run:
            more = {"FAKE_TORCH_REAL_TIME": "1", "NOCTURNE_WATCH": json.dumps(dict(LIMITS, **limits)), "NOCTURNE_WATCH_LOG": run.path("log"),
                    "NOCTURNE_STEPS_EVENTS": None, "NOCTURNE_INJECT_REPORT": None}
            if fall_back:
                more["NOCTURNE_WATCH_FALL_BACK"] = run.path("fall-back")
            self.code, self.out, self.errors = run.run(**more)
            self.fell_back = os.path.exists(run.path("fall-back"))
            self.log = []
            for name in os.listdir(run.path("log")) if os.path.isdir(run.path("log")) else ():
                with open(os.path.join(run.path("log"), name)) as file:
                    self.log += [json.loads(line) for line in file]
            return [each["finding"] for each in self.log]

    def test_as_fast_as_measured_is_silent_and_noted(self):
        self.assertEqual(self.train(0.005, 200), ["as measured"])
        self.assertEqual((self.code, self.out, self.errors, self.fell_back), (0, "trained to the end\n", "", False))
        line, = self.log
        self.assertEqual((line["profile"], line["trial"], line["expected_s"], line["limit_s"]), ("mnist", 7, 0.01, 0.015))

    def test_slow_for_no_reason_falls_back(self):
        self.assertEqual(self.train(0.04, 1000), ["fell back"])
        self.assertEqual((self.code, self.out, self.fell_back), (1, "", True))
        self.assertIn("0.01 s were measured", self.errors)
        self.assertIn("at most 0.02 s of the default; nothing that was looked at explains it", self.errors)
        self.assertIn("the default is started instead", self.errors)

    def test_slow_beside_busy_neighbours_is_a_warning(self):
        self.assertEqual(self.train(0.04, 80, BUSY), ["slower than the default"])
        self.assertEqual((self.code, self.out, self.fell_back), (0, "trained to the end\n", False))
        self.assertIn("other processes took 60 % of the machine", self.errors)
        self.assertEqual(self.errors.count("nocturne: warning"), 1)

    def test_without_a_fall_back_it_is_a_warning(self):
        self.assertEqual(self.train(0.04, 60, fall_back=False), ["slower than the default"])
        self.assertEqual((self.code, self.fell_back), (0, False))

    def test_slower_than_measured_alone_is_a_warning(self):
        self.assertEqual(self.train(0.04, 60, default_limit_s=9.0), ["slower than measured"])
        self.assertEqual((self.code, self.fell_back), (0, False))

    def test_another_processor_is_named(self):
        self.train(0.04, 60, cpu="Z80", fall_back=False)
        self.assertIn("and was 'Z80'", self.errors)

    def test_what_is_no_order_leaves_the_script_alone(self):
        with Injected(TRAIN % (None, 3, 0.0)) as run:
            code, out, errors = run.run(FAKE_TORCH_REAL_TIME="1", NOCTURNE_WATCH="no JSON", NOCTURNE_STEPS_EVENTS=None, NOCTURNE_INJECT_REPORT=None)
            self.assertEqual((code, out, errors), (0, "trained to the end\n", ""))

    def test_events_end_when_their_file_is_removed(self):
        with Injected(TRAIN % (None, 400, 0.01)) as run:
            process = run.start(FAKE_TORCH_REAL_TIME="1", NOCTURNE_INJECT_REPORT=None)
            while not run.events("sample"):
                time.sleep(0.05)
            os.unlink(run.path("events.jsonl"))
            out, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out, errors), (0, "trained to the end\n", ""))


if __name__ == "__main__":
    unittest.main()
