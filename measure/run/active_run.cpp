#include "measure/run/active_run.hpp"

#include <unistd.h>

#include <vector>

#include "measure/container/runtimes.hpp"
#include "measure/run/classify.hpp"
#include "measure/run/launch.hpp"
#include "measure/run/runner.hpp"
#include "measure/run/shell_words.hpp"
#include "measure/supervisor/log.hpp"

namespace nocturne::measure {
namespace {

// The shell line that repeats a run by hand.

/// "cd FOLDER && env -u NAME NAME=VALUE … taskset -c CPUS numactl --membind=NODES WORKER … --request
/// FOLDER/request.json --events /dev/stdout": the events appear on the terminal and the record of the run stays as it
/// was. A run that took turns is repeated alone.
std::string repeat_command(const RunPlan& plan) {
  std::vector<std::string> words =
      typed_words({.set = plan.environment, .unset = plan.unset, .cpus = plan.cpus, .memory = plan.memory}, plan.argv);
  const auto request = plan.folder / (plan.request.turns ? kAloneRequestFile : kRequestFile);
  words.insert(words.end(), {"--request", request.string(), "--events", "/dev/stdout"});
  return "cd " + shell_quote(plan.folder.string()) + " && " + shell_command(words);
}

constexpr std::size_t kLogTailBytes = 8 << 10;

SuperviseSpec spec_of(const RunPlan& plan, const SupervisorChoice& supervisor) {
  SuperviseSpec spec;
  spec.run_id = plan.id;
  spec.folder = plan.folder.string();
  spec.argv = plan.argv;
  spec.argv.insert(spec.argv.end(), {"--request", (plan.folder / kRequestFile).string(), "--events",
                                     (plan.folder / kEventsFile).string()});
  spec.environment = plan.environment;
  spec.unset = plan.unset;
  spec.cpus = plan.cpus;
  spec.memory = plan.memory;
  spec.deadline = plan.deadline;
  spec.total_limit = plan.total_limit;
  spec.grace = plan.grace;
  spec.memory_limit_bytes = plan.memory_limit_bytes;
  spec.apart = plan.apart;
  spec.clean_up = plan.clean_up;
  spec.use_cgroup = supervisor.use_cgroup;
  spec.log_cap_bytes = plan.log_cap_bytes;
  spec.proc = supervisor.proc.string();
  return spec;
}

WorkerTask asked_of(const protocol::Request& request) {
  const bool fixed = request.epochs == 0 && !request.turns;
  return {.steps = fixed ? request.steps : 0, .accuracy = request.accuracy};
}

ExitFacts facts_of(const SuperviseResult& result, const RunPlan& plan, const Events& events) {
  ExitFacts facts;
  facts.start_error = result.start_error;
  facts.exit_code = result.exit_code;
  facts.signal = result.signal;
  facts.timed_out = result.timed_out;
  // One that had said its last word when the kill arrived was not hurt by it.
  facts.interrupted = result.killed && !(result.exit_code == 0 && events.end);
  facts.interrupted_reason = result.killed_reason;
  facts.memory_evidence = result.memory_evidence;
  facts.wall = result.wall;
  facts.processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
  facts.limit = plan.deadline;
  if (plan.total_limit && result.wall >= *plan.total_limit) facts.limit = *plan.total_limit;
  return facts;
}

}  // namespace

ActiveRun::ActiveRun(RunPlan plan, const SupervisorChoice& supervisor)
    : plan_(std::move(plan)), started_(std::chrono::steady_clock::now()), reader_(kEventsFile, plan_.event_cap_bytes) {
  if (auto begun = begin(supervisor); !begun) start_error_ = std::move(begun.error());
}

std::expected<void, std::string> ActiveRun::begin(const SupervisorChoice& supervisor) {
  if (auto problem = problem_of(plan_)) return std::unexpected(std::move(*problem));
  const std::filesystem::path program = supervisor.program.empty() ? find_supervisor() : supervisor.program;
  if (program.empty())
    return std::unexpected("nocturne-supervisor is not beside the running program; it is built with it");
  auto folder = prepare_folder(plan_);
  if (!folder) return std::unexpected(std::move(folder.error()));
  folder_.emplace(*std::move(folder));
  if (plan_.request.turns) {
    auto turns = folder_->open_fifo(kTurnsFile);
    if (!turns) return std::unexpected(std::move(turns.error()));
    turns_ = *std::move(turns);
  }
  auto process = SupervisedWorker::start(spec_of(plan_, supervisor), program);
  if (!process) return std::unexpected(std::move(process.error()));
  process_.emplace(std::move(*process));
  return {};
}

void ActiveRun::wait(std::chrono::milliseconds timeout, int also) {
  if (finished()) return;
  process_->wait(timeout, also);
  if (process_->finished() && process_->lost() && !plan_.clean_up.empty())
    (void)ask_tool(plan_.clean_up, std::chrono::seconds(10));  // as the supervisor would have
  reader_.read(*folder_);
  if (events().overflow && !flood_ended_) {
    flood_ended_ = true;
    process_->kill("its events cannot be read further");
  }
}

void ActiveRun::stop() {
  if (!finished()) process_->stop();
}

void ActiveRun::resume() {
  if (!finished()) process_->resume();
}

void ActiveRun::kill(const std::string& reason) {
  if (!finished()) process_->kill(reason);
}

space::Run ActiveRun::record() {
  space::Run run;
  run.id = plan_.id;
  run.purpose = plan_.purpose;
  run.folder = plan_.folder.string();
  run.artifact = plan_.artifact;
  run.seed = static_cast<std::int64_t>(plan_.request.seed);
  if (!process_) {
    run.outcome = space::Outcome::Failed;
    run.reason = start_error_;
    return run;
  }
  run.command = repeat_command(plan_);
  const SuperviseResult& result = process_->result();
  reader_.read(*folder_);
  reader_.close_phases(std::chrono::steady_clock::now());
  const Events& said = events();
  run.log_tail = tail_of(*folder_, kLogFile, kLogTailBytes);

  ExitFacts facts = facts_of(result, plan_, said);
  facts.last_log_line = last_line_of(run.log_tail);
  Judgement judgement = classify(said, facts, asked_of(plan_.request));
  run.outcome = judgement.outcome;
  run.reason = std::move(judgement.reason);
  run.exit_code = result.exit_code;
  run.signal = result.signal;
  run.started_unix_ns = result.started_unix_ns;
  run.wall = result.wall;
  run.cpu = result.cpu;
  run.load = result.load;
  run.ready = said.ready;
  run.phases = said.phases;
  run.samples = said.samples;
  run.epochs = said.epochs;
  run.curve = said.curve;
  run.norms = said.norms;
  run.accuracy = said.accuracy;
  run.memory = said.memory;
  run.device = said.device;
  if (!run.memory && result.peak_bytes > 0) run.memory = space::Memory{.peak_rss_bytes = result.peak_bytes};
  if (said.overflow)  // what came after the cap until the worker was dead is not worth its disk
    folder_->cut(kEventsFile, plan_.event_cap_bytes);
  return run;
}

}  // namespace nocturne::measure
