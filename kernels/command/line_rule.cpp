#include "kernels/command/line_rule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include <re2/re2.h>

namespace nocturne::command {
namespace {

constexpr std::array<std::string_view, 8> kGroups = {
    "step_seconds", "step_milliseconds", "samples_per_second", "steps_per_second", "total_seconds", "step", "samples",
    "loss"};
constexpr std::array<std::string_view, 4> kAccuracyGroups = {"accuracy", "percent", "right", "of"};

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

std::unique_ptr<RE2> compiled(const std::string& text, std::span<const std::string_view> groups) {
  RE2::Options quiet;
  quiet.set_log_errors(false);
  auto pattern = std::make_unique<RE2>(text, quiet);
  if (!pattern->ok()) throw std::runtime_error("the pattern '" + text + "' is none: " + pattern->error());
  for (const auto& [name, index] : pattern->NamedCapturingGroups())
    if (std::ranges::find(groups, name) == groups.end())
      throw std::runtime_error("the pattern has a group '" + name + "', which nothing is known of");
  return pattern;
}

/// What the groups of a match hold, by name; a group without one has that of `nameless`.
struct Found {
  std::string name;
  std::optional<double> number;  ///< empty: it holds none
};

/// Empty: the line does not match. Groups of alternatives that did not are not there.
std::optional<std::vector<Found>> match(const RE2& pattern, std::string_view line, const char* nameless) {
  const int groups = pattern.NumberOfCapturingGroups();
  std::vector<re2::StringPiece> pieces(static_cast<std::size_t>(groups) + 1);
  const re2::StringPiece text(line.data(), line.size());
  if (!pattern.Match(text, 0, line.size(), RE2::UNANCHORED, pieces.data(), groups + 1)) return std::nullopt;
  std::vector<Found> found;
  const auto& names = pattern.CapturingGroupNames();
  for (int group = 1; group <= groups; ++group) {
    const re2::StringPiece& piece = pieces[static_cast<std::size_t>(group)];
    if (piece.data() == nullptr) continue;
    const auto named = names.find(group);
    found.push_back({.name = named == names.end() ? nameless : named->second,
                     .number = number_in(std::string_view(piece.data(), piece.size()))});
  }
  return found;
}

}  // namespace

LineRule::LineRule(const std::string& pattern, std::int64_t batch)
    : pattern_(compiled(pattern, kGroups)), batch_(batch) {}

LineRule::~LineRule() = default;

bool LineRule::reads_total() const {
  return pattern_->NamedCapturingGroups().contains("total_seconds");
}

std::optional<LineReading> LineRule::read(std::string_view line) const {
  const auto found = match(*pattern_, line, "step_seconds");
  if (!found) return std::nullopt;
  LineReading reading;
  for (const auto& [name, number] : *found) {
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

AccuracyRule::AccuracyRule(const std::string& pattern) : pattern_(compiled(pattern, kAccuracyGroups)) {
  const auto& groups = pattern_->NamedCapturingGroups();
  const bool whole = groups.contains("right") == groups.contains("of");
  if (pattern_->NumberOfCapturingGroups() == 0 || !whole)
    throw std::runtime_error("the pattern '" + pattern +
                             "' does not say how accurate it is: it has a group for the number, or 'right' and 'of'");
}

AccuracyRule::~AccuracyRule() = default;

std::optional<double> AccuracyRule::read(std::string_view line) const {
  const auto found = match(*pattern_, line, "");
  if (!found) return std::nullopt;
  std::optional<double> accuracy, right, of;
  for (const auto& [name, number] : *found) {
    if (!number) return std::nullopt;
    if (name == "right") right = number;
    if (name == "of") of = number;
    if (name == "accuracy") accuracy = number;
    if (name == "percent" || (name.empty() && *number > 1)) accuracy = *number / 100;
    if (name.empty() && *number <= 1) accuracy = number;
  }
  if (right && of && *of > 0) accuracy = *right / *of;
  return accuracy && *accuracy >= 0 && *accuracy <= 1 ? accuracy : std::nullopt;
}

}  // namespace nocturne::command
