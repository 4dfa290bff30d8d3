#pragma once

/// Which images each batch of an endless training has: epochs one after another, each in an order of its own.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/data/batch_source.hpp"

namespace nocturne::data {

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

}  // namespace nocturne::data
