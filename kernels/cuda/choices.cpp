#include "kernels/cuda/choices.hpp"

#include <array>

namespace nocturne::cuda {
namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, 4> kPrecisions = {"f32", "tf32", "bf16", "f16"};
constexpr std::array<std::string_view, 2> kLayouts = {"nchw", "nhwc"};
constexpr std::array<std::string_view, 3> kAlgorithms = {"heuristic", "find", "fixed"};
constexpr std::array<std::string_view, 2> kFusions = {"off", "auto"};

}  // namespace

std::string_view to_text(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

std::string_view to_text(Layout layout) {
  return kLayouts[static_cast<std::size_t>(layout)];
}

std::string_view to_text(Algorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

std::string_view to_text(Fusion fusion) {
  return kFusions[static_cast<std::size_t>(fusion)];
}

std::int64_t bytes_per_value(Precision precision) {
  return precision == Precision::F32 || precision == Precision::Tf32 ? 4 : 2;
}

}  // namespace nocturne::cuda
