#pragma once

/// What a LinearModel remembers. Internal to it: linear_model.cpp learns, linear_model_reports.cpp tells.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "search/model/linear_model.hpp"
#include "search/model/posterior.hpp"

namespace nocturne::search::model {

// Numbers in ascending order, kept so while one comes or goes.

/// An empty one stays empty: who needs the order sorts once, and has it from then on.
class SortedValues {
 public:
  SortedValues() = default;
  explicit SortedValues(std::span<const double> values) : values_(values.begin(), values.end()) {
    std::ranges::sort(values_);
  }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::span<const double> values() const { return values_; }
  void insert(double value) {
    if (!empty()) values_.insert(std::ranges::upper_bound(values_, value), value);
  }
  /// One that is in it.
  void erase(double value) {
    if (!empty()) values_.erase(std::ranges::lower_bound(values_, value));
  }
  void replace(double before, double now) {
    erase(before);
    insert(now);
  }

 private:
  std::vector<double> values_;
};

struct LinearModel::State {
  /// Degrees of freedom of predictions: the variance is estimated from a few dozen trials, not known.
  static constexpr double kDegrees = 8;

  State(space::Lattice& lattice_used, LinearModelOptions options_used, std::vector<Feature> features);

  /// Brings the posterior up to what was told.
  void update();
  void choose_carriers();
  /// Those of `trials` that have a rare level of an unordered parameter; trials with the rarest level come first.
  [[nodiscard]] std::vector<std::size_t> rare(std::span<const std::size_t> trials) const;
  void set_values();
  /// Maximises the marginal likelihood; makes the posterior anew.
  void choose_scales(int evaluations);
  /// What all other trials say of one.
  struct LeftOutTrial {
    double mean = 0;      ///< model units
    double residual = 0;  ///< own value less its prediction
    double variance = 0;  ///< variance of the residual, with the noise of a trial that no weighing has touched
  };
  /// One for each carrier, in the design's order.
  [[nodiscard]] std::vector<LeftOutTrial> left_out() const;
  void weigh_outliers();
  /// Weighs trials as if noise were Student's t: the expectation step of its scale mixture, from left-out trials.
  void weigh_by_tails();
  void learn_widening();
  /// Widening of a prediction with that mean and variance (an observation's), learnt from similar left-out trials.
  [[nodiscard]] double widening_at(double mean, double variance) const;
  /// The same, over all trials, for effects.
  [[nodiscard]] double widening() const;
  [[nodiscard]] Prediction prediction(Posterior::Moments moments) const;

  space::Lattice& lattice;
  LinearModelOptions options;
  Design design;
  Posterior posterior{design};
  Scales scales;

  space::PointList points;
  std::vector<double> log_values;
  std::vector<bool> past;                                   // told by tell_past()
  std::unordered_map<std::uint64_t, std::size_t> trial_of;  // by hash of the point

  std::vector<std::size_t> carriers;  // trials in the design, in its order
  std::size_t seen = 0;               // trials up to here were considered as carriers
  std::vector<double> values;         // of the carriers, model units; then of what is assumed
  std::vector<double> noise_factors;  // likewise
  std::size_t assumed = 0;            // points at the end of the design that nobody measured
  Target target;
  std::vector<double> left_out_means;          // of the carriers when the scales were chosen
  std::vector<double> left_out_log_variances;  // likewise
  std::vector<double> left_out_squares;        // their squared standardised residuals
  bool stale_values = true;
  bool stale_carriers = false;
  // Carriers as choose_carriers() chose them when it knew of no outliers: of so many trials, so many; 0 trials: others.
  std::size_t plain_trials = 0, plain_carriers = 0;
  SortedValues sorted;  // log_values, ascending; empty: to be sorted
};

}  // namespace nocturne::search::model
