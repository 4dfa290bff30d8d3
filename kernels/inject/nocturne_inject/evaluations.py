"""How accurate Keras and a Trainer of transformers find the network while it trains: the points of a learning curve.

    told(session, metrics, prefix)    what an evaluation said: {name: number}; names of accuracies begin with `prefix`
    install("transformers.trainer", module, session)    also lets it evaluate where an epoch is cut (epoch_ends.py)

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


def at_ends(base, session):
    """The class of a Trainer's callback. Who evaluates every so many steps does so at the end of an epoch that is cut, too,
    and is told how many of them an epoch has."""

    class AtEnds(base):
        steps = 0  # of this epoch

        def on_epoch_begin(self, args, state, control, **more):
            self.steps = 0

        def on_step_end(self, args, state, control, **more):
            self.steps += 1
            session.guarded(self.look)(args, state, control)

        def look(self, args, state, control):
            if session.ends.is_last(self.steps) and is_by_steps(args.eval_strategy) and state.eval_steps:
                session.ends.evaluations = state.max_steps / float(state.num_train_epochs) / state.eval_steps
                control.should_evaluate = True
                if is_by_steps(args.save_strategy) and state.save_steps == state.eval_steps:
                    control.should_save = True

    return AtEnds


def is_by_steps(strategy):
    return getattr(strategy, "value", strategy) == "steps"


def install(name, module, session):
    """Called when transformers.trainer has been imported."""
    if asked(session):
        hook(session, module.Trainer, "evaluate", lambda arguments, named: named.get("metric_key_prefix", "eval"),
             lambda prefix, result: told(session, result, prefix))
    if session.ends:
        callback = at_ends(module.TrainerCallback, session)
        hook(session, module.Trainer, "train", lambda arguments, named: arguments[0].add_callback(callback()))
