#pragma once

/// Which of cuDNN's algorithms serves an operation: decided here from what cuDNN says of each, without a GPU.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/settings.hpp"

namespace nocturne::cuda {

enum class Operation { Forward, BackwardData, BackwardWeights };

[[nodiscard]] std::string_view to_text(Operation operation);

struct Candidate {
  int algorithm = 0;    ///< cuDNN's number
  bool usable = false;  ///< cuDNN can do it for these shapes, types and layout
  double ms = -1;       ///< as measured, or as cuDNN estimates it; negative: neither
  std::int64_t workspace_bytes = 0;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// `candidates` in the order in which cuDNN prefers them. None that needs more workspace than allowed is taken.
///
///   Heuristic: the first. Find: the fastest as measured. Fixed: the implicit matrix product (numbers 1), which exists
///   for every type and layout, else the one without workspace (0): the same on every machine.
///
/// Empty: none of them can.
[[nodiscard]] std::optional<Candidate> choose(const std::vector<Candidate>& candidates, Algorithm how,
                                              std::int64_t workspace_limit_bytes);

/// "implicit_precomp_gemm"; a number that is not known: "algorithm 9".
[[nodiscard]] std::string algorithm_name(Operation operation, int algorithm);

}  // namespace nocturne::cuda
