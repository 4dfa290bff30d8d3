"""Sets how many operations that do not depend on each other run at once. Only TorchScript runs any so."""

from . import threads

NAME = "interop_threads"
FRAMEWORK = "pytorch"
CHANGES = "nothing"
DESCRIPTION = "operations of TorchScript that run at the same time on the CPU"
LINES = {count: line.replace("num", "num_interop") for count, line in threads.LINES.items()}


def values(seen):
    if "set_num_interop_threads" in seen.calls:
        return None, "the script sets the number of inter-op threads itself"
    if seen.cpus < 2:
        return None, "the process may use one core only"
    if not any("ScriptModule" in each.classes for each in seen.modules):
        return None, "only TorchScript runs operations at the same time, and no scripted module was seen"
    return ["script"] + [str(count) for count in threads.counts(seen.cpus) if count != seen.interop_threads], None


def install(value, torch):
    torch.set_num_interop_threads(int(value))
