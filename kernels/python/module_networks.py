"""The network for MNIST in the modules of frameworks that name their parts alike: PyTorch and PaddlePaddle."""


def mnist_cnn(framework, module, convolution, plan):
    """`framework`: torch or paddle; `module`: its base class of networks; `convolution`: its class of 2-D convolutions.
    Modules bear the names of the table in nocturne_worker/networks.py. TorchScript compiles `forward` and finds in it
    what is a module of Python, so that is how the framework is named there."""
    nn = framework.nn

    class MnistCnn(module):
        def __init__(self):
            super(MnistCnn, self).__init__()
            self.conv1 = convolution(1, 32, 3)
            self.conv2 = convolution(32, 64, 3)
            self.dropout1 = nn.Dropout(0.25) if plan.dropout else nn.Identity()
            self.dense1 = nn.Linear(64 * 12 * 12, 128)
            self.dropout2 = nn.Dropout(0.5) if plan.dropout else nn.Identity()
            self.dense2 = nn.Linear(128, 10)

        def forward(self, images):
            values = nn.functional.relu(self.conv1(images))
            values = nn.functional.relu(self.conv2(values))
            values = nn.functional.max_pool2d(values, 2)
            values = framework.flatten(self.dropout1(values), 1)
            values = nn.functional.relu(self.dense1(values))
            return self.dense2(self.dropout2(values))

    return MnistCnn()
