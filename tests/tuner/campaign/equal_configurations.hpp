#pragma once

/// What equal configurations measure, drawn again: their spread between processes and that of pairs. Four sources: a
/// formula, and three records of real machines, whose tails are heavier and which drift: 320 pairs of the native worker
/// (equal_configurations.json), and, made when the way of a campaign was fixed, as many on another machine
/// (equal_configurations_later.json) and the trials and pairs of campaigns over a script of PyTorch
/// (equal_scripts.json).

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
  /// sd of alone(): what `nocturne noise` would say.
  [[nodiscard]] virtual double process_sd() const = 0;
  /// sd of pair(): likewise.
  [[nodiscard]] virtual double pair_sd() const = 0;
};

/// Student's t with four degrees of freedom; processes drift besides.
class FormulaNoise final : public EqualConfigurations {
 public:
  explicit FormulaNoise(std::uint64_t seed) : random_(seed) {}
  double alone() override;
  double pair() override;
  [[nodiscard]] double process_sd() const override;
  [[nodiscard]] double pair_sd() const override;

 private:
  double drift();
  std::mt19937_64 random_;
  std::student_t_distribution<double> student_{4};  // variance 2
  std::normal_distribution<double> normal_;
  double drift_ = 0;
};

/// ln of what equal configurations measured, in the order in which it was: ratios of pairs, and processes alone over
/// the median of all.
struct NoiseRecord {
  std::vector<double> ratio, level;
  double ratio_sd = 0, level_sd = 0;
};
/// Throw std::runtime_error where they cannot be read.
[[nodiscard]] const NoiseRecord& native_worker_record();
[[nodiscard]] const NoiseRecord& later_native_worker_record();
[[nodiscard]] const NoiseRecord& scripts_record();

/// Stretches of what was measured, each from a random place on, in their order: what drifted there drifts here. Which
/// side of a pair is called the first is drawn, for they are equal.
class RecordedNoise final : public EqualConfigurations {
 public:
  /// `spread`: processes alone scatter so many times as far as in the record; pairs do not.
  explicit RecordedNoise(std::uint64_t seed, const NoiseRecord& record = native_worker_record(), double spread = 1);
  double alone() override;
  double pair() override;
  [[nodiscard]] double process_sd() const override { return spread_ * record_.level_sd; }
  [[nodiscard]] double pair_sd() const override { return record_.ratio_sd; }

 private:
  const NoiseRecord& record_;
  double spread_;
  std::mt19937_64 random_;
  std::size_t next_process_ = 0, next_pair_ = 0;
};

}  // namespace nocturne::test
