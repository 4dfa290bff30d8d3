"""nocturne-tensorflow2: TensorFlow 2 (2.1 and later), the training step as one tf.function unless `execution` is eager.

    device          cpu, cuda
    graph_compiler  none; xla: jit_compile of the whole step, before TensorFlow 2.5 automatic clustering for the CPU
    execution       graph: one tf.function; eager: operation by operation, as TensorFlow 2 runs what nobody wraps
    precision       f32; bf16: activations and their gradients, while master weights, loss and optimizer stay f32;
                    tf32, on a GPU: f32 whose products are taken in TF32
    onednn          true, false: TensorFlow's own switch (TensorFlow 2.5 and later)
    threads, inter_threads   of one operation; operations side by side (absent: as many as threads)
"""

import os

from channels_last import from_channels_last, images_to_channels_last, to_channels_last
from nocturne_worker import Momentum, Unsupported, Worker, main
from nocturne_worker.networks import NETWORKS
from tensorflow2_networks import NETWORKS_HERE

CLUSTERING = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"


def environment(settings, jit_compile):
    """The variables that TensorFlow reads once; `jit_compile`: a tf.function can be compiled as a whole."""
    variables = {}
    if settings.onednn is not None:
        variables["TF_ENABLE_ONEDNN_OPTS"] = "1" if settings.onednn else "0"
    if settings.graph_compiler == "xla" and not jit_compile:
        variables["TF_XLA_FLAGS"] = (os.environ.get("TF_XLA_FLAGS", "") + " " + CLUSTERING).strip()
    return variables


def version_of(text):
    """"2.21.0-rc1" → (2, 21)"""
    return tuple(int(part) for part in text.split(".")[:2])


def is_eager(settings):
    return settings.own.get("execution", "graph") == "eager"


def refuse_eager_xla(settings):
    if is_eager(settings) and settings.graph_compiler == "xla":
        raise Unsupported("execution eager with graph_compiler xla: XLA compiles graphs")


class Training(object):
    """What networks do in training only. Masks of dropout are functions of seed and step, so that a compiled step may
    be run and undone without changing them."""

    def __init__(self, tf, seed, step, moving, dropout):
        self._tf, self._seed, self._step, self._moving, self._dropout = tf, seed, step, moving, dropout

    def drop(self, values, rate, index):
        if not self._dropout:
            return values
        tf = self._tf
        draws = tf.random.stateless_uniform(tf.shape(values), seed=tf.stack([self._seed, 2 * self._step + index]))
        return values * tf.cast(tf.where(draws >= rate, 1.0 / (1.0 - rate), 0.0), values.dtype)

    def normalised(self, norm, mean, variance):
        for moving, now in zip(self._moving[norm], (mean, variance)):
            moving.assign_add(0.1 * (now - moving))


