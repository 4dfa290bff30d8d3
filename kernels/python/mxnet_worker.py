"""nocturne-mxnet: MXNet 1.6 to 1.9 on the CPU, by Gluon.

    graph_compiler   none (imperative), hybrid (hybridize: a graph), static (its memory and shapes fixed once)
    onednn           true, false (MKL-DNN's kernels switched off; a plain build of 1.6 has none)
    threads          of OpenMP; absent, MXNet takes what OMP_NUM_THREADS says

Steps run asynchronously in MXNet's engine: they overlap within a sample, which ends when the engine is idle.
"""

import os

from mxnet_networks import gluon_name, mnist_cnn, resnet50
from nocturne_worker import Momentum, Unsupported, Worker, main
from nocturne_worker.networks import NETWORKS

mxnet = None  # imported in phase `import`


class MXNet(Worker):
    name = "nocturne-mxnet"
    networks = {name: NETWORKS[name] for name in ("mnist_cnn", "resnet50")}
    choices = {"graph_compiler": ("none", "hybrid", "static"), "onednn": (True, False)}

    def import_framework(self, settings):
        global mxnet
        if settings.onednn is not None:
            os.environ["MXNET_MKLDNN_ENABLED"] = "1" if settings.onednn else "0"
        import mxnet as imported
        mxnet = imported
        self.settings = settings
        self.has_onednn = mxnet.runtime.Features().is_enabled("MKLDNN")
        if settings.onednn and not self.has_onednn:
            raise Unsupported("this build of MXNet %s has no oneDNN" % mxnet.__version__)

    def versions(self):
        import numpy
        return {"mxnet": mxnet.__version__, "numpy": numpy.__version__}

    def facts(self):
        features = mxnet.runtime.Features()
        return {"onednn": self.has_onednn and self.settings.onednn is not False,
                "blas": [name for name in ("BLAS_OPEN", "BLAS_MKL", "BLAS_ATLAS") if features.is_enabled(name)]}

    def build(self, plan):
        self.plan = plan
        mxnet.random.seed(plan.seed % (1 << 31))
        self.net = {"mnist_cnn": mnist_cnn, "resnet50": resnet50}[plan.network.name](mxnet, plan)
        self.net.initialize(ctx=mxnet.cpu())
        self.tensors = self.net.collect_params()
        for tensor in plan.network.tensors:
            parameter = self.tensors[gluon_name(tensor.name)]
            parameter.set_data(mxnet.nd.array(plan.initial[tensor.name].reshape(parameter.shape)))
            parameter.wd_mult = 1.0 if tensor.decays else 0.0
        self.loss_of = mxnet.gluon.loss.SoftmaxCrossEntropyLoss()
        if plan.settings.graph_compiler != "none":
            static = plan.settings.graph_compiler == "static"
            self.net.hybridize(static_alloc=static, static_shape=static)
            self.loss_of.hybridize(static_alloc=static, static_shape=static)
        self.trainer = mxnet.gluon.Trainer(self.tensors, *self._optimizer(plan.rule), kvstore=None)

    @staticmethod
    def _optimizer(rule):
        if isinstance(rule, Momentum):
            return "sgd", {"learning_rate": rule.rate, "momentum": rule.momentum, "wd": rule.decay}
        if rule.rate != 1.0:
            raise Unsupported("learning_rate_rule: MXNet's Adadelta has no rate")
        return "adadelta", {"rho": rule.rho, "epsilon": rule.epsilon, "wd": 0.0}

    def compile(self, images, labels):
        if self.settings.graph_compiler == "none":
            return
        self._forward_and_backward(images, labels)  # gradients are written anew by each step
        mxnet.nd.waitall()
        mxnet.random.seed(self.plan.seed % (1 << 31))  # dropout begins with the seed, whatever was drawn

    def _forward_and_backward(self, images, labels):
        data, target = mxnet.nd.array(images), mxnet.nd.array(labels)
        with mxnet.autograd.record():
            losses = self.loss_of(self.net(data), target)
        losses.backward()
        return losses

    def step(self, images, labels):
        losses = self._forward_and_backward(images, labels)
        self.trainer.step(len(labels))
        return losses.mean()

    def synchronise(self):
        mxnet.nd.waitall()

    def loss(self, handle):
        return float(handle.asscalar())

    def logits(self, images):
        return self.net(mxnet.nd.array(images)).asnumpy()

    def parameters(self):
        return {tensor.name: self.tensors[gluon_name(tensor.name)].data().asnumpy().reshape(tensor.shape)
                for tensor in self.plan.network.tensors}


if __name__ == "__main__":
    main(MXNet())
