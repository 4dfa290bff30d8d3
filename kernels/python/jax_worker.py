"""nocturne-jax: JAX; the training step is one function that XLA compiles, before the first step, in phase `compile`.

    graph_compiler  xla: there is no other way to run (absent: the same)
    precision       f32; bf16: activations and their differences, while master weights, loss and optimizer stay f32
    pooling         reshape: the maximum over two axes of a reshaped tensor, which XLA's CPU backend fuses;
                    window: reduce_window, as written for accelerators
    threads         XLA has one pool; with one thread its operations are not split at all
"""

import functools
import os

from channels_last import from_channels_last, images_to_channels_last, to_channels_last
from nocturne_worker import Unsupported, Worker, main


def environment(settings):
    """The variables that JAX and XLA read once."""
    variables = {"JAX_PLATFORMS": "cpu"}
    if settings.threads is not None:
        variables["NPROC"] = str(settings.threads)  # the size of the CPU client's pool
        if settings.threads == 1:
            flags = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
            variables["XLA_FLAGS"] = flags.strip()
    return variables


class Jax(Worker):
    name = "nocturne-jax"
    choices = {"precision": ("f32", "bf16"), "layout": ("nhwc",), "graph_compiler": ("xla",),
               "pooling": ("reshape", "window")}

    def import_framework(self, settings):
        os.environ.update(environment(settings))
        import jax
        import jax.numpy
        import numpy
        self.jax, self._jnp, self._numpy = jax, jax.numpy, numpy
        try:
            jax.devices("cpu")
        except RuntimeError as error:
            raise Unsupported("JAX %s has no CPU here: %s" % (jax.__version__, str(error).splitlines()[0]))

    def versions(self):
        import jaxlib
        return {"jax": self.jax.__version__, "jaxlib": jaxlib.__version__}

    def facts(self):
        return {"graph_compiler": "xla"}

    def build(self, plan):
        jnp = self._jnp
        self._network, self._rule, self._dropout = plan.network, plan.rule, plan.dropout
        self._type = jnp.bfloat16 if plan.settings.precision == "bf16" else jnp.float32
        self._pooling = plan.settings.own.get("pooling", "reshape")
        self._key = self.jax.random.PRNGKey(plan.seed & 0x7FFFFFFF)
        values = {tensor.name: jnp.array(to_channels_last(tensor, plan.initial[tensor.name]))
                  for tensor in plan.network.tensors}
        zeros = [{name: jnp.zeros_like(value) for name, value in values.items()} for _ in range(2)]
        self._state = (values, zeros[0], zeros[1])
        self._train = self.jax.jit(self._train_step, donate_argnums=0)
        self._infer = self.jax.jit(functools.partial(self._mnist_cnn, key=None))
        self._compiled = {}
        self._step_number = 0

    def _mnist_cnn(self, parameters, images, key):
        jax, jnp = self.jax, self._jnp

        def weights(name):
            return parameters[name].astype(self._type)

        def drop(values, rate, index):
            if key is None:
                return values
            kept = jax.random.bernoulli(jax.random.fold_in(key, index), 1.0 - rate, values.shape)
            return jnp.where(kept, values / (1.0 - rate), 0).astype(values.dtype)

        def pool(values):
            if self._pooling == "window":
                # The number itself: with a traced one JAX does not see a maximum that it can differentiate.
                return jax.lax.reduce_window(values, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            count, height, width, channels = values.shape
            return values.reshape(count, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))

        values = images.astype(self._type)
        for layer in ("conv1", "conv2"):
            values = jax.lax.conv_general_dilated(values, weights(layer + ".weights"), (1, 1), "VALID",
                                                  dimension_numbers=("NHWC", "HWIO", "NHWC"))
            values = jax.nn.relu(values + weights(layer + ".biases"))
        values = drop(pool(values), 0.25, 0).reshape(values.shape[0], -1)
        values = jax.nn.relu(values @ weights("dense1.weights") + weights("dense1.biases"))
        values = drop(values, 0.5, 1)
        return (values @ weights("dense2.weights") + weights("dense2.biases")).astype(jnp.float32)

    def _train_step(self, state, images, labels, step):
        jax, jnp, rule = self.jax, self._jnp, self._rule
        values, mean_square_gradients, mean_square_updates = state
        key = jax.random.fold_in(self._key, step) if self._dropout else None

        def mean_loss(parameters):
            likelihood = jax.nn.log_softmax(self._mnist_cnn(parameters, images, key))
            return -jnp.take_along_axis(likelihood, labels[:, None], axis=1).mean()

        loss, gradients = jax.value_and_grad(mean_loss)(values)
        after = ({}, {}, {})
        for name, g in gradients.items():
            a = rule.rho * mean_square_gradients[name] + (1 - rule.rho) * g * g
            d = mean_square_updates[name]
            update = g * jnp.sqrt((d + rule.epsilon) / (a + rule.epsilon))
            after[0][name] = values[name] - rule.rate * update
            after[1][name], after[2][name] = a, rule.rho * d + (1 - rule.rho) * update * update
        return after, loss

    def _arguments(self, images, labels):
        numpy = self._numpy
        return images_to_channels_last(images), labels.astype(numpy.int32), numpy.int32(self._step_number)

    def compile(self, images, labels):
        self._compiled[len(images)] = self._train.lower(self._state, *self._arguments(images, labels)).compile()

    def step(self, images, labels):
        if len(images) not in self._compiled:  # an epoch's smaller batch
            self.compile(images, labels)
        self._state, loss = self._compiled[len(images)](self._state, *self._arguments(images, labels))
        self._step_number += 1
        return loss

    def synchronise(self):
        self.jax.block_until_ready(self._state)

    def logits(self, images):
        return self._numpy.asarray(self._infer(self._state[0], images_to_channels_last(images)))

    def parameters(self):
        numpy = self._numpy
        return {tensor.name: from_channels_last(tensor, numpy.asarray(self._state[0][tensor.name]))
                for tensor in self._network.tensors}


if __name__ == "__main__":
    main(Jax())
