#pragma once

/// In what two configurations differ. Pure.

#include <optional>
#include <string>
#include <vector>

#include "space/configuration.hpp"

namespace nocturne::tuner {

/// A parameter in which two configurations differ. Empty: inactive there.
struct Change {
  std::string parameter;
  std::optional<space::Value> from, to;
};

/// Those of `from` by name, then those that only `to` has.
[[nodiscard]] std::vector<Change> changes_between(const space::Configuration& from, const space::Configuration& to);

}  // namespace nocturne::tuner
