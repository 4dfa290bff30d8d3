#pragma once

/// `nocturne tune … --dry-run`: what would be done, and nothing of it.

#include "measure/machine/machine.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::cli {

/// Prints the plan of a campaign, or its document. `unseen`: it is a command of the user's own that would be run once
/// first, to see how its steps can be timed.
[[nodiscard]] ExitCode print_plan(const Context& context, const tuner::CampaignSpec& spec,
                                  const tuner::Frameworks& frameworks, const measure::MachineFacts& machine,
                                  bool unseen);

}  // namespace nocturne::cli
