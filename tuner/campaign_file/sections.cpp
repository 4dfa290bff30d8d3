#include "tuner/campaign_file/sections.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/gate/loss_band.hpp"
#include "search/registry.hpp"
#include "space/names.hpp"
#include "space/nearest.hpp"
#include "tuner/campaign_file/command_section.hpp"
#include "tuner/campaign_file/slurm_section.hpp"
#include "tuner/campaign_file/workload_section.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> kTrialMethods = {"auto", "alone", "paired"};

/// Overwrites `target` where the key is there and sound.
template <typename T>
void read(const Checks& checks, std::string_view section, std::string_view key, T& target) {
  if (const Json* value = checks.get(section, key)) target = value->get<T>();
}

/// The same for a text with a grammar of its own.
template <typename T, typename Parse>
void read(Checks& checks, std::string_view section, std::string_view key, T& target, const Parse& parse) {
  const Json* value = checks.get(section, key);
  if (value == nullptr) return;
  if (auto parsed = parse(value->get<std::string>()))
    target = *parsed;
  else
    checks.add(pointer_to(section, key), "found " + shown(*value), parsed.error());
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names{"auto"};
  for (const search::StrategyEntry& entry : search::strategies()) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> recipe_names(const Frameworks& frameworks) {
  std::vector<std::string> names{"auto"};
  for (std::string& name : frameworks.names()) names.push_back(std::move(name));
  return names;
}

void require_one_of(Checks& checks, std::string_view pointer, const std::string& name,
                    const std::vector<std::string>& known) {
  if (std::ranges::find(known, name) != known.end()) return;
  checks.add(pointer, fmt::format("found {}", shown(Json(name))), fmt::format("{}", fmt::join(known, ", ")),
             space::nearest(name, known));
}

}  // namespace

std::string_view to_text(TrialMethod method) {
  return space::name_of(method, kTrialMethods);
}

std::optional<TrialMethod> trial_method_from_text(std::string_view text) {
  return space::named<TrialMethod>(text, kTrialMethods);
}

fs::path home_of(const Place& place, const fs::path& folder, const std::string& name) {
  const fs::path file = place.file;
  if (file.is_absolute()) return file.parent_path();
  const fs::path from = fs::path(name).parent_path();
  return (folder / (from.empty() ? file : file.lexically_relative(from))).parent_path();
}

namespace {

/// Keys that say nothing where the other thing is minimised.
void refuse_keys(Checks& checks, const std::string& minimise, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const Json* value = checks.get("/objective", key)) {
      checks.add(pointer_to("/objective", key), "found " + shown(*value),
                 fmt::format("nothing: it says nothing where minimise is {}", minimise));
    }
  }
}

/// What is known to change how much an epoch teaches. `framework` is not: the gate refuses one that teaches otherwise.
constexpr const char* kLearningParameters[] = {"batch", "precision", "optimizer", "learning_rate",
                                               "learning_rate_rule"};

space::AccuracyTarget read_target(Checks& checks) {
  space::AccuracyTarget target;
  read(checks, "/objective", "most_epochs", target.most_epochs);
  read(checks, "/objective", "default_epochs", target.default_epochs);
  if (const Json* accuracy = checks.get("/objective", "accuracy")) target.accuracy = accuracy->get<double>();
  const Json written = checks.root().value("objective", Json::object());
  const bool by_accuracy = written.contains("accuracy"), by_default = written.contains("default_epochs");
  if (by_default == by_accuracy) {
    checks.add("/objective",
               by_default ? "both 'accuracy' and 'default_epochs'" : "neither 'accuracy' nor 'default_epochs'",
               "one of them: how accurate is accurate enough");
  }
  if (target.default_epochs > static_cast<double>(target.most_epochs)) {
    checks.add("/objective/default_epochs", fmt::format("found {:g}", target.default_epochs),
               fmt::format("at most {}, which is 'most_epochs'", target.most_epochs));
  }
  // A command is evaluated when it says so: once an epoch, as a rule.
  if (checks.root().contains("/worker/template"_json_pointer)) target.points_per_epoch = 1;
  if (const Json* names = checks.get("/objective", "learning_parameters"))
    target.learning_parameters = names->get<std::vector<std::string>>();
  else
    target.learning_parameters.assign(std::begin(kLearningParameters), std::end(kLearningParameters));
  return target;
}

}  // namespace

