#pragma once

/// What a campaign would install for its frameworks, before anything is downloaded.

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::tuner {

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
