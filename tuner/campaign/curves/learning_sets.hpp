#pragma once

/// Sets of learning values: what the number of epochs to a target depends on, apart from everything that only changes
/// how long an epoch takes. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "space/configuration.hpp"
#include "space/space.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

struct LearningSet {
  space::Configuration values;         ///< of the parameters that learn and are active
  space::Configuration configuration;  ///< valid: the default with these values
  std::vector<std::int64_t> places;    ///< which of its values each parameter has; -1: it is inactive
};

/// Sets in all: what those beyond learn is taken for the default's.
inline constexpr std::size_t kMostLearningSets = 256;

/// The values of these parameters in a configuration.
[[nodiscard]] space::Configuration learning_values(const space::Configuration& configuration,
                                                   const std::vector<std::string>& names);

/// The default's first, then those that have a valid configuration, in the order of the parameters' values. Names that
/// the space has not are passed over. REQUIRES: none of those it has is real or has more than kMostLearningValues.
[[nodiscard]] std::vector<LearningSet> learning_sets(const space::Space& space, const std::vector<std::string>& names);

}  // namespace nocturne::tuner
