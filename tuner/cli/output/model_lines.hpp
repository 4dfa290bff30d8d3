#pragma once

/// What the model knows of memory and of earlier campaigns, in words: for `model` and `explain`.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "search/memory_guard.hpp"
#include "space/lattice.hpp"
#include "tuner/campaign/learned_campaign.hpp"

namespace nocturne::cli {

/// One group of configurations that share a line.
struct MemoryLine {
  std::string group;  ///< "precision=f32"; empty: all
  std::size_t peaks = 0, out_of_memory = 0;
  double limit_bytes = 0;                                          ///< 0: not known
  std::optional<search::model::MemoryModel::Coefficients> line{};  ///< empty: one batch size says too little
  std::optional<search::model::MemoryModel::Largest> largest{};
};

/// "212 MiB + 1.9 MiB an image (precision=f32); at most 2,048 images fit in 4 GiB (90 %: 1,980 to 2,120)", by group.
/// Empty: nothing is known of memory, or no parameter is the batch size.
[[nodiscard]] std::vector<MemoryLine> memory_lines(search::MemoryGuard& memory);
[[nodiscard]] std::string to_text(const MemoryLine& line);
[[nodiscard]] nlohmann::json memory_json(const std::vector<MemoryLine>& lines);

/// "231 MiB at batch 128 (90 %: 228 to 235 MiB)"; with P(fits) where it is in doubt. Empty: nothing is known.
[[nodiscard]] std::string memory_text(search::MemoryGuard& memory, space::Point point);

/// What earlier campaigns told this one, and whether it still holds: sentences for `model`. Empty: it began without
/// history.
[[nodiscard]] std::vector<std::string> history_lines(tuner::LearnedCampaign& learned);

/// For `explain`: "3.21 s in an earlier campaign", "failed in an earlier campaign; history does not hold any more …".
/// Empty: no campaign of this machine and workload had it.
[[nodiscard]] std::string history_text(const tuner::LearnedCampaign& learned, space::Point point);

}  // namespace nocturne::cli
