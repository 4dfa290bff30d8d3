"""A convolutional network on handwritten digits, as a first training with PyTorch is written."""

import argparse
import gzip
import pathlib

import numpy
import torch
from torch import nn
from torch.nn import functional
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset

from own_clock import OwnClock

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data" / "mnist"


class Digits(Dataset):
    """MNIST's files; random images of the same shape where they are not there."""

    def __init__(self, kind, count):
        images, labels = (FOLDER / (kind + name) for name in ("-images-idx3-ubyte.gz", "-labels-idx1-ubyte.gz"))
        if images.exists() and labels.exists():
            self.images = numpy.frombuffer(gzip.decompress(images.read_bytes()), numpy.uint8, offset=16).reshape(-1, 28, 28)[:count]
            self.labels = numpy.frombuffer(gzip.decompress(labels.read_bytes()), numpy.uint8, offset=8)[:count]
        else:
            random = numpy.random.default_rng(count)
            self.images = random.integers(0, 256, (count, 28, 28), dtype=numpy.uint8)
            self.labels = random.integers(0, 10, count, dtype=numpy.uint8)
        self.mean, self.deviation = torch.tensor([0.1307]).view(1, 1, 1), torch.tensor([0.3081]).view(1, 1, 1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index].copy()).unsqueeze(0).to(torch.float32).div(255)
        return image.sub(self.mean).div(self.deviation), int(self.labels[index])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = functional.relu(self.conv1(x))
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = self.dropout2(functional.relu(self.fc1(x)))
        return functional.log_softmax(self.fc2(x), dim=1)


def train(options, model, device, loader, optimizer, epoch, clock):
    model.train()
    for batch, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = functional.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        clock.step()
        if batch % options.log_interval == 0:
            print("Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}".format(
                epoch, batch * len(data), len(loader.dataset), 100 * batch / len(loader), loss.item()))


def test(model, device, loader):
    model.eval()
    loss = correct = 0
    with torch.no_grad():
        for data, target in loader:
            output, target = model(data.to(device)), target.to(device)
            loss += functional.nll_loss(output, target, reduction="sum").item()
            correct += output.argmax(dim=1).eq(target).sum().item()
    seen = len(loader.dataset)
    print("\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\n".format(loss / seen, correct, seen, 100 * correct / seen))


def main():
    parser = argparse.ArgumentParser(description="Trains a network on MNIST")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--images", type=int, default=60000, help="images an epoch; a sixth as many are tested")
    parser.add_argument("--save-model", action="store_true", help="writes mnist_cnn.pt")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(Digits("train", options.images), batch_size=options.batch_size, shuffle=True)
    test_loader = DataLoader(Digits("t10k", options.images // 6), batch_size=1000)
    model, clock = Net().to(device), OwnClock()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=options.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, options.epochs + 1):
        train(options, model, device, train_loader, optimizer, epoch, clock)
        test(model, device, test_loader)
        scheduler.step()
    clock.report()
    if options.save_model:
        torch.save(model.state_dict(), "mnist_cnn.pt")


if __name__ == "__main__":
    main()
