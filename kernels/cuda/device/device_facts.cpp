#include "kernels/cuda/device/device_facts.hpp"

#include <cstdio>

namespace nocturne::cuda {
namespace {

bool is_at_least(const DeviceFacts& facts, int major, int minor) {
  return facts.major > major || (facts.major == major && facts.minor >= minor);
}

std::string capability(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace

std::optional<std::string> obstacle(const DeviceFacts& facts, Precision precision) {
  if (!facts.error.empty()) return "no GPU can be used: " + facts.error;
  if (facts.count == 0) return "no GPU can be used: the driver shows this process none";
  const std::string here = facts.name + " has compute capability " + capability(facts.major, facts.minor);
  if (!is_at_least(facts, kLeastMajor, kLeastMinor))
    return here + ", this worker needs " + capability(kLeastMajor, kLeastMinor);
  if ((precision == Precision::Tf32 || precision == Precision::Bf16) && !is_at_least(facts, 8, 0))
    return here + ", " + std::string(to_text(precision)) + " needs 8.0";
  return std::nullopt;
}

std::optional<std::string> too_large(const DeviceFacts& facts, std::int64_t bytes) {
  if (bytes <= facts.memory_bytes) return std::nullopt;
  return "the training needs " + size_text(bytes) + " on the GPU, " + facts.name + " has " +
         size_text(facts.memory_bytes);
}

std::string version_text(int version) {
  return capability(version / 1000, version % 1000 / 10);
}

std::string size_text(std::int64_t bytes) {
  constexpr double kMebi = 1 << 20, kGibi = 1 << 30;
  const auto size = static_cast<double>(bytes);
  char text[32];
  std::snprintf(text, sizeof text, size < kGibi ? "%.0f MiB" : "%.1f GiB", size < kGibi ? size / kMebi : size / kGibi);
  return text;
}

}  // namespace nocturne::cuda
