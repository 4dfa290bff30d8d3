"""Sets how many threads compute one operation, whatever the script, or what starts it, sets."""

import functools
import sys

NAME = "threads"
FRAMEWORK = "pytorch"
CHANGES = "rounding"
DESCRIPTION = "threads that share one operation on the CPU"
MOST = 512


def counted_lines(text, fewest=1):
    """{count: `text` with it}, of a lever whose values are counts."""
    return {str(count): text % count for count in range(fewest, MOST + 1)}


LINES = counted_lines("torch.set_num_threads(%d)")


def values(seen):
    if seen.cpus < 2:
        return None, "the process may use one core only"
    return ["script"] + [str(count) for count in counts(seen.cpus) if count != seen.threads], None


def own_values(seen):
    """Those of a lever that sets another variable than OMP_NUM_THREADS, for a script that does."""
    if seen.cpus < 2:
        return None, "the process may use one core only"
    if "set_num_threads" not in seen.calls:
        return None, "the script leaves their number to OMP_NUM_THREADS"
    return ["script"] + [str(count) for count in counts(seen.cpus) if count != seen.threads], None


def counts(cores):
    """Each count up to 8; above that powers of two, their halves in between (12, 24, 48, ...), and all cores."""
    powers = [1 << bit for bit in range(4, 10)]
    steps = sorted(set(range(1, 9)) | set(powers) | {power * 3 // 4 for power in powers} | {min(cores, MOST)})
    return [step for step in steps if step <= cores]


def install(value, torch):
    original, count = torch.set_num_threads, int(value)
    original(count)  # whatever OMP_NUM_THREADS says by now

    @functools.wraps(original)
    def set_num_threads(*arguments, **named):
        original(*arguments, **named)  # which may refuse them
        if not of_torch(sys._getframe(1)):
            original(count)

    torch.set_num_threads = set_num_threads


def of_torch(frame):
    """Whether PyTorch itself calls: a process of a loader computes with one thread."""
    while frame is not None and frame.f_globals.get("__name__", "").startswith("nocturne_inject"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").startswith("torch.")
