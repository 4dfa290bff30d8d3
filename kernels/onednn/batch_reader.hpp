#pragma once

/// Takes batches from their source into a plan's input, scaled, in its precision; on oneDNN's threads, without
/// allocating after the first.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/data/batch_source.hpp"
#include "kernels/onednn/plan/plan.hpp"

namespace nocturne::onednn {

class BatchReader {
 public:
  /// Writes the source's next batch from the plan's image `first` on, and its labels. Returns its images. REQUIRES:
  /// room for them.
  std::int64_t read(data::BatchSource& source, Plan& plan, std::int64_t first, std::span<std::int32_t> labels);

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Lets a source gather and decode on oneDNN's threads.
[[nodiscard]] data::ForEachPart on_our_threads();

}  // namespace nocturne::onednn
