#include "tuner/cli/subcommands/doctor_cluster.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/artifact/compiler.hpp"
#include "measure/run/own_program.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/registered.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/doctor/cluster_checks.hpp"
#include "tuner/doctor/cluster_probe.hpp"
#include "tuner/doctor/node_classes.hpp"
#include "tuner/executor/slurm/allocation.hpp"
#include "tuner/executor/slurm/job.hpp"

namespace nocturne::cli {
namespace {

using tuner::Diagnosis;
using tuner::Health;

constexpr std::size_t kMostAsked = 8;

/// What is registered of the cluster; its default partition becomes the one that is asked for. Throws Refusal.
Diagnosis registered_cluster(SlurmWords& words, std::string& local_folder, const Context& context) {
  const tuner::Registry registry = registry_here(context);
  const tuner::Infrastructure& site = slurm_site(context, registry, slurm_word(words, "cluster"), "--cluster");
  if (const auto* usual = site.partition(""); usual != nullptr && slurm_word(words, "partition").empty())
    words["partition"] = usual->name;
  local_folder = site.local_folder;
  Diagnosis finding{.subject = "registered",
                    .found = fmt::format("{}, {} module lines, shared folder {}", site.name, site.modules.size(),
                                         site.shared_folder.empty() ? "not named" : site.shared_folder)};
  if (finding.meaning = outside_of_share(context, site); !finding.meaning.empty()) finding.health = Health::Note;
  return finding;
}

/// "--partition=cpu", …: for sbatch and srun.
std::vector<std::string> job_options(const SlurmWords& words) {
  std::vector<std::string> options;
  for (const tuner::SlurmKey& key : tuner::slurm_keys()) {
    const std::string value = slurm_word(words, key.name);
    if (key.passed_on && !value.empty()) options.push_back(fmt::format("--{}={}", key.name, value));
  }
  return options;
}

void add_findings(std::vector<Diagnosis>& findings, std::initializer_list<Diagnosis> more) {
  findings.insert(findings.end(), more);
}

/// Asks nodes, and adds what their answers say. Gives the answers. Throws Refusal.
std::vector<tuner::NodeAnswer> examine_nodes(std::vector<Diagnosis>& findings,
                                             const std::optional<tuner::NodeQuestion>& question,
                                             const Context& context) {
  const auto not_asked = [&](std::string why) {
    add_findings(findings,
                 {{.subject = "data folder",
                   .health = Health::Note,
                   .found = "no node was asked: " + std::move(why),
                   .meaning = "again when nodes are idle, or inside of a job: salloc -N2 nocturne doctor --cluster"}});
    return std::vector<tuner::NodeAnswer>();
  };
  if (!question) return not_asked("none is idle");
  value_or_refuse(context, ExitCode::Unavailable, context.make_folders());
  *context.err << fmt::format("Asking {} node{} what they are, and what they see of each other.\n", question->nodes,
                              question->nodes == 1 ? "" : "s")
               << std::flush;
  auto answers = tuner::ask_nodes(*question);
  if (!answers) return not_asked(answers.error());
  add_findings(findings, {tuner::check_sharing(*answers, context.data_folder()), tuner::check_local_folders(*answers),
                          tuner::check_program_on_nodes(*answers), tuner::check_classes(*answers),
                          tuner::check_likeness(*answers), tuner::check_clocks(*answers)});
  return *std::move(answers);
}

nlohmann::json nodes_json(const std::vector<tuner::ClusterNode>& nodes, const std::vector<tuner::NodeAnswer>& answers) {
  const auto classes = tuner::classes_of(answers);
  return json_list(nodes, [&](const tuner::ClusterNode& node) {
    const auto answer = std::ranges::find(answers, node.name, &tuner::NodeAnswer::node);
    const std::size_t kind = answer == answers.end() ? 0 : classes[static_cast<std::size_t>(answer - answers.begin())];
    return nlohmann::json{{"node", node.name},          {"state", node.state},
                          {"cpus", or_null(node.cpus)}, {"memory_mb", or_null(node.memory_mb)},
                          {"topology", node.topology},  {"features", node.features},
                          {"gres", node.gres},          {"class", kind == 0 ? nlohmann::json() : nlohmann::json(kind)}};
  });
}

}  // namespace

std::optional<tuner::NodeQuestion> question_for(const SlurmWords& words, const Context& context,
                                                const tuner::SlurmCommands& commands,
                                                const std::vector<tuner::ClusterNode>& nodes, std::size_t most) {
  const auto allocation =
      value_or_refuse(context, ExitCode::Unavailable, tuner::present_allocation(context.environment));
  const auto idle = static_cast<std::size_t>(std::ranges::count_if(nodes, &tuner::ClusterNode::is_idle));
  tuner::NodeQuestion question{
      .commands = commands,
      .nodes = std::min(allocation ? allocation->nodes.size() : idle, most),
      .program = {measure::own_program_path().string(), "--data", context.data_folder().string()},
      .folder = context.data_folder() / "cluster" / fmt::format("doctor-{}", ::getpid())};
  if (const std::string wanted = slurm_word(words, "nodes"); !wanted.empty())
    question.nodes = static_cast<std::size_t>(std::stoull(wanted));
  if (question.nodes == 0) return std::nullopt;
  if (allocation) {
    question.options = {"--overlap"};
  } else {
    question.options = job_options(words);
    question.options.insert(question.options.end(), {"--exclusive", "--immediate=30", "--time=6"});
  }
  return question;
}

ClusterExamination examine_cluster(const SlurmWords& words, const Context& context) {
  SlurmWords wanted = words;
  ClusterExamination found{.cluster = slurm_word(words, "cluster")};
  std::string local_folder;
  if (!found.cluster.empty()) add_findings(found.findings, {registered_cluster(wanted, local_folder, context)});

  std::vector<std::string> missing;
  for (const char* name : {"sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun"})
    if (!measure::find_program(name)) missing.emplace_back(name);
  const auto sinfo = measure::find_program("sinfo");
  const std::string version = sinfo ? tuner::ask_slurm({sinfo->string(), "--version"}).value_or("") : std::string();
  add_findings(found.findings, {tuner::check_slurm_commands(missing, version)});
  const auto commands = tuner::SlurmCommands::find();
  if (!commands || !sinfo) return found;

  const auto configuration = tuner::ask_slurm({commands->scontrol.string(), "show", "config"});
  const auto listed = tuner::ask_slurm({sinfo->string(), "-h", "-N", "-o", tuner::kSinfoFormat});
  if (!configuration || !listed) {
    add_findings(found.findings, {{.subject = "controller",
                                   .health = Health::Bad,
                                   .found = !configuration ? configuration.error() : listed.error(),
                                   .meaning = "Slurm's controller does not answer: ask the site"}});
    return found;
  }
  const tuner::SlurmSettings settings = tuner::settings_from_scontrol(*configuration);
  if (const auto name = settings.find("ClusterName"); found.cluster.empty() && name != settings.end())
    found.cluster = name->second;
  const tuner::Cluster cluster = tuner::cluster_from_sinfo(*listed);
  const std::string partition = slurm_word(wanted, "partition");
  const auto nodes = cluster.nodes_of(partition);
  add_findings(found.findings, {tuner::check_cluster_nodes(nodes), tuner::check_node_kinds(nodes),
                                tuner::check_job_limits(settings, cluster.partition(partition)),
                                tuner::check_requeue(tuner::may_be_requeued(*commands, job_options(wanted)))});
  auto question = question_for(wanted, context, *commands, nodes, kMostAsked);
  if (question) question->local_folder = local_folder;
  const auto answers = examine_nodes(found.findings, question, context);
  found.nodes = nodes_json(nodes, answers);
  return found;
}

}  // namespace nocturne::cli
