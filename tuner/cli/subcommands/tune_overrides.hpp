#pragma once

/// What the command line of `tune` says instead of the campaign file.

#include <expected>
#include <string>

#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/subcommands/tune.hpp"

namespace nocturne::cli {

/// Budget, strategy, seed and history, in the spec and in the document that is stored. The error is a sentence.
[[nodiscard]] std::expected<void, std::string> override_file(const TuneOptions& options, tuner::CampaignSpec& spec);

}  // namespace nocturne::cli
