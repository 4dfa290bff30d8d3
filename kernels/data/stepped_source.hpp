#pragma once

/// What every source of batches shares: counting steps, checking sizes, scaling bytes to floats, measuring the wait.

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/data/batch_source.hpp"
#include "kernels/data/image_source.hpp"
#include "kernels/data/schedule.hpp"

namespace nocturne::data {

class SteppedSource : public BatchSource {
 public:
  std::int64_t count() const final { return images_->count(); }
  std::int64_t examples() const final { return epoch_.examples; }
  const networks::Shape& image() const final { return options_.image; }
  std::int64_t steps_per_epoch() const final { return epoch_.steps(); }
  std::int64_t next_size() const final { return epoch_.size_of(step_); }
  bool next_ends_epoch() const final { return step_ + 1 == epoch_.steps(); }
  void next(std::span<float> images, std::span<std::int32_t> labels) final;
  void next_bytes(std::span<std::uint8_t> images, std::span<std::int32_t> labels) final;
  std::span<const Scaling> scaling() const final { return images_->scaling(); }
  std::int64_t waited_ns() const final { return waited_ns_; }
  std::int64_t skipped() const final { return images_->skipped(); }

 protected:
  /// Throws UnsupportedData where the batch is larger than the set, DataError where `visits` names no image.
  SteppedSource(std::unique_ptr<ImageSource> images, SourceOptions options);

  /// The next batch. Waits until it is there; throws what making one of its images threw. It stays until release().
  virtual std::span<const ImageSource::Image> acquire() = 0;
  virtual void release() {}

  [[nodiscard]] ImageSource& images() { return *images_; }
  [[nodiscard]] const SourceOptions& options() const { return options_; }
  [[nodiscard]] const EpochShape& epoch() const { return epoch_; }
  [[nodiscard]] std::int64_t image_bytes() const { return options_.image.elements(); }
  /// In parts, by the worker's pool if it gave one.
  void for_each_part(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& part) const;

 private:
  template <typename Write>
  void take(std::size_t values, std::span<std::int32_t> labels, const Write& write);

  SourceOptions options_;
  std::unique_ptr<ImageSource> images_;
  EpochShape epoch_;
  std::int64_t step_ = 0, waited_ns_ = 0;
};

}  // namespace nocturne::data
