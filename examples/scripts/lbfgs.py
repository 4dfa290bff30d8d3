"""Learns to continue sine waves with LBFGS, which evaluates a closure, and so goes backwards, many times a step."""

import argparse
import math

import torch
from torch import nn, optim

from own_clock import OwnClock


class Sequence(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second, self.linear = nn.LSTMCell(1, width), nn.LSTMCell(width, width), nn.Linear(width, 1)
        self.width = width

    def forward(self, waves, ahead=0):
        state = [[torch.zeros(len(waves), self.width, dtype=waves.dtype) for _ in range(2)] for _ in range(2)]
        outputs = []
        for position in range(waves.shape[1] + ahead):
            value = waves[:, position:position + 1] if position < waves.shape[1] else outputs[-1]
            state[0] = self.first(value, state[0])
            state[1] = self.second(state[0][0], state[1])
            outputs.append(self.linear(state[1][0]))
        return torch.cat(outputs, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--waves", type=int, default=100)
    parser.add_argument("--length", type=int, default=300)
    parser.add_argument("--width", type=int, default=51)
    parser.add_argument("--evaluations", type=int, default=20, help="the most of one step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", help="file of the prediction")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_default_dtype(torch.float64)
    phase = torch.randint(-80, 80, (options.waves, 1))
    waves = torch.sin((torch.arange(options.length) + phase) / 20)
    inputs, targets = waves[3:, :-1], waves[3:, 1:]
    model, criterion = Sequence(options.width), nn.MSELoss()
    optimizer = optim.LBFGS(model.parameters(), lr=0.8, max_iter=options.evaluations)
    steps, backwards = OwnClock(), OwnClock("backward")

    def closure():
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        backwards.step()
        return loss

    for step in range(options.steps):
        loss = optimizer.step(closure)
        steps.step()
        with torch.no_grad():
            ahead = model(waves[:3, :-1], ahead=20)
            test = criterion(ahead[:, :-20], waves[:3, 1:])
        print("STEP: %d loss: %.8f test loss: %.8f" % (step, loss.item(), test.item()))
        if not math.isfinite(loss.item()):
            raise SystemExit("the loss is no number any more")
    steps.report()
    backwards.report()
    if options.save:
        torch.save(ahead, options.save)


if __name__ == "__main__":
    main()
