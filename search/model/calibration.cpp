#include "search/model/calibration.hpp"

namespace nocturne::search::model {
namespace {

void count(Coverage& coverage, const Interval& interval, double value) {
  if (value < interval.lower)
    ++coverage.below;
  else if (value > interval.upper)
    ++coverage.above;
  else
    ++coverage.inside;
}

}  // namespace

Coverage calibration(LinearModel& model, const space::PointList& points, std::span<const double> log_values,
                     double confidence, double extra) {
  Coverage coverage;
  for (std::size_t i = 0; i < points.size(); ++i)
    count(coverage, model.predict(points[i]).log_interval(confidence, extra), log_values[i]);
  return coverage;
}

}  // namespace nocturne::search::model
