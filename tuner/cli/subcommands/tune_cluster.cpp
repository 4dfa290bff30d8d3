#include "tuner/cli/subcommands/tune_cluster.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/registered.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/tune_command.hpp"
#include "tuner/executor/carry_out.hpp"
#include "tuner/executor/slurm/job.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

/// What a job needs beyond the campaign's own budget of time: to start, and for the answer.
constexpr seconds kBesideBudget = std::chrono::minutes(15);
constexpr seconds kLongestNotice{65'535};  // as Slurm has it
/// From the notice to the end, beyond the longest order.
constexpr seconds kToEnd{60};

/// Options of the job, which its own command does not have; the last two are written anew, for another folder.
constexpr std::array<std::string_view, 9> kWithValue = {"--nodes", "--partition", "--account", "--constraint", "--gres",
                                                        "--time",  "--cluster",   "--data",    "--db"};

fs::path this_program(const Context& context) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(context.program) : self;
}

/// `nocturne --data FOLDER`, whatever the environment of a node says.
std::vector<std::string> program_words(const Context& context) {
  std::vector<std::string> words = {this_program(context).string(), "--data", context.data_folder().string()};
  if (!context.database_option.empty()) words.insert(words.end(), {"--db", context.database().string()});
  return words;
}

/// The command of the job: as it was called, without what concerns the job itself.
std::vector<std::string> job_command(const Context& context) {
  std::vector<std::string> words = program_words(context);
  for (auto word = context.arguments.begin(); word != context.arguments.end(); ++word) {
    const std::string_view name = std::string_view(*word).substr(0, word->find('='));
    if (*word == "--print") continue;
    if (std::ranges::find(kWithValue, name) == kWithValue.end())
      words.push_back(*word);
    else if (name == *word && std::next(word) != context.arguments.end())
      ++word;
  }
  return words;
}

/// Throws Refusal.
const tuner::Infrastructure* infrastructure_of(const ClusterOptions& options, const Context& context,
                                               const tuner::Registry& registry) {
  if (options.cluster.empty()) return nullptr;
  const auto* found =
      value_or_refuse(context, ExitCode::NotFound, registry.infrastructure(options.cluster), "--cluster: ");
  if (found->scheduler != "slurm") {
    refuse_to_tune(context, ExitCode::Usage,
                   fmt::format("the infrastructure '{}' has no Slurm (its scheduler: {})", found->name,
                               found->scheduler.empty() ? "none" : found->scheduler));
  }
  return found;
}

/// The longest time that a trial in flight may still take when the notice comes.
seconds notice_of(const tuner::CampaignSpec& spec, std::optional<seconds> time) {
  const seconds wanted = std::chrono::ceil<seconds>(tuner::most_runs(spec.run) * spec.run.deadline) + kToEnd;
  return std::min(wanted, time ? *time / 2 : kLongestNotice);
}

/// Throws Refusal.
tuner::CampaignJob job_of(const ClusterOptions& options, const Context& context, const tuner::CampaignSpec& spec) {
  const tuner::Registry registry = registry_here(context);
  const tuner::Infrastructure* site = infrastructure_of(options, context, registry);
  tuner::CampaignJob job{.name = spec.name,
                         .nodes = options.nodes.value_or(1),
                         .partition = options.partition,
                         .account = options.account,
                         .constraint = options.constraint,
                         .gres = options.gres,
                         .log = context.data_folder() / "logs" / (spec.name + "-job-%j.log"),
                         .script = context.data_folder() / "jobs" / (spec.name + ".sh"),
                         .command = job_command(context)};
  if (site != nullptr) {
    job.modules = site->modules;
    const auto below = context.data_folder().lexically_relative(site->shared_folder);
    if (!site->shared_folder.empty() && (below.empty() || *below.begin() == "..")) {
      *context.err << fmt::format("The data folder {} is not below the folder that all nodes of '{}' share ({}).\n",
                                  context.data_folder().string(), site->name, site->shared_folder);
    }
    if (const auto* partition = site->partition(options.partition); partition != nullptr && job.partition.empty())
      job.partition = partition->name;
  }
  for (const auto& [option, value] : {std::pair("--partition", &job.partition), std::pair("--account", &job.account),
                                      std::pair("--constraint", &job.constraint), std::pair("--gres", &job.gres)}) {
    if (!value->empty() && !tuner::is_option_word(*value))
      refuse_to_tune(context, ExitCode::Usage, fmt::format("{}: '{}' is no word that Slurm takes", option, *value));
  }
  if (!options.time.empty())
    job.time = value_or_refuse(context, ExitCode::Usage, tuner::parse_job_time(options.time), "--time: ");
  else if (spec.budget.wall)
    job.time = std::chrono::ceil<std::chrono::minutes>(*spec.budget.wall + kBesideBudget);
  job.notice = notice_of(spec, job.time);
  return job;
}

void write_script(const Context& context, const tuner::CampaignJob& job, const std::string& text) {
  std::error_code error;
  for (const fs::path& folder : {job.script.parent_path(), job.log.parent_path()})
    fs::create_directories(folder, error);
  std::ofstream file(job.script);
  if (!(file << text).flush())
    refuse_to_tune(context, ExitCode::Unavailable, fmt::format("'{}' cannot be written", job.script.string()));
}

