#include "tuner/executor/local_executor.hpp"

#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/digest.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/executor/python_worker.hpp"

namespace nocturne::tuner {
namespace {

std::unexpected<PreparationFailure> failure(space::Outcome outcome, std::string reason, std::string log_tail = {}) {
  return std::unexpected(PreparationFailure{outcome, std::move(reason), std::move(log_tail)});
}

std::set<std::string> frameworks_of(const CampaignSpec& spec) {
  const std::vector<std::string> names = wanted_frameworks(spec);
  return {names.begin(), names.end()};
}

std::int64_t unix_ns(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

LocalExecutor::Options completed(LocalExecutor::Options options) {
  if (!options.frameworks) options.frameworks = std::make_shared<const Frameworks>();
  return options;
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
      containment_(
          {.installation = options_.installation,
           .runs_folder = options_.runs_folder,
           .images_folder = options_.images_folder,
           .recipes = {options_.user_images, options_.installation.source_root / "measure" / "container" / "images"},
           .progress = options_.installing}) {}

std::expected<measure::Artifact, PreparationFailure> LocalExecutor::obtain(const WorkerRecipe& worker,
                                                                           const measure::BuildFlags& flags,
                                                                           const std::stop_token& stop) {
  const std::string name = fmt::format("{} {}", worker.build_file, measure::to_text(flags));
  std::error_code ignored;
  if (const auto known = found_.find(name);
      known != found_.end() && std::filesystem::exists(known->second.program, ignored)) {
    measure::Artifact artifact = known->second;
    artifact.built_now = false;
    return artifact;
  }
  const auto recipe = measure::load_build_recipe(options_.installation.source_root / worker.build_file,
                                                 options_.installation.source_root);
  if (!recipe) return failure(space::Outcome::BuildFailed, recipe.error());
  measure::BuildOptions build;
  if (!options_.installation.onednn_prefix.empty()) build.prefixes["onednn"] = options_.installation.onednn_prefix;
  build.jobs = std::max(1, static_cast<int>(machine_.allowed.size()));
  auto artifact = artifacts_.obtain(*recipe, flags, build, stop);
  if (!artifact) {
    return failure(artifact.error().interrupted ? space::Outcome::Killed : space::Outcome::BuildFailed,
                   artifact.error().reason, artifact.error().log_tail);
  }
  found_[name] = *artifact;
  return *artifact;
}

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare(const space::Configuration& configuration,
                                                                   std::stop_token stop) {
  auto prepared =
      spec_.worker.own.empty() ? prepare_worker(spec_.worker, configuration, stop) : prepare_own(configuration);
  if (!prepared) return prepared;
  if (auto inside = containment_.prepare(configuration, *prepared, stop); !inside) {
    return std::unexpected(std::move(inside.error()));
  }
  return prepared;
}

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_own(const space::Configuration& configuration) {
  auto launch = measure::launch_settings(configuration, machine_);
  if (!launch) return failure(space::Outcome::Unsupported, launch.error());
  Prepared prepared;
  prepared.launch = *std::move(launch);
  return prepare_command(spec_, configuration, options_.installation, std::move(prepared));
}

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_reference(const space::Configuration& configuration,
                                                                             std::stop_token stop) {
  return prepare_worker({.recipe = "onednn", .command = {}, .own = {}}, configuration, stop);
}

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_worker(const WorkerChoice& choice,
                                                                          const space::Configuration& configuration,
                                                                          const std::stop_token& stop) {
  Prepared prepared;
  auto schedule = measure::schedule_of(spec_.workload, configuration, 128, protocol::PartialBatch::Train);
  if (!schedule) return failure(space::Outcome::Unsupported, schedule.error());
  prepared.schedule = *schedule;
  auto launch = measure::launch_settings(configuration, machine_);
  if (!launch) return failure(space::Outcome::Unsupported, launch.error());
  prepared.launch = *launch;

  if (!choice.command.empty()) {
    prepared.argv = choice.command;
    std::string all;
    for (const std::string& argument : prepared.argv) all += argument + '\0';
    prepared.worker = space::sha256(all);
    return prepared;
  }
  const std::string framework = framework_of(choice, configuration);
  if (const WorkerRecipe* worker = find_worker(framework)) {
    return prepare_build(*worker, configuration, std::move(prepared), stop);
  }
  if (const measure::EnvironmentRecipe* recipe = options_.frameworks->recipe(framework)) {
    return prepare_environment(*recipe, std::move(prepared), stop);
  }
  return failure(space::Outcome::Unsupported, fmt::format("no worker is called '{}'; known: {}", framework,
                                                          fmt::join(options_.frameworks->names(), ", ")));
}

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_build(const WorkerRecipe& worker,
                                                                         const space::Configuration& configuration,
                                                                         Prepared prepared,
                                                                         const std::stop_token& stop) {
  const auto flags = measure::build_flags(configuration);
  if (!flags) return failure(space::Outcome::BuildFailed, flags.error());
  const auto artifact = obtain(worker, *flags, stop);
  if (!artifact) return std::unexpected(artifact.error());
  prepared.argv = {artifact->program.string()};
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

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_environment(const measure::EnvironmentRecipe& recipe,
                                                                               Prepared prepared,
                                                                               const std::stop_token& stop) {
  const auto environment = environments_.obtain(recipe, stop);
  if (!environment) return std::unexpected(environment.error());
  const std::filesystem::path folder = options_.frameworks->worker_folder();
  const auto digest = python_worker_digest(*environment, folder, recipe.worker);
  if (!digest) return failure(space::Outcome::BuildFailed, digest.error());
  const bool warm = spec_.run.compile_cache == CompileCache::Warm;
  prepared.argv = python_arguments(*environment, folder, recipe.worker);
  prepared.launch = python_launch(recipe, std::move(prepared.launch));
  // What a warm cache spares is not what a cold one costs: another measurement.
  prepared.worker = warm ? space::sha256(*digest + " warm") : *digest;
  prepared.compile_cache =
      warm ? options_.caches_folder / digest->substr(0, 16) : std::filesystem::path("compile-cache");
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
                                   .created_unix_ns = unix_ns(environment->installed)};
  return prepared;
}

measure::RunPlan LocalExecutor::plan(const space::Configuration& configuration, const Prepared& prepared,
                                     const RunOrder& order) {
  measure::RunPlan plan;
  plan.id = measure::new_run_id();
  plan.purpose = order.purpose;
  plan.folder = options_.runs_folder / plan.id;
  plan.argv = prepared.argv;
  plan.environment = prepared.launch.variables();
  if (!prepared.compile_cache.empty()) {
    // A path that is absolute already stays as it is.
    plan.environment["NOCTURNE_COMPILE_CACHE"] = (plan.folder / prepared.compile_cache).string();
  }
  plan.unset = prepared.launch.unset;
  plan.cpus = prepared.launch.cpus;
  plan.artifact = prepared.artifact;
  plan.deadline = std::chrono::ceil<std::chrono::milliseconds>(order.deadline.value_or(spec_.run.deadline));
  if (const auto memory = memory_limit_bytes(); memory > 0) plan.memory_limit_bytes = memory;
  plan.request.network = spec_.workload.network;
  plan.request.data = spec_.workload.data;
  plan.request.data_folder = options_.installation.data_set(spec_.workload.data).string();
  plan.request.optimizer = spec_.workload.optimizer;
  plan.request.configuration = configuration.to_json();
  plan.request.seed = order.seed;
  plan.request.steps = order.steps;
  plan.request.epochs = order.epochs;
  plan.request.partial_batch = prepared.schedule.partial_batch;
  plan.request.steps_per_sample = spec_.run.steps_per_sample;
  plan.request.accuracy = order.accuracy;
  plan.request.gate = order.gate;
  if (!order.initial.empty()) plan.request.initial = order.initial;
  if (!spec_.worker.own.empty()) plan_command(spec_, configuration, prepared, order, options_.installation, plan);
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
    if (recipe == nullptr) continue;
    const auto environment = options_.frameworks->installed(name);
    const bool was_there = environment && unix_ns(environment->installed) < began_unix_ns;
    seconds[name] = was_there ? 0 : usual_install_seconds(*recipe);
  }
  return seconds;
}

std::int64_t LocalExecutor::memory_limit_bytes() const {
  return spec_.run.memory_bytes > 0 ? spec_.run.memory_bytes : options_.memory_bytes;
}

space::Run LocalExecutor::run(const measure::RunPlan& plan, const measure::RunControl& control) {
  return measure::run(plan, control);
}

measure::PairResult LocalExecutor::run_pair(const measure::PairPlan& plan, const measure::PairControl& control) {
  if (!spec_.worker.own.empty()) return measure::run_pair(pair_of_commands(spec_.worker.own, plan), control);
  return measure::run_pair(plan, control);
}

}  // namespace nocturne::tuner
