import torch


class GradScaler(object):
    def __init__(self):
        self.skips = 0

    def scale(self, outputs):
        return torch.Tensor(outputs.value * 1024, outputs.shape, outputs.seconds)

    def step(self, optimizer, *arguments):
        if not self.skips:
            return optimizer.step(*arguments)
        self.skips -= 1
