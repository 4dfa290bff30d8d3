#include "measure/supervisor/memory_watch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string_view>

namespace nocturne::measure {
namespace {

// Sums lines such as "VmRSS:     1728 kB" whose names are wanted; empty where the file cannot be read.
std::optional<std::int64_t> sum_of(const std::string& path, std::initializer_list<std::string_view> names) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::int64_t sum = 0;
  bool any = false;
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (std::ranges::find(names, std::string_view(line).substr(0, colon)) == names.end()) continue;
    std::istringstream text(line.substr(colon + 1));
    std::int64_t kibibytes = 0;
    if (text >> kibibytes) {
      sum += kibibytes * 1024;
      any = true;
    }
  }
  if (!any) return std::nullopt;  // a zombie has no memory and no such lines
  return sum;
}

std::int64_t bound_of(pid_t process) {
  return sum_of("/proc/" + std::to_string(process) + "/status", {"VmRSS", "VmSwap", "HugetlbPages"}).value_or(0);
}

}  // namespace

std::int64_t memory_upper_bound_bytes(std::span<const pid_t> processes) {
  std::int64_t sum = 0;
  for (const pid_t process : processes) sum += bound_of(process);
  return sum;
}

std::int64_t memory_proportional_bytes(std::span<const pid_t> processes) {
  std::int64_t sum = 0;
  for (const pid_t process : processes) {
    const auto exact = sum_of("/proc/" + std::to_string(process) + "/smaps_rollup",
                              {"Pss", "SwapPss", "Private_Hugetlb", "Shared_Hugetlb"});
    sum += exact ? *exact : bound_of(process);
  }
  return sum;
}

std::optional<std::string> MemoryWatch::check(std::span<const pid_t> processes) {
  last_bytes_ = memory_upper_bound_bytes(processes);
  if (last_bytes_ > limit_bytes_) last_bytes_ = memory_proportional_bytes(processes);
  peak_bytes_ = std::max(peak_bytes_, last_bytes_);
  if (last_bytes_ <= limit_bytes_) return std::nullopt;
  return fmt::format("its processes held {}, the limit is {} (proportional set size, polled)", bytes_text(last_bytes_),
                     bytes_text(limit_bytes_));
}

std::chrono::milliseconds MemoryWatch::pause() const {
  constexpr std::int64_t kBytesPerMillisecond = (std::int64_t{2} << 30) / 1000;
  const std::int64_t left = std::max<std::int64_t>(0, limit_bytes_ - last_bytes_);
  return std::chrono::milliseconds(std::clamp<std::int64_t>(left / 2 / kBytesPerMillisecond, 10, 250));
}

std::string bytes_text(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= std::int64_t{1} << 30) return fmt::format("{:.3g} GiB", value / (1 << 30));
  if (bytes >= 1 << 20) return fmt::format("{:.3g} MiB", value / (1 << 20));
  return fmt::format("{} KiB", bytes / 1024);
}

}  // namespace nocturne::measure
