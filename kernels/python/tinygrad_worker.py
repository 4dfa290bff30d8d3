"""nocturne-tinygrad: tinygrad on the CPU, in f32; it writes a C program for each kernel, so it needs clang.

    graph_compiler   none: every step is scheduled anew; tinyjit: the kernels of a step are recorded and run again
    threads          of one kernel; 0.14 divides its kernels by them and runs the parts one after the other, on one core:
                     `ready` says 1
"""

import os
import shutil

from nocturne_worker import Unsupported, Worker, main

RECORDED_WITH = 3  # TinyJit records the second call and runs the recording from the third on
FIRST_WITH_ONE_THREAD = (0, 14)


def environment(settings):
    """The variables that tinygrad reads once."""
    variables = {"DEV": "CPU"}
    if settings.threads is not None:
        variables["NUM_CPU_THREADS"] = str(settings.threads)
    return variables


class Tinygrad(Worker):
    name = "nocturne-tinygrad"
    choices = {"layout": ("nchw",), "graph_compiler": ("none", "tinyjit")}

    def check(self, settings):
        if shutil.which("clang") is None:
            raise Unsupported("tinygrad compiles with clang, which is not on PATH; install the package clang")

    def import_framework(self, settings):
        os.environ.update(environment(settings))
        import tinygrad
        self._tinygrad = tinygrad
        self._tensor = tinygrad.Tensor

    def versions(self):
        try:
            from importlib.metadata import version
            return {"tinygrad": version("tinygrad")}
        except Exception:  # a checkout, not a package
            return {"tinygrad": "unknown"}

    def threads(self, settings):
        numbers = self.versions()["tinygrad"].split(".")[:2]
        if all(number.isdigit() for number in numbers) and tuple(map(int, numbers)) >= FIRST_WITH_ONE_THREAD:
            return 1
        return super(Tinygrad, self).threads(settings)

    def build(self, plan):
        self._network, self._rule, self._dropout, self._seed = plan.network, plan.rule, plan.dropout, plan.seed
        self._tensor.manual_seed(plan.seed & 0x7FFFFFFF)
        self._values = {name: self._tensor(values.copy()).to("CPU").realize() for name, values in plan.initial.items()}
        self._averages = {name: tuple(self._tensor.zeros(*value.shape).contiguous().realize() for _ in range(2))
                          for name, value in self._values.items()}
        self._jit = plan.settings.graph_compiler == "tinyjit"
        # A recording is for one batch size.
        self._steps = {size: self._tinygrad.TinyJit(self._train_step) if self._jit else self._train_step
                       for size in plan.batch_sizes}
        self._infer = self._tinygrad.TinyJit(self._inference) if self._jit else self._inference

    def _mnist_cnn(self, images, dropout):
        parameters = self._values

        def drop(values, rate):
            if not dropout:
                return values
            return (self._tensor.rand(*values.shape) >= rate).where(values / (1.0 - rate), 0)

        def dense(values, name):
            weights = parameters[name + ".weights"]
            return values.linear(weights.reshape(weights.shape[0], -1).transpose(), parameters[name + ".biases"])

        values = images
        for layer in ("conv1", "conv2"):
            values = values.conv2d(parameters[layer + ".weights"], parameters[layer + ".biases"]).relu()
        values = drop(values.max_pool2d((2, 2)), 0.25).flatten(1)
        return dense(drop(dense(values, "dense1").relu(), 0.5), "dense2")

    def _train_step(self, images, labels):
        rule = self._rule
        loss = self._mnist_cnn(images, self._dropout).sparse_categorical_crossentropy(labels)
        names = list(self._values)
        gradients = loss.gradient(*[self._values[name] for name in names])
        changed = []
        for name, gradient in zip(names, gradients):
            value, (a, d) = self._values[name], self._averages[name]
            g = gradient.contiguous()  # once, for the three that read it
            a.assign(rule.rho * a + (1 - rule.rho) * g * g)
            update = (g * ((d + rule.epsilon) / (a + rule.epsilon)).sqrt()).contiguous()
            d.assign(rule.rho * d + (1 - rule.rho) * update * update)
            value.assign(value - rule.rate * update)
            changed += [a, d, value]
        return loss.realize(*changed)

    def _inference(self, images):
        return self._mnist_cnn(images, False).realize()

    def _given(self, array):
        return self._tensor(array).to("CPU").contiguous().realize()

    def compile(self, images, labels):
        if not self._jit:
            return
        # Recorded while steps run: they are run and undone.
        changed = list(self._values.values()) + [each for pair in self._averages.values() for each in pair]
        before = [each.numpy().copy() for each in changed]
        for _ in range(RECORDED_WITH):
            self._steps[len(images)](self._given(images), self._given(labels))
        for tensor, values in zip(changed, before):
            tensor.assign(self._given(values)).realize()

    def step(self, images, labels):
        return self._steps[len(images)](self._given(images), self._given(labels))

    def synchronise(self):
        self._tinygrad.Device["CPU"].synchronize()  # some versions queue kernels for a thread of the device's

    def loss(self, handle):
        return handle.item()

    def logits(self, images):
        return self._infer(self._given(images)).numpy()

    def parameters(self):
        return {name: value.numpy().copy() for name, value in self._values.items()}


if __name__ == "__main__":
    main(Tinygrad())
