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
  measure::EpochEnds cut;                 ///< how its first epochs were cut
  std::chrono::nanoseconds wall{};        ///< time of the whole process
  std::optional<measure::EpochEnd> seen;  ///< empty: the run showed no two ends
  /// How each run of the campaign is to cut them; empty: none sees what stands between epochs.
  std::optional<measure::EpochEnds> of_runs{};

  /// What the ends take in a run that cuts its epochs so. REQUIRES: seen
  [[nodiscard]] double seconds(const measure::EpochEnds& so) const {
    return static_cast<double>(1 + so.every) * seen->each + seen->first;
  }
};

struct CommandProbe {
  measure::Timing timing = measure::Timing::Process;  ///< Process, Steps, or Pattern where that was to be tried
  std::int64_t steps = 0;                             ///< reported behind the first
  std::int64_t steps_of_line = 1;                     ///< with Pattern: between two lines, at most
  std::optional<double> step_seconds{};               ///< with Pattern: median; empty: of the process as a whole
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
  bool nonsense = false;     ///< what it said of its steps cannot be (Outcome::ProtocolError)
  bool interrupted = false;  ///< the caller wanted no more
  bool by_others = false;    ///< another hand ended it: no word about the command
};

/// Where its folder is made, and which database keeps the records of others there. The folder of a run that went well
/// is removed.
struct ProbePlace {
  std::filesystem::path runs_folder, database;
};

/// As the worker asks for where it is to find out (kernels/command/command_run.cpp).
inline constexpr std::int64_t kDetectSteps = 20;

/// Blocks. The words are those of the configuration that the campaign begins with. With Timing::Pattern the pattern is
/// tried, for so many steps; else it is found out how the command is timed.
[[nodiscard]] std::expected<CommandProbe, ProbeFailure> sight_command(
    measure::CommandTemplate command, const space::Configuration& configuration, const Installation& installation,
    const ProbePlace& place, const measure::RunControl& control, std::int64_t steps = kDetectSteps);

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

/// How each run of a campaign that may take so long (empty: nobody says) shall cut its epochs to see what stands
/// between them: that is some part of an epoch, or may become it, and takes no longer than a run, or a sixtieth of the
/// campaign. Where the ends of a whole round take longer, two are seen, without what comes back more rarely. Empty: not
/// at all.
[[nodiscard]] std::optional<measure::EpochEnds> cut_of_runs(const EpochEndProbe& probe, const CommandProbe& seen,
                                                            std::optional<std::chrono::nanoseconds> wall);

}  // namespace nocturne::tuner
