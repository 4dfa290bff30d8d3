#pragma once

/// One run of a user's command before its campaign begins: does it work, does it report steps, how long does it take?

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>

#include "measure/comparison/statistics.hpp"
#include "measure/run/command_template.hpp"
#include "measure/run/runner.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/own_command/seen_training.hpp"

namespace nocturne::tuner {

/// What stands between two epochs of a script, by one more run.
struct EpochEndProbe {
  measure::EpochEnds cut;                 ///< how its first two epochs were cut
  std::chrono::nanoseconds wall{};        ///< time of the whole process
  std::optional<measure::EpochEnd> seen;  ///< empty: the run showed no two ends
  bool in_each_run = false;               ///< whether each run of the campaign is to see it
};

struct CommandProbe {
  measure::Timing timing = measure::Timing::Process;  ///< Process or Steps
  std::int64_t steps = 0;                             ///< reported behind the first
  bool ended_by_itself = false;                       ///< before all steps that were asked for
  std::chrono::nanoseconds wall{};                    ///< time of the whole process
  std::chrono::nanoseconds beside{};                  ///< of it behind the first step, what was no step: evaluations
  std::string log_tail;                               ///< end of what it printed
  std::optional<SeenTraining> training;               ///< what the module in front of it saw
  std::optional<WrittenFiles> files;                  ///< what it wrote, under a private view
  std::optional<EpochEndProbe> epoch_end{};           ///< empty: nobody looked, or none was seen
  std::string under_load;                             ///< what slowed it (measure::under_load); empty: nothing did
};

/// How a run went wrong, and the end of what it printed.
struct ProbeFailure {
  std::string reason;
  std::string log_tail{};
  bool interrupted = false;  ///< the caller wanted no more
  bool by_others = false;    ///< another hand ended it: no word about the command
};

/// Where its folder is made, and which database keeps the records of others there. The folder of a run that went well
/// is removed.
struct ProbePlace {
  std::filesystem::path runs_folder, database;
};

/// Blocks. The words are those of the configuration that the campaign begins with.
[[nodiscard]] std::expected<CommandProbe, ProbeFailure> sight_command(measure::CommandTemplate command,
                                                                      const space::Configuration& configuration,
                                                                      const Installation& installation,
                                                                      const ProbePlace& place,
                                                                      const measure::RunControl& control);

/// How the epochs of such a training would be cut; empty: they cannot be, or are too few or too short for two of them
/// to be worth it.
[[nodiscard]] std::optional<measure::EpochEnds> epoch_cut(const CommandProbe& seen);

/// Blocks, one more run of a command whose training was seen, at most for so long. Empty: it could not begin, or the
/// caller wanted no more.
[[nodiscard]] std::optional<EpochEndProbe> sight_epoch_end(measure::CommandTemplate command,
                                                           const space::Configuration& configuration,
                                                           const SeenTraining& training, measure::EpochEnds cut,
                                                           const Installation& installation, const ProbePlace& place,
                                                           std::chrono::seconds longest,
                                                           const measure::RunControl& control);

/// Whether each run of a campaign that may take so long shall see what stands between epochs: it is some part of an
/// epoch, or may become it, and takes no longer than a run, or a sixtieth of the campaign. Empty: nobody says how long
/// that may take.
[[nodiscard]] bool is_worth_seeing(const EpochEndProbe& probe, const CommandProbe& seen,
                                   std::optional<std::chrono::nanoseconds> wall);

}  // namespace nocturne::tuner
