#pragma once

/// One sequential test over several comparisons: who looks at ten of them at 5 % each finds something wrong with a good
/// one in four of ten cases.
///
/// The error is that of the whole family: the probability that any member is judged wrongly, at any look. Holm's
/// step-down procedure (Scand. J. Statist. 6, 1979) shares it among the members that are still open: with m of them
/// each has error / m, and the share of a member that is decided goes to the others, who are judged again at once. That
/// holds for group sequential tests, too, where each share has its own planned looks and a member is judged by the
/// boundary of the look at which it stands (Ye, Li, Liu & Yao, Statist. Med. 32, 2013, section 2). Pure.

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "measure/comparison/planned_looks.hpp"

namespace nocturne::measure {

/// Not thread-safe: plans are made when they are first asked for.
class FamilyLooks {
 public:
  /// As plan_looks().
  FamilyLooks(int first, int most, double error = 0.05) : first_(first), most_(most), error_(error) {}

  /// The looks of each member while so many are open, itself included; always at the same numbers of pairs.
  /// REQUIRES: open ≥ 1.
  [[nodiscard]] std::span<const Look> plan(std::size_t open);

 private:
  int first_, most_;
  double error_;
  std::map<std::size_t, std::vector<Look>> plans_;
};

}  // namespace nocturne::measure
