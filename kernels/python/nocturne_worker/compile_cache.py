"""Where graph compilers keep what they compiled, and where temporary files go.

A cache that outlives a trial hides its compile time. So each run has an empty one of its own, `cache` in the folder
where it runs, unless $NOCTURNE_COMPILE_CACHE names one that is kept: the campaign then measures warm starts.
"""

import os

VARIABLE = "NOCTURNE_COMPILE_CACHE"


def cache_is_kept():
    return bool(os.environ.get(VARIABLE))


def cache_folder(name=""):
    """Absolute path; made where it is not there."""
    folder = os.path.join(os.path.abspath(os.environ.get(VARIABLE) or "cache"), name)
    os.makedirs(folder, exist_ok=True)
    return folder


def lead_compilers_there():
    """Before the framework is imported: many read these variables once."""
    temporary = cache_folder("temporary")
    os.environ["TMPDIR"] = temporary
    for variable, name in (("TORCHINDUCTOR_CACHE_DIR", "inductor"), ("TRITON_CACHE_DIR", "triton"),
                           ("TORCH_EXTENSIONS_DIR", "torch_extensions"), ("XDG_CACHE_HOME", "xdg")):
        os.environ[variable] = cache_folder(name)
    # These compilers keep nothing unless they are told where, and a caller may have told them.
    for variable, name in (("JAX_COMPILATION_CACHE_DIR", "jax"), ("XLA_PERSISTENT_CACHE_PATH", "xla")):
        if cache_is_kept():
            os.environ[variable] = cache_folder(name)
        else:
            os.environ.pop(variable, None)
