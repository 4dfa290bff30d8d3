"""The networks in TensorFlow 2's operations, channels last. Activations have the type of `images`.

`parameters`: {tensor name: variable}. `training`: an object with `drop(values, rate, index)` and `normalised(norm,
mean, variance)`, which is told the moments of a batch; None: nothing is dropped, and moments are those of the batch all
the same, as there are no test images for the network that has them. Each returns logits in f32.
"""

from nocturne_worker.networks import RESNET50_STAGES

EPSILON = 1e-5  # of ResNet50's normalisation


def mnist_cnn(tf, parameters, images, training):
    def weights(name):
        return tf.cast(parameters[name + ".weights"], images.dtype)

    def with_biases(values, name):
        return tf.nn.bias_add(values, tf.cast(parameters[name + ".biases"], images.dtype))

    def drop(values, rate, index):
        return values if training is None else training.drop(values, rate, index)

    values = images
    for layer in ("conv1", "conv2"):
        values = tf.nn.relu(with_biases(tf.nn.conv2d(values, weights(layer), strides=1, padding="VALID"), layer))
    values = tf.nn.max_pool2d(values, ksize=2, strides=2, padding="VALID")
    values = tf.reshape(drop(values, 0.25, 0), [-1, 12 * 12 * 64])
    values = tf.nn.relu(with_biases(tf.matmul(values, weights("dense1")), "dense1"))
    values = drop(values, 0.5, 1)
    return tf.cast(with_biases(tf.matmul(values, weights("dense2")), "dense2"), tf.float32)


def resnet50(tf, parameters, images, training):
    """Version 1.5: of the first block of a stage it is conv2 that halves the image, and conv4 on the way past it."""
    def normalised_convolution(values, name, kernel, stride=1):
        around = kernel // 2
        values = tf.nn.conv2d(values, tf.cast(parameters[name + ".weights"], images.dtype), strides=stride,
                              padding=[[0, 0], [around, around], [around, around], [0, 0]] if around else "VALID")
        norm = name.replace("conv", "norm")
        values, mean, variance = tf.compat.v1.nn.fused_batch_norm(
            values, parameters[norm + ".scale"], parameters[norm + ".shift"], epsilon=EPSILON, is_training=True)
        if training is not None:
            training.normalised(norm, mean, variance)
        return values

    values = tf.nn.relu(normalised_convolution(images, "conv1", 7, 2))
    # Zeros around rectified values are never the larger ones.
    values = tf.nn.max_pool2d(tf.pad(values, [[0, 0], [1, 1], [1, 1], [0, 0]]), ksize=3, strides=2, padding="VALID")
    for stage, (blocks, _) in enumerate(RESNET50_STAGES, 1):
        for block in range(1, blocks + 1):
            name = "stage%d.block%d." % (stage, block)
            stride = 2 if stage > 1 and block == 1 else 1
            past = normalised_convolution(values, name + "conv4", 1, stride) if block == 1 else values
            values = tf.nn.relu(normalised_convolution(values, name + "conv1", 1))
            values = tf.nn.relu(normalised_convolution(values, name + "conv2", 3, stride))
            values = tf.nn.relu(normalised_convolution(values, name + "conv3", 1) + past)
    values = tf.cast(tf.reduce_mean(values, axis=[1, 2]), tf.float32)
    return tf.nn.bias_add(tf.matmul(values, parameters["dense.weights"]), parameters["dense.biases"])


NETWORKS_HERE = {"mnist_cnn": mnist_cnn, "resnet50": resnet50}
