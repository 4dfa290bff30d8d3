"""Networks as tables of parameter tensors: names, shapes and how they start. What is computed with them is each worker's.

Shapes are the protocol's: convolutions (O, I, H, W), dense layers (O, I), or (O, C, H, W) of the tensor they read,
biases (O).
"""

import array
import math
import operator
from functools import reduce

from .counter_random import key_of, symmetric
from .refusal import Unsupported


class Tensor(object):
    """Starts uniform in ±sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010, equation 16), with fan_out 0 in
    ±sqrt(6 / fan_in) (He and others, ICCV 2015, equation 10); with both 0 as `constant`. `decays`: weight decay acts on
    it."""

    def __init__(self, name, shape, fan_in=0, fan_out=0, constant=0.0):
        self.name, self.shape, self.fan_in, self.fan_out, self.constant = name, shape, fan_in, fan_out, constant
        self.count = reduce(operator.mul, shape, 1)
        self.decays = fan_in > 0


class Network(object):
    def __init__(self, name, image, classes, parameters, tensors, data, optimizer):
        self.name, self.image, self.classes, self.tensors = name, image, classes, tensors
        self.data, self.optimizer = data, optimizer  # names of what it is trained with
        self.parameters = parameters
        counted = sum(tensor.count for tensor in tensors)
        if counted != parameters:
            raise AssertionError("network %s: %d parameters, its table has %d" % (name, parameters, counted))


def convolution(name, inputs, outputs, kernel):
    window = kernel * kernel
    return [Tensor(name + ".weights", (outputs, inputs, kernel, kernel), inputs * window, outputs * window),
            Tensor(name + ".biases", (outputs,))]


def dense(name, inputs, outputs):
    """`inputs`: the shape of one image's tensor."""
    return [Tensor(name + ".weights", (outputs,) + inputs, reduce(operator.mul, inputs, 1), outputs),
            Tensor(name + ".biases", (outputs,))]


# The CNN for MNIST of arXiv 2008.11675, which is the one of the Keras examples (kernels/networks/mnist_cnn.hpp):
#   conv1 3×3, 32, ReLU; conv2 3×3, 64, ReLU; max-pool 2; dropout 0.25; dense1 128, ReLU; dropout 0.5; dense2 10.
MNIST_CNN = Network(
    name="mnist_cnn", image=(1, 28, 28), classes=10, parameters=1199882, data="mnist", optimizer="adadelta",
    tensors=convolution("conv1", 1, 32, 3) + convolution("conv2", 32, 64, 3) +
    dense("dense1", (64, 12, 12), 128) + dense("dense2", (128,), 10))



def _normalised_convolution(name, inputs, outputs, kernel):
    """A convolution without biases and the batch normalisation of its output, `conv2` and `norm2`."""
    norm = name.replace("conv", "norm")
    return [Tensor(name + ".weights", (outputs, inputs, kernel, kernel), inputs * kernel * kernel),
            Tensor(norm + ".scale", (outputs,), constant=1.0), Tensor(norm + ".shift", (outputs,))]


RESNET50_STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))  # blocks, width; a block's output is 4 times as wide


def _resnet50_tensors():
    tensors, inputs = _normalised_convolution("conv1", 3, 64, 7), 64
    for stage, (blocks, width) in enumerate(RESNET50_STAGES, 1):
        for block in range(1, blocks + 1):
            name = "stage%d.block%d." % (stage, block)
            tensors += _normalised_convolution(name + "conv1", inputs, width, 1)
            tensors += _normalised_convolution(name + "conv2", width, width, 3)
            tensors += _normalised_convolution(name + "conv3", width, 4 * width, 1)
            if block == 1:  # the way past the block changes shape too
                tensors += _normalised_convolution(name + "conv4", inputs, 4 * width, 1)
            inputs = 4 * width
    return tensors + dense("dense", (inputs,), 1000)


# ResNet50 (He and others, CVPR 2016), version 1.5: where a stage halves the image it is the 3×3 convolution, conv2, of
# its first block that has stride 2, and conv4 beside it. Convolutions have no biases; epsilon of the normalisation is
# 1e-5.
RESNET50 = Network(name="resnet50", image=(3, 224, 224), classes=1000, parameters=25557032, data="synthetic",
                   optimizer="sgd_momentum", tensors=_resnet50_tensors())

NETWORKS = {network.name: network for network in (MNIST_CNN, RESNET50)}


def find_network(name, known):
    """`known`: {name: Network} of the worker."""
    if name not in known:
        raise Unsupported("unknown network '%s', known: %s" % (name, ", ".join(sorted(known))))
    return known[name]


def f32(value):
    return array.array("f", [value])[0]


def initial_values(network, seed):
    """{name: flat f32 values}: those of the native worker for this seed, bit by bit."""
    values = {}
    for index, tensor in enumerate(network.tensors):
        if tensor.fan_in + tensor.fan_out > 0:
            limit = f32(math.sqrt(f32(6.0 / (tensor.fan_in + tensor.fan_out))))
            values[tensor.name] = symmetric(key_of(seed, 0x1417, index), tensor.count, limit)
        else:
            values[tensor.name] = array.array("f", [tensor.constant]) * tensor.count
    return values
