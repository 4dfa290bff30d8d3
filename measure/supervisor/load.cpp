#include "measure/supervisor/load.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>

namespace nocturne::measure {
namespace {

std::string first_line_starting(const std::filesystem::path& path, const std::string& prefix) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with(prefix)) return line;
  return {};
}

// The line "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345"; total counts microseconds
// (Documentation/accounting/psi.rst of the kernel).
std::optional<std::chrono::microseconds> read_stall(const std::filesystem::path& path) {
  const std::string line = first_line_starting(path, "some ");
  const std::size_t total = line.find("total=");
  if (total == std::string::npos) return std::nullopt;
  std::istringstream text(line.substr(total + 6));
  std::int64_t value = 0;
  if (!(text >> value)) return std::nullopt;
  return std::chrono::microseconds(value);
}

// "cpu user nice system idle iowait irq softirq steal guest guest_nice" (proc_stat(5)), of one CPU "cpu0 user …"; guest
// is part of user already.
void add_ticks(const std::filesystem::path& path, const std::string& cpu, LoadSnapshot& out) {
  std::istringstream text(first_line_starting(path, cpu + " "));
  std::string name;
  text >> name;
  std::array<std::int64_t, 8> ticks{};
  for (auto& value : ticks)
    if (!(text >> value)) return;
  const auto [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
  const std::int64_t busy = user + nice + system + irq + softirq;
  out.busy_ticks = out.busy_ticks.value_or(0) + busy;
  out.steal_ticks = out.steal_ticks.value_or(0) + steal;
  out.all_ticks = out.all_ticks.value_or(0) + busy + idle + iowait + steal;
}

std::optional<double> stalled_share(const std::optional<std::chrono::microseconds>& before,
                                    const std::optional<std::chrono::microseconds>& after,
                                    std::chrono::nanoseconds wall) {
  if (!before || !after || wall.count() <= 0) return std::nullopt;
  const std::chrono::duration<double> stalled = *after - *before;
  return std::clamp(stalled / std::chrono::duration<double>(wall), 0.0, 1.0);
}

}  // namespace

LoadSnapshot read_load(const std::filesystem::path& proc, std::span<const int> cpus) {
  LoadSnapshot snapshot;
  snapshot.at = std::chrono::steady_clock::now();
  double average = 0;
  if (std::ifstream file(proc / "loadavg"); file >> average) snapshot.loadavg = average;
  snapshot.cpu_stall = read_stall(proc / "pressure/cpu");
  snapshot.memory_stall = read_stall(proc / "pressure/memory");
  snapshot.io_stall = read_stall(proc / "pressure/io");
  if (cpus.empty()) add_ticks(proc / "stat", "cpu", snapshot);
  for (const int cpu : cpus) add_ticks(proc / "stat", "cpu" + std::to_string(cpu), snapshot);
  return snapshot;
}

space::Load load_between(const LoadSnapshot& before, const LoadSnapshot& after, std::chrono::nanoseconds own_cpu,
                         long ticks_per_second) {
  const std::chrono::nanoseconds wall = after.at - before.at;
  space::Load load;
  load.loadavg_before = before.loadavg;
  load.loadavg_after = after.loadavg;
  load.cpu_pressure = stalled_share(before.cpu_stall, after.cpu_stall, wall);
  load.memory_pressure = stalled_share(before.memory_stall, after.memory_stall, wall);
  load.io_pressure = stalled_share(before.io_stall, after.io_stall, wall);
  if (!before.all_ticks || !after.all_ticks || *after.all_ticks <= *before.all_ticks) return load;

  if (ticks_per_second <= 0) ticks_per_second = sysconf(_SC_CLK_TCK);
  const auto all = static_cast<double>(*after.all_ticks - *before.all_ticks);
  const auto busy = static_cast<double>(*after.busy_ticks - *before.busy_ticks);
  const double own = std::chrono::duration<double>(own_cpu).count() * static_cast<double>(ticks_per_second);
  load.steal = std::clamp(static_cast<double>(*after.steal_ticks - *before.steal_ticks) / all, 0.0, 1.0);
  load.other_cpu = std::clamp((busy - own) / all, 0.0, 1.0);
  return load;
}

}  // namespace nocturne::measure
