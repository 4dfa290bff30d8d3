"""nocturne-cntk: CNTK 2.7 on the CPU, in f32.

Its Adadelta, left alone, takes the sum of the minibatch's gradients and divides the rate by the minibatch's size.
Adadelta forgets the size of gradients, so that is not the same as their mean: steps are a hundred times too short, and
it hardly learns. With minibatch size IGNORE on the learner (on the schedule of its rate alone it does not help) it
takes the mean and the rate as it is, as all the others do.
"""

from nocturne_worker import Worker, main


def to_cntk(tensor, values):
    """Convolutions (O, I, H, W) as they are, their biases (O, 1, 1); dense layers (I, O)."""
    if tensor.name.startswith("dense") and len(tensor.shape) > 1:
        return values.reshape(tensor.shape[0], -1).transpose().copy(order="C")
    if tensor.name.startswith("conv") and len(tensor.shape) == 1:
        return values.reshape(-1, 1, 1).copy(order="C")
    return values.copy(order="C")


def from_cntk(tensor, values):
    """The way back."""
    if tensor.name.startswith("dense") and len(tensor.shape) > 1:
        values = values.transpose()
    return values.reshape(tensor.shape).copy(order="C")


class Cntk(Worker):
    name = "nocturne-cntk"
    choices = {"layout": ("nchw",)}

    def import_framework(self, settings):
        import cntk
        import numpy
        self._cntk, self._numpy = cntk, numpy
        cntk.device.try_set_default_device(cntk.device.cpu())
        if settings.threads is not None:
            cntk.cntk_py.set_max_num_cputhreads(settings.threads)

    def versions(self):
        return {"cntk": self._cntk.__version__}

    def build(self, plan):
        cntk, rule = self._cntk, plan.rule
        self._network = plan.network
        self._parameters = {tensor.name: cntk.parameter(init=to_cntk(tensor, plan.initial[tensor.name]),
                                                        name=tensor.name)
                            for tensor in plan.network.tensors}
        self._images = cntk.input_variable(plan.network.image)
        self._labels = cntk.input_variable(plan.network.classes)
        self._inference = self._mnist_cnn(None)
        logits = self._mnist_cnn(plan.seed if plan.dropout else None)
        loss = cntk.cross_entropy_with_softmax(logits, self._labels)
        as_it_is = cntk.learners.IGNORE
        learner = cntk.adadelta(list(self._parameters.values()),
                                cntk.learning_parameter_schedule(rule.rate, minibatch_size=as_it_is),
                                rho=rule.rho, epsilon=rule.epsilon, minibatch_size=as_it_is)
        self._trainer = cntk.Trainer(logits, (loss,), [learner])

    def _mnist_cnn(self, seed):
        cntk, parameters = self._cntk, self._parameters

        def drop(values, rate, index):
            if seed is None:
                return values
            return cntk.dropout(values, rate, seed=(2 * seed + index) & 0x7FFFFFFF)

        values = self._images
        for layer in ("conv1", "conv2"):
            values = cntk.convolution(parameters[layer + ".weights"], values, auto_padding=[False])
            values = cntk.relu(values + parameters[layer + ".biases"])
        values = cntk.pooling(values, cntk.MAX_POOLING, (2, 2), (2, 2))
        values = cntk.reshape(drop(values, 0.25, 0), (64 * 12 * 12,))
        values = cntk.relu(cntk.times(values, parameters["dense1.weights"]) + parameters["dense1.biases"])
        values = drop(values, 0.5, 1)
        return cntk.times(values, parameters["dense2.weights"]) + parameters["dense2.biases"]

    def step(self, images, labels):
        one_hot = self._numpy.eye(self._network.classes, dtype=self._numpy.float32)[labels]
        self._trainer.train_minibatch({self._images: images, self._labels: one_hot})
        return self._trainer.previous_minibatch_loss_average

    def logits(self, images):
        return self._inference.eval({self._images: images})

    def parameters(self):
        return {tensor.name: from_cntk(tensor, self._numpy.asarray(self._parameters[tensor.name].value))
                for tensor in self._network.tensors}


if __name__ == "__main__":
    main(Cntk())
