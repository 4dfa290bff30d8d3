#pragma once

/// `nocturne tune -- COMMAND`: the campaign that somebody would write who wanted to know what the surroundings of a
/// command are worth. Pure; the document is a campaign file like any other.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/run/command_template.hpp"
#include "tuner/own_command/seen_training.hpp"
#include "tuner/own_command/variation.hpp"

namespace nocturne::tuner {

/// An epoch, in steps, of a training whose length nobody told: what is compared is the time of so many.
constexpr std::int64_t kStepsOfAnEpoch = 1000;

struct OwnCommand {
  std::vector<std::string> words;  ///< as the user starts it; not empty
  std::filesystem::path folder;    ///< absolute
  std::string name;                ///< the campaign's name; empty: made from the words
  std::vector<Variation> variations;
  std::vector<std::string> allocators;  ///< that this machine has (measure::available_allocators)
  std::vector<std::string> frameworks;  ///< that its script imports (imported_frameworks)
  /// Of those that surrounding_variables() names, what the user's shell sets: the command as they start it has them.
  std::map<std::string, std::string> shell = {};
  std::optional<std::int64_t> examples;  ///< in one epoch
  std::optional<std::int64_t> batch;     ///< examples of a step as the script trains, where that was seen
  std::optional<std::int64_t> steps_per_epoch;
  double epochs = 1;              ///< that it trains; of a process that is timed as a whole 1
  std::vector<SeenLever> levers;  ///< that were seen to apply
  bool records_learning = true;   ///< what levers do to learning can be judged
  bool allow_batch = false;       ///< levers that change what is learnt may be used
  measure::EpochEnds epoch_ends = {};
  std::string step = {};  ///< what each run counts as one, where it could count otherwise
  measure::Files files = measure::Files::InPlace;
  std::vector<std::filesystem::path> shared;  ///< absolute
  std::vector<std::string> sources;  ///< absolute: files that it is made of, beside the script that its words name
  measure::Timing timing = measure::Timing::Process;
  std::string pattern;                           ///< with Timing::Pattern
  std::string accuracy = {};                     ///< a pattern: how accurate it says that it is; empty: not asked
  double target = 0;                             ///< with `accuracy`: what is accurate enough, 0 to 1
  std::optional<std::int64_t> steps;             ///< timed steps of a run; empty: as usual
  std::optional<std::int64_t> steps_per_sample;  ///< steps that belong together; empty: each is a sample
  std::optional<std::int64_t> slice_steps;       ///< steps of a turn in a pair; empty: as usual
  std::optional<std::int64_t> slices;            ///< turns of each process of a pair; empty: as usual
  std::optional<std::chrono::seconds> deadline;  ///< longest time of a run; empty: as usual
  /// Values of these two that differ on this machine (measure::distinct_affinities).
  std::vector<std::string> affinities = {"none", "close", "spread"};
  std::vector<std::string> memory_policies = {};
  bool has_slower_cores = false;  ///< so the default is a thread for each fast one
  bool sets_threads = false;      ///< their number cannot be changed, so that none is tried
  bool replaces_threads = false;  ///< it sets their number, and the module in front of it sets a trial's
};

/// Variables of the environment that a parameter around a command may set.
[[nodiscard]] std::vector<std::string> surrounding_variables();

/// Whether the user's shell sets an allocator, or how it works: then no other is tried, nor huge pages.
[[nodiscard]] bool sets_allocator(const std::map<std::string, std::string>& shell);

/// The error is a sentence: a text that is not UTF-8, two variations of one name, an option that stands in the command
/// twice, a batch size that varies, a pattern that counts examples or an accuracy that is wanted, although nobody knows
/// how many an epoch has.
[[nodiscard]] std::expected<nlohmann::json, std::string> command_document(const OwnCommand& command);

/// "train" for `python ./train.py --epochs 3`, "shapes.train" for `python -m shapes.train`, "make" for `make train`.
[[nodiscard]] std::string name_of_command(const std::vector<std::string>& words);

/// tensorflow, torch, mxnet, … where a script that the words name imports it.
[[nodiscard]] std::vector<std::string> imported_frameworks(const std::vector<std::string>& words,
                                                           const std::filesystem::path& folder);

}  // namespace nocturne::tuner
