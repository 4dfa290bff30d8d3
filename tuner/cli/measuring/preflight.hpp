#pragma once

/// `tune` and its preflight: whether one is wanted, and its list.

#include <chrono>
#include <optional>

#include "db/store.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct PreflightOptions {
  bool only = false;
  bool none = false;
};

/// --preflight and --no-preflight.
void add_preflight(CLI::App& subcommand, PreflightOptions& options);

struct PreflightChoice {
  tuner::PreflightMode preflight = tuner::PreflightMode::No;
  std::optional<std::chrono::nanoseconds> limit{};
};

/// A campaign that will last for more than half an hour is tried in the preflight for at most a tenth of that, unless
/// the user wants otherwise.
[[nodiscard]] PreflightChoice choose_preflight(const PreflightOptions& options, const tuner::CampaignSpec& spec,
                                               const db::Store& store);

/// Prints the list of what passed and what failed of a session that only tried in the preflight. Failed where anything
/// will not go.
[[nodiscard]] ExitCode report_preflight(const Context& context, const db::Store& store,
                                        const tuner::SessionResult& result);

}  // namespace nocturne::cli
