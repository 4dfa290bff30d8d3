#include "tuner/cli/subcommands/tune_cluster.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "measure/machine/machine_part.hpp"
#include "measure/run/own_program.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign_file/slurm_section.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/registered.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/tune_command.hpp"
#include "tuner/cli/subcommands/tune_each_class.hpp"
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

/// Whether the command of the job has no use for it. The last two are written anew, for another folder.
bool is_of_the_job(std::string_view option) {
  if (!option.starts_with("--")) return false;
  option.remove_prefix(2);
  return option == "data" || option == "db" ||
         std::ranges::find(tuner::slurm_keys(), option, &tuner::SlurmKey::name) != tuner::slurm_keys().end();
}

fs::path this_program(const Context& context) {
  const fs::path self = measure::own_program_path();
  return self.empty() ? fs::path(context.program) : self;
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
    if (name == "--print" || name == "--each-class") continue;
    if (!is_of_the_job(name))
      words.push_back(*word);
    else if (name == *word && std::next(word) != context.arguments.end())
      ++word;
  }
  return words;
}

/// The longest time that a trial in flight may still take when the notice comes.
seconds notice_of(const tuner::CampaignSpec& spec, std::optional<seconds> time) {
  const seconds wanted = std::chrono::ceil<seconds>(tuner::most_runs(spec.run) * spec.run.deadline) + kToEnd;
  return std::min(wanted, time ? *time / 2 : kLongestNotice);
}

/// Throws Refusal.
tuner::CampaignJob job_of(const ClusterOptions& options, const Context& context, const tuner::CampaignSpec& spec) {
  tuner::CampaignJob job{.campaign = spec.name,
                         .name = spec.name,
                         .request = tuner::slurm_request(spec.document).value_or(tuner::SlurmRequest()),
                         .log = context.data_folder() / "logs" / (spec.name + "-job-%j.log"),
                         .script = context.data_folder() / "jobs" / (spec.name + ".sh"),
                         .command = job_command(context)};
  if (!job.request.cluster.empty()) {
    const bool by_option = !slurm_word(options.slurm, "cluster").empty();
    const tuner::Registry registry = registry_here(context);
    const tuner::Infrastructure& site =
        slurm_site(context, registry, job.request.cluster, by_option ? "--cluster" : "/executor/slurm/cluster");
    if (const std::string outside = outside_of_share(context, site); !outside.empty())
      *context.err << fmt::format("Beware: {}.\n", outside);
    job.modules = site.modules;
    job.local_folder = site.local_folder;
    if (const auto* usual = site.partition(""); usual != nullptr && job.request.partition.empty())
      job.request.partition = usual->name;
  }
  if (const auto parts = measure::part_kind_from_text(job.request.slots)) {
    if (*parts == measure::PartKind::Gpu && job.request.gres.empty())
      refuse_to_tune(context, ExitCode::Usage, "--slots gpu: say which GPUs each node has, as in --gres gpu:4");
    job.command.insert(job.command.end(), {"--slots", job.request.slots});  // a file's executor is passed over in a job
  }
  if (!job.request.time.empty())
    job.time = value_or_refuse(context, ExitCode::Usage, tuner::parse_job_time(job.request.time));
  else if (spec.budget.wall)
    job.time = std::chrono::ceil<std::chrono::minutes>(*spec.budget.wall + kBesideBudget);
  job.notice = notice_of(spec, job.time);
  return job;
}

/// The command that this program was called by.
std::vector<std::string> same_command(const Context& context) {
  std::vector<std::string> words = {this_program(context).string()};
  words.insert(words.end(), context.arguments.begin(), context.arguments.end());
  return words;
}

/// Becomes that command. Throws Refusal.
[[noreturn]] void become(std::vector<std::string> words, const Context& context) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv.front(), argv.data());
  refuse_to_tune(context, ExitCode::Unavailable,
                 fmt::format("{} cannot be started: {}", words.front(), std::strerror(errno)));
}