space::Objective read_objective(Checks& checks) {
  space::Objective objective;
  read(checks, "/objective", "minimise", objective.minimise);
  if (objective.minimise == kTimeToAccuracy) {
    refuse_keys(checks, objective.minimise, {"epochs", "primary"});
    objective.target = read_target(checks);
    objective.epochs = {1};
    objective.primary = 1;
    return objective;
  }
  refuse_keys(checks, objective.minimise, {"accuracy", "default_epochs", "most_epochs", "learning_parameters"});
  read(checks, "/objective", "epochs", objective.epochs);
  std::vector<double> sorted = objective.epochs;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    checks.add("/objective/epochs", "found " + shown(Json(objective.epochs)), "each horizon once");
  objective.epochs = std::move(sorted);
  const auto is_horizon = [&](double epochs) {
    return std::ranges::find(objective.epochs, epochs) != objective.epochs.end();
  };
  constexpr double kUsual = 12;  // the published recipe of the MNIST network trains for 12 epochs
  objective.primary = is_horizon(kUsual) || objective.epochs.empty() ? kUsual : objective.epochs.back();
  if (const Json* primary = checks.get("/objective", "primary");
      primary != nullptr && checks.sound("/objective/epochs")) {
    objective.primary = primary->get<double>();
    if (!is_horizon(objective.primary)) {
      checks.add("/objective/primary", "found " + shown(*primary),
                 fmt::format("one of epochs: {}", fmt::join(objective.epochs, ", ")));
    }
  }
  return objective;
}

StrategyChoice read_strategy(Checks& checks) {
  StrategyChoice strategy;
  read(checks, "/strategy", "name", strategy.name);
  read(checks, "/strategy", "seed", strategy.seed);
  read(checks, "/strategy", "options", strategy.options);
  read(checks, "/strategy", "history", strategy.history);
  require_one_of(checks, "/strategy/name", strategy.name, strategy_names());
  return strategy;
}

Budget read_budget(Checks& checks) {
  Budget budget;
  read(checks, "/budget", "trials", budget.trials.emplace());
  if (checks.get("/budget", "trials") == nullptr) budget.trials.reset();
  read(checks, "/budget", "wall", budget.wall, [](const std::string& text) {
    const auto duration = parse_duration(text);
    std::expected<std::chrono::seconds, std::string> seconds = std::unexpected(duration ? "" : duration.error());
    if (duration) seconds = std::chrono::ceil<std::chrono::seconds>(*duration);
    return seconds;
  });
  read(checks, "/budget", "until", budget.until, parse_time_of_day);
  return budget;
}

RunSettings read_run(Checks& checks) {
  RunSettings run;
  read(checks, "/run", "steps", run.steps);
  read(checks, "/run", "steps_per_sample", run.steps_per_sample);
  read(checks, "/run", "repeats", run.repeats);
  read(checks, "/run", "deadline", run.deadline, parse_duration);
  read(checks, "/run", "memory", run.memory_bytes, parse_size);
  read(checks, "/run", "seed", run.seed);
  if (const Json* cache = checks.get("/run", "compile_cache"))
    run.compile_cache = *cache == "warm" ? CompileCache::Warm : CompileCache::Cold;
  std::string word(to_text(run.method));
  read(checks, "/run", "method", word);
  run.method = trial_method_from_text(word).value_or(run.method);
  if (run.steps_per_sample > run.steps) {
    checks.add("/run/steps_per_sample", fmt::format("found {}", run.steps_per_sample),
               fmt::format("at most the steps of a run: {}", run.steps));
  }
  return run;
}

