#include "tuner/predict/roofline_offset.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace nocturne::tuner {
namespace {

std::pair<std::string, std::string> key_of(const search::transfer::Place& place) {
  return {place.machine, place.network};
}

}  // namespace

void RooflineOffsets::add(const search::transfer::Place& place, std::optional<PeakFigures> peaks) {
  search::WorkBound& bound = bounds_[key_of(place)];
  if (!bound.seconds_an_example) bound = work_bound(std::move(peaks));
}

bool RooflineOffsets::known() const {
  return !bounds_.empty() &&
         std::ranges::all_of(bounds_, [](const auto& each) { return bool(each.second.seconds_an_example); });
}

double RooflineOffsets::at(const search::transfer::Place& place, const space::Configuration& configuration) const {
  if (!known()) return 0;
  const double seconds = bounds_.at(key_of(place)).seconds_an_example(configuration);
  return seconds > 0 ? std::log(seconds) : 0;
}

std::vector<search::transfer::Expectation> expect_by_roofline(const RooflineOffsets& offsets,
                                                              const search::transfer::Place& place,
                                                              const std::vector<space::Configuration>& configurations,
                                                              const space::Configuration& reference, double examples) {
  const double of_reference = offsets.at(place, reference);
  std::vector<search::transfer::Expectation> expected;
  for (const space::Configuration& each : configurations) {
    const double offset = offsets.at(place, each), gain = of_reference - offset;
    const double reach = each == reference ? 0 : kNinety * std::numbers::sqrt2 * kShareSd;
    expected.push_back({.log_time = offset + std::log(examples / kTypicalShare),
                        .log_time_sd = kShareSd,
                        .log_gain = gain,
                        .gain_90 = {.lower = gain - reach, .upper = gain + reach},
                        .expected_gain = gain});
  }
  return expected;
}

}  // namespace nocturne::tuner
