#pragma once

/// This machine's figures into the database: on demand, and before a long campaign.

#include <expected>
#include <filesystem>
#include <string>

#include "db/store.hpp"
#include "measure/machine/machine.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// What `tune` was asked for.
struct MachineMeasuringOptions {
  bool measure = false;                 ///< now, even where they are known
  bool none = false;                    ///< not at all
  std::filesystem::path programs{};     ///< where nocturne-machine lies; empty: beside this program
  std::filesystem::path slot_folder{};  ///< where the lock files lie; empty: the machine's folder
};

/// --measure-machine and --no-measure-machine.
void add_machine_measuring(CLI::App& subcommand, MachineMeasuringOptions& options);

/// Waits until nobody measures, measures and stores. Says on context.err that it takes a while. What is doubtful is
/// settled by the figures stored before, where it can be (tuner/roofline/machine_figures.hpp). The error is a sentence.
[[nodiscard]] std::expected<db::MachineFiguresRecord, std::string> measure_this_machine(
    const Context& context, db::Store& store, const measure::MachineFacts& machine, double seconds,
    const std::filesystem::path& disk);

/// Before a campaign: measures this machine where that is wanted, or where it is new, the campaign will last for more
/// than half an hour and one of our workers or recipes trains; else measures again, in seconds, what was doubtful of
/// its stored figures; and stores what its network takes. What cannot be done is said on context.err and changes
/// nothing.
void know_machine(const MachineMeasuringOptions& options, const Context& context, const tuner::CampaignSpec& spec,
                  db::Store& store, const measure::MachineFacts& machine);

}  // namespace nocturne::cli
