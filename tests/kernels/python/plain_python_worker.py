"""A worker whose framework is Python itself: softmax regression on images of MNIST's format, with the real Adadelta.

$PLAIN_PYTHON_MODE makes error: `diverge` (the loss is no number from the third step on), `raise`, `leave` (calls
sys.exit), `no_framework`, `memory`, and memory in the words of frameworks (REFUSALS). Network mnist_cnn is there to exchange initial states: it is built, not trained.
"""

import array
import math
import os
import sys

sys.path.insert(0, os.environ["NOCTURNE_PYTHON_WORKERS"])

from nocturne_worker import Unsupported, Worker, main  # noqa: E402
from nocturne_worker.networks import MNIST_CNN, Network, dense  # noqa: E402

TINY = Network("tiny", (1, 28, 28), 10, 7850, dense("dense", (1, 28, 28), 10), "mnist", "adadelta")


class ResourceExhaustedError(Exception):
    """Named as TensorFlow's; what it says begins with where it happened."""


REFUSALS = {
    "torch_memory": RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you "
                                 "tried to allocate 9 bytes"),
    "tensorflow_memory": ResourceExhaustedError("Graph execution error:\n\nOOM when allocating tensor with shape[9]"),
    "xla_memory": RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes."),
    "mxnet_memory": RuntimeError("Traceback (most recent call last):\n  storage: Failed to allocate CPU Memory"),
    "library_memory": RuntimeError("std::bad_alloc")}


class PlainPython(Worker):
    name = "plain-python"
    networks = {"tiny": TINY, "mnist_cnn": MNIST_CNN}
    choices = {"precision": ("f32",), "layout": ("nchw", "nhwc"), "graph_compiler": ("none", "folding"),
               "onednn": (True, False), "unrolled": (True, False)}
    sets_rate = os.environ.get("PLAIN_PYTHON_MODE", "") != "one_rate"
    mode = os.environ.get("PLAIN_PYTHON_MODE", "")

    def check(self, settings):
        if settings.graph_compiler == "folding" and settings.layout == "nhwc":
            raise Unsupported("the folding compiler takes layout nchw only")

    def import_framework(self, settings):
        if self.mode == "no_framework":
            import a_framework_that_is_nowhere  # noqa: F401
        self.compiled, self.done = [], 0

    def versions(self):
        return {"plain": "0.1"}

    def facts(self):
        return {"compiled": self.compiled, "rate": self.plan.rule.rate, "unrolled": self.plan.settings.own.get("unrolled", False),
                "batch_sizes": self.plan.batch_sizes, "temporary": os.environ["TMPDIR"]}

    def build(self, plan):
        self.plan = plan
        self.values = {name: array.array("f", [float(each) for each in getattr(values, "flat", values)])
                       for name, values in plan.initial.items()}
        self.squares = {name: [0.0] * len(values) for name, values in self.values.items()}
        self.moves = {name: [0.0] * len(values) for name, values in self.values.items()}

    def set_rate(self, rate):
        self.plan.rule.rate = rate

    def compile(self, images, labels):
        self.compiled.append(len(images))

    def take(self, image_set, indices):
        size, images = image_set.pixels, image_set.images
        return ([[pixel / 255.0 for pixel in images[i * size:(i + 1) * size]] for i in indices],
                [image_set.labels[i] for i in indices])

    def logits(self, images):
        weights, biases = self.values["dense.weights"], self.values["dense.biases"]
        return [[biases[k] + sum(map(float.__mul__, image, weights[784 * k:784 * k + 784].tolist()))
                 for k in range(10)] for image in images]

    def step(self, images, labels):
        self.done += 1
        if self.mode == "raise" and self.done == 3:
            raise RuntimeError("the third step went wrong\nand this line is not for the reason")
        if self.mode == "leave":
            sys.exit("left by the framework")
        if self.mode == "memory":
            raise MemoryError()
        if self.mode in REFUSALS:
            raise REFUSALS[self.mode]
        if self.plan.network is MNIST_CNN:
            return 0.0
        loss, gradient = 0.0, {"dense.weights": [0.0] * 7840, "dense.biases": [0.0] * 10}
        for image, label, row in zip(images, labels, self.logits(images)):
            largest = max(row)
            powers = [math.exp(value - largest) for value in row]
            loss += math.log(sum(powers)) + largest - row[label]
            for k in range(10):
                difference = (powers[k] / sum(powers) - (k == label)) / len(images)
                gradient["dense.biases"][k] += difference
                part = gradient["dense.weights"][784 * k:784 * k + 784]
                gradient["dense.weights"][784 * k:784 * k + 784] = [g + difference * x for g, x in zip(part, image)]
        for name in gradient:
            self.update(name, gradient[name])
        return float("nan") if self.mode == "diverge" and self.done >= 3 else loss / len(images)

    def update(self, name, gradient):
        rule, values, squares, moves = self.plan.rule, self.values[name], self.squares[name], self.moves[name]
        for i, g in enumerate(gradient):
            squares[i] = rule.rho * squares[i] + (1 - rule.rho) * g * g
            move = g * math.sqrt((moves[i] + rule.epsilon) / (squares[i] + rule.epsilon))
            moves[i] = rule.rho * moves[i] + (1 - rule.rho) * move * move
            values[i] -= rule.rate * move

    def parameters(self):
        return self.values


if __name__ == "__main__":
    main(PlainPython())
