"""scikit-learn: no step of a fit is seen, but whether one asks joblib for helpers and leaves open how many."""

import joblib

from .hooks import hook


def install(name, sklearn, session):
    session.install_levers("sklearn", sklearn, helps=True)
    if not session.timing:
        return

    def asked(arguments, named):
        if session.speaks is None:  # whatever else was imported
            session.about("sklearn")
        jobs = named.get("n_jobs", arguments[1] if len(arguments) > 1 else None)
        session.report.seen.calls |= {"n_jobs" if isinstance(jobs, int) else "parallel"}

    session.report.looks["sklearn"] = look
    hook(session, joblib.Parallel, "__init__", asked)


def look(seen):
    seen.device = "cpu"
