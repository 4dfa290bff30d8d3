#pragma once

/// What a batch size needs of memory, a line for each group of configurations:
///
///   peak = a + b · batch + noise,   b >= 0
///
/// a: weights, framework, workspace; b: activations of one example. A *group* is what shares a line: the values of
/// those other parameters that matter (a framework, a precision); choose_grouping() finds which these are.
///
/// Least squares with a prior on the noise: s² has kPriorDegrees degrees of freedom at kPriorNoise of the largest peak
/// (peaks of equal runs differ by about that), so that two points give an interval, too. A prediction is then Student t
/// with kPriorDegrees + n - 2 degrees and variance s² (1 + 1/n + (batch - mean)² / Sxx) (Seber and Lee, "Linear
/// Regression Analysis", 2nd ed. 2003, section 5.3.1). One point alone bounds: its peak below, in proportion above.
///
/// An out-of-memory at batch B under limit L says that B needs at least L. It bounds all larger batches, and enters the
/// fit at L wherever the line alone would have stayed below.
///
/// Pure; not thread-safe. Bytes are doubles.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "space/configuration.hpp"

namespace nocturne::search::model {

class MemoryModel {
 public:
  static constexpr double kPriorDegrees = 2;
  static constexpr double kPriorNoise = 0.01;

  struct Need {
    double lower = 0, upper = 0;  ///< central interval, bytes; upper is infinite where nothing bounds it
    double expected = 0;          ///< bytes; of one point: that point's, in proportion
  };

  /// REQUIRES: batch > 0, peak_bytes > 0.
  void tell(const std::string& group, std::int64_t batch, double peak_bytes);
  void tell_out_of_memory(const std::string& group, std::int64_t batch, double limit_bytes);

  /// Empty: nothing is known of the group.
  [[nodiscard]] std::optional<Need> need(const std::string& group, std::int64_t batch, double confidence = 0.9) const;
  /// P(peak <= limit): 0 from an out-of-memory upwards, 1 up to what has fitted; 0.5 where nothing is known.
  [[nodiscard]] double fits(const std::string& group, std::int64_t batch, double limit_bytes) const;
  [[nodiscard]] std::size_t out_of_memory(const std::string& group) const;
  /// Whether as large a batch of the group has peaked at so much or less.
  [[nodiscard]] bool has_fitted(const std::string& group, std::int64_t batch, double limit_bytes) const;

  // For reports.
  [[nodiscard]] std::vector<std::string> groups() const;
  [[nodiscard]] std::size_t peaks(const std::string& group) const;
  struct Coefficients {
    double fixed_bytes = 0, bytes_each = 0;
  };
  /// Empty: fewer than two batch sizes.
  [[nodiscard]] std::optional<Coefficients> coefficients(const std::string& group) const;
  /// The largest batch that fits: as expected, and the ends of an interval. 0: none; kUnbounded: any.
  static constexpr std::int64_t kUnbounded = std::int64_t{1} << 40;
  struct Largest {
    std::int64_t lower = 0, expected = 0, upper = kUnbounded;
  };
  /// Empty: nothing is known of the group.
  [[nodiscard]] std::optional<Largest> largest(const std::string& group, double limit_bytes,
                                               double confidence = 0.9) const;

 private:
  struct Peak {
    double batch = 0, bytes = 0;
  };
  struct Group {
    std::vector<Peak> peaks;
    std::vector<Peak> exceeded;  // batch and the limit that it needed more than
  };
  struct Line {
    double mean_batch = 0, mean_bytes = 0, slope = 0, variance = 0, spread = 0, degrees = 0;
    std::size_t points = 0;
    [[nodiscard]] double at(double batch) const { return mean_bytes + slope * (batch - mean_batch); }
    [[nodiscard]] double sd(double batch) const;
  };
  /// Empty: fewer than two batch sizes.
  [[nodiscard]] static std::optional<Line> line_of(const Group& group);
  [[nodiscard]] static std::optional<Line> least_squares(std::span<const Peak> peaks, double scale);

  std::map<std::string, Group> groups_;
};

/// A measured peak with everything that was set.
struct MemoryObservation {
  space::Configuration configuration;
  std::int64_t batch = 0;
  double peak_bytes = 0;
};

/// The parameters (other than `batch_parameter`) whose values change the line: forward selection by the Bayesian
/// information criterion (Schwarz 1978) over lines of their own for each combination of values. In order of weight.
[[nodiscard]] std::vector<std::string> choose_grouping(std::span<const MemoryObservation> observations,
                                                       std::string_view batch_parameter);

/// "framework=onednn precision=bf16": what MemoryModel calls a group. Inactive ones: "name=-".
[[nodiscard]] std::string group_of(const space::Configuration& configuration, std::span<const std::string> parameters);

}  // namespace nocturne::search::model
