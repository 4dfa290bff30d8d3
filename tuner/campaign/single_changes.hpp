#pragma once

/// Changes of the default one at a time, with which a campaign over whole processes begins. Pure.
///
/// Its parameters are many and mostly without effect, its trials are few: a point that changes five things tells little
/// of each of them, and one that is bad for the run hides what is good for it. What helps alone is combined by the
/// strategy, whose model adds effects up.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "space/space.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// Share of the trials of a budget, for all of them together.
inline constexpr double kSingleChangeShare = 0.5;

/// The name under which they are asked for.
inline constexpr const char* kSingleChangeAsk = "single change";

struct SingleChange {
  std::string parameter;
  space::Value value;
  space::Configuration configuration;  ///< valid
};

/// The default with that value, as near to it as the constraints allow. Empty: it is the default's own, or one that no
/// neighbour of the default can have.
[[nodiscard]] std::optional<SingleChange> single_change(const space::Space& space, const std::string& parameter,
                                                        const space::Value& value);

/// Whether the configuration has its value.
[[nodiscard]] bool is_part_of(const SingleChange& change, const space::Configuration& configuration);

/// The default with one other value each, where there is such a change. Levers come first, then what the command itself
/// names, then its surroundings; of each of these three every parameter's first value, then the second ones. Of a range
/// with more than four values its middle and its ends.
[[nodiscard]] std::vector<SingleChange> single_changes(const space::Space& space,
                                                       const measure::CommandTemplate& command);

/// Whether one more fits where so many were taken. `trials`: that fit into the budget; empty: it has no end.
[[nodiscard]] bool single_change_fits(std::int64_t taken, std::optional<std::int64_t> trials);

}  // namespace nocturne::tuner
