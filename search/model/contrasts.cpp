#include "search/model/contrasts.hpp"

#include <cmath>

#include <fmt/format.h>

namespace nocturne::search::model {
namespace {

double percent(double log_ratio) {
  return 100 * std::expm1(std::abs(log_ratio));
}

std::string number_text(double percents) {
  return fmt::format("{:.{}f}", percents, percents < 9.95 ? 1 : 0);
}

}  // namespace

std::string ratio_text(double log_ratio) {
  return fmt::format("{} % {}", number_text(percent(log_ratio)), log_ratio < 0 ? "faster" : "slower");
}

std::string contrast_text(double mean, const Interval& interval, const std::string& reference) {
  const bool decided = (interval.lower < 0) == (interval.upper < 0);
  // The end nearer to no effect comes first.
  const double near = mean < 0 ? interval.upper : interval.lower;
  const double far = mean < 0 ? interval.lower : interval.upper;
  const auto range = decided ? fmt::format("{} to {} %", number_text(percent(near)), number_text(percent(far)))
                             : fmt::format("{} to {}", ratio_text(interval.lower), ratio_text(interval.upper));
  return fmt::format("{} than {} ({})", ratio_text(mean), reference, range);
}

}  // namespace nocturne::search::model
