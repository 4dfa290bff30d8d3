"""Parameters between the protocol's shapes and the frameworks' own: every value at its place, and back again."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "kernels" / "python"))

import channels_last  # noqa: E402
import cntk_worker  # noqa: E402
import paddle_worker  # noqa: E402
from nocturne_worker.networks import MNIST_CNN, convolution, dense  # noqa: E402
from plain_array import counted  # noqa: E402


def tensor_named(name, tensors=MNIST_CNN.tensors):
    return next(tensor for tensor in tensors if tensor.name == name)


SMALL = convolution("conv", 2, 3, 3) + convolution("conv_1x1", 2, 3, 1) + dense("dense_images", (2, 3, 4), 5) + \
    dense("dense", (4,), 3)
WAYS = {"channels last": (channels_last.to_channels_last, channels_last.from_channels_last),
        "CNTK": (cntk_worker.to_cntk, cntk_worker.from_cntk),
        "Paddle": (paddle_worker.to_paddle, paddle_worker.from_paddle)}


class ChannelsLast(unittest.TestCase):
    def test_a_convolution_has_its_window_first_and_its_outputs_last(self):
        values = counted(3, 2, 3, 3)
        there = channels_last.to_channels_last(tensor_named("conv.weights", SMALL), values)
        self.assertEqual(there.shape, (3, 3, 2, 3))
        self.assertEqual(there.at(0, 2, 1, 2), values.at(2, 1, 0, 2))

    def test_a_convolution_of_one_pixel_is_still_a_convolution(self):
        there = channels_last.to_channels_last(tensor_named("conv_1x1.weights", SMALL), counted(3, 2, 1, 1))
        self.assertEqual(there.shape, (1, 1, 2, 3))

    def test_a_dense_layer_reads_images_flattened_with_channels_fastest(self):
        values = counted(5, 2, 3, 4)
        there = channels_last.to_channels_last(tensor_named("dense_images.weights", SMALL), values)
        self.assertEqual(there.shape, (3 * 4 * 2, 5))
        row, column, channel, output = 2, 1, 1, 4
        self.assertEqual(there.at((row * 4 + column) * 2 + channel, output), values.at(output, channel, row, column))

    def test_a_dense_layer_is_transposed(self):
        values = counted(3, 4)
        there = channels_last.to_channels_last(tensor_named("dense.weights", SMALL), values)
        self.assertEqual(there.at(3, 1), values.at(1, 3))

    def test_images_have_their_channels_last(self):
        images = counted(2, 3, 4, 5)
        there = channels_last.images_to_channels_last(images)
        self.assertEqual(there.shape, (2, 4, 5, 3))
        self.assertEqual(there.at(1, 2, 3, 1), images.at(1, 1, 2, 3))
        self.assertEqual(channels_last.images_to_channels_last(counted(2, 1, 4, 5)).shape, (2, 4, 5, 1))


class Others(unittest.TestCase):
    def test_dense_layers_of_cntk_and_paddle_read_images_flattened_with_channels_slowest(self):
        tensor, values = tensor_named("dense_images.weights", SMALL), counted(5, 2, 3, 4)
        for there in (cntk_worker.to_cntk(tensor, values), paddle_worker.to_paddle(tensor, values)):
            self.assertEqual(there.shape, (24, 5))
            row, column, channel, output = 2, 1, 1, 4
            self.assertEqual(there.at((channel * 3 + row) * 4 + column, output),
                             values.at(output, channel, row, column))

    def test_a_convolutions_biases_stand_over_the_image_in_cntk(self):
        self.assertEqual(cntk_worker.to_cntk(tensor_named("conv.biases", SMALL), counted(3)).shape, (3, 1, 1))

    def test_names_of_parameters_in_paddle(self):
        self.assertEqual(paddle_worker.paddle_name("conv1.weights"), "conv1.weight")
        self.assertEqual(paddle_worker.paddle_name("dense2.biases"), "dense2.bias")


class ThereAndBack(unittest.TestCase):
    def test_every_value_of_every_tensor_comes_back_to_its_place(self):
        for way, (there, back) in WAYS.items():
            for tensor in SMALL:
                with self.subTest(way=way, tensor=tensor.name):
                    values = counted(*tensor.shape)
                    again = back(tensor, there(tensor, values))
                    self.assertEqual(again.shape, tensor.shape)
                    self.assertEqual(again.values, values.values)

    def test_the_paper_s_network_has_its_shapes_in_each_framework(self):
        shapes = {way: [there(tensor, counted(*tensor.shape)).shape for tensor in MNIST_CNN.tensors
                        if tensor.name.startswith("conv")] for way, (there, _) in WAYS.items()}
        self.assertEqual(shapes["channels last"], [(3, 3, 1, 32), (32,), (3, 3, 32, 64), (64,)])
        self.assertEqual(shapes["Paddle"], [(32, 1, 3, 3), (32,), (64, 32, 3, 3), (64,)])
        self.assertEqual(shapes["CNTK"], [(32, 1, 3, 3), (32, 1, 1), (64, 32, 3, 3), (64, 1, 1)])


if __name__ == "__main__":
    unittest.main()
