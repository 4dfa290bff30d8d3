"""Trains a small convolutional network on MNIST with MXNet's Gluon, as its tutorials do."""

import argparse
import gzip
import pathlib
import time

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "mnist"


def load(name, header):
    with gzip.open(str(DATA / name)) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--hybridize", action="store_true", help="compile the network into a graph")
    options = parser.parse_args()
    mx.random.seed(1)

    images = load("train-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28).astype(np.float32) / 255
    labels = load("train-labels-idx1-ubyte.gz", 8).astype(np.float32)
    network = gluon.nn.HybridSequential()
    network.add(gluon.nn.Conv2D(32, 3, activation="relu"), gluon.nn.Conv2D(64, 3, activation="relu"),
                gluon.nn.MaxPool2D(2), gluon.nn.Flatten(), gluon.nn.Dense(128, activation="relu"), gluon.nn.Dense(10))
    network.initialize(mx.init.Xavier())
    if options.hybridize:
        network.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(network.collect_params(), "sgd", {"learning_rate": options.lr})

    for epoch in range(options.epochs):
        order = np.random.RandomState(epoch).permutation(len(images))
        began, seen = time.time(), 0
        for batch in range(len(images) // options.batch_size):
            chosen = order[batch * options.batch_size:(batch + 1) * options.batch_size]
            data, label = mx.nd.array(images[chosen]), mx.nd.array(labels[chosen])
            with autograd.record():
                loss = loss_of(network(data), label)
            loss.backward()
            trainer.step(options.batch_size)
            seen += options.batch_size
            if batch % 5 == 4:
                mean = loss.mean().asscalar()
                speed = seen / (time.time() - began)
                print("epoch %d batch %d: %.1f images/s, loss %.4f" % (epoch, batch, speed, mean), flush=True)
                began, seen = time.time(), 0


if __name__ == "__main__":
    main()
