#pragma once

/// Numbers in ascending order, kept so while one comes or goes.

#include <algorithm>
#include <span>
#include <vector>

namespace nocturne::search::model {

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

}  // namespace nocturne::search::model
