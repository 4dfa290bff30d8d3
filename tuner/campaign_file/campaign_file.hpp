#pragma once

/// A campaign as its file describes it: what to train, what to minimise, what may vary, how much may be spent.
///
/// The file is JSON with comments (`//`, `/* */`), described by tuner/schema/campaign.schema.json, which is built into
/// the program and checks every file; what a schema cannot say (a default inside its range, expressions over known
/// names) is checked here. All problems are reported at once, each with file, JSON pointer, line and column.
///
/// `extends` names another file, relative to this one; this file is laid over it: objects merge key by key (null
/// removes one), arrays and scalars replace, and the list /space/parameters merges by name (a parameter of the same
/// name is merged key by key; where it gives `type`, `values` or `range`, the whole earlier domain is dropped). Chains
/// are allowed, circles not.
///
/// Hostile input is refused, not suffered: files above 1 MiB, nesting above 32, strings above 4096 bytes, chains of
/// more than 8 files.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/comparison/noise.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "measure/run/command_template.hpp"
#include "space/budget.hpp"
#include "space/facts.hpp"
#include "space/objective.hpp"
#include "space/space.hpp"
#include "space/workload.hpp"
#include "tuner/campaign_file/problem.hpp"
#include "tuner/campaign_file/quantity.hpp"
#include "tuner/campaign_file/setting.hpp"

namespace nocturne::tuner {

class Frameworks;

/// The value of /objective/minimise beside "time".
inline constexpr const char* kTimeToAccuracy = "time_to_accuracy";
/// Values that a parameter that learns may have, at most: each may need a learning curve.
inline constexpr std::uint64_t kMostLearningValues = 16;

/// The fact: usable values of `container`. Asking the runtimes takes half a second, so only who names it gets it.
inline constexpr const char* kContainersFact = "machine.containers";
/// Likewise those of `image_form`.
inline constexpr const char* kImageFormsFact = "machine.image_forms";

struct StrategyChoice {
  std::string name = "auto";  ///< a name of search's registry, or auto
  std::uint64_t seed = 1;
  nlohmann::json options = nlohmann::json::object();  ///< the strategy's own; checked by the strategy
  bool history = true;                                ///< learn from finished campaigns of the database
};

using Budget = space::Budget;

/// What a graph compiler keeps on disk, as inductor does: made by each run anew, or kept for the next one.
enum class CompileCache { Cold, Warm };

/// How the search measures a trial (campaign/noise/trial_method.hpp).
enum class TrialMethod {
  Auto,    ///< as the noise of the machine says; alone where it is not known
  Alone,   ///< its process has the machine for itself
  Paired,  ///< in turns with a process of the default that is alive beside it
};
[[nodiscard]] std::string_view to_text(TrialMethod method);  ///< auto, alone, paired
[[nodiscard]] std::optional<TrialMethod> trial_method_from_text(std::string_view text);

/// One run of a trial.
struct RunSettings {
  std::int64_t steps = 40;            ///< timed training steps: the trial's fidelity
  std::int64_t steps_per_sample = 1;  ///< steps between two synchronisations
  int repeats = 1;                    ///< processes a trial, where the stopping rule does not want more
  std::chrono::nanoseconds deadline = std::chrono::minutes(2);
  std::int64_t memory_bytes = 0;  ///< limit of a run; 0: three quarters of the machine's
  std::uint64_t seed = 1;         ///< initial weights, order of data
  CompileCache compile_cache = CompileCache::Cold;
  /// Standard deviation of the log of a process's time, by chance: not from the file, but from the machine's noise
  /// where that was measured (campaign/noise_plan.hpp).
  double process_sd = 0.05;
  TrialMethod method = TrialMethod::Auto;
  /// The same of the log ratio of two processes that take turns; also from the machine's noise.
  double pair_sd = 0.03;

