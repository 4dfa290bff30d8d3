#pragma once

/// What a campaign has ahead, before anything is measured or downloaded: how many configurations its space holds, what
/// each constraint takes away, how many different builds, which environments.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "space/facts.hpp"
#include "space/space.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::tuner {

struct ConstraintEffect {
  space::ConstraintSpec constraint;
  /// How many of Survey::combinations it forbids, whatever the others forbid. Empty: not exact, or too slow to count.
  std::optional<space::Count> removed{};
};

struct BuildCount {
  space::Size size;      ///< different values of the parameters of the stages environment and build together
  bool at_most = false;  ///< constraints that join them with parameters of later stages were left aside
};

struct Survey {
  space::Size combinations;  ///< configurations if there were no constraints; conditions of activity respected
  space::Size valid;
  std::vector<ConstraintEffect> constraints{};
  BuildCount builds{};
};

/// `patience`: no further constraint is counted once this has passed (counting one takes milliseconds, or a second
/// where it joins many values).
[[nodiscard]] Survey survey(const space::Space& space, const space::Facts& facts,
                            std::chrono::milliseconds patience = std::chrono::seconds(3));

/// What a campaign would install for its frameworks.
struct EnvironmentsAhead {
  std::vector<std::string> installed;   ///< already
  std::vector<std::string> to_install;  ///< that this machine can have, in the order of the values
  std::int64_t download_bytes = 0;      ///< download of those, by what their recipes say
  std::int64_t new_disk_bytes = 0;      ///< likewise
  std::int64_t disk_bytes = 0;          ///< disk space, the installed ones included
  double seconds = 0;                   ///< to install them
  std::string limit;                    ///< which limit of the campaign that exceeds, a sentence; empty: none

  [[nodiscard]] bool empty() const { return installed.empty() && to_install.empty(); }
};

[[nodiscard]] EnvironmentsAhead environments_ahead(const CampaignSpec& spec, const Frameworks& frameworks);

}  // namespace nocturne::tuner
