#pragma once

/// Where `tune` has its campaign from: a file, or the words behind `--`.

#include <expected>
#include <string>

#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/subcommands/tune.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::cli {

/// What is wrong has been said.
[[nodiscard]] std::expected<tuner::CampaignSpec, ExitCode> read_campaign(const TuneOptions& options,
                                                                         const Context& context,
                                                                         const tuner::Installation& installation,
                                                                         const space::Facts& facts,
                                                                         const tuner::Frameworks* frameworks);

/// The command that goes on with the same campaign: as it was called, without --fresh.
[[nodiscard]] std::string same_again(const Context& context);

}  // namespace nocturne::cli
