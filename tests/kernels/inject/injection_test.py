"""A script under the module behaves as without it; what the module needs itself it leaves nowhere."""

import os
import subprocess
import sys
import textwrap
import time
import unittest

from injected import FAKE, HERE, INJECT, Injected

REPETITIONS = int(os.environ.get("NOCTURNE_STARTS", 0))  # of the start's time, which means something on a quiet machine alone

needs_hiding = unittest.skipIf(sys.version_info < (3, 11), "no Python 3.11 or newer: frames cannot be taken out of a traceback")


class Behaviour(unittest.TestCase):
    def both(self, script, *arguments, **environment):
        """The same run without and with the module; what it answers with it, when both are the same."""
        with Injected(script, **environment) as run:
            for name, text in self.files.items():
                (run.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (run.folder / name).write_text(textwrap.dedent(text))
            run.variables["PYTHONPATH"] = os.pathsep.join((str(INJECT), run.path("more"), str(FAKE)))
            arguments = [each.replace("train.py", str(run.script)) for each in arguments]
            known = run.variables["PYTHONPATH"]
            alone = run.run(*arguments, PYTHONPATH=known.replace(str(INJECT) + os.pathsep, ""))
            events = run.events("sample")
            injected = run.run(*arguments)
            self.assertEqual(injected, alone)
            self.assertEqual(events, [])
            self.samples = len(run.events("sample"))
            return injected

    def setUp(self):
        self.files = {}
        self.samples = None

    TRAIN = """
        import time, sys
        known = time.monotonic
        import torch
        time.monotonic = known
        optimizer = torch.optim.SGD([torch.Tensor(1.0)])
        def train(steps=3, loss=0.5):
            for _ in range(steps):
                torch.Tensor(loss).backward()
                optimizer.step()
    """

    @needs_hiding
    def test_tracebacks_do_not_show_it(self):
        for crash in ("train(loss='broken')",
                      "import traceback\ntry: train(loss='broken')\nexcept RuntimeError: traceback.print_exc()",
                      "next(iter(torch.utils.data.DataLoader(dataset='broken')))",
                      "torch.optim.SGD(1)", "torch.optim.SGD()._missing", "torch.amp.GradScaler().step(7)",
                      "torch.amp.GradScaler().scale(7)", "1 / 0",
                      "def closure(): raise KeyError('in a closure')\ntrain(); optimizer.step(closure)"):
            with self.subTest(crash):
                code, _, errors = self.both(textwrap.dedent(self.TRAIN) + crash)
                self.assertIn("Traceback", errors)

    @needs_hiding
    def test_a_framework_that_fails_to_import_fails_as_ever(self):
        for text in ("raise ImportError('no library')", "1 / 0", "import missing_module", "this is no Python"):
            self.files = {"more/tensorflow/__init__.py": text, "more/keras.py": text, "more/mxnet.py": text}
            for name in ("tensorflow", "keras", "mxnet"):
                with self.subTest(text, name=name):
                    self.assertEqual(self.both("import " + name)[0], 1)

    def test_whoever_asks_where_a_framework_is_does_not_import_it(self):
        self.both(textwrap.dedent("""
            import importlib.util
            print(type(importlib.util.find_spec("torch").loader).__name__, bool(importlib.util.find_spec("mxnet")))
            import torch
            print(torch.__spec__.loader is torch.__loader__, torch.__loader__.exec_module.__qualname__)
        """) + textwrap.dedent(self.TRAIN) + "train()")
        self.assertEqual(self.samples, 2)

    def test_paths_and_modules_are_as_without_it(self):
        self.both("""
            import os, sys
            print([each for each in sys.path], sorted(sys.modules), os.getcwd(), sys.argv, __file__)
            print([each for each in sys.path_importer_cache if "inject" in os.path.basename(each)])
            try:
                import sitecustomize
                print(sitecustomize.__file__)
            except ImportError as error:
                print(error, error.name)
        """, "train.py", "an argument")

    def test_the_next_sitecustomize_runs(self):
        for text in ("import sys\nsys.mine = __file__, __name__\nprint('mine')", "1 / 0", "import torch\nprint(torch.__version__)"):
            with self.subTest(text):
                self.files = {"more/sitecustomize.py": text}
                self.both("import sys, sitecustomize; print(getattr(sys, 'mine', 0), sitecustomize.__file__)")

    def test_scripts_that_read_themselves_and_their_like(self):
        train = textwrap.dedent(self.TRAIN) + "train()\n"
        self.files = {"more/package/__init__.py": "", "more/package/__main__.py": train + "print(sys.argv[1:], __name__)"}
        self.both("", "-m", "package", "one")
        self.assertEqual(self.samples, 2)
        self.both("", "-c", train + "print(sys.argv, __name__, sys.path[0])")
        self.assertEqual(self.samples, 2)
        self.both(train + "print(open(__file__).read(), open(sys.argv[0]).read())")
        self.both(train + "import inspect\nprint(inspect.getsource(train), inspect.getsource(torch.autograd.backward))\n"
                          "print(inspect.signature(torch.autograd.backward), torch.autograd.backward.__qualname__)")
        self.both(train + "import pickle\nprint(pickle.loads(pickle.dumps(torch.autograd.backward)).__name__)")

    def test_other_processes(self):
        train = textwrap.dedent(self.TRAIN)
        self.files = {"more/worker.py": ("import time\nknown = time.monotonic\nimport torch\ntime.monotonic = known\n"
                                          "def work(number):\n    return number + torch.get_num_threads()")}
        for method in ("spawn", "fork", "forkserver"):
            with self.subTest(method):
                self.both(train + textwrap.dedent("""
                    import multiprocessing, worker
                    if __name__ == "__main__":
                        with multiprocessing.get_context(%r).Pool(2) as pool:
                            train()
                            print(pool.map(worker.work, range(5)))
                        train()
                """ % method))
                self.assertEqual(self.samples, 5)
        self.both(train + textwrap.dedent("""
            import os
            if len(sys.argv) == 1:
                os.execv(sys.executable, [sys.executable, __file__, "again"])
            train()
            print(sys.argv[1])
        """))
        self.assertEqual(self.samples, 2)

    def test_threads_that_import_at_once(self):
        self.both("""
            import threading
            barrier = threading.Barrier(8)
            found = []
            def load():
                barrier.wait()
                import torch
                found.append(torch.autograd.backward)
            threads = [threading.Thread(target=load) for _ in range(8)]
            for each in threads: each.start()
            for each in threads: each.join()
            print(len(found), len(set(found)))
        """)

    def test_import_hooks_of_its_own(self):
        self.both(textwrap.dedent("""
            import importlib.abc, importlib.util, sys
            class Loader(importlib.abc.Loader):
                def __init__(self, loader): self.loader = loader
                def create_module(self, spec): return self.loader.create_module(spec)
                def exec_module(self, module):
                    self.loader.exec_module(module)
                    module.hooked = True
            class Finder(importlib.abc.MetaPathFinder):
                asking = False
                def find_spec(self, name, path, target=None):
                    if name != "torch" or self.asking: return None
                    self.asking = True
                    try:
                        spec = importlib.util.find_spec(name)
                    finally:
                        self.asking = False
                    spec.loader = Loader(spec.loader)
                    return spec
            sys.meta_path.insert(0, Finder())
            import torch
            print(torch.hooked, type(torch.__loader__).__name__)
        """) + textwrap.dedent(self.TRAIN) + "train()")
        self.assertEqual(self.samples, 2)

    def test_a_finder_that_asks_all_others_again(self):
        self.both(textwrap.dedent("""
            import importlib.util, sys
            class Finder(object):
                def find_spec(self, name, path=None, target=None):
                    if name != "torch": return None
                    sys.meta_path.remove(self)
                    try:
                        return importlib.util.find_spec(name)
                    finally:
                        sys.meta_path.insert(-1, self)
            sys.meta_path.insert(-1, Finder())
        """) + textwrap.dedent(self.TRAIN) + textwrap.dedent("""
            train()
            once = getattr(torch.autograd.backward, "__wrapped__", torch.autograd.backward)
            print(hasattr(once, "__wrapped__"))
        """))
        self.assertEqual(self.samples, 2)

    def test_shut_out_it_is_not_there(self):
        for option in ("-I", "-E", "-S"):
            with self.subTest(option):
                code, _, errors = self.both("import sys\nprint(len(sys.meta_path))", option, "train.py")
                self.assertEqual((code, errors), (0, ""))

    def test_its_folder_may_be_named_as_one_likes(self):
        with Injected(textwrap.dedent(self.TRAIN) + "train()\nprint([each for each in sys.path[:2]])") as run:
            link = run.folder / "a link"
            link.symlink_to(INJECT)
            for folder in (str(link), str(INJECT) + "/", os.path.relpath(str(INJECT), str(run.folder)),
                           str(INJECT / ".." / "inject")):
                with self.subTest(folder):
                    self.assertEqual(run.run(PYTHONPATH=folder + os.pathsep + str(FAKE)),
                                     (0, "%s\n" % [str(run.folder), str(FAKE)], ""))
                    self.assertEqual(len(run.events("sample")), 2)

    def test_inert_it_only_passes_on(self):
        with Injected("import sys, torch\nprint([type(each).__name__ for each in sys.meta_path if type(each).__module__ == "
                      "'sitecustomize'], 'nocturne_inject' in sys.modules)") as run:
            self.assertEqual(run.run(NOCTURNE_DISABLE=1)[1], "[] False\n")
            for name in ("NOCTURNE_STEPS_EVENTS", "NOCTURNE_INJECT_REPORT"):
                run.variables[name] = None
            self.assertEqual(run.run()[1], "[] False\n")

    def test_a_package_that_is_broken_costs_a_sentence(self):
        with Injected("import torch\nprint('runs')") as run:
            broken = run.folder / "broken"
            broken.mkdir()
            (broken / "sitecustomize.py").write_bytes((INJECT / "sitecustomize.py").read_bytes())
            code, out, errors = run.run(PYTHONPATH=os.pathsep.join((str(broken), str(FAKE))))
            self.assertEqual((code, out), (0, "runs\n"))
            self.assertIn("nocturne: the script runs unseen: ", errors)


class Cost(unittest.TestCase):
    def test_a_start_imports_nothing_more(self):
        """The time itself is measured where NOCTURNE_STARTS says how often."""
        with Injected("") as run:
            def start(folder):
                begin = time.monotonic()
                subprocess.run([sys.executable, "-c", "pass"], env=run.environment(PYTHONPATH=folder), check=True)
                return time.monotonic() - begin
            times = [(start(str(HERE)), start(str(INJECT))) for _ in range(REPETITIONS)]
        for name, each in zip(("without", "with"), zip(*times)):
            print("%s: %.2f ms" % (name, 1e3 * sorted(each)[len(each) // 2]))
        code = "import sys; print(sorted(sys.modules))"
        with Injected("") as run:
            known = run.run("-c", code, PYTHONPATH=str(HERE))[1]
            self.assertEqual(run.run("-c", code, PYTHONPATH=str(INJECT))[1], known)


if __name__ == "__main__":
    unittest.main(verbosity=2)
