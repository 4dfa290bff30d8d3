#include "kernels/onednn/image_set.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/onednn/elementwise.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/random.hpp"
#include "kernels/onednn/refusal.hpp"

namespace nocturne::onednn {
namespace {

template <typename T>
void gather_as(const ImageSet& set, std::span<const std::int32_t> indices, T* images, std::uint8_t* labels) {
  const std::int64_t pixels = set.pixels();
  const std::uint8_t* source = set.images.values;
  const std::uint8_t* known = set.labels.values;
  parallel_for(static_cast<std::int64_t>(indices.size()), 32, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::int64_t index = indices[static_cast<std::size_t>(n)];
      scale_pixels(source + index * pixels, images + n * pixels, pixels);
      labels[n] = known[index];
    }
  });
}

}  // namespace

ImageSet load_images(const std::string& data, const std::string& folder, Split split,
                     const networks::Network& network) {
  if (data != "mnist") throw Unsupported("unknown data set '" + data + "', known: mnist");
  if (folder.empty()) throw DataError("the folder of the data set is not named");
  const std::string prefix = split == Split::Train ? "train" : "t10k";
  ImageSet set;
  set.labels = read_idx(folder, prefix + "-labels-idx1-ubyte.gz");
  set.images = read_idx(folder, prefix + "-images-idx3-ubyte.gz");
  const auto& dimensions = set.images.dimensions;
  const networks::Shape& shape = network.image;
  const std::string where = folder + "/" + prefix + ": ";
  if (set.labels.dimensions.size() != 1 || dimensions.size() != 3 || dimensions[0] != set.count()) {
    throw DataError(where + "images and labels do not belong together");
  }
  if (shape.channels != 1 || dimensions[1] != shape.height || dimensions[2] != shape.width || set.count() == 0) {
    throw DataError(where + "the images have not the shape that network " + std::string(network.name) + " reads");
  }
  const std::uint8_t* labels = set.labels.values;
  if (std::any_of(labels, labels + set.count(), [&](std::uint8_t label) { return label >= network.classes; })) {
    throw DataError(where + "there is a label that is no class of network " + std::string(network.name));
  }
  return set;
}

std::vector<std::int32_t> epoch_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t key = key_of(seed, 0x0de5, static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order.size(); i > 1; --i) {
    // Fisher and Yates; the remainder's bias is under 2^-48 for sets of this size.
    const std::size_t other = mix64(key + i * 0x9e3779b97f4a7c15U) % i;
    std::swap(order[i - 1], order[other]);
  }
  return order;
}

void gather(const ImageSet& set, std::span<const std::int32_t> indices, float* images, std::uint8_t* labels) {
  gather_as(set, indices, images, labels);
}

void gather(const ImageSet& set, std::span<const std::int32_t> indices, Bfloat16* images, std::uint8_t* labels) {
  gather_as(set, indices, images, labels);
}

}  // namespace nocturne::onednn
