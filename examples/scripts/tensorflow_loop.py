"""A training loop of one's own with TensorFlow: tf.data, a tf.function, a GradientTape."""

import argparse

import tensorflow as tf

from own_clock import OwnClock


def made(count):
    inputs = tf.random.normal((count, 16, 16, 3))
    labels = tf.argmax(tf.reduce_mean(inputs, axis=[1, 2]), axis=1)
    return inputs, labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--examples", type=int, default=6400)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint", help="files of this name: read where they are, written after each epoch")
    options = parser.parse_args()
    tf.keras.utils.set_random_seed(options.seed)
    model = tf.keras.Sequential([
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.Conv2D(64, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(3),
    ])
    optimizer = tf.keras.optimizers.Adam(options.lr)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    batches = tf.data.Dataset.from_tensor_slices(made(options.examples)).shuffle(options.examples, seed=options.seed)
    batches = batches.batch(options.batch_size, drop_remainder=True)
    clock = OwnClock()

    @tf.function
    def train_step(inputs, labels):
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            loss = loss_of(labels, outputs)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        accuracy.update_state(labels, outputs)
        return loss

    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    if options.checkpoint and tf.io.gfile.exists(options.checkpoint + ".index"):
        checkpoint.read(options.checkpoint)
        print("resumed from", options.checkpoint)
    for epoch in range(options.epochs):
        accuracy.reset_state()
        for step, (inputs, labels) in enumerate(batches):
            loss = train_step(inputs, labels)
            clock.step()
            if step % 20 == 0:
                print("epoch %d step %d loss %.4f accuracy %.3f" % (epoch, step, loss.numpy(), accuracy.result().numpy()), flush=True)
        if options.checkpoint:
            checkpoint.write(options.checkpoint)
    clock.report()


if __name__ == "__main__":
    main()
