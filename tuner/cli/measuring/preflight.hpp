#pragma once

/// `tune` and its preflight: whether one is wanted, and its list.

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "db/records.hpp"
#include "db/store.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign/preflight/preflight.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
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

/// What is to be said of a software stack on one line: its values, the batch where there were too large ones, and why
/// it is a failed.
[[nodiscard]] std::string preflight_words(const db::PreflightRecord& record);

/// A table with a line a software stack, and the sum below it.
void print_preflight(const Context& context, std::span<const db::PreflightRecord> records,
                     const tuner::PreflightReport& report);

/// The same for machines; README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json preflight_json(const db::CampaignSummary& campaign,
                                            std::span<const db::PreflightRecord> records,
                                            const tuner::PreflightReport& report);

}  // namespace nocturne::cli
