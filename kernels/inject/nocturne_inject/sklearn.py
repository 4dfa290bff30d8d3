"""scikit-learn: no step of a fit is seen, but whether one asks joblib for helpers and leaves open how many."""

import functools

import joblib

from .hooks import hook


def install(name, sklearn, session):
    session.install_levers("sklearn", sklearn, helps=True)
    if session.timing:
        session.report.looks["sklearn"] = look
        hook(session, joblib.Parallel, "__init__", functools.partial(begins, session))


def begins(session, arguments, named):
    if session.speaks is None:  # whatever else was imported
        session.about("sklearn")
    seen = session.report.seen
    asked = named.get("n_jobs", arguments[1] if len(arguments) > 1 else None)
    seen.calls = seen.calls | {"n_jobs" if isinstance(asked, int) else "parallel"}


def look(seen):
    seen.device = "cpu"
