"""A residual network on made pictures of 3x32x32: random crops and flips, momentum, a schedule, a checkpoint to resume from."""

import argparse
import os
import random

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from own_clock import OwnClock


class Pictures(Dataset):
    """Each class has a colour and a grating of its own, under noise."""

    def __init__(self, count, crops):
        self.labels = torch.arange(count) % 10
        wave = torch.sin(torch.arange(32) * (1 + self.labels.view(-1, 1)) / 5).view(count, 1, 1, 32)
        colour = torch.stack([self.labels / 10, 1 - self.labels / 10, (self.labels % 3) / 2], dim=1).view(count, 3, 1, 1)
        self.pictures = (127 * (wave * colour + torch.randn(count, 3, 32, 32)).clamp(-1, 1) + 128).to(torch.uint8)
        self.crops = crops

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        picture = self.pictures[index].float() / 255
        if self.crops:
            top, left = random.randint(0, 8), random.randint(0, 8)
            picture = F.pad(picture, (4, 4, 4, 4))[:, top:top + 32, left:left + 32]
            if random.random() < 0.5:
                picture = picture.flip(2)
        return (picture - 0.5) / 0.25, self.labels[index]


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + self.shortcut(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--pictures", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint", help="file: read where it is, written after each epoch")
    options = parser.parse_args()
    random.seed(options.seed)
    torch.manual_seed(options.seed)
    pictures = Pictures(options.pictures, crops=True)
    loader = DataLoader(
        pictures, options.batch_size, shuffle=True, num_workers=options.workers, pin_memory=True, drop_last=True)
    model = nn.Sequential(
        Block(3, 16, 1), Block(16, 32, 2), Block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=options.epochs)
    first, clock = 0, OwnClock()
    if options.checkpoint and os.path.exists(options.checkpoint):
        kept = torch.load(options.checkpoint)
        for part, name in ((model, "model"), (optimizer, "optimizer"), (schedule, "schedule")):
            part.load_state_dict(kept[name])
        first = kept["epoch"] + 1
        print("resumed behind epoch", kept["epoch"])
    for epoch in range(first, options.epochs):
        model.train()
        right = seen = 0
        for step, (inputs, labels) in enumerate(loader):
            optimizer.zero_grad(set_to_none=True)
            outputs = model(inputs)
            loss = F.cross_entropy(outputs, labels)
            loss.backward()
            optimizer.step()
            clock.step()
            right += (outputs.argmax(1) == labels).sum().item()
            seen += len(labels)
            if step % 10 == 0:
                print(f"epoch {epoch} step {step}/{len(loader)} loss {loss.item():.4f} accuracy {right / seen:.3f}")
        schedule.step()
        if options.checkpoint:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(),
                        "epoch": epoch}, options.checkpoint)
    clock.report()


if __name__ == "__main__":
    main()