class TensorFlow2(Worker):
    name = "nocturne-tensorflow2"
    networks = {name: NETWORKS[name] for name in NETWORKS_HERE}
    choices = {"device": ("cpu", "cuda"), "precision": ("f32", "bf16", "tf32"), "layout": ("nhwc",),
               "graph_compiler": ("none", "xla"), "onednn": (True, False), "execution": ("graph", "eager")}
    _gpu = None
    _eager = False
    has_inter_threads = True

    def import_framework(self, settings):
        refuse_eager_xla(settings)
        os.environ.update(environment(settings, True))
        import tensorflow as tf
        self.tf = tf
        version = version_of(tf.__version__)
        if version < (2, 0):
            raise Unsupported("TensorFlow %s: this worker needs TensorFlow 2" % tf.__version__)
        if settings.onednn is not None and version < (2, 5):
            raise Unsupported("onednn: TensorFlow %s has no switch for oneDNN, 2.5 is the first" % tf.__version__)
        self._jit_compile = version >= (2, 5)
        os.environ.update(environment(settings, self._jit_compile))  # of XLA: read with the first device
        if settings.threads is not None:
            tf.config.threading.set_intra_op_parallelism_threads(settings.threads)
        inter = settings.inter_threads or settings.threads
        if inter is not None:
            tf.config.threading.set_inter_op_parallelism_threads(inter)
        self._choose_device(settings, version)
        self._type = tf.float32
        if settings.precision == "bf16":
            self._type = tf.bfloat16
            self._probe_bf16()

    def _choose_device(self, settings, version):
        tf = self.tf
        gpus = tf.config.list_physical_devices("GPU")
        if settings.device == "cpu":
            if gpus:
                tf.config.set_visible_devices([], "GPU")
            return
        if version < (2, 10):
            raise Unsupported("device cuda needs TensorFlow 2.10 or later, this is %s" % tf.__version__)
        if not gpus:
            raise Unsupported("device cuda: TensorFlow %s sees no GPU: %s" % (tf.__version__, (
                "no driver, no GPU, or one of CUDA's libraries is missing" if tf.test.is_built_with_cuda()
                else "it was built without CUDA")))
        tf.config.set_visible_devices(gpus[:1], "GPU")
        # Two workers of a pair are on the GPU at a time: none may take all of its memory.
        tf.config.experimental.set_memory_growth(gpus[0], True)
        tf.config.experimental.enable_tensor_float_32_execution(settings.precision == "tf32")
        self._gpu = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU")

    def _probe_bf16(self):
        tf = self.tf
        try:
            with tf.GradientTape() as tape:
                kernel = tf.zeros([3, 3, 1, 1], tf.bfloat16)
                tape.watch(kernel)
                values = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(tf.zeros([1, 4, 4, 1], tf.bfloat16), kernel, 1,
                                                                  "VALID")), 2, 2, "VALID")
            tape.gradient(values, kernel)
        except (tf.errors.OpError, TypeError) as error:
            raise Unsupported("precision bf16: TensorFlow %s cannot train in it on the CPU: %s"
                              % (tf.__version__, str(error).splitlines()[0][:200]))

    def versions(self):
        return {"tensorflow": self.tf.__version__}

    def facts(self):
        facts = {"execution": "eager"} if self._eager else {}
        return facts if self._gpu is None else dict(facts, device=self._gpu)

    def synchronise(self):
        if self._gpu is not None:
            self.tf.test.experimental.sync_devices()

    def device_bytes(self):
        return 0 if self._gpu is None else int(self.tf.config.experimental.get_memory_info("GPU:0")["peak"])

    def is_out_of_memory(self, error):
        return self._gpu is not None and isinstance(error, self.tf.errors.ResourceExhaustedError)

    def build(self, plan):
        tf = self.tf
        self._network, self._rule, self._seed, self._dropout = plan.network, plan.rule, plan.seed, plan.dropout
        self._xla, self._eager = plan.settings.graph_compiler == "xla", is_eager(plan.settings)
        compiled = {"jit_compile": True} if self._xla and self._jit_compile else {}
        self._variables, self._averages, self._moving = {}, {}, {}
        for tensor in plan.network.tensors:
            values = to_channels_last(tensor, plan.initial[tensor.name])
            self._variables[tensor.name] = tf.Variable(values)
            count = 1 if isinstance(plan.rule, Momentum) else 2
            self._averages[tensor.name] = [tf.Variable(values * 0) for _ in range(count)]
            layer, kind = tensor.name.rsplit(".", 1)
            if kind == "scale":
                self._moving[layer] = tf.Variable(values * 0), tf.Variable(values * 0 + 1)
        self._step_number = 0
        if self._eager:
            self._train, self._infer = self._train_step, self._forward
        else:
            self._train = tf.function(self._train_step, **compiled)
            self._infer = tf.function(self._forward, **compiled)

    def _forward(self, images, training=None):
        return NETWORKS_HERE[self._network.name](self.tf, self._variables, self.tf.cast(images, self._type), training)

    def _train_step(self, images, labels, step):
        tf = self.tf
        training = Training(tf, self._seed & 0x7FFFFFFF, step, self._moving, self._dropout)
        with tf.GradientTape() as tape:
            logits = self._forward(images, training)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        gradients = tape.gradient(loss, self._variables)
        for tensor in self._network.tensors:
            self._update(tensor, gradients[tensor.name])
        return loss

    def _update(self, tensor, gradient):
        tf, rule = self.tf, self._rule
        variable, averages = self._variables[tensor.name], self._averages[tensor.name]
        if isinstance(rule, Momentum):
            if tensor.decays:
                gradient += rule.decay * variable
            tf.raw_ops.ResourceApplyMomentum(var=variable.handle, accum=averages[0].handle, lr=rule.rate,
                                             grad=gradient, momentum=rule.momentum)
        else:
            tf.raw_ops.ResourceApplyAdadelta(var=variable.handle, accum=averages[0].handle,
                                             accum_update=averages[1].handle, lr=rule.rate, rho=rule.rho,
                                             epsilon=rule.epsilon, grad=gradient)

    def _arguments(self, images, labels):
        tf = self.tf
        return (tf.convert_to_tensor(images_to_channels_last(images)), tf.convert_to_tensor(labels),
                tf.convert_to_tensor(self._step_number, tf.int32))

    def compile(self, images, labels):
        arguments = self._arguments(images, labels)
        if self._eager:
            return
        if not self._xla:
            self._train.get_concrete_function(*arguments)
            return
        # XLA compiles when a step runs: one is run and undone.
        changed = list(self._variables.values())
        changed += [each for several in (self._averages, self._moving) for group in several.values() for each in group]
        before = [each.numpy().copy() for each in changed]
        self._train(*arguments)
        for variable, values in zip(changed, before):
            variable.assign(values)

    def step(self, images, labels):
        loss = self._train(*self._arguments(images, labels))
        self._step_number += 1
        return loss

    def loss(self, handle):
        return float(handle.numpy())

    def logits(self, images):
        return self._infer(self.tf.convert_to_tensor(images_to_channels_last(images))).numpy()

    def parameters(self):
        return {tensor.name: from_channels_last(tensor, self._variables[tensor.name].numpy())
                for tensor in self._network.tensors}


if __name__ == "__main__":
    main(TensorFlow2())
