#include "kernels/worker/reporter.hpp"

#include <algorithm>
#include <cstdio>

namespace nocturne::worker {

void ConsoleReporter::phase_begin(const std::string&) {
  phase_start_ = std::chrono::steady_clock::now();
}

void ConsoleReporter::phase_end(const std::string& name) {
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - phase_start_;
  std::fprintf(stderr, "%-12s %8.1f ms\n", name.c_str(), wall.count());
}

void ConsoleReporter::ready(const nlohmann::json& fields) {
  std::string line;
  const auto add = [&](const std::string& text) { line += (line.empty() ? "" : ", ") + text; };
  for (const auto& [part, version] : fields.at("versions").items())
    if (version.is_string() && part != "worker") add(part + " " + version.get<std::string>());
  for (const auto& [key, value] : fields.items()) {  // the long lists are for the events
    if (value.is_string()) add(key + " " + value.get<std::string>());
    if (value.is_number()) add(key + " " + value.dump());
  }
  std::fprintf(stderr, "%s\n", line.c_str());
}

void ConsoleReporter::sample(const protocol::SampleEvent& sample) {
  step_ms_.push_back(static_cast<double>(sample.wall_ns) * 1e-6 / static_cast<double>(sample.steps));
  last_loss_ = sample.loss;
}

void ConsoleReporter::epoch(std::int64_t index, std::chrono::nanoseconds wall, double loss) {
  std::fprintf(stderr, "epoch %3lld  %8.2f s  mean loss %.4f\n", static_cast<long long>(index) + 1,
               std::chrono::duration<double>(wall).count(), loss);
}

void ConsoleReporter::accuracy(double accuracy, double loss, std::int64_t examples) {
  std::printf("test accuracy %.2f %% of %lld images, loss %.4f\n", accuracy * 100, static_cast<long long>(examples),
              loss);
}

void ConsoleReporter::accuracy_after(std::int64_t steps, double accuracy, double loss, std::int64_t) {
  std::fprintf(stderr, "step %6lld  test accuracy %.2f %%, loss %.4f\n", static_cast<long long>(steps), accuracy * 100,
               loss);
}

void ConsoleReporter::norms(std::int64_t steps, const std::vector<protocol::LayerNorm>& layers) {
  if (steps > 0) std::printf("step %lld: loss %.9g\n", static_cast<long long>(steps), last_loss_);
  for (const protocol::LayerNorm& each : layers)
    std::printf("  %-16s norm %.9g  moved %.9g\n", each.layer.c_str(), each.norm, each.moved);
}

void ConsoleReporter::device(const nlohmann::json& fields) {
  std::printf("device: %s\n", fields.dump().c_str());
}

void ConsoleReporter::memory(std::int64_t peak_rss_bytes, std::int64_t device_bytes) {
  if (!step_ms_.empty()) {
    std::sort(step_ms_.begin(), step_ms_.end());
    std::printf("step: min %.2f ms, median %.2f ms, 90 %% under %.2f ms (%zu samples), last loss %.4f\n",
                step_ms_.front(), step_ms_[step_ms_.size() / 2], step_ms_[step_ms_.size() * 9 / 10], step_ms_.size(),
                last_loss_);
  }
  std::printf("peak memory %.0f MiB\n", static_cast<double>(peak_rss_bytes) / (1 << 20));
  if (device_bytes > 0) std::printf("on the device %.0f MiB\n", static_cast<double>(device_bytes) / (1 << 20));
}

void ConsoleReporter::end(const std::string& status, const std::string& reason) {
  if (status != "ok") std::fprintf(stderr, "%s: %s\n", status.c_str(), reason.c_str());
}

}  // namespace nocturne::worker
