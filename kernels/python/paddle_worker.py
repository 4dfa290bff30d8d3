"""nocturne-paddle: PaddlePaddle 3 on the CPU, in f32.

    execution    dynamic: operation by operation; static: forward and backward traced into programs, in phase `compile`
    threads      one, unless OMP_NUM_THREADS says more; the session sets it where threads are asked for

FLAGS_use_mkldnn and auto_cast to bfloat16 are no choices here: 3.3's training steps give the same losses with them, bit
by bit.
"""

from module_networks import mnist_cnn
from nocturne_worker import Worker, main

paddle = None  # imported in phase `import`


def to_paddle(tensor, values):
    """Convolutions are the protocol's (O, I, H, W); dense layers are (I, O)."""
    if tensor.name.startswith("dense") and len(tensor.shape) > 1:
        return values.reshape(tensor.shape[0], -1).transpose().copy(order="C")
    return values.copy(order="C")


def from_paddle(tensor, values):
    """The way back."""
    if tensor.name.startswith("dense") and len(tensor.shape) > 1:
        values = values.transpose()
    return values.reshape(tensor.shape).copy(order="C")


def paddle_name(tensor_name):
    """The protocol's "conv1.weights" is Paddle's "conv1.weight"."""
    layer, kind = tensor_name.split(".")
    return "%s.%s" % (layer, {"weights": "weight", "biases": "bias"}[kind])


class Paddle(Worker):
    name = "nocturne-paddle"
    choices = {"layout": ("nchw",), "execution": ("dynamic", "static")}

    def import_framework(self, settings):
        global paddle
        import paddle as imported
        paddle = imported
        paddle.set_device("cpu")

    def versions(self):
        return {"paddle": paddle.__version__}

    def facts(self):
        return {"execution": self._plan.settings.own.get("execution", "dynamic")}

    def build(self, plan):
        self._plan = plan
        paddle.seed(plan.seed & 0x7FFFFFFF)
        self._model = mnist_cnn(paddle, paddle.nn.Layer, paddle.nn.Conv2D, plan)
        self._parameters = dict(self._model.named_parameters())
        for tensor in plan.network.tensors:
            self._parameters[paddle_name(tensor.name)].set_value(to_paddle(tensor, plan.initial[tensor.name]))
        rule = plan.rule
        self._optimizer = paddle.optimizer.Adadelta(learning_rate=rule.rate, epsilon=rule.epsilon, rho=rule.rho,
                                                    parameters=self._model.parameters())
        self._model.train()
        self._run = self._model

    def compile(self, images, labels):
        if self._plan.settings.own.get("execution") != "static":
            return
        self._run = paddle.jit.to_static(self._model, full_graph=True)
        self._forward_and_backward(images, labels)
        self._optimizer.clear_grad()
        paddle.seed(self._plan.seed & 0x7FFFFFFF)  # dropout begins with the seed, whatever was drawn

    def _forward_and_backward(self, images, labels):
        logits = self._run(paddle.to_tensor(images))
        loss = paddle.nn.functional.cross_entropy(logits, paddle.to_tensor(labels))
        loss.backward()
        return loss

    def step(self, images, labels):
        loss = self._forward_and_backward(images, labels)
        self._optimizer.step()
        self._optimizer.clear_grad(set_to_zero=False)
        return loss.detach()

    def loss(self, handle):
        return float(handle.numpy())

    def logits(self, images):
        self._model.eval()
        with paddle.no_grad():
            result = self._model(paddle.to_tensor(images)).numpy()
        self._model.train()
        return result

    def parameters(self):
        return {tensor.name: from_paddle(tensor, self._parameters[paddle_name(tensor.name)].numpy())
                for tensor in self._plan.network.tensors}


if __name__ == "__main__":
    main(Paddle())
