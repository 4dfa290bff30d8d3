#include "search/model/bound_feature.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace nocturne::search::model {
namespace {

/// The bound by the levels it depends on, each computed when first asked for.
class BoundTable {
 public:
  BoundTable(const space::Lattice& lattice, const WorkBound& bound) : lattice_(lattice), bound_(bound) {
    std::size_t size = 1;
    for (std::size_t i = 0; i < lattice.width() && size <= kMostBounds; ++i) {
      if (std::ranges::find(bound.parameters, lattice.parameter(i).name) == bound.parameters.end()) continue;
      axes_.push_back(i);
      size *= lattice.axis(i).levels + 1;  // and inactive
    }
    if (!axes_.empty() && size <= kMostBounds) logs_.assign(size, std::numeric_limits<double>::quiet_NaN());
  }
  [[nodiscard]] bool empty() const { return logs_.empty(); }

  [[nodiscard]] double log_seconds(space::Point point) {
    std::size_t place = 0;
    for (const std::size_t axis : axes_) {
      const std::size_t levels = lattice_.axis(axis).levels;
      place = place * (levels + 1) + (point[axis] == space::kNoLevel ? levels : point[axis]);
    }
    double& known = logs_[place];
    if (std::isnan(known)) known = compute(point);
    return known;
  }

 private:
  [[nodiscard]] double compute(space::Point point) const {
    space::Configuration configuration;
    for (const std::size_t axis : axes_) {
      if (point[axis] == space::kNoLevel) continue;
      configuration.set(lattice_.parameter(axis).name, lattice_.axis(axis).values[point[axis]]);
    }
    const double seconds = bound_.seconds_an_example(configuration);
    return seconds > 0 && std::isfinite(seconds) ? std::log(seconds) : 0;
  }

  const space::Lattice& lattice_;
  WorkBound bound_;
  std::vector<std::size_t> axes_;
  std::vector<double> logs_;
};

}  // namespace

std::vector<Feature> bound_feature(const space::Lattice& lattice, const WorkBound& bound) {
  if (!bound.seconds_an_example) return {};
  const auto table = std::make_shared<BoundTable>(lattice, bound);
  if (table->empty()) return {};
  return {
      {.name = "log(bound of an example)", .value = [table](space::Point point) { return table->log_seconds(point); }}};
}

}  // namespace nocturne::search::model
