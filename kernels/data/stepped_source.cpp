#include "kernels/data/stepped_source.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/data/clones.hpp"
#include "kernels/data/counter_random.hpp"

namespace nocturne::data {
namespace {

// Bytes to the numbers a network reads.

// Where the compiler's -O2 leaves these loops scalar they cost a hundred times a batch's share of the step.

NOCTURNE_CLONES void scale_plane(const std::uint8_t* __restrict bytes, float* __restrict out, std::int64_t count,
                                 float factor, float offset) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(bytes[i]) * factor + offset;
}

NOCTURNE_CLONES void scale_rgb(const std::uint8_t* __restrict bytes, float* __restrict out, std::int64_t pixels,
                               const Scaling* scaling) {
  const Scaling red = scaling[0], green = scaling[1], blue = scaling[2];
  for (std::int64_t i = 0; i < pixels; ++i) {
    out[3 * i] = static_cast<float>(bytes[3 * i]) * red.factor + red.offset;
    out[3 * i + 1] = static_cast<float>(bytes[3 * i + 1]) * green.factor + green.offset;
    out[3 * i + 2] = static_cast<float>(bytes[3 * i + 2]) * blue.factor + blue.offset;
  }
}

/// One image: out = byte * factor + offset of its channel. `channels_last`: how both lie. REQUIRES: `pixels` of each
/// channel, scaling.size() channels.
void scale_image(const std::uint8_t* bytes, float* out, std::int64_t pixels, std::span<const Scaling> scaling,
                 bool channels_last) {
  const auto channels = static_cast<std::int64_t>(scaling.size());
  if (!channels_last || channels == 1) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const Scaling& each = scaling[static_cast<std::size_t>(channel)];
      scale_plane(bytes + channel * pixels, out + channel * pixels, pixels, each.factor, each.offset);
    }
  } else if (channels == 3) {
    scale_rgb(bytes, out, pixels, scaling.data());
  } else {
    for (std::int64_t i = 0; i < pixels * channels; ++i) {
      const Scaling& each = scaling[static_cast<std::size_t>(i % channels)];
      out[i] = static_cast<float>(bytes[i]) * each.factor + each.offset;
    }
  }
}

}  // namespace

Schedule::Schedule(const EpochShape& shape, const SourceOptions& options)
    : shape_(shape), seed_(options.seed), order_(options.visits), fixed_(!options.visits.empty() || !options.shuffle) {
  if (order_.empty()) {
    order_.resize(static_cast<std::size_t>(shape.examples));
    std::iota(order_.begin(), order_.end(), 0);
  }
  begin_epoch();
}

void Schedule::begin_epoch() noexcept {
  ++epoch_;
  step_ = 0;
  if (!fixed_) order_epoch(order_, seed_, epoch_);
}

Schedule::Batch Schedule::next() noexcept {
  if (step_ == shape_.steps()) begin_epoch();
  const auto first = static_cast<std::size_t>(step_ * shape_.batch);
  const auto size = static_cast<std::size_t>(shape_.size_of(step_));
  ++step_;
  return {.epoch = epoch_, .images = std::span<const std::int32_t>(order_).subspan(first, size)};
}

SteppedSource::SteppedSource(std::unique_ptr<ImageSource> images, SourceOptions options)
    : options_(std::move(options)), images_(std::move(images)) {
  const std::int64_t count = images_->count();
  for (const std::int32_t visit : options_.visits)
    if (visit < 0 || visit >= count)
      throw DataError("image " + std::to_string(visit) + " is asked for, the data set has " + std::to_string(count));
  epoch_ = {.examples = options_.visits.empty() ? count : std::ssize(options_.visits),
            .batch = options_.batch,
            .partial = options_.partial_batch};
  if (options_.batch > count) {
    throw UnsupportedData("batch " + std::to_string(options_.batch) + " is larger than the data set of " +
                          std::to_string(count) + " images");
  }
  if (epoch_.steps() < 1) {
    throw UnsupportedData("batch " + std::to_string(options_.batch) + " is larger than an epoch of " +
                          std::to_string(epoch_.examples) + " images, whose smaller batch is left out");
  }
}

void SteppedSource::for_each_part(std::int64_t count,
                                  const std::function<void(std::int64_t, std::int64_t)>& part) const {
  if (options_.for_each_part)
    options_.for_each_part(count, part);
  else
    part(0, count);
}

// write(image, n) puts the image to the n-th place.
template <typename Write>
void SteppedSource::take(std::size_t values, std::span<std::int32_t> labels, const Write& write) {
  if (std::ssize(labels) != next_size() || values != labels.size() * static_cast<std::size_t>(image_bytes())) {
    throw std::logic_error("next: the next batch has " + std::to_string(next_size()) + " images of " +
                           std::to_string(image_bytes()) + " values, room is given for " +
                           std::to_string(labels.size()) + " labels and " + std::to_string(values) + " values");
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::span<const ImageSource::Image> batch = acquire();
  for_each_part(std::ssize(batch), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t n = first; n < last; ++n) write(batch[static_cast<std::size_t>(n)].bytes, n);
  });
  std::ranges::transform(batch, labels.begin(), &ImageSource::Image::label);
  release();
  step_ = next_ends_epoch() ? 0 : step_ + 1;
  waited_ns_ += std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
}

void SteppedSource::next(std::span<float> images, std::span<std::int32_t> labels) {
  const std::int64_t pixels = options_.image.height * options_.image.width, size = image_bytes();
  take(images.size(), labels, [&](const std::uint8_t* bytes, std::int64_t n) {
    scale_image(bytes, images.data() + n * size, pixels, scaling(), options_.channels_last);
  });
}

void SteppedSource::next_bytes(std::span<std::uint8_t> images, std::span<std::int32_t> labels) {
  const std::int64_t size = image_bytes();
  take(images.size(), labels, [&](const std::uint8_t* bytes, std::int64_t n) {
    std::memcpy(images.data() + n * size, bytes, static_cast<std::size_t>(size));
  });
}

}  // namespace nocturne::data
