#pragma once

/// Reads steps and accuracies out of what a program prints, line by line. RE2: linear in the length of a line, whatever
/// the pattern.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace nocturne::command {

/// What one line says. All empty but `matched`: a step has ended, nothing more is known.
struct LineReading {
  std::optional<double> step_seconds;   ///< a step took
  std::optional<double> total_seconds;  ///< the whole training took
  std::optional<std::int64_t> step;     ///< number of the step that ended; of `samples`: so many steps of `batch`
  std::optional<double> loss;           ///< may be not finite
};

class LineRule {
 public:
  /// `batch`: examples of a step. Throws std::runtime_error: the pattern is none, or has a group nobody knows.
  LineRule(const std::string& pattern, std::int64_t batch);
  LineRule(const LineRule&) = delete;
  LineRule& operator=(const LineRule&) = delete;
  ~LineRule();

  /// Empty: the line does not match, or what a group holds is no number.
  [[nodiscard]] std::optional<LineReading> read(std::string_view line) const;
  /// The pattern has the group total_seconds.
  [[nodiscard]] bool reads_total() const;

 private:
  std::unique_ptr<re2::RE2> pattern_;
  std::int64_t batch_;
};

/// How accurate a line says that the network is. Groups: `accuracy` from 0 to 1, `percent` from 0 to 100, `right` and
/// `of` counted examples; one without a name is an accuracy up to 1, and above that in percent.
class AccuracyRule {
 public:
  /// Throws std::runtime_error: the pattern is none, or does not say how accurate it is.
  explicit AccuracyRule(const std::string& pattern);
  AccuracyRule(const AccuracyRule&) = delete;
  AccuracyRule& operator=(const AccuracyRule&) = delete;
  ~AccuracyRule();

  /// From 0 to 1. Empty: the line does not match, or what it says is no accuracy.
  [[nodiscard]] std::optional<double> read(std::string_view line) const;

 private:
  std::unique_ptr<re2::RE2> pattern_;
};

}  // namespace nocturne::command
