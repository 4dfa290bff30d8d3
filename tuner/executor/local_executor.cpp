#include "tuner/executor/local_executor.hpp"

#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/artifact/plan.hpp"
#include "measure/machine/machine_part.hpp"
#include "measure/run/command_template.hpp"
#include "space/digest.hpp"
#include "space/unix_time.hpp"
#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"
#include "tuner/executor/own_build.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/executor/python_worker.hpp"
#include "tuner/executor/stray_runs.hpp"
#include "tuner/executor/workplace.hpp"

namespace nocturne::tuner {
namespace {

std::unexpected<PreparationFailure> failure(space::Outcome outcome, std::string reason, std::string log_tail = {}) {
  return std::unexpected(PreparationFailure{outcome, std::move(reason), std::move(log_tail)});
}

std::set<std::string> frameworks_of(const CampaignSpec& spec) {
  const std::vector<std::string> names = wanted_frameworks(spec);
  return {names.begin(), names.end()};
}

LocalExecutor::Options completed(LocalExecutor::Options options) {
  if (!options.frameworks) options.frameworks = std::make_shared<const Frameworks>();
  return options;
}

std::unexpected<PreparationFailure> refuse_recipe(space::Outcome outcome, std::string reason) {
  return std::unexpected(PreparationFailure{outcome, std::move(reason), {}});
}

/// Where compilers keep what they made, by the worker and its environment. What a warm cache spares is not what a cold
/// one costs: another measurement.
void lead_to_cache(const RunSettings& run, const std::filesystem::path& caches, const std::string& digest,
                   PreparedWorker& prepared) {
  const bool warm = run.compile_cache == CompileCache::Warm;
  prepared.worker = warm ? space::sha256(digest + " warm") : digest;
  prepared.compile_cache = warm ? caches / digest.substr(0, 16) : std::filesystem::path("compile-cache");
}

}  // namespace

LocalExecutor::LocalExecutor(const CampaignSpec& spec, Options options)
    : spec_(spec),
      options_(completed(std::move(options))),
      artifacts_(options_.builds_folder),
      machine_(measure::probe_launch_machine()),
      environments_(*options_.frameworks, {.limits = spec.environments,
                                           .wanted = frameworks_of(spec),
                                           .downloaded_bytes = options_.downloaded_bytes,
                                           .progress = options_.installing}),
      staging_({.folder = options_.local_folder, .note = options_.note, .progress = options_.installing}),
      containment_(
          {.installation = options_.installation,
           .data_folder = spec.workload.data_folder,
           .runs_folder = options_.runs_folder,
           .images_folder = options_.images_folder,
           .recipes = {options_.user_images, options_.installation.source_root / "measure" / "container" / "images"},
           .progress = options_.installing}) {}

std::expected<measure::Artifact, PreparationFailure> LocalExecutor::obtain(const WorkerRecipe& worker,
                                                                           const measure::BuildFlags& flags,
                                                                           const std::filesystem::path& onednn,
                                                                           const std::stop_token& stop) {
  const std::string name = fmt::format("{} {} {}", worker.build_file, measure::to_text(flags), onednn.string());
  // Asked of the cache once a session: its key hashes every source file. Somebody may clean the cache meanwhile, so the
  // program is looked for all the same.
  std::error_code ignored;
  if (const auto known = found_.find(name);
      known != found_.end() && std::filesystem::exists(known->second.program, ignored)) {
    measure::Artifact artifact = known->second;
    artifact.built_now = false;
    return artifact;
  }
  auto artifact = obtain_build(worker, flags, onednn, options_.installation, artifacts_,
                               static_cast<int>(machine_.allowed.size()), stop);
  if (artifact) found_[name] = *artifact;
  return artifact;
}

std::expected<PreparedWorker, PreparationFailure> LocalExecutor::prepare(const space::Configuration& configuration,
                                                                         std::stop_token stop) {
  auto prepared =
      spec_.worker.own.empty() ? prepare_worker(spec_.worker, configuration, stop) : prepare_own(configuration);
  if (!prepared) return prepared;
  if (auto inside = containment_.prepare(configuration, *prepared, stop); !inside)
    return std::unexpected(std::move(inside.error()));
  return prepared;
}

std::expected<PreparedWorker, PreparationFailure> LocalExecutor::prepare_own(
    const space::Configuration& configuration) {
  auto launch = measure::launch_settings(configuration, machine_);
  if (!launch) return failure(space::Outcome::Unsupported, launch.error());
  PreparedWorker prepared;
  prepared.launch = *std::move(launch);
  prepared.own = std::make_shared<const measure::CommandTemplate>(spec_.worker.own);
  auto schedule = trial_schedule(spec_.worker, spec_.workload, configuration);
  if (!schedule) return failure(space::Outcome::Unsupported, schedule.error());
  prepared.schedule = *schedule;
  return prepare_command(spec_, configuration, options_.installation, std::move(prepared));
}

std::expected<PreparedWorker, PreparationFailure> LocalExecutor::prepare_reference(
    const space::Configuration& configuration, std::stop_token stop) {
  space::Configuration built = configuration;
  // What the default says where it asks for no more than a compiler does by itself: one build then serves both.
  const space::Configuration usual = spec_.space.default_configuration();
  const space::Value* march = usual.find("march");
  if (march != nullptr && space::to_text(*march) == "x86-64") built.set("march", *march);
  return prepare_worker({.recipe = "onednn"}, built, stop);
}

std::expected<PreparedWorker, PreparationFailure> LocalExecutor::prepare_worker(
    const WorkerChoice& choice, const space::Configuration& configuration, const std::stop_token& stop) {
  PreparedWorker prepared;
  auto schedule = trial_schedule(choice, spec_.workload, configuration);
  if (!schedule) return failure(space::Outcome::Unsupported, schedule.error());
  prepared.schedule = *schedule;
  auto launch = measure::launch_settings(configuration, machine_);
  if (!launch) return failure(space::Outcome::Unsupported, launch.error());
  prepared.launch = *launch;

  // A command given outright has no build whose key could name it: its words do. The separator keeps {"a b"} and {"a",
  // "b"} apart.
  if (!choice.command.empty()) {
    prepared.argv = choice.command;
    std::string all;
    for (const std::string& argument : prepared.argv) all += argument + '\0';
    prepared.worker = space::sha256(all);
    return prepared;
  }
  const std::string framework = framework_of(choice, configuration);
  // Built with Nocturne itself: compiler and flags are no parameters of it.
  if (const WorkerRecipe* shipped = find_shipped_worker(framework))
    return prepare_shipped(*shipped, std::move(prepared));
  if (const WorkerRecipe* worker = find_worker(framework))
    return prepare_build(*worker, options_.installation.onednn_prefix, configuration, std::move(prepared), stop);
  if (const measure::EnvironmentRecipe* recipe = options_.frameworks->recipe(framework))
    return prepare_recipe(*recipe, configuration, std::move(prepared), stop);
  return failure(space::Outcome::Unsupported, fmt::format("no worker is called '{}'; known: {}", framework,
                                                          fmt::join(options_.frameworks->names(), ", ")));
}

std::expected<PreparedWorker, PreparationFailure> LocalExecutor::prepare_build(
    const WorkerRecipe& worker, const std::filesystem::path& onednn, const space::Configuration& configuration,
    PreparedWorker prepared, const std::stop_token& stop) {
  const auto flags = measure::build_flags(configuration);
  if (!flags) return failure(space::Outcome::BuildFailed, flags.error());
  const auto artifact = obtain(worker, *flags, onednn, stop);
  if (!artifact) return std::unexpected(artifact.error());
  const std::filesystem::path program = artifact->program.filename();
  prepared.argv = {(staging_.stage({.name = "build-" + artifact->key.substr(0, 12),
                                    .identity = artifact->key,
                                    .folder = artifact->program.parent_path(),
                                    .files = {program}},
                                   stop) /
                    program)
                       .string()};
  stage_library(onednn, configuration, prepared, stop);
  prepared.worker = artifact->key;
  prepared.artifact = artifact->key;
  prepared.built_now = artifact->built_now;
  prepared.build_time = artifact->build_time;
  prepared.build = db::BuildRecord{.key = artifact->key,
                                   .program = artifact->program.filename().string(),
                                   .compiler = artifact->compiler,
                                   .flags = {{"compiler", flags->compiler},
                                             {"optimisation", flags->optimisation},
                                             {"march", flags->march},
                                             {"lto", flags->lto},
                                             {"fast_math", flags->fast_math},
                                             {"extra_flags", flags->extra_flags}},
                                   .folder = artifact->program.parent_path().string(),
                                   .build_ns = artifact->build_time.count(),
                                   .size_bytes = static_cast<std::int64_t>(artifact->bytes)};
  return prepared;
}

void LocalExecutor::stage_library(const std::filesystem::path& prefix, const space::Configuration& configuration,
                                  PreparedWorker& prepared, const std::stop_token& stop) {
  // In a container it is found where it was linked.
  if (options_.local_folder.empty() || prefix.empty() || configuration.text_of("container", "host") != "host") return;
  const std::filesystem::path folder = measure::library_folder(prefix);
  const std::filesystem::path copy = staging_.stage({.name = "library-" + space::sha256(folder.string()).substr(0, 12),
                                                     .identity = folder_state(folder),
                                                     .folder = folder},
                                                    stop);
  constexpr const char* kLibraryPath = "LD_LIBRARY_PATH";
  if (copy != folder && prepared.launch.set.emplace(kLibraryPath, copy.string()).second)
    std::erase(prepared.launch.unset, kLibraryPath);
}

measure::RunPlan LocalExecutor::plan(const space::Configuration& configuration, const PreparedWorker& prepared,
                                     const RunOrder& order) {
  measure::RunPlan plan;
  plan.id = measure::new_run_id();
  plan.purpose = order.purpose;
  plan.folder = options_.runs_folder / plan.id;
  plan.owner = owner_text(options_.database);
  plan.argv = prepared.argv;
  plan.environment = prepared.launch.variables();
  plan.environment.merge(measure::visible_gpu_variables());  // a container would not see them
  if (!prepared.compile_cache.empty()) {
    // A path that is absolute already stays as it is.
    plan.environment["NOCTURNE_COMPILE_CACHE"] = (plan.folder / prepared.compile_cache).string();
  }
  plan.unset = prepared.launch.unset;
  plan.cpus = prepared.launch.cpus;
  plan.memory = prepared.launch.memory;
  plan.artifact = prepared.artifact;
  plan.deadline = std::chrono::ceil<std::chrono::milliseconds>(order.deadline.value_or(spec_.run.deadline));
  if (const auto memory = memory_limit_bytes(); memory > 0) plan.memory_limit_bytes = memory;
  // The request says all that the worker needs: it reads no campaign file and no database.
  plan.request = request_of(configuration, order);
  plan.request.network = spec_.workload.network;
  plan.request.data = spec_.workload.data;
  plan.request.data_folder = options_.installation.data_of(spec_.workload).string();
  plan.request.skip_broken = spec_.workload.skip_broken;
  plan.request.optimizer = spec_.workload.optimizer;
  plan.request.momentum = {.learning_rate = spec_.workload.learning_rate,
                           .momentum = spec_.workload.momentum,
                           .weight_decay = spec_.workload.weight_decay};
  plan.request.label_smoothing = spec_.workload.label_smoothing;
  plan.request.partial_batch = prepared.schedule.partial_batch;
  plan.request.steps_per_sample = spec_.run.steps_per_sample;
  if (prepared.own) {
    plan_command(spec_, configuration, prepared, order, options_.installation, plan);
    commands_[plan.id] = prepared.own;
  }
  if (prepared.contained) {
    if (auto inside = contained_plan(plan, *prepared.contained)) return std::move(*inside);
    plan.argv.clear();  // prepare() tried it; should it fail all the same, the host must not be measured in its place
  }
  return plan;
}

std::map<std::string, double> LocalExecutor::install_seconds(std::int64_t began_unix_ns) const {
  std::map<std::string, double> seconds;
  for (const std::string& name : frameworks_of(spec_)) {
    const measure::EnvironmentRecipe* recipe = options_.frameworks->recipe(name);
    if (recipe == nullptr || !recipe->is_installed()) continue;
    const auto environment = options_.frameworks->installed(name);
    // What was installed before the campaign costs nothing, what came since costs its usual time: so a session that is
    // resumed weighs costs as the one before did.
    const bool was_there = environment && space::unix_ns_of(environment->installed) < began_unix_ns;
    seconds[name] = was_there ? 0 : usual_install_seconds(*recipe);
  }
  return seconds;
}

std::vector<int> LocalExecutor::cpus() const {
  std::vector<int> cpus;
  for (const measure::LogicalCpu& each : machine_.allowed) cpus.push_back(each.cpu);
  return cpus;
}

std::int64_t LocalExecutor::memory_limit_bytes() const {
  return spec_.run.memory_bytes > 0 ? spec_.run.memory_bytes : options_.memory_bytes;
}

std::int64_t LocalExecutor::shared_memory_bytes() const {
  return options_.memory_bytes / 3 * 4;  // three quarters of the machine's is what one may take
}

space::Run LocalExecutor::run(const measure::RunPlan& plan, const measure::RunControl& control) {
  return measure::run(plan, control);
}

measure::PairResult LocalExecutor::run_pair(const measure::PairPlan& plan, const measure::PairControl& control) {
  // How a command waits for its turns is known to its template alone, which the plan of a run does not carry.
  measure::PairPlan whole = plan;
  for (measure::PairSide& side : whole.sides)
    if (const auto own = commands_.find(side.plan.id); own != commands_.end())
      wait_for_turns(*own->second, side, whole);
  return measure::run_pair(whole, control);
}

std::expected<PreparedWorker, PreparationFailure> LocalExecutor::prepare_recipe(
    const measure::EnvironmentRecipe& recipe, const space::Configuration& configuration, PreparedWorker prepared,
    const std::stop_token& stop) {
  switch (recipe.kind) {
    case measure::RecipeKind::Native:
      return prepare_library(recipe, configuration, std::move(prepared), stop);
    case measure::RecipeKind::Image:
      return prepare_image(recipe, configuration, std::move(prepared));
    case measure::RecipeKind::Command: {
      auto command = measure::command_from_json(recipe.command);
      if (!command) return refuse_recipe(space::Outcome::Unsupported, recipe.name + ": " + command.error());
      // Its steps are compared with those of other frameworks; the time of a whole process would contain the start,
      // too.
      if (command->whole()) {
        return refuse_recipe(space::Outcome::Unsupported,
                             recipe.name +
                                 ": beside other frameworks its time must come from steps: \"time\" is "
                                 "\"steps\", or a pattern");
      }
      prepared.own = std::make_shared<const measure::CommandTemplate>(std::move(*command));
      return prepare_command(spec_, configuration, options_.installation, std::move(prepared));
    }
    case measure::RecipeKind::Python:
      break;
  }
  return prepare_environment(recipe, std::move(prepared), stop);
}

std::expected<PreparedWorker, PreparationFailure> LocalExecutor::prepare_library(
    const measure::EnvironmentRecipe& recipe, const space::Configuration& configuration, PreparedWorker prepared,
    const std::stop_token& stop) {
  const WorkerRecipe* worker = find_worker(recipe.worker);
  if (worker == nullptr) {
    return refuse_recipe(space::Outcome::Unsupported,
                         fmt::format("{}: no worker of ours is called '{}'", recipe.name, recipe.worker));
  }
  const auto library = environments_.obtain(recipe, stop);
  if (!library) return std::unexpected(library.error());
  prepared.library = library->folder;
  return prepare_build(*worker, library->folder, configuration, std::move(prepared), stop);
}

std::expected<PreparedWorker, PreparationFailure> LocalExecutor::prepare_image(
    const measure::EnvironmentRecipe& recipe, const space::Configuration& configuration, PreparedWorker prepared) {
  if (configuration.text_of("container", "host") == "host") {
    return refuse_recipe(space::Outcome::Unsupported,
                         fmt::format("{} is in a container's image alone: give the campaign the parameter container, "
                                     "and constrain it to others than host for this framework",
                                     recipe.name));
  }
  const std::filesystem::path folder = options_.frameworks->worker_folder();
  measure::Environment inside;
  // There is no environment outside: the image's digest comes in with the container, this key only tells it from a
  // host's.
  inside.key = "image " + recipe.image;
  inside.python = recipe.interpreter;
  const auto digest = python_worker_digest(inside, folder, recipe.worker);
  if (!digest) return refuse_recipe(space::Outcome::BuildFailed, digest.error());
  prepared.argv = python_arguments(inside, folder, recipe.worker);
  prepared.launch = python_launch(recipe, std::move(prepared.launch));
  lead_to_cache(spec_.run, options_.caches_folder, *digest, prepared);
  prepared.image = recipe.image;
  return prepared;
}

std::expected<PreparedWorker, PreparationFailure> LocalExecutor::prepare_environment(
    const measure::EnvironmentRecipe& recipe, PreparedWorker prepared, const std::stop_token& stop) {
  const auto environment = environments_.obtain(recipe, stop);
  if (!environment) return std::unexpected(environment.error());
  const std::filesystem::path folder = options_.frameworks->worker_folder();
  const auto digest = python_worker_digest(*environment, folder, recipe.worker);
  if (!digest) return refuse_recipe(space::Outcome::BuildFailed, digest.error());
  const measure::Environment here = staging_.stage(*environment, stop);
  prepared.argv = python_arguments(here, folder, recipe.worker);
  prepared.launch = python_launch(recipe, std::move(prepared.launch), here.folder);
  lead_to_cache(spec_.run, options_.caches_folder, *digest, prepared);
  prepared.artifact = environment->key;
  prepared.built_now = environment->installed_now;
  prepared.build_time = environment->install_time;
  prepared.build = db::BuildRecord{.key = environment->key,
                                   .program = recipe.name,
                                   .compiler = "Python " + measure::to_text(environment->interpreter.version),
                                   .flags = {{"environment", recipe.name},
                                             {"packages", environment->lock},
                                             {"download_bytes", recipe.download_bytes}},
                                   .folder = environment->folder.string(),
                                   .build_ns = environment->install_time.count(),
                                   .size_bytes = static_cast<std::int64_t>(environment->bytes),
                                   .created_unix_ns = space::unix_ns_of(environment->installed)};
  return prepared;
}

}  // namespace nocturne::tuner
