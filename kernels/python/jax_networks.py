"""The networks in JAX's operations, channels last. Activations have the type that `cast` gives them.

`parameters`: {tensor name: array}. `training`: an object with `drop(values, rate, index)` and `normalised(norm, mean,
variance)`, which is told the moments of a batch; None: nothing is dropped, and moments are those of the batch all the
same, as there are no test images for the network that has them. Each returns logits in f32.
"""

from nocturne_worker.networks import RESNET50_STAGES

EPSILON = 1e-5  # of ResNet50's normalisation


class Operations(object):
    """`kind`: of activations; `pooling`: reshape, window."""

    def __init__(self, jax, kind, pooling):
        self.jax, self.jnp, self.kind, self.pooling = jax, jax.numpy, kind, pooling

    def convolution(self, values, kernel, stride=1):
        around = kernel.shape[0] // 2
        return self.jax.lax.conv_general_dilated(
            values, kernel.astype(self.kind), (stride, stride), [(around, around)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def max_pool(self, values):
        """Takes the largest value of disjoint windows of 2 × 2."""
        if self.pooling == "window":
            return self.max_window(values, 2, 2, "VALID")
        count, height, width, channels = values.shape
        return values.reshape(count, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))

    def max_window(self, values, size, stride, around):
        # The number itself: with a traced one JAX does not see a maximum that it can differentiate.
        return self.jax.lax.reduce_window(values, -self.jnp.inf, self.jax.lax.max, (1, size, size, 1),
                                          (1, stride, stride, 1), around)

    def normalise(self, values, scale, shift):
        """Over batch and image, in f32. Returns values, mean, variance."""
        wide = values.astype(self.jnp.float32)
        mean, variance = wide.mean(axis=(0, 1, 2)), wide.var(axis=(0, 1, 2))
        factor = scale * self.jax.lax.rsqrt(variance + EPSILON)
        return ((wide - mean) * factor + shift).astype(self.kind), mean, variance


def mnist_cnn(op, parameters, images, training):
    jax = op.jax

    def weights(name):
        return parameters[name].astype(op.kind)

    def drop(values, rate, index):
        return values if training is None else training.drop(values, rate, index)

    values = images.astype(op.kind)
    for layer in ("conv1", "conv2"):
        values = jax.lax.conv_general_dilated(values, weights(layer + ".weights"), (1, 1), "VALID",
                                              dimension_numbers=("NHWC", "HWIO", "NHWC"))
        values = jax.nn.relu(values + weights(layer + ".biases"))
    values = op.max_pool(values)
    values = drop(values, 0.25, 0).reshape(values.shape[0], -1)
    values = jax.nn.relu(values @ weights("dense1.weights") + weights("dense1.biases"))
    values = drop(values, 0.5, 1)
    return (values @ weights("dense2.weights") + weights("dense2.biases")).astype(op.jnp.float32)


def resnet50(op, parameters, images, training):
    """Version 1.5: of the first block of a stage it is conv2 that halves the image, and conv4 on the way past it."""
    relu = op.jax.nn.relu

    def normalised_convolution(values, name, stride=1):
        norm = name.replace("conv", "norm")
        values, mean, variance = op.normalise(op.convolution(values, parameters[name + ".weights"], stride),
                                              parameters[norm + ".scale"], parameters[norm + ".shift"])
        if training is not None:
            training.normalised(norm, mean, variance)
        return values

    values = relu(normalised_convolution(images.astype(op.kind), "conv1", 2))
    values = op.max_window(values, 3, 2, [(0, 0), (1, 1), (1, 1), (0, 0)])
    for stage, (blocks, _) in enumerate(RESNET50_STAGES, 1):
        for block in range(1, blocks + 1):
            name = "stage%d.block%d." % (stage, block)
            stride = 2 if stage > 1 and block == 1 else 1
            past = normalised_convolution(values, name + "conv4", stride) if block == 1 else values
            values = relu(normalised_convolution(values, name + "conv1"))
            values = relu(normalised_convolution(values, name + "conv2", stride))
            values = relu(normalised_convolution(values, name + "conv3") + past)
    values = values.astype(op.jnp.float32).mean(axis=(1, 2))
    return values @ parameters["dense.weights"] + parameters["dense.biases"]


NETWORKS_HERE = {"mnist_cnn": mnist_cnn, "resnet50": resnet50}
