#pragma once

/// What every source of batches shares: counting steps, checking sizes, scaling bytes to floats, measuring the wait.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/data/batch_source.hpp"
#include "kernels/data/image_source.hpp"

namespace nocturne::data {

// Which images each batch of an endless training has: epochs one after another, each in an order of its own.

/// How an epoch of `examples` images falls into batches.
struct EpochShape {
  std::int64_t examples = 0, batch = 1;
  bool partial = false;  ///< what is left at the end is a smaller batch

  [[nodiscard]] std::int64_t steps() const { return examples / batch + (partial && examples % batch > 0 ? 1 : 0); }
  /// Images of a step of the epoch, 0 to steps() - 1.
  [[nodiscard]] std::int64_t size_of(std::int64_t step) const {
    return step < examples / batch ? batch : examples % batch;
  }
};

/// Not thread-safe. The same options give the same batches. Only the constructor allocates: threads that read ahead ask
/// for batches where nobody could be told of an exception.
class Schedule {
 public:
  /// REQUIRES: a shape of at least one step.
  Schedule(const EpochShape& shape, const SourceOptions& options);

  /// `images` is good until the next call.
  struct Batch {
    std::int64_t epoch = 0;
    std::span<const std::int32_t> images;
  };
  Batch next() noexcept;

 private:
  void begin_epoch() noexcept;

  EpochShape shape_;
  std::uint64_t seed_;
  std::vector<std::int32_t> order_;  ///< fixed where the visits are given or nothing is shuffled
  bool fixed_ = false;
  std::int64_t epoch_ = -1, step_ = 0;
};

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