/// This program again, on a node.
[[noreturn]] void go_to(const tuner::Allocation& allocation, const tuner::SlurmCommands& commands,
                        const Context& context) {
  const tuner::SlurmStep step{.node = allocation.nodes.front(), .name = "nocturne", .words = same_command(context)};
  *context.err << fmt::format("This shell is on no node of job {}: going on on {}.\n", allocation.job, step.node)
               << std::flush;
  become(tuner::srun_words(commands, step), context);
}

/// This program again, in the first part of its node: the coordinator is of the class of those that measure.
[[noreturn]] void go_to_part(measure::PartKind kind, const Context& context) {
  const auto parts = value_or_refuse(context, ExitCode::Unavailable, measure::parts_of_this_machine(kind),
                                     fmt::format("--slots {}: ", measure::to_text(kind)));
  become(measure::words_in_part(parts.front(), same_command(context)), context);
}

/// "On 2 nodes of job 7, one trial at a time on each of their GPUs: n1, n2."
std::string where_line(const tuner::Allocation& allocation, std::optional<measure::PartKind> parts) {
  const auto& nodes = allocation.nodes;
  const bool one = nodes.size() == 1;
  const std::string which = one ? fmt::format("On {}, a node of job {}", nodes.front(), allocation.job)
                                : fmt::format("On {} nodes of job {}", nodes.size(), allocation.job);
  if (one && !parts) return which + ".\n";
  const std::string each = !parts ? "each" : fmt::format("each of {} {}", one ? "its" : "their", plural(*parts));
  const std::string list = one ? "" : fmt::format(": {}", fmt::join(nodes, ", "));
  return fmt::format("{}, one trial at a time on {}{}.\n", which, each, list);
}

}  // namespace

void add_cluster(CLI::App& subcommand, ClusterOptions& options) {
  for (const tuner::SlurmKey& key : tuner::slurm_keys())
    if (key.name != "time") add_slurm_option(subcommand, options.slurm, key);
  subcommand.add_flag("--each-class", options.each_class,
                      "A campaign on each class of nodes: idle nodes are asked of which one they are");
  subcommand.add_flag("--print", options.print, "Print the job script, and submit nothing");
}

void write_script(const Context& context, const tuner::CampaignJob& job) {
  value_or_refuse(context, ExitCode::Unavailable, space::write_file(job.script, tuner::job_script(job)));
  std::error_code error;
  fs::create_directories(job.log.parent_path(), error);
  if (error) {
    refuse_to_tune(context, ExitCode::Unavailable,
                   fmt::format("{} cannot be made: {}", job.log.parent_path().string(), error.message()));
  }
}

std::string submitted_line(const tuner::CampaignJob& job, const std::string& number) {
  const std::int64_t nodes = job.request.nodes.value_or(1);
  return fmt::format("Submitted job {} for {} node{}: {}\n", number, nodes, nodes == 1 ? "" : "s",
                     tuner::command_text({"status", job.campaign}));
}

std::optional<measure::PartKind> ClusterOptions::parts() const {
  return measure::part_kind_from_text(slurm_word(slurm, "slots"));
}

bool wants_job(const ClusterOptions& options, const tuner::CampaignSpec& spec) {
  return options.print || options.each_class || tuner::slurm_request(spec.document);
}

std::optional<tuner::Allocation> allocation_here(const ClusterOptions& options, const Context& context) {
  if (options.print && !options.each_class) return std::nullopt;
  auto allocation = value_or_refuse(context, ExitCode::Unavailable, tuner::present_allocation(context.environment));
  if (!allocation) return std::nullopt;
  if (options.each_class) {
    refuse_to_tune(context, ExitCode::Usage,
                   fmt::format("--each-class submits jobs, and this is inside of job {}: call it on a login node",
                               allocation->job));
  }
  if (allocation->here.empty()) {
    const auto commands = value_or_refuse(context, ExitCode::Unavailable, tuner::SlurmCommands::find());
    go_to(*allocation, commands, context);
  }
  const auto parts = options.parts();
  if (parts && measure::present_part().empty()) go_to_part(*parts, context);
  auto& nodes = allocation->nodes;
  // The coordinator's own first: it is one of them whatever happens.
  std::ranges::rotate(nodes, std::ranges::find(nodes, allocation->here));
  // What a file asks for is a job; here there is one.
  if (const std::string wanted = slurm_word(options.slurm, "nodes"); !wanted.empty()) {
    const auto number = static_cast<std::size_t>(std::stoull(wanted));
    if (number > nodes.size()) {
      refuse_to_tune(context, ExitCode::Usage,
                     fmt::format("job {} has {} nodes, not {}", allocation->job, nodes.size(), number));
    }
    nodes.resize(number);
  }
  *context.err << where_line(*allocation, parts);
  return allocation;
}

