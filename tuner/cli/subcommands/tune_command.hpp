#pragma once

/// `nocturne tune -- COMMAND`: from the words of a command to a campaign.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "space/facts.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::cli {

struct CommandOptions {
  std::string name;
  std::vector<std::string> vary;
  std::optional<std::int64_t> examples;
  std::optional<double> epochs;    ///< that it trains; empty: as its loops say
  std::string time;                ///< empty: find out
  std::string pattern;             ///< instead
  std::string accuracy;            ///< a pattern: how accurate it is; empty: not asked
  std::optional<double> target;    ///< with it: accurate enough, 0 to 1
  std::string write_campaign;      ///< file, or "-"
  std::vector<std::string> allow;  ///< "batch": what is learnt may change with it
  std::vector<std::string> share;  ///< folders in which the command writes for real
  bool in_place = false;           ///< no private view of its folder
  bool writes_outside = false;     ///< it may write outside of its folder

  [[nodiscard]] bool any() const;
};

/// What `--time` may be for a command; for a job it is its wall limit.
[[nodiscard]] bool is_command_timing(std::string_view time);

void add_command(CLI::App& subcommand, CommandOptions& options);

/// The campaign of context.command. Runs the command once where nobody says how it is timed and no campaign of the
/// database knows. Throws Refusal. `budgeted`: somebody said when to stop; `wall`: after so long, where
/// he said that.
[[nodiscard]] tuner::CampaignSpec command_campaign(const CommandOptions& options, bool budgeted,
                                                   std::optional<std::chrono::nanoseconds> wall, const Context& context,
                                                   const tuner::Installation& installation, const space::Facts& facts);

/// refuse(), for `tune`: "nocturne tune: SENTENCE".
[[noreturn]] void refuse_to_tune(const Context& context, ExitCode code, std::string_view sentence);

/// Writes the campaign where --write-campaign says.
[[nodiscard]] ExitCode write_campaign(const CommandOptions& options, const Context& context,
                                      const tuner::CampaignSpec& spec);

}  // namespace nocturne::cli
