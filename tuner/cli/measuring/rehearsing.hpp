#pragma once

/// `tune` and its rehearsal: whether one is wanted, and its list.

#include <chrono>
#include <optional>

#include "db/store.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct RehearsalOptions {
  bool only = false;
  bool none = false;
};

/// --rehearse and --no-rehearsal.
void add_rehearsal(CLI::App& verb, RehearsalOptions& options);

struct RehearsalChoice {
  tuner::Rehearse rehearse = tuner::Rehearse::No;
  std::optional<std::chrono::nanoseconds> limit{};
};

/// A campaign that will last for more than half an hour is rehearsed for at most a tenth of that, unless a person wants
/// otherwise.
[[nodiscard]] db::Expected<RehearsalChoice> choose_rehearsal(const RehearsalOptions& options,
                                                             const tuner::CampaignSpec& spec, const db::Store& store);

/// Prints the go / no-go list of a sitting that only rehearsed. NoGo where anything will not go.
[[nodiscard]] ExitCode report_rehearsal(const Context& context, const db::Store& store,
                                        const tuner::SittingResult& result);

}  // namespace nocturne::cli