ExitCode submit_campaign(const ClusterOptions& options, const Context& context, const tuner::CampaignSpec& spec) {
  const tuner::CampaignJob job = job_of(options, context, spec);
  if (options.print && !options.each_class) {
    context.verbatim() << tuner::job_script(job);
    return ExitCode::Ok;
  }
  // Else a job that does not see its nodes would submit the next one.
  if (context.variable(tuner::kScriptVariable))
    refuse_to_tune(context, ExitCode::Unavailable, "this is a job's script, and it runs in no job of Slurm");
  if (options.each_class) return submit_each_class(job, context, options.print);
  const auto commands = tuner::SlurmCommands::find();
  if (!commands) {
    refuse_to_tune(context, ExitCode::Unavailable,
                   commands.error() + (options.any() ? "" : ". --set /executor=null measures on this machine instead"));
  }
  write_script(context, job);
  const auto number = value_or_refuse(context, ExitCode::Unavailable, tuner::submit_job(*commands, job.script),
                                      "Slurm refuses the job: ");
  if (context.json) {
    print_json(context, "tune-submitted",
               {{"job", number},
                {"campaign", spec.name},
                {"nodes", job.request.nodes.value_or(1)},
                {"script", job.script.string()}});
    return ExitCode::Ok;
  }
  *context.out << submitted_line(job, number);
  return ExitCode::Ok;
}

std::unique_ptr<tuner::SlurmExecutor> open_nodes(const tuner::Allocation& allocation, const ClusterOptions& options,
                                                 const Context& context, const tuner::Session& session) {
  if (allocation.nodes.size() == 1 && !options.parts()) return nullptr;
  tuner::SlurmExecutor::Options nodes{
      .commands = value_or_refuse(context, ExitCode::Unavailable, tuner::SlurmCommands::find()),
      .allocation = allocation,
      .program = program_words(context),
      .folder = context.data_folder() / "cluster" / ("job-" + allocation.job),
      .parts = options.parts(),
      .longest_order = tuner::longest_order(session.spec)};
  return value_or_refuse(context, ExitCode::Unavailable,
                         tuner::SlurmExecutor::open(std::move(nodes), session.spec, session.fingerprint,
                                                    session.observer, session.interruption));
}

std::unique_ptr<tuner::CoordinatorWatch> open_watch(const tuner::Allocation& allocation, const Context& context) {
  if (allocation.nodes.size() == 1) return nullptr;
  return std::make_unique<tuner::CoordinatorWatch>(tuner::CoordinatorWatch::Options{
      .commands = value_or_refuse(context, ExitCode::Unavailable, tuner::SlurmCommands::find()),
      .allocation = allocation,
      .program = program_words(context),
      .folder = context.data_folder() / "cluster" / ("watch-" + allocation.job)});
}

bool queue_job_again(const tuner::Allocation& allocation, const Context& context) {
  const auto commands = tuner::SlurmCommands::find();
  // Said before: this process may be ended first.
  if (allocation.batch) {
    *context.err << fmt::format("The campaign is not complete: job {} asks to be queued again.\n", allocation.job)
                 << std::flush;
  }
  const auto again =
      commands ? tuner::queue_again(*commands, allocation, context.variable(tuner::kScriptVariable).value_or(""))
               : std::unexpected(commands.error());
  *context.err << (again ? again->sentence : "The job could not be queued again: " + again.error()) << ".\n"
               << std::flush;
  return again.has_value();
}

}  // namespace nocturne::cli
