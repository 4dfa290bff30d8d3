#include "tuner/executor/local_executor.hpp"

#include <thread>

#include <fmt/format.h>

#include "space/digest.hpp"

namespace nocturne::tuner {
namespace {

std::unexpected<PreparationFailure> failure(space::Outcome outcome, std::string reason, std::string log_tail = {}) {
  return std::unexpected(PreparationFailure{outcome, std::move(reason), std::move(log_tail)});
}

}  // namespace

LocalExecutor::LocalExecutor(const CampaignSpec& spec, Options options)
    : spec_(spec),
      options_(std::move(options)),
      artifacts_(options_.builds_folder),
      machine_(measure::probe_launch_machine()) {}

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
  return prepare_worker(spec_.worker, configuration, stop);
}

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_reference(const space::Configuration& configuration,
                                                                             std::stop_token stop) {
  return prepare_worker({.recipe = "onednn", .command = {}}, configuration, stop);
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
  const auto worker = find_worker(choice, configuration);
  if (!worker) return failure(space::Outcome::Unsupported, worker.error());
  const auto flags = measure::build_flags(configuration);
  if (!flags) return failure(space::Outcome::BuildFailed, flags.error());
  const auto artifact = obtain(*worker, *flags, stop);
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

measure::RunPlan LocalExecutor::plan(const space::Configuration& configuration, const Prepared& prepared,
                                     const RunOrder& order) {
  measure::RunPlan plan;
  plan.id = measure::new_run_id();
  plan.purpose = order.purpose;
  plan.folder = options_.runs_folder / plan.id;
  plan.argv = prepared.argv;
  plan.environment = prepared.launch.variables();
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
  return plan;
}

std::int64_t LocalExecutor::memory_limit_bytes() const {
  return spec_.run.memory_bytes > 0 ? spec_.run.memory_bytes : options_.memory_bytes;
}

space::Run LocalExecutor::run(const measure::RunPlan& plan, const measure::RunControl& control) {
  return measure::run(plan, control);
}

measure::PairResult LocalExecutor::run_pair(const measure::PairPlan& plan, const measure::PairControl& control) {
  return measure::run_pair(plan, control);
}

}  // namespace nocturne::tuner
