"""What the launcher has put around this process: read and reported in `ready`, so that a setting that did not arrive is
seen. And the variables by which every framework's thread pool is told its size."""

import ctypes
import os
import resource

GOVERNING = (
    "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "OMP_DYNAMIC", "OMP_THREAD_LIMIT",
    "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT", "KMP_AFFINITY", "KMP_BLOCKTIME", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    "GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_TOP_PAD_", "MALLOC_CONF", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "TF_ENABLE_ONEDNN_OPTS", "TF_XLA_FLAGS", "XLA_FLAGS", "NOCTURNE_COMPILE_CACHE")


def set_thread_variables(threads):
    """Before the framework is imported: OpenMP's runtimes and BLAS libraries read them once."""
    if threads is not None:
        for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[variable] = str(threads)


def allowed_cpus():
    return sorted(os.sched_getaffinity(0))


def threads_by_default(settings):
    """What was asked for, else what OpenMP would take."""
    if settings.threads is not None:
        return settings.threads
    text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(text) if text.isdigit() and int(text) > 0 else len(allowed_cpus())


def _allocator():
    # A preloaded allocator is known by a function that only it has.
    process = ctypes.CDLL(None)
    for function, name in (("mallctl", "jemalloc"), ("je_mallctl", "jemalloc"), ("tc_version", "tcmalloc"),
                           ("mi_version", "mimalloc")):
        if hasattr(process, function):
            return name
    return "glibc"


def _huge_pages():
    mode, amount = "unknown", 0
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
            mode = file.read().split("[")[1].split("]")[0]
        with open("/proc/self/smaps_rollup") as file:
            for line in file:
                if line.startswith("AnonHugePages:"):
                    amount = int(line.split()[1]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    return {"kernel": mode, "bytes": amount}


def surroundings():
    return {"affinity": allowed_cpus(), "allocator": _allocator(), "huge_pages": _huge_pages(),
            "environment": {name: os.environ[name] for name in GOVERNING if name in os.environ}}


def peak_resident_bytes():
    """Most memory this process ever had resident. VmHWM begins anew at exec, which ru_maxrss does not."""
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
