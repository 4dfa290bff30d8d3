"""nocturne-tensorflow1: TensorFlow 1.14 in graph mode, with fixed batch sizes.

    graph_compiler  none; xla: automatic clustering for the CPU; ngraph: the nGraph bridge, where it is installed
    threads, inter_threads   of one operation; operations side by side (absent: as many as threads)
"""

import os
import re

from channels_last import from_channels_last, images_to_channels_last, to_channels_last
from nocturne_worker import Unsupported, Worker, main

CLUSTERING = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"


def environment(settings):
    """The variables that TensorFlow reads once."""
    if settings.graph_compiler == "xla":
        return {"TF_XLA_FLAGS": (os.environ.get("TF_XLA_FLAGS", "") + " " + CLUSTERING).strip()}
    return {}


class Graph(object):
    """The operations for one batch size; parameters are shared."""

    def __init__(self, worker, batch):
        tf, network = worker.tf, worker.network
        channels, height, width = network.image
        self.images = tf.placeholder(tf.float32, [batch, height, width, channels])
        self.labels = tf.placeholder(tf.int64, [batch])
        self.step = tf.placeholder(tf.int32, [])
        self.logits = self._mnist_cnn(worker, batch, False)
        logits = self._mnist_cnn(worker, batch, worker.dropout)
        self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits))
        self.update = worker.optimizer.minimize(self.loss, var_list=list(worker.variables.values()))

    def _mnist_cnn(self, worker, batch, dropout):
        tf, parameters = worker.tf, worker.variables

        def drop(values, rate, index):
            if not dropout:
                return values
            # Masks are functions of seed and step.
            draws = tf.random.stateless_uniform(values.shape, seed=tf.stack([worker.seed, 2 * self.step + index]))
            return values * tf.where(draws >= rate, tf.fill(values.shape, 1.0 / (1.0 - rate)), tf.zeros(values.shape))

        values = self.images
        for layer in ("conv1", "conv2"):
            values = tf.nn.conv2d(values, parameters[layer + ".weights"], strides=[1, 1, 1, 1], padding="VALID")
            values = tf.nn.relu(tf.nn.bias_add(values, parameters[layer + ".biases"]))
        values = tf.nn.max_pool(values, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
        values = drop(values, 0.25, 0)
        values = tf.reshape(values, [batch, 12 * 12 * 64])
        values = tf.nn.bias_add(tf.matmul(values, parameters["dense1.weights"]), parameters["dense1.biases"])
        values = drop(tf.nn.relu(values), 0.5, 1)
        return tf.nn.bias_add(tf.matmul(values, parameters["dense2.weights"]), parameters["dense2.biases"])


class TensorFlow1(Worker):
    name = "nocturne-tensorflow1"
    choices = {"layout": ("nhwc",), "graph_compiler": ("none", "xla", "ngraph")}
    has_inter_threads = True

    def import_framework(self, settings):
        os.environ.update(environment(settings))
        import tensorflow as tf
        self.tf = tf
        if not tf.__version__.startswith("1."):
            raise Unsupported("TensorFlow %s: this worker needs TensorFlow 1" % tf.__version__)
        self._versions = {"tensorflow": tf.__version__}
        if settings.graph_compiler == "ngraph":
            self._import_ngraph()

    def _import_ngraph(self):
        try:
            import ngraph_bridge
        except Exception as error:  # not installed, or built for another C++ ABI
            raise Unsupported("graph_compiler ngraph: the bridge cannot be imported beside TensorFlow %s on this "
                              "Python: %s" % (self.tf.__version__, str(error).splitlines()[0]))
        stated = re.findall(r"\d+\.\d+\.\d+", ngraph_bridge.__version__)  # a page that begins with them
        self._versions.update(zip(("ngraph_bridge", "ngraph"), stated))
        self._ngraph = ngraph_bridge

    def versions(self):
        return self._versions

    def _configuration(self, settings):
        tf = self.tf
        threads = settings.threads or 0
        configuration = tf.ConfigProto(intra_op_parallelism_threads=threads,
                                       inter_op_parallelism_threads=settings.inter_threads or threads)
        if settings.graph_compiler == "xla":
            configuration.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
        if settings.graph_compiler == "ngraph":
            configuration = self._ngraph.update_config(configuration)
        return configuration

    def build(self, plan):
        tf = self.tf
        self.network, self.seed, self.dropout = plan.network, plan.seed & 0x7FFFFFFF, plan.dropout
        # XLA takes no reference variables into its clusters, nGraph no resource variables.
        with tf.variable_scope("parameters", use_resource=plan.settings.graph_compiler == "xla"):
            self.variables = {}
            values = {tensor.name: to_channels_last(tensor, plan.initial[tensor.name])
                      for tensor in plan.network.tensors}
            for name in values:
                self.variables[name] = tf.get_variable(name.replace(".", "_"), values[name].shape, tf.float32,
                                                       tf.zeros_initializer())
        rule = plan.rule
        self.optimizer = tf.train.AdadeltaOptimizer(rule.rate, rho=rule.rho, epsilon=rule.epsilon)
        graphs = {batch: Graph(self, batch) for batch in plan.batch_sizes}
        self._session = tf.Session(config=self._configuration(plan.settings))
        self._session.run(tf.global_variables_initializer())
        for name, variable in self.variables.items():
            variable.load(values[name], self._session)
        self._steps = {batch: self._session.make_callable([graph.loss, graph.update],
                                                          feed_list=[graph.images, graph.labels, graph.step])
                       for batch, graph in graphs.items()}
        self._infer = self._session.make_callable(graphs[plan.batch_sizes[0]].logits,
                                                  feed_list=[graphs[plan.batch_sizes[0]].images])
        self._compiled = plan.settings.graph_compiler != "none"
        self._step_number = 0

    def compile(self, images, labels):
        if not self._compiled:
            return
        # Both compilers begin when a step runs: one is run and undone.
        changed = self.tf.global_variables()
        before = self._session.run(changed)
        self._steps[len(images)](images_to_channels_last(images), labels, self._step_number)
        for variable, values in zip(changed, before):
            variable.load(values, self._session)

    def step(self, images, labels):
        loss, _ = self._steps[len(images)](images_to_channels_last(images), labels, self._step_number)
        self._step_number += 1
        return loss

    def logits(self, images):
        return self._infer(images_to_channels_last(images))

    def parameters(self):
        values = self._session.run(self.variables)
        return {tensor.name: from_channels_last(tensor, values[tensor.name]) for tensor in self.network.tensors}


if __name__ == "__main__":
    main(TensorFlow1())
