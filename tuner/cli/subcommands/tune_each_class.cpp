#include "tuner/cli/subcommands/tune_each_class.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/artifact/compiler.hpp"
#include "tuner/campaign_file/slurm_section.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/doctor_cluster.hpp"
#include "tuner/cli/subcommands/tune_cluster.hpp"
#include "tuner/cli/subcommands/tune_command.hpp"
#include "tuner/doctor/cluster_probe.hpp"
#include "tuner/doctor/node_classes.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

/// Nodes that are asked what they are.
constexpr std::size_t kMostAskedForClasses = 256;
constexpr std::size_t kLongestName = 64;  // of a campaign

/// A campaign of one class, and what came of handing it in.
struct Sister {
  tuner::NodeClass node_class;
  tuner::CampaignJob job;
  std::expected<std::string, std::string> number = std::unexpected("it was not handed in");
};

/// What srun is asked for, by the names of its options: nodes of the job's kind, as many as there are.
SlurmWords words_for_asking(const tuner::SlurmRequest& request) {
  SlurmWords words;
  for (const tuner::SlurmKey& key : tuner::slurm_keys())
    if (key.passed_on) words[std::string(key.name)] = request.*key.text;
  return words;
}

/// Those that the partition has. Throws Refusal.
std::vector<tuner::ClusterNode> nodes_of_partition(const tuner::SlurmRequest& request, const Context& context) {
  const auto sinfo = measure::find_program("sinfo");
  if (!sinfo)
    refuse_to_tune(context, ExitCode::Unavailable, "there is no Slurm here: its command sinfo is not on PATH");
  const auto listed = value_or_refuse(context, ExitCode::Unavailable,
                                      tuner::ask_slurm({sinfo->string(), "-h", "-N", "-o", tuner::kSinfoFormat}));
  auto nodes = tuner::cluster_from_sinfo(listed).nodes_of(request.partition);
  if (nodes.empty()) {
    refuse_to_tune(context, ExitCode::Unavailable,
                   fmt::format("sinfo shows no node in the partition '{}'", request.partition));
  }
  return nodes;
}

/// Throws Refusal.
tuner::NodeClasses ask_for_classes(const tuner::CampaignJob& whole, const tuner::SlurmCommands& commands,
                                   const std::vector<tuner::ClusterNode>& nodes, const Context& context) {
  auto question = question_for(words_for_asking(whole.request), context, commands, nodes, kMostAskedForClasses);
  if (!question) {
    refuse_to_tune(context, ExitCode::Unavailable,
                   "no node is idle, and idle nodes are asked of which class they are: again when some are ('sinfo')");
  }
  question->or_fewer = true;
  question->local_folder = whole.local_folder;
  *context.err << fmt::format("Asking {} idle node{} what they are.\n", question->nodes,
                              question->nodes == 1 ? "" : "s")
               << std::flush;
  const auto answers = value_or_refuse(context, ExitCode::Unavailable, tuner::ask_nodes(*question),
                                       "nodes were asked of which class they are: ");
  for (const tuner::NodeAnswer& answer : answers)
    if (!answer.machine) *context.err << fmt::format("{} does not say what it is: {}\n", answer.node, answer.reason);
  auto divided = tuner::divide_nodes(nodes, answers);
  if (divided.classes.empty()) refuse_to_tune(context, ExitCode::Unavailable, "no node says what it is");
  return divided;
}

/// Of those nodes, as many as are wanted and as there are. Slurm is told which ones it must not take: a list of those
/// that it may take would be one of which it must take all.
tuner::CampaignJob sister_of(const tuner::CampaignJob& whole, const tuner::NodeClass& node_class,
                             const std::vector<tuner::ClusterNode>& nodes) {
  tuner::CampaignJob job = whole;
  const std::string name = whole.campaign + "-" + node_class.name;
  job.campaign = name;
  job.one_at_a_time = true;
  job.log = whole.log.parent_path() / (name + "-job-%j.log");
  job.script = whole.script.parent_path() / (name + ".sh");
  job.command.insert(job.command.end(), {"--set", fmt::format("/campaign=\"{}\"", name)});
  job.request.nodes = std::min(whole.request.nodes.value_or(1), static_cast<std::int64_t>(node_class.nodes.size()));
  for (const tuner::ClusterNode& node : nodes)
    if (std::ranges::find(node_class.nodes, node.name) == node_class.nodes.end())
      job.request.exclude += (job.request.exclude.empty() ? "" : ",") + node.name;
  return job;
}

void say_classes(const std::vector<Sister>& sisters, const tuner::NodeClasses& divided, const Context& context) {
  for (const Sister& each : sisters) {
    *context.err << fmt::format("{}: {}{}{}\n", each.job.campaign, fmt::join(each.node_class.nodes, ", "),
                                each.node_class.difference.empty() ? "" : "; ", each.node_class.difference);
  }
  if (!divided.unknown.empty())
    *context.err << fmt::format("Of no class, for they were not idle: {}\n", fmt::join(divided.unknown, ", "));
}

void report_submitted(const std::vector<Sister>& sisters, const Context& context) {
  if (context.json) {
    print_json(context, "tune-each-class",
               {{"campaigns", json_list(sisters, [](const Sister& each) {
                   return nlohmann::json{
                       {"campaign", each.job.campaign},
                       {"class", each.node_class.name},
                       {"on", each.node_class.nodes},
                       {"nodes", *each.job.request.nodes},
                       {"script", each.job.script.string()},
                       {"job", each.number ? nlohmann::json(*each.number) : nlohmann::json()},
                       {"refused", each.number ? nlohmann::json() : nlohmann::json(each.number.error())}};
                 })}});
    return;
  }
  for (const Sister& each : sisters)
    if (each.number) *context.out << submitted_line(each.job, *each.number);
}

}  // namespace

ExitCode submit_each_class(const tuner::CampaignJob& whole, const Context& context, bool print) {
  const auto commands = value_or_refuse(context, ExitCode::Unavailable, tuner::SlurmCommands::find());
  const auto nodes = nodes_of_partition(whole.request, context);
  const tuner::NodeClasses divided = ask_for_classes(whole, commands, nodes, context);
  std::vector<Sister> sisters;
  for (const tuner::NodeClass& each : divided.classes)
    sisters.push_back({.node_class = each, .job = sister_of(whole, each, nodes)});
  if (sisters.front().job.campaign.size() > kLongestName) {
    refuse_to_tune(context, ExitCode::Usage,
                   fmt::format("'{}' is too long for the name of a campaign: {} characters at most",
                               sisters.front().job.campaign, kLongestName));
  }
  say_classes(sisters, divided, context);
  if (print) {
    for (const Sister& each : sisters) context.verbatim() << tuner::job_script(each.job);
    return ExitCode::Ok;
  }
  bool refused = false;
  for (Sister& each : sisters) {
    write_script(context, each.job);
    each.number = tuner::submit_job(commands, each.job.script);
    if (each.number) continue;
    refused = true;
    *context.err << fmt::format("{} is not submitted, Slurm refuses the job: {}\n", each.job.campaign,
                                each.number.error());
  }
  report_submitted(sisters, context);
  if (!context.json && sisters.size() > 1)
    *context.err << "They run one after the other: each learns from those before it.\n";
  return refused ? ExitCode::Unavailable : ExitCode::Ok;
}

}  // namespace nocturne::cli
