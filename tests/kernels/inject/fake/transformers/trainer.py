import types

import torch


class TrainerCallback(object):
    pass


class Trainer(object):
    """Two steps an epoch, and an evaluation behind each; or what a loader gives, and one every so many steps."""

    def __init__(self, accuracies, loader=None, epochs=4, **settings):
        self.accuracies, self.optimizer = accuracies, torch.optim.SGD([torch.Tensor(1.0)])
        self.loader, self.epochs, self.callbacks = loader, epochs, []
        self.settings = types.SimpleNamespace(**dict(dict(eval_strategy="steps", save_strategy="no"), **settings))

    def add_callback(self, callback):
        self.callbacks.append(callback)

    def train_by_steps(self):
        state = types.SimpleNamespace(max_steps=self.epochs * len(self.loader), num_train_epochs=self.epochs,
                                      eval_steps=self.settings.eval_steps, save_steps=self.settings.eval_steps)
        done = []  # of each epoch: steps, evaluations, checkpoints
        control, steps = types.SimpleNamespace(), 0
        for epoch in range(self.epochs):
            for each in self.callbacks:
                each.on_epoch_begin(self.settings, state, control)
            done.append([0, 0, 0])
            for images, labels in self.loader:
                torch.Tensor(0.5).backward()
                self.optimizer.step()
                steps += 1
                control.should_evaluate = self.settings.eval_strategy == "steps" and steps % state.eval_steps == 0
                control.should_save = False
                for each in self.callbacks:
                    each.on_step_end(self.settings, state, control)
                if control.should_evaluate:
                    torch.clock.spend(100)
                for number, happened in enumerate((1, control.should_evaluate, control.should_save)):
                    done[-1][number] += happened
        print(done)

    def train(self):
        if self.loader is not None:
            return self.train_by_steps()
        for accuracy in self.accuracies:
            for _ in range(2):
                torch.Tensor(0.5).backward()
                self.optimizer.step()
            self.accuracy = accuracy
            self.evaluate()

    def evaluate(self, metric_key_prefix="eval"):
        return {metric_key_prefix + "_loss": 0.5, metric_key_prefix + "_accuracy": self.accuracy}
