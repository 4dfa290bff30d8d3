#include "kernels/command/line_rule.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <re2/re2.h>

namespace nocturne::command {
namespace {

constexpr std::array<std::string_view, 8> kGroups = {
    "step_seconds", "step_milliseconds", "samples_per_second", "steps_per_second", "total_seconds", "step", "samples",
    "loss"};

/// "1,234.5" as people print it is 1234.5.
std::optional<double> number_in(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (c != ',') plain += c;
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc() || end != plain.data() + plain.size()) return std::nullopt;
  return value;
}

}  // namespace

LineRule::LineRule(const std::string& pattern, std::int64_t batch) : batch_(batch) {
  RE2::Options quiet;
  quiet.set_log_errors(false);
  pattern_ = std::make_unique<RE2>(pattern, quiet);
  if (!pattern_->ok()) throw std::runtime_error("the pattern '" + pattern + "' is none: " + pattern_->error());
  for (const auto& [name, index] : pattern_->NamedCapturingGroups()) {
    bool known = false;
    for (const std::string_view each : kGroups) known = known || each == name;
    if (!known) throw std::runtime_error("the pattern has a group '" + name + "', which nothing is known of");
  }
}

LineRule::~LineRule() = default;

bool LineRule::reads_total() const {
  return pattern_->NamedCapturingGroups().contains("total_seconds");
}

std::optional<LineReading> LineRule::read(std::string_view line) const {
  const int groups = pattern_->NumberOfCapturingGroups();
  std::vector<re2::StringPiece> found(static_cast<std::size_t>(groups) + 1);
  const re2::StringPiece text(line.data(), line.size());
  if (!pattern_->Match(text, 0, line.size(), RE2::UNANCHORED, found.data(), groups + 1)) return std::nullopt;
  LineReading reading;
  const auto& names = pattern_->CapturingGroupNames();
  for (int group = 1; group <= groups; ++group) {
    const re2::StringPiece& piece = found[static_cast<std::size_t>(group)];
    if (piece.data() == nullptr) continue;  // of an alternative that did not match
    const auto named = names.find(group);
    const std::string name = named == names.end() ? "step_seconds" : named->second;
    const auto number = number_in(std::string_view(piece.data(), piece.size()));
    if (!number) return std::nullopt;
    if (name == "loss") {
      reading.loss = number;
      continue;
    }
    if (!std::isfinite(*number) || *number < 0) return std::nullopt;
    if (name == "step_seconds") reading.step_seconds = number;
    if (name == "step_milliseconds") reading.step_seconds = *number / 1000;
    if (name == "total_seconds") reading.total_seconds = number;
    if (name == "step" && *number < 9e15) reading.step = std::llround(*number);
    if (name == "samples" && *number < 9e15) reading.step = std::llround(*number / static_cast<double>(batch_));
    if (name == "samples_per_second" || name == "steps_per_second") {
      if (*number == 0) return std::nullopt;
      reading.step_seconds = (name == "steps_per_second" ? 1.0 : static_cast<double>(batch_)) / *number;
    }
  }
  return reading;
}

}  // namespace nocturne::command
