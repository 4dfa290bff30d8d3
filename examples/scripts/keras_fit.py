"""A small convolutional network by Keras' fit, on made pictures."""

import argparse

import keras
import numpy

from own_clock import OwnClock


class Clock(keras.callbacks.Callback):
    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def on_train_batch_end(self, batch, logs=None):
        self.clock.step()

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}: " + ", ".join(f"{name} {value:.4f}" for name, value in sorted(logs.items())), flush=True)


def made(count, seed):
    random = numpy.random.default_rng(seed)
    labels = random.integers(0, 10, count)
    pictures = random.normal(0, 0.3, (count, 28, 28, 1)).astype("float32")
    for picture, label in zip(pictures, labels):
        picture[2 * label + 2:2 * label + 8, 4:24] += 1
    return pictures, labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--pictures", type=int, default=6400)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps-per-execution", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", help="file of the weights, NAME.weights.h5")
    options = parser.parse_args()
    keras.utils.set_random_seed(options.seed)
    model = keras.Sequential([
        keras.Input((28, 28, 1)),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.MaxPooling2D(2),
        keras.layers.Conv2D(64, 3, activation="relu"),
        keras.layers.MaxPooling2D(2),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.5),
        keras.layers.Dense(10, activation="softmax"),
    ])
    model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.Adam(1e-3), metrics=["accuracy"],
                  steps_per_execution=options.steps_per_execution)
    pictures, labels = made(options.pictures, options.seed)
    clock = OwnClock()
    model.fit(pictures, labels, batch_size=options.batch_size, epochs=options.epochs, verbose=0, callbacks=[Clock(clock)],
              validation_split=0.1)
    clock.report()
    if options.save:
        model.save_weights(options.save)


if __name__ == "__main__":
    main()
