#pragma once

/// A folder of JPEGs, one sub-folder a class, read again in each epoch.
///
///     FOLDER/CLASS/NAME.jpg            to train with; accuracy cannot be told
///     FOLDER/train/CLASS/NAME.jpg      the same, where there is
///     FOLDER/val/CLASS/NAME.jpg        what accuracy is told on
///
/// Classes to train with are numbered in the order of their names' bytes, and have these numbers in `val` too, which
/// may lack some but have no others; images in the order of class and name. So numbers mean the same everywhere. Names
/// that begin with a dot are passed over. A training image is a random crop, flipped or not (resample.hpp), decided by
/// seed, epoch and the image's number; a test image the middle. Values are then (byte / 255 - mean) / deviation with
/// ImageNet's figures for each channel.
///
/// A file that is no JPEG by its name (.jpg, .jpeg) or its content, or is torn, is an error that names it: a data set
/// should be what one believes it is. With `skip_broken` it is left out of the list, or where only decoding shows it,
/// the next image of the list that can be decoded stands in, with its own label; each such turn is counted.

#include <memory>

#include "kernels/data/image_source.hpp"

namespace nocturne::data {

/// Lists the folder; decodes nothing yet. Throws UnsupportedData (built without libjpeg-turbo; the network does not
/// read three channels; no folder `val` for the test set) and DataError (no folder, no class, more classes than the
/// network has, a class to test that is none to train, an empty class, a file that is no image).
[[nodiscard]] std::unique_ptr<ImageSource> open_image_folder(const SourceOptions& options);

}  // namespace nocturne::data
