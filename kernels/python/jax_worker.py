"""nocturne-jax: JAX; the training step is one function that XLA compiles, before the first step, in phase `compile`.

    device          cpu, cuda
    graph_compiler  xla: there is no other way to run (absent: the same)
    precision       f32; bf16: activations and their gradients, while master weights, loss and optimizer stay f32;
                    tf32, on a GPU: f32 whose products are taken in TF32
    pooling         reshape: the maximum over two axes of a reshaped tensor, which XLA's CPU backend fuses;
                    window: reduce_window, as written for accelerators
    threads         XLA has one pool; with one thread its operations are not split at all
"""

import functools
import os

from channels_last import from_channels_last, images_to_channels_last, to_channels_last
from jax_networks import NETWORKS_HERE, Operations
from nocturne_worker import Momentum, Unsupported, Worker, main
from nocturne_worker.image_set import PIXEL_SCALE
from nocturne_worker.networks import NETWORKS

# How products of f32 are taken; the CPU knows one way.
PRODUCTS = {"f32": "highest", "tf32": "tensorfloat32", "bf16": "default"}


def environment(settings):
    """The variables that JAX and XLA read once."""
    if settings.device == "cuda":
        # Two workers of a pair are on the GPU at a time, so neither may take nearly all of its memory in advance.
        return {"JAX_PLATFORMS": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    variables = {"JAX_PLATFORMS": "cpu"}
    if settings.threads is not None:
        variables["NPROC"] = str(settings.threads)  # the size of the CPU client's pool
        if settings.threads == 1:
            flags = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
            variables["XLA_FLAGS"] = flags.strip()
    return variables


class Training(object):
    """What a network does in training only: drops, by a key that is a function of seed and step; tells its moments."""

    def __init__(self, jax, key):
        self._jax, self._key, self.moments = jax, key, {}

    def drop(self, values, rate, index):
        if self._key is None:
            return values
        kept = self._jax.random.bernoulli(self._jax.random.fold_in(self._key, index), 1.0 - rate, values.shape)
        return self._jax.numpy.where(kept, values / (1.0 - rate), 0).astype(values.dtype)

    def normalised(self, norm, mean, variance):
        self.moments[norm] = mean, variance


class Jax(Worker):
    name = "nocturne-jax"
    networks = {name: NETWORKS[name] for name in NETWORKS_HERE}
    choices = {"device": ("cpu", "cuda"), "precision": ("f32", "bf16", "tf32"), "layout": ("nhwc",),
               "graph_compiler": ("xla",), "pooling": ("reshape", "window")}
    _gpu = None

    def import_framework(self, settings):
        os.environ.update(environment(settings))
        import jax
        import jax.numpy
        import numpy
        self.jax, self._jnp, self._numpy = jax, jax.numpy, numpy
        kind = "gpu" if settings.device == "cuda" else "cpu"
        try:
            found = jax.devices(kind)
        except (RuntimeError, AssertionError) as error:  # an assertion where there is no plugin for CUDA
            said = str(error).splitlines() or ["no driver, no GPU, or JAX's package for CUDA is missing"]
            raise Unsupported("JAX %s has no %s here: %s" % (jax.__version__, kind.upper(), said[0]))
        if kind == "gpu":
            self._gpu, self.takes_stored = found[0], True
            jax.config.update("jax_default_matmul_precision", PRODUCTS[settings.precision])

    def versions(self):
        import jaxlib
        return {"jax": self.jax.__version__, "jaxlib": jaxlib.__version__}

    def facts(self):
        found = {"graph_compiler": "xla"}
        if self._gpu is not None:
            found["device"] = self._gpu.device_kind
            found["device_memory_bytes"] = int((self._gpu.memory_stats() or {}).get("bytes_limit", 0))
        return found

    def build(self, plan):
        jnp = self._jnp
        self._network, self._rule, self._dropout = plan.network, plan.rule, plan.dropout
        kind = jnp.bfloat16 if plan.settings.precision == "bf16" else jnp.float32
        self._operations = Operations(self.jax, kind, plan.settings.own.get("pooling", "reshape"))
        self._key = self.jax.random.PRNGKey(plan.seed & 0x7FFFFFFF)
        values = {tensor.name: jnp.array(to_channels_last(tensor, plan.initial[tensor.name]))
                  for tensor in plan.network.tensors}
        averages = [{name: jnp.zeros_like(value) for name, value in values.items()}
                    for _ in range(1 if isinstance(plan.rule, Momentum) else 2)]
        # Running mean and variance of each normalisation.
        moving = {name.rsplit(".", 1)[0]: (jnp.zeros_like(value), jnp.ones_like(value))
                  for name, value in values.items() if name.endswith(".scale")}
        self._state = (values, averages, moving)
        self._decaying = {tensor.name for tensor in plan.network.tensors if tensor.decays}
        self._train = self.jax.jit(self._train_step, donate_argnums=0)
        self._infer = self.jax.jit(functools.partial(self._forward, training=None))
        self._compiled = {}
        self._step_number = 0

    def _forward(self, parameters, images, training):
        if images.dtype == self._numpy.uint8:
            images = images.astype(self._numpy.float32) * self._numpy.float32(PIXEL_SCALE)
        return NETWORKS_HERE[self._network.name](self._operations, parameters, images, training)

    def _train_step(self, state, images, labels, step):
        jax, jnp = self.jax, self._jnp
        values, averages, moving = state
        key = jax.random.fold_in(self._key, step) if self._dropout else None

        def mean_loss(parameters):
            training = Training(jax, key)
            likelihood = jax.nn.log_softmax(self._forward(parameters, images, training))
            return -jnp.take_along_axis(likelihood, labels[:, None], axis=1).mean(), training.moments

        (loss, moments), gradients = jax.value_and_grad(mean_loss, has_aux=True)(values)
        after = {}, [{} for _ in averages], {}
        for name, gradient in gradients.items():
            update = self._momentum if isinstance(self._rule, Momentum) else self._adadelta
            after[0][name], kept = update(name, values[name], gradient, [each[name] for each in averages])
            for average, value in zip(after[1], kept):
                average[name] = value
        for norm, now in moments.items():
            after[2][norm] = tuple(past + 0.1 * (value - past) for past, value in zip(moving[norm], now))
        return after, loss

    def _adadelta(self, _, value, g, averages):
        rule, (a, d) = self._rule, averages
        a = rule.rho * a + (1 - rule.rho) * g * g
        update = g * self._jnp.sqrt((d + rule.epsilon) / (a + rule.epsilon))
        return value - rule.rate * update, [a, rule.rho * d + (1 - rule.rho) * update * update]

    def _momentum(self, name, value, g, averages):
        rule = self._rule
        if name in self._decaying:
            g = g + rule.decay * value
        velocity = rule.momentum * averages[0] + g
        return value - rule.rate * velocity, [velocity]

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

    def device_bytes(self):
        statistics = self._gpu.memory_stats() if self._gpu is not None else None
        return int((statistics or {}).get("peak_bytes_in_use", 0))

    def is_out_of_memory(self, error):
        return self._gpu is not None and "RESOURCE_EXHAUSTED" in str(error)

    def logits(self, images):
        return self._numpy.asarray(self._infer(self._state[0], images_to_channels_last(images)))

    def parameters(self):
        numpy = self._numpy
        return {tensor.name: from_channels_last(tensor, numpy.asarray(self._state[0][tensor.name]))
                for tensor in self._network.tensors}


if __name__ == "__main__":
    main(Jax())
