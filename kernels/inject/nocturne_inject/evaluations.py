"""How accurate Keras and a Trainer of transformers find the network while it trains: the points of a learning curve.

    told(session, metrics, prefix)    what an evaluation said: {name: number}; names of accuracies begin with `prefix`

The training ends where it is as accurate as wanted (NOCTURNE_INJECT_UNTIL), or at an evaluation behind as many steps as it
may take (NOCTURNE_INJECT_MOST).
"""

from .hooks import hook


def asked(session):
    return bool(session.environment.get("NOCTURNE_INJECT_EVALUATIONS"))


def accuracy_in(metrics, prefix):
    """The first accuracy: val_accuracy, val_sparse_categorical_accuracy, eval_acc, ...; None where there is none."""
    for name, value in (metrics or {}).items():
        if name.startswith(prefix) and name.endswith(("accuracy", "acc")):
            number = float(value)
            if 0 <= number <= 1:
                return number
    return None


def told(session, metrics, prefix):
    recorder = session.recorder
    accuracy = accuracy_in(metrics, prefix) if recorder and recorder.steps >= 0 else None
    if accuracy is None:
        return
    steps = recorder.steps + 1
    recorder.write(event="accuracy", steps=steps, accuracy=accuracy, loss="nan", examples=1)
    until = float(session.environment.get("NOCTURNE_INJECT_UNTIL") or 2)
    if accuracy >= until or steps >= int(session.environment.get("NOCTURNE_INJECT_MOST") or 1 << 62):
        recorder.leave(0)


def install(name, module, session):
    """Called when transformers.trainer has been imported."""
    if asked(session):
        hook(session, module.Trainer, "evaluate", lambda arguments, named: named.get("metric_key_prefix", "eval"),
             lambda prefix, result: told(session, result, prefix))
