"""What every Python worker shares: the protocol, the order of the data, the initial weights, the loop of steps.

A worker is one file beside this package, with one class and one line:

    class Example(Worker):
        ...
    if __name__ == "__main__":
        main(Example())

`worker.py` is the manual of the class. Python 3.6 to 3.13 and the standard library; NumPy is imported where data are
read, after the framework, which brings it along.
"""

from .compile_cache import cache_folder, cache_is_kept
from .refusal import Diverged, Unsupported
from .session import main
from .worker import Adadelta, Momentum, Plan, Worker

__all__ = ["Adadelta", "Diverged", "Momentum", "Plan", "Unsupported", "Worker", "cache_folder", "cache_is_kept", "main"]
