#include "kernels/cuda/training/batch_feed.hpp"

#include <chrono>
#include <span>

#include "kernels/cuda/device/check.hpp"

namespace nocturne::cuda {

BatchFeed::BatchFeed(data::BatchSource& source, std::int64_t batch, std::size_t slots, const Stream& computing)
    : source_(source),
      computing_(computing),
      scaling_(source.image().channels * static_cast<std::int64_t>(sizeof(PixelScaling)), "the images' scaling") {
  std::vector<PixelScaling> scaling;
  for (const data::Scaling& each : source.scaling()) scaling.push_back({each.factor, each.offset});
  check(cudaMemcpy(scaling_.data(), scaling.data(), scaling.size() * sizeof(PixelScaling), cudaMemcpyHostToDevice),
        "the images' scaling");
  const std::int64_t image_bytes = batch * source.image().elements();
  const std::int64_t label_bytes = batch * static_cast<std::int64_t>(sizeof(std::int32_t));
  for (std::size_t i = 0; i < slots; ++i) {
    auto slot = std::make_unique<Slot>();
    slot->host_images = PinnedMemory(image_bytes, "pinned memory for images");
    slot->host_labels = PinnedMemory(label_bytes, "pinned memory for labels");
    slot->images = DeviceMemory(image_bytes, "images");
    slot->labels = DeviceMemory(label_bytes, "labels");
    slots_.push_back(std::move(slot));
  }
}

void BatchFeed::fetch(Slot& slot) {
  const auto begin = std::chrono::steady_clock::now();
  const bool own_stream = slots_.size() > 1;
  slot.copied.wait_on_host();  // the copy before this one may still read the pinned memory
  const std::int64_t size = source_.next_size(), values = size * source_.image().elements();
  const bool ends_epoch = source_.next_ends_epoch();
  source_.next_bytes({slot.host_images.as<std::uint8_t>(), static_cast<std::size_t>(values)},
                     {slot.host_labels.as<std::int32_t>(), static_cast<std::size_t>(size)});
  const Stream& stream = own_stream ? copying_ : computing_;
  if (own_stream) slot.read.wait_on(copying_);
  check(cudaMemcpyAsync(slot.images.data(), slot.host_images.as<void>(), static_cast<std::size_t>(values),
                        cudaMemcpyHostToDevice, stream.get()),
        "images");
  check(cudaMemcpyAsync(slot.labels.data(), slot.host_labels.as<void>(),
                        static_cast<std::size_t>(size) * sizeof(std::int32_t), cudaMemcpyHostToDevice, stream.get()),
        "labels");
  slot.copied.record(stream);
  slot.batch = place_of(turn_, size);
  slot.batch.ends_epoch = ends_epoch;
  slot.batch.wait_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  slot.filled = true;
}

FedBatch BatchFeed::next() {
  Slot& slot = *slots_[turn_];
  if (!slot.filled) fetch(slot);
  slot.filled = false;
  if (slots_.size() > 1) slot.copied.wait_on(computing_);
  return slot.batch;
}

void BatchFeed::done(const FedBatch& batch) {
  slots_[batch.slot]->read.record(computing_);
  turn_ = (turn_ + 1) % slots_.size();
  if (slots_.size() > 1) fetch(*slots_[turn_]);
}

std::int64_t BatchFeed::next_size() const {
  const Slot& slot = *slots_[turn_];
  return slot.filled ? slot.batch.size : source_.next_size();
}

FedBatch BatchFeed::place_of(std::size_t slot, std::int64_t size) const {
  return {.slot = slot,
          .images = {.bytes = slots_[slot]->images.as<std::uint8_t>(), .scaling = scaling_.as<PixelScaling>()},
          .labels = slots_[slot]->labels.as<std::int32_t>(),
          .size = size};
}

std::int64_t BatchFeed::device_bytes() const {
  std::int64_t bytes = scaling_.bytes();
  for (const auto& slot : slots_) bytes += slot->images.bytes() + slot->labels.bytes();
  return bytes;
}

}  // namespace nocturne::cuda
