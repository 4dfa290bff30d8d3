"""Sets how many threads compute one operation; a script that sets them too has the last word."""

NAME = "threads"
FRAMEWORK = "pytorch"
CHANGES = "rounding"
DESCRIPTION = "threads that share one operation on the CPU"
MOST = 512
LINES = {str(count): "torch.set_num_threads(%d)" % count for count in range(1, MOST + 1)}


def values(seen):
    if "set_num_threads" in seen.calls:
        return None, "the script sets the number of threads itself"
    if seen.cpus < 2:
        return None, "the process may use one core only"
    return ["script"] + [str(count) for count in counts(seen.cpus) if count != seen.threads], None


def counts(cores):
    """Each count up to 8; above that powers of two, their halves in between (12, 24, 48, ...), and all cores."""
    powers = [1 << bit for bit in range(4, 10)]
    steps = sorted(set(range(1, 9)) | set(powers) | {power * 3 // 4 for power in powers} | {min(cores, MOST)})
    return [step for step in steps if step <= cores]


def install(value, torch):
    torch.set_num_threads(int(value))
