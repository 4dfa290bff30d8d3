"""The networks in PyTorch's modules. Modules bear the names of the tables in nocturne_worker/networks.py."""

import module_networks
from nocturne_worker.networks import RESNET50_STAGES

SUFFIXES = {"weights": "weight", "scale": "weight", "biases": "bias", "shift": "bias"}


def torch_name(tensor_name):
    """The protocol's "conv1.weights" is PyTorch's "conv1.weight"."""
    layer, _, kind = tensor_name.rpartition(".")
    return layer + "." + SUFFIXES[kind]


def mnist_cnn(torch, plan):
    return module_networks.mnist_cnn(torch, torch.nn.Module, torch.nn.Conv2d, plan)


def resnet50(torch, plan):
    nn = torch.nn

    def convolution(inputs, outputs, kernel, stride=1):
        return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)

    class Block(nn.Module):
        def __init__(self, inputs, width, stride):
            super(Block, self).__init__()
            self.conv1, self.norm1 = convolution(inputs, width, 1), nn.BatchNorm2d(width)
            self.conv2, self.norm2 = convolution(width, width, 3, stride), nn.BatchNorm2d(width)
            self.conv3, self.norm3 = convolution(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
            if inputs != 4 * width:
                self.conv4, self.norm4 = convolution(inputs, 4 * width, 1, stride), nn.BatchNorm2d(4 * width)
            else:
                self.conv4, self.norm4 = nn.Identity(), nn.Identity()

        def forward(self, values):
            past = self.norm4(self.conv4(values))
            values = nn.functional.relu(self.norm1(self.conv1(values)))
            values = nn.functional.relu(self.norm2(self.conv2(values)))
            return nn.functional.relu(self.norm3(self.conv3(values)) + past)

    def stage(inputs, number):
        blocks, width = RESNET50_STAGES[number - 1]
        layers = nn.Sequential()
        for block in range(1, blocks + 1):
            layers.add_module("block%d" % block, Block(inputs, width, 2 if block == 1 and number > 1 else 1))
            inputs = 4 * width
        return layers

    class ResNet50(nn.Module):
        def __init__(self):
            super(ResNet50, self).__init__()
            self.conv1, self.norm1 = convolution(3, 64, 7, 2), nn.BatchNorm2d(64)
            self.stage1, self.stage2 = stage(64, 1), stage(256, 2)
            self.stage3, self.stage4 = stage(512, 3), stage(1024, 4)
            self.dense = nn.Linear(2048, 1000)

        def forward(self, images):
            values = nn.functional.relu(self.norm1(self.conv1(images)))
            values = nn.functional.max_pool2d(values, 3, 2, 1)
            values = self.stage4(self.stage3(self.stage2(self.stage1(values))))
            return self.dense(torch.flatten(nn.functional.adaptive_avg_pool2d(values, 1), 1))

    return ResNet50()
