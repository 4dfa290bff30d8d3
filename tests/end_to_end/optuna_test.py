"""nocturne.Sampler in studies of Optuna."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tuner" / "python"))
try:
    import optuna
except ImportError:
    print("skipped: Optuna is not installed")
    sys.exit(77)
import nocturne

optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial):
    x = trial.suggest_int("x", 0, 60, step=2)
    rate = trial.suggest_float("learning rate", 1e-4, 1.0, log=True)
    depth = trial.suggest_categorical("depth", [8, 2, 4])
    kind = trial.suggest_categorical("kind", ["plain", None, True])
    part = trial.suggest_float("part", 0.0, 1.0, step=0.25)
    assert x % 2 == 0 and part in (0, 0.25, 0.5, 0.75, 1) and depth in (2, 4, 8)
    return (x - 20) ** 2 / 40 + abs(depth - 4) + (kind is not None) + (rate - 0.1) ** 2 + abs(part - 0.5)


class Sampling(unittest.TestCase):
    def best(self, sampler, trials=60, direction="minimize", sign=1):
        study = optuna.create_study(sampler=sampler, direction=direction)
        study.optimize(lambda trial: sign * objective(trial), n_trials=trials)
        return study

    def test_a_study_finds_what_it_looks_for(self):
        self.assertLess(self.best(nocturne.Sampler(seed=1)).best_value, 0.5)

    def test_larger_values_may_be_better_and_below_zero(self):
        self.assertGreater(self.best(nocturne.Sampler(seed=1), direction="maximize", sign=-1).best_value, -0.5)

    def test_a_study_of_another_sampler_is_gone_on_with(self):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
        study.optimize(objective, n_trials=20)
        study.sampler = nocturne.Sampler(seed=1)
        study.optimize(objective, n_trials=20)
        self.assertEqual(study.sampler._search.standing()["finished"], 39)  # the last one is told before the next ask
        self.assertEqual(len({tuple(map(str, sorted(each.params.items()))) for each in study.trials[20:]}), 20)

    def test_failed_and_pruned_trials_are_told_too(self):
        def fails(trial):
            x = trial.suggest_int("x", 0, 1000)
            if x > 500:
                raise optuna.TrialPruned()
            return x + 1
        study = optuna.create_study(sampler=nocturne.Sampler(seed=1))
        study.optimize(fails, n_trials=30)
        self.assertLess(study.best_value, 20)

    def test_with_a_space_constraints_hold_from_the_first_trial_on(self):
        space = {"tile": optuna.distributions.IntDistribution(1, 64), "wide": optuna.distributions.IntDistribution(1, 64)}
        sampler = nocturne.Sampler(seed=1, space=space, constraints=["tile * wide <= 256"])
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda t: 300 - t.suggest_int("tile", 1, 64) * t.suggest_int("wide", 1, 64), n_trials=30)
        self.assertTrue(all(each.params["tile"] * each.params["wide"] <= 256 for each in study.trials))
        self.assertLess(study.best_value, 60)

    def test_a_space_that_is_used_up_is_no_error(self):
        study = optuna.create_study(sampler=nocturne.Sampler(seed=1))
        study.optimize(lambda trial: 1 + trial.suggest_int("x", 0, 3), n_trials=10)
        self.assertEqual(study.best_value, 1)


unittest.main()