  /// The same of what one measurement says of a trial.
  [[nodiscard]] double trial_sd() const { return method == TrialMethod::Paired ? pair_sd : process_sd; }
};

/// What may be installed for the values of `framework`.
struct EnvironmentSettings {
  bool install = true;                         ///< false: only what is installed already is tried
  std::optional<std::int64_t> download_bytes;  ///< by this campaign; empty: no limit
  std::optional<std::int64_t> disk_bytes;      ///< limit for all environments it uses; empty: none
};

/// A value of `framework` that this machine cannot have: left out of the space.
struct UnavailableFramework {
  std::string name;
  std::string reason;                  ///< a sentence
  std::vector<std::string> sources{};  ///< values of `source` that it cannot be had from; empty: from any
};

/// Which recipe values of `framework` and `source` mean together.
struct RecipeAnswer {
  std::string framework, source, recipe;
};

/// Which program trains: a recipe by name, a command that speaks the worker protocol, or any command of the user's own.
struct WorkerChoice {
  std::string recipe = "auto";          ///< auto: the one that belongs to the value of the parameter `framework`
  std::vector<std::string> command{};   ///< argv before --request …; a path with a slash is absolute after loading
  measure::CommandTemplate own{};       ///< knows nothing of us; empty: one of the two above
  std::vector<RecipeAnswer> answers{};  ///< where `source` is a parameter; else empty
};

/// Whether a finalist trains as it should (campaign/finals/finalist_gate.hpp).
struct GateSettings {
  bool on = true;
  std::int64_t steps = 4;             ///< steps of the exact comparison with the reference
  double accuracy_margin = 0.5;       ///< percentage points by which an accuracy may be lower than the default's
  bool learning = false;              ///< levers change a script of the user's own: does it learn as without them?
  std::optional<std::int64_t> seeds;  ///< epochs of the reference that the losses are compared with, 0: none; empty:
                                      ///< 6 where they take at most a tenth of the budget's time, else none
};

/// What a way of measuring pairs costs on this machine: sd² · seconds a pair, which is as the time to tell a
/// difference.
struct MethodCost {
  measure::PairMethod method = measure::PairMethod::Slices;
  measure::StepEstimator estimator = measure::StepEstimator::Paired;
  double cost = 0;
};

/// How the best and the default are compared at the end. Of the policy: the first look is taken in any case, the
/// further ones while time is left.
struct VerifySettings : measure::ComparisonPolicy {
  /// By the file, or by the machine's noise; else there are as many pairs as the time allows (campaign/pacing.hpp).
  bool most_pairs_given = false;
  /// How a pair is measured; where two cannot be measured that way, by the next best (campaign/finals/comparing.hpp).
  measure::PairMethod method = measure::PairMethod::Slices;
  measure::StepEstimator estimator = measure::StepEstimator::Paired;  ///< what its processes are judged by
  int finalists = 32;        ///< the winner is chosen from so many at most; 1: the one that the model believes fastest
  int selection_pairs = 40;  ///< by so many pairs of any two of them at most
  bool simplify = true;      ///< put back to the default what does not matter, and measure that again
  int slices = 6;            ///< turns of each process of a pair
  std::int64_t slice_steps = 4;      ///< steps a turn
  std::int64_t accuracy_epochs = 1;  ///< epochs trained by best and default before their test accuracy is read; 0: not
  GateSettings gate;
  std::vector<MethodCost> known_costs;  ///< not from the file: where the machine's noise was measured
};

/// What a campaign's file says beside its space.
struct CampaignSections {
  space::Workload workload;
  space::Objective objective;
  StrategyChoice strategy;
  Budget budget;
  RunSettings run;
  WorkerChoice worker;
  VerifySettings verify;
  EnvironmentSettings environments;
};

/// What a stored document says of the machine that tuned, under one key: `facts`, all that the space was made with,
/// `unavailable`, the frameworks that were left out of it, and `answers`, the recipes that values of `source` mean.
/// Whoever opens the space again asks no machine.
inline constexpr const char* kStoredMachine = "machine";
[[nodiscard]] nlohmann::json machine_json(const space::Facts& facts,
                                          const std::vector<UnavailableFramework>& unavailable,
                                          const std::vector<RecipeAnswer>& answers = {});
[[nodiscard]] space::Facts stored_facts(const nlohmann::json& document);
[[nodiscard]] std::vector<UnavailableFramework> stored_unavailable(const nlohmann::json& document);
[[nodiscard]] std::vector<RecipeAnswer> stored_answers(const nlohmann::json& document);

struct CampaignSpec {
  std::string name;
  std::string description;     ///< may be empty
  std::filesystem::path file;  ///< absolute path it was read from
  space::Workload workload;
  space::Objective objective;
  space::Space space;
  StrategyChoice strategy;
  Budget budget;
  RunSettings run;
  WorkerChoice worker;
  VerifySettings verify;
  EnvironmentSettings environments;
  std::vector<UnavailableFramework> unavailable;  ///< in the order of the file
  std::string shipped_build{};  ///< why build parameters do not vary here, a sentence (shipped_build.hpp); may be empty
  /// What the space was made with: those of the caller, and machine.frameworks where the file names it.
  space::Facts facts;
  /// Workload, objective, space (ranges with the machine's facts filled in, and the facts that constraints name) and
  /// worker as JSON with sorted keys and no white space: equal campaigns give equal text, whatever the order of keys,
  /// comments, descriptions, budget, strategy and limits. What is hashed for identity.
  std::string identity_json;
  /// The merged file, comments and `extends` gone, paths absolute, and kStoredMachine: as it is stored with the
  /// campaign.
  nlohmann::json document;

  /// First 128 bits of SHA-256 of identity_json, 32 hexadecimal digits.
  [[nodiscard]] std::string identity() const;
};

/// Reads, checks and completes a campaign file. `facts` are those of the machine that will measure, `frameworks` what
/// `framework` can name there (installation/frameworks.hpp); without it only our own workers.
/// `settings` are laid over it before anything is checked.
[[nodiscard]] std::expected<CampaignSpec, std::vector<Problem>> load_campaign(const std::filesystem::path& path,
                                                                              const space::Facts& facts,
                                                                              const Frameworks* frameworks = nullptr,
                                                                              std::span<const Setting> settings = {});

/// The same from text, for tests and standard input. `name` stands for the file in problems; `extends` and relative
/// commands are resolved from `folder`.
[[nodiscard]] std::expected<CampaignSpec, std::vector<Problem>> parse_campaign(std::string_view text,
                                                                               const std::string& name,
                                                                               const std::filesystem::path& folder,
                                                                               const space::Facts& facts,
                                                                               const Frameworks* frameworks = nullptr);

/// Adds machine.containers, and machine.image_forms, where the document names it and nobody has said it yet.
void add_containers(space::Facts& facts, const nlohmann::json& document);

}  // namespace nocturne::tuner
