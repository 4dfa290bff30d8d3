"""The networks in Gluon's blocks. Prefixes follow the names of the tables in nocturne_worker/networks.py."""

from nocturne_worker.networks import RESNET50_STAGES

SUFFIXES = {"weights": "weight", "biases": "bias", "scale": "gamma", "shift": "beta"}


def gluon_name(tensor_name):
    """The protocol's "conv1.weights" is here "conv1_weight"."""
    layer, _, kind = tensor_name.rpartition(".")
    return layer.replace(".", "_") + "_" + SUFFIXES[kind]


def mnist_cnn(mxnet, plan):
    nn = mxnet.gluon.nn
    net = nn.HybridSequential(prefix="")
    with net.name_scope():
        net.add(nn.Conv2D(32, 3, in_channels=1, activation="relu", prefix="conv1_"))
        net.add(nn.Conv2D(64, 3, in_channels=32, activation="relu", prefix="conv2_"))
        net.add(nn.MaxPool2D(2))
        if plan.dropout:
            net.add(nn.Dropout(0.25))
        net.add(nn.Dense(128, in_units=64 * 12 * 12, activation="relu", prefix="dense1_"))  # flattens (C, H, W)
        if plan.dropout:
            net.add(nn.Dropout(0.5))
        net.add(nn.Dense(10, in_units=128, prefix="dense2_"))
    return net


def resnet50(mxnet, plan):
    nn = mxnet.gluon.nn

    def normalised_convolution(name, inputs, outputs, kernel, stride=1):
        both = nn.HybridSequential(prefix="")
        both.add(nn.Conv2D(outputs, kernel, stride, kernel // 2, in_channels=inputs, use_bias=False, prefix=name + "_"),
                 nn.BatchNorm(in_channels=outputs, epsilon=1e-5, prefix=name.replace("conv", "norm") + "_"))
        return both

    class Block(mxnet.gluon.HybridBlock):
        def __init__(self, name, inputs, width, stride):
            super(Block, self).__init__(prefix="")
            self.conv1 = normalised_convolution(name + "_conv1", inputs, width, 1)
            self.conv2 = normalised_convolution(name + "_conv2", width, width, 3, stride)
            self.conv3 = normalised_convolution(name + "_conv3", width, 4 * width, 1)
            self.conv4 = None
            if inputs != 4 * width:
                self.conv4 = normalised_convolution(name + "_conv4", inputs, 4 * width, 1, stride)

        def hybrid_forward(self, F, values):
            past = values if self.conv4 is None else self.conv4(values)
            values = F.relu(self.conv1(values))
            values = F.relu(self.conv2(values))
            return F.relu(self.conv3(values) + past)

    net = nn.HybridSequential(prefix="")
    net.add(normalised_convolution("conv1", 3, 64, 7, 2), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))
    inputs = 64
    for stage, (blocks, width) in enumerate(RESNET50_STAGES, 1):
        for block in range(1, blocks + 1):
            stride = 2 if block == 1 and stage > 1 else 1
            net.add(Block("stage%d_block%d" % (stage, block), inputs, width, stride))
            inputs = 4 * width
    net.add(nn.GlobalAvgPool2D(), nn.Dense(1000, in_units=inputs, prefix="dense_"))
    return net
