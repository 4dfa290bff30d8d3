"""From a configuration to the variables that a framework reads once, when it is imported."""

import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "kernels" / "python"), str(ROOT / "measure" / "environment" / "fix_ups")]

import cntk_worker  # noqa: E402
import jax_worker  # noqa: E402
import paddle_worker  # noqa: E402
import pytorch_cuda  # noqa: E402
import pytorch_worker  # noqa: E402
import sees_gpu  # noqa: E402
import tensorflow1_worker  # noqa: E402
import tensorflow2_worker  # noqa: E402
import tinygrad_worker  # noqa: E402
from nocturne_worker import Unsupported, compile_cache  # noqa: E402
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

    def test_what_runs_operation_by_operation_is_not_compiled(self):
        worker = tensorflow2_worker.TensorFlow2
        tensorflow2_worker.refuse_eager_xla(settings(worker, execution="eager"))
        tensorflow2_worker.refuse_eager_xla(settings(worker, execution="graph", graph_compiler="xla"))
        tensorflow2_worker.refuse_eager_xla(settings(worker, graph_compiler="xla"))
        with self.assertRaises(Unsupported):
            tensorflow2_worker.refuse_eager_xla(settings(worker, execution="eager", graph_compiler="xla"))
        with self.assertRaises(Unsupported):
            settings(worker, execution="dynamic")

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