/// This program again, on a node. Does not return where that works.
void go_to(const tuner::Allocation& allocation, const tuner::SlurmCommands& commands, const Context& context) {
  std::vector<std::string> words = {this_program(context).string()};
  words.insert(words.end(), context.arguments.begin(), context.arguments.end());
  tuner::SlurmStep step{.node = allocation.nodes.front(), .name = "nocturne", .words = std::move(words)};
  std::vector<std::string> srun = tuner::srun_words(commands, step);
  std::vector<char*> argv;
  for (std::string& word : srun) argv.push_back(word.data());
  argv.push_back(nullptr);
  *context.err << fmt::format("This shell is on no node of job {}: going on on {}.\n", allocation.job, step.node)
               << std::flush;
  ::execv(argv.front(), argv.data());
}

}  // namespace

bool ClusterOptions::any() const {
  return nodes || print || !partition.empty() || !account.empty() || !constraint.empty() || !gres.empty() ||
         !time.empty() || !cluster.empty();
}

void add_cluster(CLI::App& subcommand, ClusterOptions& options) {
  add_value(subcommand, "--nodes", options.nodes, "N", "On so many nodes of a cluster, by Slurm: submits a job",
            whole_number(1, 10'000));
  add_value(subcommand, "--partition", options.partition, "P", "Slurm's partition");
  add_value(subcommand, "--account", options.account, "A", "Slurm's account");
  add_value(subcommand, "--constraint", options.constraint, "C", "Features that the nodes must have");
  add_value(subcommand, "--gres", options.gres, "G", "What each node must have: gpu:1");
  add_value(subcommand, "--cluster", options.cluster, "NAME",
            "A registered infrastructure: nocturne list infrastructures");
  subcommand.add_flag("--print", options.print, "Print the job script, and submit nothing");
}

std::optional<tuner::Allocation> allocation_here(const ClusterOptions& options, const Context& context) {
  if (options.print) return std::nullopt;
  auto allocation = value_or_refuse(context, ExitCode::Unavailable, tuner::present_allocation(context.environment));
  if (!allocation) return std::nullopt;
  if (allocation->here.empty()) {
    const auto commands = value_or_refuse(context, ExitCode::Unavailable, tuner::SlurmCommands::find());
    go_to(*allocation, commands, context);
    refuse_to_tune(context, ExitCode::Unavailable, fmt::format("srun cannot be started: {}", std::strerror(errno)));
  }
  auto& nodes = allocation->nodes;
  // The coordinator's own first: it is one of them whatever happens.
  std::ranges::rotate(nodes, std::ranges::find(nodes, allocation->here));
  if (options.nodes && std::cmp_greater(*options.nodes, nodes.size())) {
    refuse_to_tune(context, ExitCode::Usage,
                   fmt::format("job {} has {} nodes, not {}", allocation->job, nodes.size(), *options.nodes));
  }
  if (options.nodes) nodes.resize(static_cast<std::size_t>(*options.nodes));
  *context.err << (nodes.size() == 1 ? fmt::format("On {}, a node of job {}.\n", nodes.front(), allocation->job)
                                     : fmt::format("On {} nodes of job {}, one trial at a time on each: {}.\n",
                                                   nodes.size(), allocation->job, fmt::join(nodes, ", ")));
  return allocation;
}

ExitCode submit_campaign(const ClusterOptions& options, const Context& context, const tuner::CampaignSpec& spec) {
  const tuner::CampaignJob job = job_of(options, context, spec);
  const std::string text = tuner::job_script(job);
  if (options.print) {
    context.verbatim() << text;
    return ExitCode::Ok;
  }
  const auto commands = value_or_refuse(context, ExitCode::Unavailable, tuner::SlurmCommands::find());
  write_script(context, job, text);
  const auto number = value_or_refuse(context, ExitCode::Unavailable, tuner::submit_job(commands, job.script),
                                      "Slurm refuses the job: ");
  if (context.json) {
    print_json(context, "tune-submitted",
               {{"job", number}, {"campaign", spec.name}, {"nodes", job.nodes}, {"script", job.script.string()}});
    return ExitCode::Ok;
  }
  *context.out << fmt::format("Submitted job {} for {} node{}: {}\n", number, job.nodes, job.nodes == 1 ? "" : "s",
                              tuner::command_text({"status", spec.name}));
  return ExitCode::Ok;
}

std::unique_ptr<tuner::SlurmExecutor> open_nodes(const tuner::Allocation& allocation, const Context& context,
                                                 const tuner::Session& session) {
  if (allocation.nodes.size() == 1) return nullptr;
  tuner::SlurmExecutor::Options nodes{
      .commands = value_or_refuse(context, ExitCode::Unavailable, tuner::SlurmCommands::find()),
      .allocation = allocation,
      .program = program_words(context),
      .folder = context.data_folder() / "cluster" / ("job-" + allocation.job),
      .longest_order = tuner::longest_order(session.spec)};
  return value_or_refuse(context, ExitCode::Unavailable,
                         tuner::SlurmExecutor::open(std::move(nodes), session.spec, session.fingerprint,
                                                    session.observer, session.interruption));
}

bool queue_job_again(const tuner::Allocation& allocation, const Context& context) {
  const auto commands = tuner::SlurmCommands::find();
  // Said before: this process may be ended first.
  if (allocation.batch)
    *context.err << fmt::format("The campaign goes on in job {}, queued again.\n", allocation.job) << std::flush;
  const auto again =
      commands ? tuner::queue_again(*commands, allocation, context.variable(tuner::kScriptVariable).value_or(""))
               : std::unexpected(commands.error());
  *context.err << (again ? *again : "The job could not be queued again: " + again.error()) << ".\n" << std::flush;
  return again.has_value();
}

}  // namespace nocturne::cli
