#pragma once

/// What was tried and what of it failed, as lines of a page: failures that say the same are one line.

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "space/outcome.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// Trials that failed in the same way for the same reason.
struct FailureGroup {
  space::Outcome outcome;
  std::string reason;
  std::vector<std::int64_t> trials;  ///< their numbers, in the order given; at least one
};

/// In the order of the first of each. Pure.
[[nodiscard]] std::vector<FailureGroup> grouped(std::span<const db::StoredTrial> failures);

/// "Tried     449 configurations: 358 ok, 91 unsupported", the first reasons with their trials, and the command that
/// lists all of them.
void print_failures(const Context& context, const tuner::Answer& answer);

}  // namespace nocturne::cli
