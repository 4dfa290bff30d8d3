#pragma once

/// Two programs that train one configuration, in turns: the present one and one of then. Each pair is stored before the
/// next is begun, and one that is stored is not measured again.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/campaign/clock.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/deploy/blame.hpp"
#include "tuner/deploy/blame_record.hpp"
#include "tuner/executor/executor.hpp"

namespace nocturne::deploy {

struct ProgramTrial {
  std::size_t suspect = 0;  ///< index of whom it convicts or clears
  tuner::Prepared other{};  ///< with the suspect's part as it was
};

/// As they are recorded: the present one, then that of each trial.
[[nodiscard]] std::vector<BlamedProgram> blamed_programs(const tuner::Prepared& present,
                                                         const std::vector<ProgramTrial>& trials,
                                                         const std::vector<Suspect>& suspects);

struct BlameWork {
  const tuner::CampaignSpec& spec;  ///< its default is the configuration
  tuner::Executor& executor;
  const tuner::Clock& clock;
  tuner::Interruption& interruption;
  const tuner::Prepared& present;
  BlameRecord& record;  ///< of these programs
  int pairs = 6, most_pairs = 20;
  /// Whether work that takes that long may still be begun.
  std::function<bool(std::chrono::nanoseconds)> time_for = [](std::chrono::nanoseconds) { return true; };
  std::function<void(const std::string&)> say = [](const std::string&) {};
  std::filesystem::path slot_folder = {};  ///< of the lock files; empty: the machine's
};

/// What was measured of the present program, in this sitting and before: seconds for the primary horizon, one a
/// process.
struct PresentTimes {
  std::vector<double> seconds;
  bool cut_short = false;  ///< by time, an interruption, or a side that does not train (which is said)
};

/// Rounds of one pair of each trial that is open, judged at planned looks whose error is shared by all of them; fills
/// `suspects[…].measured`. Without trials the present program alone is run three times. The error is a sentence of the
/// database's. Blocks.
[[nodiscard]] std::expected<PresentTimes, std::string> measure_programs(const BlameWork& work,
                                                                        const std::vector<ProgramTrial>& trials,
                                                                        std::vector<Suspect>& suspects);

/// What the present times say against an estimate of then; `luck` is the sd of the log of a process. Empty: nothing.
[[nodiscard]] std::optional<WholeChange> whole_change(const PresentTimes& now,
                                                      const std::optional<space::Estimate>& then, double luck,
                                                      double margin_percent);

/// The document of a campaign whose default, and only, configuration is this one.
struct Accused {
  std::string name;  ///< of the campaign or profile
  space::Workload workload{};
  std::string minimise = "time";
  double epochs = 12;
  space::Configuration configuration{};
  std::int64_t steps = 40;
  nlohmann::json worker{};  ///< as a campaign has it; null: the one of its framework
};
[[nodiscard]] nlohmann::json blame_campaign(const Accused& accused);

}  // namespace nocturne::deploy
