import torch


class Trainer(object):
    """Two steps an epoch, and an evaluation behind each."""

    def __init__(self, accuracies):
        self.accuracies, self.optimizer = accuracies, torch.optim.SGD([torch.Tensor(1.0)])

    def train(self):
        for accuracy in self.accuracies:
            for _ in range(2):
                torch.Tensor(0.5).backward()
                self.optimizer.step()
            self.accuracy = accuracy
            self.evaluate()

    def evaluate(self, metric_key_prefix="eval"):
        return {metric_key_prefix + "_loss": 0.5, metric_key_prefix + "_accuracy": self.accuracy}
