"""A training loop of one's own with JAX: a jitted step, momentum by hand, an evaluation behind each epoch."""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

from own_clock import OwnClock


def made(count, seed):
    random = np.random.default_rng(seed)
    inputs = random.normal(size=(count, 256)).astype("float32")
    return inputs, (inputs[:, :3].argmax(axis=1)).astype("int32")


def parameters(key, widths):
    layers = []
    for before, after in zip(widths, widths[1:]):
        key, one = jax.random.split(key)
        layers.append({"kernel": jax.random.normal(one, (before, after)) * (2 / before) ** 0.5, "bias": jnp.zeros(after)})
    return layers


def network(layers, inputs, key=None, dropout=0.2):
    for index, layer in enumerate(layers[:-1]):
        inputs = jax.nn.relu(inputs @ layer["kernel"] + layer["bias"])
        if key is not None:
            kept = jax.random.bernoulli(jax.random.fold_in(key, index), 1 - dropout, inputs.shape)
            inputs = jnp.where(kept, inputs / (1 - dropout), 0)
    return inputs @ layers[-1]["kernel"] + layers[-1]["bias"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--examples", type=int, default=6400)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gradients-alone", action="store_true", help="jit the gradients and the update, and no loss is shown")
    parser.add_argument("--save", help="a file for the parameters")
    options = parser.parse_args()
    inputs, labels = made(options.examples, options.seed)
    key, start = jax.random.split(jax.random.PRNGKey(options.seed))
    layers = parameters(start, [256, options.width, options.width, 3])
    momentum = jax.tree_util.tree_map(jnp.zeros_like, layers)
    clock = OwnClock()

    def loss_of(layers, inputs, labels, key):
        outputs = jax.nn.log_softmax(network(layers, inputs, key))
        return -jnp.mean(jnp.take_along_axis(outputs, labels[:, None], axis=1))

    def updated(layers, momentum, gradients):
        momentum = jax.tree_util.tree_map(lambda old, new: 0.9 * old + new, momentum, gradients)
        return jax.tree_util.tree_map(lambda weight, step: weight - options.lr * step, layers, momentum), momentum

    @jax.jit
    def train_step(layers, momentum, inputs, labels, key):
        loss, gradients = jax.value_and_grad(loss_of)(layers, inputs, labels, key)
        return (*updated(layers, momentum, gradients), loss)

    @jax.jit
    def accuracy(layers, inputs, labels):
        return (network(layers, inputs).argmax(axis=1) == labels).mean()

    gradients_of, update = jax.jit(jax.grad(loss_of)), jax.jit(updated, donate_argnums=(0, 1))
    for epoch in range(options.epochs):
        for step, first in enumerate(range(0, options.examples - options.batch_size + 1, options.batch_size)):
            key, dropped = jax.random.split(key)
            batch = inputs[first:first + options.batch_size], labels[first:first + options.batch_size], dropped
            if options.gradients_alone:
                layers, momentum = update(layers, momentum, gradients_of(layers, *batch))
            else:
                layers, momentum, loss = train_step(layers, momentum, *batch)
            clock.step()
            if step % 20 == 0 and not options.gradients_alone:
                print("epoch %d step %d loss %.4f" % (epoch, step, loss), flush=True)
        print("epoch %d accuracy %.3f" % (epoch, accuracy(layers, inputs, labels)), flush=True)
    if options.save:
        np.savez(options.save, *jax.tree_util.tree_leaves(layers))
    clock.report()


if __name__ == "__main__":
    main()
