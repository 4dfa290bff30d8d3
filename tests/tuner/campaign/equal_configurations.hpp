#pragma once

/// What equal configurations measure, drawn again: their spread between processes and that of pairs. Two sources: a
/// formula, and 320 pairs of a real machine (equal_configurations.json), whose tails are heavier and which drift.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace nocturne::test {

/// Logarithms of times, 0 being the truth.
class EqualConfigurations {
 public:
  virtual ~EqualConfigurations() = default;
  /// ln of one process measured alone, after the one before.
  virtual double alone() = 0;
  /// ln(T_a / T_b) of a pair that is alive together.
  virtual double pair() = 0;
};

/// Student's t with four degrees of freedom; processes drift besides.
class FormulaNoise final : public EqualConfigurations {
 public:
  explicit FormulaNoise(std::uint64_t seed) : random_(seed) {}
  double alone() override;
  double pair() override;

 private:
  double drift();
  std::mt19937_64 random_;
  std::student_t_distribution<double> student_{4};  // variance 2
  std::normal_distribution<double> normal_;
  double drift_ = 0;
};

/// Stretches of what was measured, each from a random place on, in their order: what drifted there drifts here. Which
/// side of a pair is called the first is drawn, for they are equal.
class RecordedNoise final : public EqualConfigurations {
 public:
  /// Throws std::runtime_error where the record cannot be read.
  explicit RecordedNoise(std::uint64_t seed);
  double alone() override;
  double pair() override;

 private:
  std::mt19937_64 random_;
  std::size_t next_process_ = 0, next_pair_ = 0;
};

}  // namespace nocturne::test
