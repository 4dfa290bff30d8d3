#pragma once

/// What a framework's training is checked against: our own worker in f32 with all settings left alone.
///
/// Its exact steps are trained for each check, its first losses with dropout once for many seeds: they are kept in a
/// file, by the build, the machine and the batch size they belong to.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "space/run.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/executor/interruption.hpp"

namespace nocturne::tuner {

/// Steps whose losses are compared, dropout and all.
inline constexpr std::size_t kBandSteps = 50;
/// Seeds of the reference that make the band: the quantile of t falls little beyond them.
inline constexpr std::size_t kBandReferences = 24;
/// Seed of the checked training, and of the exact steps of both; the band's seeds are others.
inline constexpr std::uint64_t kCheckedSeed = 1;

/// Runs of a check, one after the other. Not thread-safe. Folders of runs that went well go with it.
class CheckRuns {
 public:
  /// Both must outlive it.
  CheckRuns(Executor& executor, Interruption& interruption) : executor_(executor), interruption_(interruption) {}
  CheckRuns(const CheckRuns&) = delete;
  CheckRuns& operator=(const CheckRuns&) = delete;
  ~CheckRuns();

  /// What a suspension cut short is done again after it; Outcome::Killed: the check shall end.
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare(const space::Configuration& configuration);
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_reference(
      const space::Configuration& configuration);
  /// A file to write for the gate is named in the run's own folder.
  [[nodiscard]] space::Run train(const space::Configuration& configuration, const PreparedWorker& prepared,
                                 const RunOrder& order);

 private:
  Executor& executor_;
  Interruption& interruption_;
  std::vector<std::filesystem::path> folders_;
};

/// Why there is no reference.
struct ReferenceFailure {
  std::string reason;  ///< a sentence
  bool interrupted = false;
};

/// One instance serves one check of any number of trainings; not thread-safe.
class ReferenceTraining {
 public:
  struct Options {
    std::filesystem::path kept;                 ///< folder of the files; empty: nothing is kept
    std::string machine;                        ///< key of its fingerprint
    std::function<void(std::string_view)> say;  ///< hears what takes time; may be empty
  };
  /// `runs` must outlive it.
  ReferenceTraining(CheckRuns& runs, Options options) : runs_(runs), options_(std::move(options)) {}

  struct Exact {
    space::Run run;
    std::string initial;  ///< file of weights and batches it began with
  };
  /// The gate's steps at this batch size.
  [[nodiscard]] std::expected<const Exact*, ReferenceFailure> exact(std::int64_t batch, std::int64_t steps);

  /// Losses of kBandSteps steps, of kBandReferences seeds.
  [[nodiscard]] std::expected<const std::vector<std::vector<double>>*, ReferenceFailure> losses(std::int64_t batch);

 private:
  [[nodiscard]] std::expected<PreparedWorker, ReferenceFailure> prepared(std::int64_t batch);
  void say(const std::string& sentence) const {
    if (options_.say) options_.say(sentence);
  }

  CheckRuns& runs_;
  Options options_;
  std::map<std::int64_t, Exact> exact_;
  std::map<std::int64_t, std::vector<std::vector<double>>> losses_;
};

}  // namespace nocturne::tuner
