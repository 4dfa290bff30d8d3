#pragma once

/// How much the nodes of a class differ, from the default on each: equal hardware of one cluster differs by 8 % on
/// average and by up to 22 % (Sinha et al., SC 2022), more than most configurations do. Pure.
///
/// Log times of the default, y_n = mean + b_n + e_n. The b_n are random effects whose variance is what the scatter of
/// the y_n has beyond that of the e_n (process_sd² / runs, and the standard error); b_n is estimated by its share of
/// y_n - mean (empirical Bayes, James and Stein 1961): nodes that differ by no more than chance have no effect.

#include <map>
#include <optional>
#include <string>

#include "space/trial.hpp"

namespace nocturne::tuner {

class NodeEffects {
 public:
  /// `process_sd`: of the log of a process's time, as in RunSettings.
  explicit NodeEffects(double process_sd) : process_sd_(process_sd) {}

  /// The default on a node; what was known of the node before is replaced: it drifts.
  void learn(const std::string& node, const space::Estimate& estimate);
  /// Times are told as they would be on this node, where it is known; else on one that is like the mean.
  void refer_to(std::string node) { reference_ = std::move(node); }

  /// Log of the time on this node over that on the reference. 0: not known.
  [[nodiscard]] double effect(const std::string& node) const;
  /// "the node n3 takes 9 % longer than the others for the default", where that is beyond chance and above 3 %; empty:
  /// it is like the others.
  [[nodiscard]] std::string remark(const std::string& node) const;

 private:
  struct Measured {
    double log_seconds = 0;
    double variance = 0;  ///< of the logarithm, by chance
  };
  [[nodiscard]] double mean() const;
  [[nodiscard]] double shrunk(const std::string& node) const;

  double process_sd_;
  std::string reference_;
  std::map<std::string, Measured> nodes_;
};

/// The trial as its times would have been without that effect (of the logarithm).
void take_away(double effect, space::Trial& trial);

}  // namespace nocturne::tuner