VerifySettings read_verify(Checks& checks) {
  VerifySettings verify;
  std::string word(measure::to_text(verify.method));
  read(checks, "/verify", "method", word);
  verify.method = measure::pair_method_from_text(word).value_or(verify.method);
  word = measure::to_text(verify.method == measure::PairMethod::Slices ? verify.estimator
                                                                       : measure::StepEstimator::Median);
  read(checks, "/verify", "estimator", word);
  verify.estimator = measure::step_estimator_from_text(word).value_or(verify.estimator);
  if (verify.method != measure::PairMethod::Slices && verify.estimator == measure::StepEstimator::Paired)
    checks.add("/verify/estimator", "found paired", "median or minimum: only slices have neighbours");
  read(checks, "/verify", "pairs", verify.pairs);
  // Who asks for more pairs than usual asks for all of them.
  verify.most_pairs = std::max(verify.most_pairs, verify.pairs);
  verify.most_pairs_given = checks.get("/verify", "most_pairs") != nullptr;
  read(checks, "/verify", "most_pairs", verify.most_pairs);
  if (verify.most_pairs < verify.pairs) {
    checks.add("/verify/most_pairs", fmt::format("found {}", verify.most_pairs),
               fmt::format("at least {}, which is 'pairs'", verify.pairs));
  }
  read(checks, "/verify", "margin_percent", verify.margin_percent);
  read(checks, "/verify", "finalists", verify.finalists);
  read(checks, "/verify", "selection_pairs", verify.selection_pairs);
  read(checks, "/verify", "simplify", verify.simplify);
  read(checks, "/verify", "slices", verify.slices);
  read(checks, "/verify", "slice_steps", verify.slice_steps);
  read(checks, "/verify", "accuracy_epochs", verify.accuracy_epochs);
  read(checks, "/verify/gate", "on", verify.gate.on);
  read(checks, "/verify/gate", "steps", verify.gate.steps);
  read(checks, "/verify/gate", "accuracy_margin", verify.gate.accuracy_margin);
  if (const Json* seeds = checks.get("/verify/gate", "seeds")) verify.gate.seeds = seeds->get<std::int64_t>();
  constexpr auto kFewest = static_cast<std::int64_t>(measure::kFewestReferences);
  if (verify.gate.seeds && *verify.gate.seeds > 0 && *verify.gate.seeds < kFewest) {
    checks.add("/verify/gate/seeds", fmt::format("found {}", *verify.gate.seeds),
               fmt::format("0, or at least {}: fewer seeds make no band", kFewest));
  }
  return verify;
}

EnvironmentSettings read_environments(Checks& checks) {
  EnvironmentSettings environments;
  read(checks, "/environments", "install", environments.install);
  const auto read_limit = [&](std::string_view key, std::optional<std::int64_t>& limit) {
    std::int64_t bytes = -1;
    read(checks, "/environments", key, bytes, parse_size);
    if (bytes >= 0) limit = bytes;
  };
  read_limit("download", environments.download_bytes);
  read_limit("disk", environments.disk_bytes);
  return environments;
}

WorkerChoice read_worker(Checks& checks, const fs::path& folder, const std::string& name,
                         const Frameworks& frameworks) {
  WorkerChoice worker;
  read(checks, "/worker", "recipe", worker.recipe);
  require_one_of(checks, "/worker/recipe", worker.recipe, recipe_names(frameworks));
  read(checks, "/worker", "command", worker.command);
  worker.own = read_command(checks, home_of(checks.document().place("/worker/template"), folder, name));
  if (worker.command.empty()) return worker;
  if (checks.get("/worker", "recipe") != nullptr) checks.add("/worker", "both 'recipe' and 'command'", "one of them");
  std::string& program = worker.command.front();
  if (program.find('/') != std::string::npos && !fs::path(program).is_absolute()) {
    const fs::path from = home_of(checks.document().place("/worker/command"), folder, name);
    program = fs::absolute(from / program).lexically_normal().string();
  }
  return worker;
}

CampaignSections read_sections(Checks& checks, const fs::path& folder, const std::string& name,
                               const Frameworks& frameworks) {
  CampaignSections read;
  read.worker = read_worker(checks, folder, name, frameworks);
  const bool own = !read.worker.own.empty();
  const fs::path home = home_of(checks.document().place("/workload/data_folder"), folder, name);
  read.workload =
      own ? command_workload(checks, read.worker.own) : read_workload(checks, home, read.worker.command.empty());
  read.objective = read_objective(checks);
  read.strategy = read_strategy(checks);
  read.budget = read_budget(checks);
  read.run = read_run(checks);
  read.verify = read_verify(checks);
  read.environments = read_environments(checks);
  check_slurm(checks);
  if (own)
    fit_to_command(checks, read.worker.own, read.objective, read.verify);
  else
    fit_to_workload(checks, read.workload, read.verify);
  return read;
}

}  // namespace nocturne::tuner