class Caches(unittest.TestCase):
    def test_a_cache_of_the_callers_makes_no_trial_compile_warm(self):
        theirs = {"JAX_COMPILATION_CACHE_DIR": "/theirs", "XLA_PERSISTENT_CACHE_PATH": "/theirs",
                  "TORCHINDUCTOR_CACHE_DIR": "/theirs"}
        for kept in (False, True):
            with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, theirs), \
                    mock.patch("os.getcwd", return_value=folder):
                os.environ.pop("NOCTURNE_COMPILE_CACHE", None)
                if kept:
                    os.environ["NOCTURNE_COMPILE_CACHE"] = folder
                compile_cache.lead_compilers_there()
                found = {name: os.environ.get(name) for name in theirs}
                if kept:
                    self.assertEqual([os.path.dirname(path) for path in found.values()], [folder] * 3)
                else:
                    self.assertEqual(found, {"JAX_COMPILATION_CACHE_DIR": None, "XLA_PERSISTENT_CACHE_PATH": None,
                                             "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "cache", "inductor")})


class Gpus(unittest.TestCase):
    def test_a_gpu_is_asked_for_by_name_and_what_only_one_kind_of_device_does_is_refused_on_the_other(self):
        worker = pytorch_worker.PyTorch
        self.assertEqual(settings(worker).device, "cpu")
        found = settings(worker, device="cuda", precision="f16", layout="nhwc", cuda_graphs=False, algorithm="find")
        self.assertEqual((found.device, found.precision), ("cuda", "f16"))
        self.assertEqual(found.own, {"cuda_graphs": False, "algorithm": "find"})
        for refused in ({"precision": "tf32"}, {"precision": "f16"}, {"cuda_graphs": True}, {"algorithm": "heuristic"}):
            with self.subTest(**refused), self.assertRaisesRegex(Unsupported, "is for a GPU, and device is cpu"):
                settings(worker, **refused)
        for refused in ({"graph_compiler": "ipex"}, {"onednn": True}, {"onednn": False}, {"nnpack": False}):
            with self.subTest(**refused), self.assertRaisesRegex(Unsupported, "is for the CPU, and device is cuda"):
                settings(worker, device="cuda", **refused)
        self.assertEqual(settings(worker, cuda_graphs=False).own, {"cuda_graphs": False})

    def test_a_worker_for_the_cpu_alone_refuses_a_gpu(self):
        with self.assertRaisesRegex(Unsupported, "device = \"cuda\", allowed: cpu"):
            settings(cntk_worker.Cntk, device="cuda")
        with self.assertRaisesRegex(Unsupported, "precision = \"f16\", allowed: f32, bf16, tf32"):
            settings(jax_worker.Jax, device="cuda", precision="f16")

    def test_jax_leaves_memory_of_a_gpu_to_the_other_side_of_a_pair(self):
        found = jax_worker.environment(settings(jax_worker.Jax, device="cuda", threads=1))
        self.assertEqual(found, {"JAX_PLATFORMS": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"})

    def test_pytorch_without_a_gpu_says_whether_it_was_built_for_one(self):
        for built, reason in ((None, "it was built without CUDA"), ("12.8", "CUDA_VISIBLE_DEVICES hides it")):
            torch = mock.Mock(__version__="2.15.0")
            torch.cuda.is_available.return_value, torch.version.cuda = False, built
            with self.assertRaisesRegex(Unsupported, reason):
                pytorch_cuda.find_device(torch, settings(pytorch_worker.PyTorch, device="cuda"))

    def test_pytorch_takes_tf32_where_it_is_asked_for_and_nowhere_else(self):
        for precision in ("f32", "tf32", "bf16", "f16"):
            torch = mock.Mock()
            torch.cuda.is_available.return_value = True
            torch.cuda.get_device_capability.return_value = (9, 0)
            pytorch_cuda.find_device(torch, settings(pytorch_worker.PyTorch, device="cuda", precision=precision))
            self.assertEqual(torch.backends.cudnn.allow_tf32, precision == "tf32")
            self.assertEqual(torch.backends.cuda.matmul.allow_tf32, precision == "tf32")
            self.assertFalse(torch.backends.cudnn.benchmark)

    def test_a_gpu_can_be_given_images_as_they_are_stored(self):
        worker, images = pytorch_worker.PyTorch(), mock.Mock()
        self.assertIs(worker.take(images, [1]), images.take.return_value)
        worker.takes_stored = True
        self.assertIs(worker.take(images, [1]), images.take_stored.return_value)

    def test_a_gpu_too_old_for_a_precision_is_named(self):
        torch = mock.Mock()
        torch.cuda.is_available.return_value = True
        torch.cuda.get_device_capability.return_value = (7, 5)
        torch.cuda.get_device_name.return_value = "Old One"
        with self.assertRaisesRegex(Unsupported, "bf16 needs .* 8.0 or later, Old One has 7.5"):
            pytorch_cuda.find_device(torch, settings(pytorch_worker.PyTorch, device="cuda", precision="bf16"))

    def test_loss_scaling_cannot_be_recorded(self):
        asked = settings(pytorch_worker.PyTorch, device="cuda", precision="f16", cuda_graphs=True)
        with self.assertRaisesRegex(Unsupported, "loss scaling decides on the host"):
            pytorch_worker.PyTorch().check(asked)

    def test_a_full_gpu_is_told_from_other_failures(self):
        class OutOfMemoryError(RuntimeError):
            pass
        torch = mock.Mock()
        torch.cuda.OutOfMemoryError = OutOfMemoryError
        self.assertTrue(pytorch_cuda.is_out_of_memory(torch, OutOfMemoryError("CUDA out of memory. Tried …")))
        self.assertTrue(pytorch_cuda.is_out_of_memory(torch, RuntimeError("CUDA out of memory")))
        self.assertFalse(pytorch_cuda.is_out_of_memory(torch, RuntimeError("shape mismatch")))


class SeesGpu(unittest.TestCase):
    def answer(self, name, **parts):
        module = mock.Mock(__version__="1.0", **parts)
        ask = dict(sees_gpu.ASKED)[name]
        with mock.patch.dict(sys.modules, {name: module}):
            return sees_gpu.answer(((name, ask),))

    def test_each_framework_is_asked_in_its_own_words(self):
        torch = mock.Mock()
        torch.is_available.return_value, torch.get_device_name.return_value = True, "H"
        self.assertEqual(self.answer("torch", cuda=torch), (0, "torch 1.0 sees H"))
        torch.is_available.return_value = False
        self.assertEqual(self.answer("torch", cuda=torch, version=mock.Mock(cuda=None)),
                         (1, "torch 1.0 sees no GPU: it was built without CUDA"))
        devices = mock.Mock(side_effect=RuntimeError("Unknown backend: 'gpu' requested\nmore"))
        self.assertEqual(self.answer("jax", devices=devices),
                         (1, "jax 1.0 sees no GPU: Unknown backend: 'gpu' requested"))
        self.assertEqual(self.answer("jax", devices=mock.Mock(side_effect=AssertionError())),
                         (1, "jax 1.0 sees no GPU: no driver, no GPU, or a package for CUDA is missing"))
        config = mock.Mock()
        config.list_physical_devices.return_value = []
        code, sentence = self.answer("tensorflow", config=config, test=mock.Mock(is_built_with_cuda=lambda: False))
        self.assertEqual((code, sentence), (1, "tensorflow 1.0 sees no GPU: it was built without CUDA"))

    def test_none_at_all_is_a_failure(self):
        self.assertEqual(sees_gpu.answer((("no_such_framework", None),))[0], 1)


class Tinygrad(unittest.TestCase):
    def test_its_threads_are_those_that_work(self):
        for version, threads in (("0.14.0", 1), ("0.15.0", 1), ("0.9.2", 2), ("unknown", 2)):
            worker = tinygrad_worker.Tinygrad()
            with mock.patch.object(worker, "versions", return_value={"tinygrad": version}):
                self.assertEqual(worker.threads(settings(worker, threads=2)), threads, version)

    def test_a_sample_ends_when_the_device_has_nothing_more_to_do(self):
        worker = tinygrad_worker.Tinygrad()
        worker._tinygrad = mock.MagicMock()
        worker.synchronise()
        worker._tinygrad.Device.__getitem__.assert_called_once_with("CPU")
        worker._tinygrad.Device["CPU"].synchronize.assert_called_once_with()

    def test_it_runs_on_the_cpu_and_is_told_how_many_threads(self):
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
