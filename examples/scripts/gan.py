"""A generative adversarial network on made pictures: two networks, two optimizers, one after the other in each step."""

import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

from own_clock import OwnClock


def discs(count, size=32):
    """Pictures of one bright disc each, in [-1, 1]."""
    centre, radius = torch.rand(count, 2, 1, 1) * size, torch.rand(count, 1, 1) * 6 + 4
    row, column = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    distance = ((row - centre[:, 0]) ** 2 + (column - centre[:, 1]) ** 2).sqrt()
    return torch.tanh(radius - distance).unsqueeze(1)


def up(inputs, outputs):
    return [nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True)]


def down(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2, True)]


def begin_weights(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--pictures", type=int, default=4096)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--noise", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--seed", type=int, default=999)
    parser.add_argument("--out", help="folder that exists: a checkpoint of both networks after each epoch")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    width = options.width
    generator = nn.Sequential(
        nn.ConvTranspose2d(options.noise, 4 * width, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * width), nn.ReLU(True),
        *up(4 * width, 2 * width), *up(2 * width, width), nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Tanh())
    critic = nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2, True), *down(width, 2 * width), *down(2 * width, 4 * width),
        nn.Conv2d(4 * width, 1, 4, 1, 0), nn.Sigmoid())
    generator.apply(begin_weights)
    critic.apply(begin_weights)
    loss_of = nn.BCELoss()
    of_critic = optim.Adam(critic.parameters(), lr=options.lr, betas=(0.5, 0.999))
    of_generator = optim.Adam(generator.parameters(), lr=options.lr, betas=(0.5, 0.999))
    loader = DataLoader(TensorDataset(discs(options.pictures)), batch_size=options.batch_size, shuffle=True)
    clock = OwnClock()
    for epoch in range(options.epochs):
        for step, (real,) in enumerate(loader):
            critic.zero_grad()
            ones, zeros = torch.ones(len(real)), torch.zeros(len(real))
            loss_real = loss_of(critic(real).view(-1), ones)
            loss_real.backward()
            fake = generator(torch.randn(len(real), options.noise, 1, 1))
            loss_fake = loss_of(critic(fake.detach()).view(-1), zeros)
            loss_fake.backward()
            of_critic.step()
            generator.zero_grad()
            loss_generator = loss_of(critic(fake).view(-1), ones)
            loss_generator.backward()
            of_generator.step()
            clock.step()
            if step % 10 == 0:
                print("[%d/%d][%d/%d] Loss_D: %.4f Loss_G: %.4f" % (
                    epoch, options.epochs, step, len(loader), (loss_real + loss_fake).item(), loss_generator.item()))
        if options.out:
            torch.save(generator.state_dict(), f"{options.out}/generator_{epoch}.pth")
            torch.save(critic.state_dict(), f"{options.out}/critic_{epoch}.pth")
    clock.report()


if __name__ == "__main__":
    main()
