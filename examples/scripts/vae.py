"""A variational autoencoder of fully connected layers, on made pictures of the size of MNIST's."""

import argparse
import os

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from own_clock import OwnClock


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode1 = nn.Linear(784, 400)
        self.mean, self.log_variance = nn.Linear(400, 20), nn.Linear(400, 20)
        self.decode1, self.decode2 = nn.Linear(20, 400), nn.Linear(400, 784)

    def decode(self, z):
        return torch.sigmoid(self.decode2(F.relu(self.decode1(z))))

    def forward(self, x):
        hidden = F.relu(self.encode1(x.view(-1, 784)))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decode(z), mean, log_variance


def loss_function(again, x, mean, log_variance):
    reconstruction = F.binary_cross_entropy(again, x.view(-1, 784), reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return reconstruction + divergence


def bars(count):
    """Pictures of a horizontal and a vertical bar."""
    pictures = torch.zeros(count, 1, 28, 28)
    for picture, (row, column) in zip(pictures, torch.randint(2, 24, (count, 2)).tolist()):
        picture[0, row:row + 3, 2:26] = 1
        picture[0, 2:26, column:column + 3] = 1
    return pictures * (0.7 + 0.3 * torch.rand_like(pictures))


parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=128)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--pictures", type=int, default=12800)
parser.add_argument("--log-interval", type=int, default=10)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--results", help="folder for a sample after each epoch; it is made")
args = parser.parse_args()
torch.manual_seed(args.seed)
loader = DataLoader(TensorDataset(bars(args.pictures)), batch_size=args.batch_size, shuffle=True)
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)
clock = OwnClock()


def train(epoch):
    model.train()
    total = 0.0
    for batch, (data,) in enumerate(loader):
        optimizer.zero_grad()
        again, mean, log_variance = model(data)
        loss = loss_function(again, data, mean, log_variance)
        loss.backward()
        total += loss.item()
        optimizer.step()
        clock.step()
        if batch % args.log_interval == 0:
            print(f"Train Epoch: {epoch} [{batch * len(data)}/{len(loader.dataset)}]\tLoss: {loss.item() / len(data):.6f}")
    print(f"====> Epoch: {epoch} Average loss: {total / len(loader.dataset):.4f}")


if __name__ == "__main__":
    for epoch in range(1, args.epochs + 1):
        train(epoch)
        if args.results:
            os.makedirs(args.results, exist_ok=True)
            with torch.no_grad():
                torch.save(model.decode(torch.randn(16, 20)), os.path.join(args.results, f"sample_{epoch}.pt"))
    clock.report()
