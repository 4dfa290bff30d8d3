"""Changes nothing: fails with a sentence where the framework of an environment that is meant for a GPU sees none.

Run as: python3 sees_gpu.py ENVIRONMENT, by the environment's Python. May be run again.
"""

import importlib
import sys


def of_torch(torch):
    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    built = torch.version.cuda
    raise LookupError("it was built %s" % ("for CUDA %s; is the driver too old for it?" % built if built
                                           else "without CUDA"))


def of_jax(jax):
    return jax.devices("gpu")[0].device_kind  # raises RuntimeError with its reason


def of_tensorflow(tensorflow):
    gpus = tensorflow.config.list_physical_devices("GPU")
    if gpus:
        return tensorflow.config.experimental.get_device_details(gpus[0]).get("device_name", "a GPU")
    raise LookupError("one of CUDA's libraries is missing, or it was built without CUDA"
                      if tensorflow.test.is_built_with_cuda() else "it was built without CUDA")


ASKED = (("torch", of_torch), ("jax", of_jax), ("tensorflow", of_tensorflow))


def answer(modules=ASKED):
    """(exit code, sentence) of the first framework that is there."""
    for name, ask in modules:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        try:
            return 0, "%s %s sees %s" % (name, module.__version__, ask(module))
        except (LookupError, RuntimeError, AssertionError) as error:  # JAX without its plugin for CUDA asserts
            said = str(error).splitlines() or ["no driver, no GPU, or a package for CUDA is missing"]
            return 1, "%s %s sees no GPU: %s" % (name, module.__version__, said[0])
    return 1, "no framework that is known here can be imported"


if __name__ == "__main__":
    code, sentence = answer()
    print("sees_gpu: " + sentence)
    sys.exit(code)
