"""Synthetic images, which all workers read alike (the same numbers stand in tests/kernels/batch_source_test.cpp), and what
a request says of the optimizer."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "kernels" / "python"))

from nocturne_worker import image_set, request, session  # noqa: E402
from nocturne_worker.counter_random import numpy_or_none  # noqa: E402
from nocturne_worker.networks import RESNET50, Network, dense  # noqa: E402
from nocturne_worker.refusal import Unsupported  # noqa: E402

SMALL = Network("small", (3, 32, 32), 1000, 3073000, dense("dense", (3, 32, 32), 1000), "synthetic", "sgd_momentum")


def asked_for(**workload):
    return request.parse_request({"protocol": 1, "workload": dict(workload, optimizer="sgd_momentum")})


class Synthetic(unittest.TestCase):
    def test_images_are_those_of_the_native_workers(self):
        images = image_set.synthetic_images(SMALL, 16)
        self.assertEqual((images.count, len(images.images)), (64 * 16, 256 * 3072))
        self.assertEqual(list(images.images[:10]), [174, 155, 241, 73, 140, 60, 192, 80, 16, 94])
        self.assertEqual(list(images.images[-4:]), [227, 185, 39, 167])
        self.assertEqual((list(images.labels[:6]), images.labels[255]), ([392, 187, 563, 959, 816, 708], 661))

    @unittest.skipUnless(numpy_or_none(), "there is no NumPy")
    def test_a_batch_is_what_is_stored_scaled(self):
        images = image_set.synthetic_images(SMALL, 16)
        stored, labels = images.take_stored([3, 259])
        self.assertEqual((stored.dtype.name, stored.shape, list(labels)), ("uint8", (2, 3, 32, 32), [959] * 2))
        scaled = images.take([3, 259])[0]
        self.assertEqual((scaled.dtype.name, scaled.shape), ("float32", stored.shape))
        self.assertLess(abs(scaled * 255 - stored).max(), 1e-4)
        self.assertEqual((stored[0] == stored[1]).all(), True)  # of 256 stored images

    def test_an_epoch_is_whole_batches_of_any_size_and_shows_all_images(self):
        self.assertEqual([image_set.synthetic_images(SMALL, batch).count for batch in (1, 3, 96, 700)],
                         [256, 86 * 3, 64 * 96, 64 * 700])


class Momentum(unittest.TestCase):
    def test_the_figures_are_the_requests_and_else_the_protocols(self):
        rule = session._rule(asked_for(learning_rate=0.1, momentum=0.8, weight_decay=0), RESNET50)
        self.assertEqual((rule.rate, rule.momentum, rule.decay), (0.1, 0.8, 0.0))
        rule = session._rule(asked_for(), RESNET50)
        self.assertEqual((rule.rate, rule.momentum, rule.decay), (0.01, 0.9, 1e-4))

    def test_a_figure_that_is_no_number_is_an_error_with_its_name(self):
        with self.assertRaisesRegex(ValueError, "key 'learning_rate': \"fast\" is no number"):
            asked_for(learning_rate="fast")

    def test_smoothed_labels_are_refused(self):
        with self.assertRaisesRegex(Unsupported, "label_smoothing = 0.1"):
            session._rule(asked_for(label_smoothing=0.1), RESNET50)


if __name__ == "__main__":
    unittest.main()
