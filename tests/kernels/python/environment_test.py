"""From a configuration to the variables that a framework reads once, when it is imported."""

import os
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "kernels" / "python"))

import cntk_worker  # noqa: E402
import jax_worker  # noqa: E402
import paddle_worker  # noqa: E402
import tensorflow1_worker  # noqa: E402
import tensorflow2_worker  # noqa: E402
import tinygrad_worker  # noqa: E402
from nocturne_worker import Unsupported  # noqa: E402
from nocturne_worker.settings import read_settings  # noqa: E402


def settings(worker, **configuration):
    return read_settings(configuration, worker.choices, worker.has_inter_threads, worker.name)


class TensorFlow(unittest.TestCase):
    def test_onednn_is_a_switch_and_absent_leaves_it_alone(self):
        worker = tensorflow2_worker.TensorFlow2
        for value, text in ((True, "1"), (False, "0")):
            found = tensorflow2_worker.environment(settings(worker, onednn=value), True)
            self.assertEqual(found, {"TF_ENABLE_ONEDNN_OPTS": text})
        self.assertEqual(tensorflow2_worker.environment(settings(worker), True), {})

    def test_xla_needs_flags_only_where_a_function_cannot_be_compiled_whole(self):
        asked = settings(tensorflow2_worker.TensorFlow2, graph_compiler="xla")
        with mock.patch.dict(os.environ, clear=True):
            self.assertEqual(tensorflow2_worker.environment(asked, True), {})
            self.assertEqual(tensorflow2_worker.environment(asked, False),
                             {"TF_XLA_FLAGS": "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"})

    def test_flags_of_the_caller_are_kept(self):
        with mock.patch.dict(os.environ, {"TF_XLA_FLAGS": "--tf_xla_min_cluster_size=2"}):
            found = tensorflow1_worker.environment(settings(tensorflow1_worker.TensorFlow1, graph_compiler="xla"))
        self.assertEqual(found["TF_XLA_FLAGS"],
                         "--tf_xla_min_cluster_size=2 --tf_xla_auto_jit=2 --tf_xla_cpu_global_jit")

    def test_ngraph_and_no_compiler_need_none(self):
        for compiler in ("none", "ngraph"):
            asked = settings(tensorflow1_worker.TensorFlow1, graph_compiler=compiler)
            self.assertEqual(tensorflow1_worker.environment(asked), {})

    def test_versions_are_compared_as_numbers(self):
        self.assertLess(tensorflow2_worker.version_of("2.1.0"), (2, 5))
        self.assertGreater(tensorflow2_worker.version_of("2.21.0-rc1"), (2, 5))


class Jax(unittest.TestCase):
    def test_threads_are_the_size_of_the_pool(self):
        with mock.patch.dict(os.environ, clear=True):
            self.assertEqual(jax_worker.environment(settings(jax_worker.Jax, threads=2)),
                             {"JAX_PLATFORMS": "cpu", "NPROC": "2"})
            self.assertEqual(jax_worker.environment(settings(jax_worker.Jax)), {"JAX_PLATFORMS": "cpu"})

    def test_one_thread_also_keeps_operations_whole(self):
        with mock.patch.dict(os.environ, {"XLA_FLAGS": "--xla_dump_to=there"}):
            found = jax_worker.environment(settings(jax_worker.Jax, threads=1))
        self.assertEqual(found["XLA_FLAGS"], "--xla_dump_to=there --xla_cpu_multi_thread_eigen=false")

    def test_there_is_no_way_but_xla(self):
        with self.assertRaisesRegex(Unsupported, "graph_compiler = \"none\", allowed: xla"):
            settings(jax_worker.Jax, graph_compiler="none")


class Tinygrad(unittest.TestCase):
    def test_it_runs_on_the_cpu_with_as_many_threads_as_asked_for(self):
        self.assertEqual(tinygrad_worker.environment(settings(tinygrad_worker.Tinygrad, threads=2)),
                         {"DEV": "CPU", "NUM_CPU_THREADS": "2"})
        self.assertEqual(tinygrad_worker.environment(settings(tinygrad_worker.Tinygrad)), {"DEV": "CPU"})

    def test_without_clang_it_is_refused_before_it_is_imported(self):
        asked = settings(tinygrad_worker.Tinygrad)
        with mock.patch.dict(os.environ, {"PATH": ""}), self.assertRaisesRegex(Unsupported, "install the package"):
            tinygrad_worker.Tinygrad().check(asked)


class Refusals(unittest.TestCase):
    def test_what_a_framework_has_not_is_refused_with_its_name(self):
        with self.assertRaisesRegex(Unsupported, "precision = \"bf16\", allowed: f32"):
            settings(cntk_worker.Cntk, precision="bf16")
        with self.assertRaisesRegex(Unsupported, "nocturne-cntk has no choice of it"):
            settings(cntk_worker.Cntk, onednn=True)
        with self.assertRaisesRegex(Unsupported, "nocturne-paddle has no choice of it"):
            settings(paddle_worker.Paddle, onednn=True)
        with self.assertRaisesRegex(Unsupported, "allowed: none, xla, ngraph"):
            settings(tensorflow1_worker.TensorFlow1, graph_compiler="inductor")


if __name__ == "__main__":
    unittest.main()
