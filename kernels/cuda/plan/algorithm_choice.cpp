#include "kernels/cuda/plan/algorithm_choice.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace nocturne::cuda {
namespace {

// cuDNN's numbers (cudnn_ops.h: CUDNN_CONVOLUTION_FWD_ALGO_…, BWD_DATA_ALGO_…, BWD_FILTER_ALGO_…).
constexpr std::array<std::string_view, 8> kForward = {
    "implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling", "winograd", "winograd_nonfused"};
constexpr std::array<std::string_view, 6> kBackwardData = {
    "implicit_gemm_atomic", "implicit_gemm", "fft", "fft_tiling", "winograd", "winograd_nonfused"};
constexpr std::array<std::string_view, 7> kBackwardWeights = {
    "implicit_gemm_atomic", "implicit_gemm", "fft", "implicit_gemm_workspace", "winograd",
    "winograd_nonfused",    "fft_tiling"};

std::span<const std::string_view> names(Operation operation) {
  switch (operation) {
    case Operation::Forward:
      return kForward;
    case Operation::BackwardData:
      return kBackwardData;
    case Operation::BackwardWeights:
      break;
  }
  return kBackwardWeights;
}

std::optional<Candidate> numbered(const std::vector<Candidate>& fitting, int algorithm) {
  const auto found =
      std::find_if(fitting.begin(), fitting.end(), [&](const Candidate& each) { return each.algorithm == algorithm; });
  return found == fitting.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::string_view to_text(Operation operation) {
  switch (operation) {
    case Operation::Forward:
      return "forward";
    case Operation::BackwardData:
      return "backward data";
    case Operation::BackwardWeights:
      break;
  }
  return "backward weights";
}

std::optional<Candidate> choose(const std::vector<Candidate>& candidates, Algorithm how,
                                std::int64_t workspace_limit_bytes) {
  std::vector<Candidate> fitting;
  for (const Candidate& each : candidates)
    if (each.usable && each.workspace_bytes <= workspace_limit_bytes) fitting.push_back(each);
  if (fitting.empty()) return std::nullopt;
  switch (how) {
    case Algorithm::Heuristic:
      break;
    case Algorithm::Find: {
      std::erase_if(fitting, [](const Candidate& each) { return each.ms < 0; });
      const auto fastest = std::min_element(fitting.begin(), fitting.end(),
                                            [](const Candidate& a, const Candidate& b) { return a.ms < b.ms; });
      return fastest == fitting.end() ? std::nullopt : std::optional(*fastest);
    }
    case Algorithm::Fixed: {
      const auto product = numbered(fitting, 1);
      return product ? product : numbered(fitting, 0);
    }
  }
  return fitting.front();
}

std::string algorithm_name(Operation operation, int algorithm) {
  const auto known = names(operation);
  if (algorithm < 0 || static_cast<std::size_t>(algorithm) >= known.size())
    return "algorithm " + std::to_string(algorithm);
  return std::string(known[static_cast<std::size_t>(algorithm)]);
}

}  // namespace nocturne::cuda
