#pragma once

/// What physics knows before anything is measured: the least time that an example can take, by machine, network and
/// configuration, as an offset of the model's log times (tuner/roofline).
///
/// Log times less their offsets are shares of what is possible, and those are more alike between machines and networks
/// than times are. Only where all that is compared has one: a place without would be compared with seconds.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/transfer/shared_effects.hpp"
#include "search/work_bound.hpp"
#include "space/configuration.hpp"
#include "tuner/roofline/peak_figures.hpp"

namespace nocturne::tuner {

inline constexpr double kNinety = 1.645;  ///< standard deviations of a central 90 % interval

class RooflineOffsets {
 public:
  /// What is known of a place; empty: nothing. Known once, known for all its campaigns.
  void add(const search::transfer::Place& place, std::optional<PeakFigures> peaks);
  /// Whether every place that was added is known.
  [[nodiscard]] bool known() const;
  /// log of an example's seconds; 0 everywhere unless known(). REQUIRES: the place was added.
  [[nodiscard]] double at(const search::transfer::Place& place, const space::Configuration& configuration) const;

 private:
  std::map<std::pair<std::string, std::string>, search::WorkBound> bounds_;  // by machine and network; empty: not known
};

/// How far the share of its bound that a configuration reaches may be from another's: half or twice as much is nothing
/// unusual.
inline constexpr double kShareSd = 0.69;

/// What is expected where nothing was measured anywhere: what the bound says, and that shares differ by kShareSd. Times
/// of `examples` are those of kTypicalShare.
[[nodiscard]] std::vector<search::transfer::Expectation> expect_by_roofline(
    const RooflineOffsets& offsets, const search::transfer::Place& place,
    const std::vector<space::Configuration>& configurations, const space::Configuration& reference, double examples);

}  // namespace nocturne::tuner
