#include "kernels/data/stored_images.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/data/counter_random.hpp"
#include "kernels/data/idx_file.hpp"

namespace nocturne::data {
namespace {

/// Images beside each other; image i is that of i modulo the number stored.
class StoredImages : public ImageSource {
 public:
  /// `pixels` keeps alive whatever they lie in.
  StoredImages(std::int64_t count, const networks::Shape& shape, std::shared_ptr<const std::uint8_t> pixels,
               std::vector<std::int32_t> labels)
      : count_(count),
        pixels_(std::move(pixels)),
        labels_(std::move(labels)),
        image_bytes_(shape.elements()),
        scaling_(static_cast<std::size_t>(shape.channels)) {}

  std::int64_t count() const override { return count_; }
  bool stored() const override { return true; }
  std::span<const Scaling> scaling() const override { return scaling_; }
  Image make(std::int64_t index, std::int64_t, std::uint8_t*, Workspace&) override {
    const std::int64_t at = index % static_cast<std::int64_t>(labels_.size());
    return {.bytes = pixels_.get() + at * image_bytes_, .label = labels_[static_cast<std::size_t>(at)]};
  }

 private:
  std::int64_t count_;
  std::shared_ptr<const std::uint8_t> pixels_;
  std::vector<std::int32_t> labels_;
  std::int64_t image_bytes_;
  std::vector<Scaling> scaling_;
};

// From (N, C, H, W) to (N, H, W, C).
std::vector<std::uint8_t> with_channels_last(const std::vector<std::uint8_t>& planes, const networks::Shape& shape) {
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  const auto channels = static_cast<std::size_t>(shape.channels);
  std::vector<std::uint8_t> pixels(planes.size());
  for (std::size_t image = 0; image < planes.size(); image += plane * channels) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const std::uint8_t* from = planes.data() + image + channel * plane;
      std::uint8_t* to = pixels.data() + image + channel;
      for (std::size_t pixel = 0; pixel < plane; ++pixel) to[pixel * channels] = from[pixel];
    }
  }
  return pixels;
}

}  // namespace

std::unique_ptr<ImageSource> read_mnist(const SourceOptions& options) {
  if (options.folder.empty()) throw DataError("the folder of the data set is not named");
  const std::string prefix = options.split == Split::Train ? "train" : "t10k";
  const IdxArray labels = read_idx(options.folder, prefix + "-labels-idx1-ubyte.gz");
  IdxArray images = read_idx(options.folder, prefix + "-images-idx3-ubyte.gz");
  const auto& dimensions = images.dimensions;
  const networks::Shape& shape = options.image;
  const std::string where = options.folder + "/" + prefix + ": ";
  if (labels.dimensions.size() != 1 || dimensions.size() != 3 || dimensions[0] != labels.count)
    throw DataError(where + "images and labels do not belong together");
  if (shape != networks::Shape{1, dimensions[1], dimensions[2]} || labels.count == 0)
    throw DataError(where + "the images have not the shape that the network reads");
  std::vector<std::int32_t> known(labels.values, labels.values + labels.count);
  if (std::ranges::any_of(known, [&](std::int32_t label) { return label >= options.classes; }))
    throw DataError(where + "there is a label that is no class of the network");
  const std::uint8_t* values = images.values;
  const auto owner = std::make_shared<IdxArray>(std::move(images));
  return std::make_unique<StoredImages>(labels.count, shape, std::shared_ptr<const std::uint8_t>(owner, values),
                                        std::move(known));
}

std::unique_ptr<ImageSource> make_synthetic(const SourceOptions& options) {
  const networks::Shape& shape = options.image;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kSyntheticImages * shape.elements()));
  const std::uint64_t pixel_key = key_of(0, 0x5e7), label_key = key_of(0, 0x5e8);
  for (std::size_t i = 0; i < pixels.size(); i += 8) {  // 256 images are whole words, whatever their shape
    const std::uint64_t word = draw(pixel_key, i / 8);
    for (std::size_t byte = 0; byte < 8; ++byte) pixels[i + byte] = static_cast<std::uint8_t>(word >> (8 * byte));
  }
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < kSyntheticImages; ++i) {
    const std::uint64_t bits = draw(label_key, static_cast<std::uint64_t>(i));
    labels.push_back(static_cast<std::int32_t>(bits % static_cast<std::uint64_t>(options.classes)));
  }
  if (options.channels_last && shape.channels > 1) pixels = with_channels_last(pixels, shape);
  const std::int64_t steps = std::max(kSyntheticSteps, (kSyntheticImages + options.batch - 1) / options.batch);
  const auto owner = std::make_shared<std::vector<std::uint8_t>>(std::move(pixels));
  return std::make_unique<StoredImages>(steps * options.batch, shape,
                                        std::shared_ptr<const std::uint8_t>(owner, owner->data()), std::move(labels));
}

}  // namespace nocturne::data
