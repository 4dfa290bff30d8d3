#include "tuner/doctor/cluster_checks.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/doctor/node_classes.hpp"
#include "tuner/executor/machine_difference.hpp"
#include "tuner/executor/staging.hpp"

namespace nocturne::tuner {
namespace {

/// `srun --overlap` is of November 2020.
constexpr std::pair<int, int> kOldestSlurm{20, 11};
/// Trials of a long night on one node.
constexpr std::int64_t kRoomySteps = 1000;
constexpr std::int64_t kRightClock = 5;  // seconds

/// "slurm-wlm 22.05.8" → 22, 5. Empty: it says no number.
std::optional<std::pair<int, int>> version_in(const std::string& text) {
  const auto begin = text.find_first_of("0123456789");
  if (begin == std::string::npos) return std::nullopt;
  std::pair<int, int> version{};
  const char* end = text.data() + text.size();
  const auto year = std::from_chars(text.data() + begin, end, version.first);
  if (year.ptr == end || *year.ptr != '.') return std::nullopt;
  if (std::from_chars(year.ptr + 1, end, version.second).ec != std::errc()) return std::nullopt;
  return version;
}

/// Names of the nodes of which something holds.
template <typename Holds>
std::vector<std::string> nodes_where(const std::vector<NodeAnswer>& answers, Holds holds) {
  std::vector<std::string> names;
  for (const NodeAnswer& answer : answers)
    if (holds(answer)) names.push_back(answer.node);
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "n1 on n2": what n1 wrote is not seen on n2. This machine is "here".
std::vector<std::string> unseen(const std::vector<NodeAnswer>& answers) {
  std::vector<std::string> pairs;
  for (const NodeAnswer& writer : answers) {
    for (const NodeAnswer& reader : answers)
      if (!reader.sees.contains(writer.node)) pairs.push_back(fmt::format("{} on {}", writer.node, reader.node));
    if (!writer.seen_here) pairs.push_back(writer.node + " here");
  }
  return pairs;
}

}  // namespace

Diagnosis check_slurm_commands(const std::vector<std::string>& missing, const std::string& version) {
  if (!missing.empty()) {
    return {.subject = "commands",
            .health = Health::Bad,
            .found = fmt::format("not on PATH: {}", listed(missing)),
            .meaning = "jobs are submitted where they are: a login node, after the site's module",
            .packages = {"slurm-client"}};
  }
  Diagnosis finding{.subject = "commands", .found = version.empty() ? "all there" : version};
  const auto number = version_in(version);
  if (number && *number < kOldestSlurm) {
    finding.health = Health::Bad;
    finding.meaning = "its srun has no --overlap, which came with 20.11: write a job of one node yourself";
  }
  return finding;
}

Diagnosis check_cluster_nodes(const std::vector<ClusterNode>& nodes) {
  const auto idle = std::ranges::count_if(nodes, &ClusterNode::is_idle);
  std::vector<std::string> down;
  for (const ClusterNode& node : nodes)
    if (!node.is_up()) down.push_back(fmt::format("{} ({})", node.name, node.state));
  Diagnosis finding{.subject = "nodes", .found = fmt::format("{}, {} of them idle", nodes.size(), idle)};
  if (down.size() == nodes.size()) {
    finding.health = Health::Bad;
    finding.meaning = "none takes jobs: choose another partition (sinfo), or ask the site";
  } else if (!down.empty()) {
    finding.health = Health::Note;
    finding.meaning = fmt::format("these take no jobs: {}", listed(down));
  }
  return finding;
}

Diagnosis check_node_kinds(const std::vector<ClusterNode>& nodes) {
  std::map<std::string, std::size_t> kinds;
  for (const ClusterNode& node : nodes) ++kinds[node.kind()];
  Diagnosis finding{.subject = "kinds of nodes"};
  for (const auto& [words, number] : kinds)
    finding.found += fmt::format("{}{} × {}", finding.found.empty() ? "" : "; ", number, words);
  if (kinds.empty()) finding.found = "none";
  if (kinds.size() > 1) {
    finding.health = Health::Note;
    finding.meaning =
        "a campaign keeps to one class and leaves out the others: --constraint, --gres or --partition choose";
  }
  return finding;
}

Diagnosis check_job_limits(const SlurmSettings& settings, const ClusterPartition* partition) {
  const auto setting = [&](std::string_view name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  };
  Diagnosis finding{.subject = "limits"};
  const std::string longest = partition != nullptr ? partition->longest : std::string();
  const bool limited = !longest.empty() && longest != "infinite";
  finding.found = limited ? fmt::format("a job in {} lasts {} at most", partition->name, longest) : "no wall limit";
  if (limited && setting("EnforcePartLimits") == "NO") {
    finding.health = Health::Note;
    finding.meaning =
        fmt::format("a job that asks for more is accepted, and waits for ever: --time {} at most", longest);
  } else if (limited) {
    finding.meaning = "a longer campaign goes on in its next job by itself";
  }
  const std::string steps = setting("MaxStepCount");
  std::int64_t most = kRoomySteps;
  std::from_chars(steps.data(), steps.data() + steps.size(), most);
  if (most < kRoomySteps) {
    finding.health = Health::Note;
    finding.found += fmt::format(", {} steps at most", most);
    finding.meaning += fmt::format("{}each trial is a step", finding.meaning.empty() ? "" : "; ");
  }
  return finding;
}

Diagnosis check_requeue(const std::expected<bool, std::string>& allowed) {
  Diagnosis finding{.subject = "requeue", .found = "allowed"};
  if (allowed && *allowed) {
    finding.meaning = "at its wall limit, or where a node is lost, a campaign queues itself again";
  } else if (allowed) {
    finding.health = Health::Note;
    finding.found = "Slurm takes --requeue away";
    finding.meaning =
        "at its wall limit a campaign goes on in a dependent job; after the loss of its first node start "
        "it again by the same command";
  } else {
    finding.health = Health::Note;
    finding.found = "not known: " + allowed.error();
    finding.meaning = "--account, --qos or --partition may be needed";
  }
  return finding;
}

Diagnosis check_sharing(const std::vector<NodeAnswer>& answers, const std::filesystem::path& folder) {
  const auto blind = nodes_where(answers, [](const NodeAnswer& each) { return !each.sees_folder; });
  if (!blind.empty()) {
    return {.subject = "data folder",
            .health = Health::Bad,
            .found = fmt::format("{} is not on {}", folder.string(), listed(blind)),
            .meaning = "it must lie on a file system that all nodes share: --data, or NOCTURNE_DATA"};
  }
  const auto pairs = unseen(answers);
  if (!pairs.empty()) {
    return {.subject = "data folder",
            .health = Health::Bad,
            .found = fmt::format("{}: not seen within a minute: {}", folder.string(), listed(pairs)),
            .meaning = "each node must see what another one wrote: another file system, or other options of its mount"};
  }
  return {.subject = "data folder",
          .found = answers.size() == 1 ? fmt::format("{}: {} and this machine see each other's files", folder.string(),
                                                     answers.front().node)
                                       : fmt::format("{}: {} nodes and this machine see each other's files",
                                                     folder.string(), answers.size())};
}

Diagnosis check_local_folders(const std::vector<NodeAnswer>& answers) {
  const auto loads_from_share = "what is loaded from the data folder is measured as start-up there";
  Diagnosis finding{.subject = "node-local folder", .health = Health::Note};
  const auto nameless = nodes_where(answers, [](const NodeAnswer& each) { return !each.names_local_folder; });
  const auto useless =
      nodes_where(answers, [](const NodeAnswer& each) { return each.names_local_folder && !each.local_free_mb; });
  if (!nameless.empty()) {
    finding.found = nameless.size() == answers.size() ? "none is named" : "none is named on " + listed(nameless);
    finding.meaning = fmt::format(
        "{}: name a folder of the node's own disk, by local_folder in the registered "
        "infrastructure or {} on the nodes",
        loads_from_share, kLocalFolderVariable);
    return finding;
  }
  if (!useless.empty()) {
    finding.found = "cannot be written on " + listed(useless);
    finding.meaning = fmt::format("{}; is there a folder of that name?", loads_from_share);
    return finding;
  }
  const auto least = std::ranges::min(answers, {}, [](const NodeAnswer& each) { return *each.local_free_mb; });
  finding.health = Health::Good;
  finding.found =
      fmt::format("on each of {} nodes; {} MB are free on {}", answers.size(), *least.local_free_mb, least.node);
  return finding;
}

Diagnosis check_program_on_nodes(const std::vector<NodeAnswer>& answers) {
  std::vector<std::string> silent;
  for (const NodeAnswer& answer : answers)
    if (!answer.machine) silent.push_back(fmt::format("{}: {}", answer.node, answer.reason));
  if (silent.empty()) {
    return {.subject = "program",
            .found = fmt::format("runs on {}", listed(nodes_where(answers, [](const NodeAnswer&) { return true; })))};
  }
  return {.subject = "program",
          .health = silent.size() == answers.size() ? Health::Bad : Health::Note,
          .found = fmt::format("{}", fmt::join(silent, "; ")),
          .meaning = "nocturne must lie at the same path on all nodes, with the libraries that it needs"};
}

Diagnosis check_classes(const std::vector<NodeAnswer>& answers) {
  const auto classes = classes_of(answers);
  const std::size_t number = std::ranges::max(classes);
  if (number == 0)
    return {.subject = "classes", .health = Health::Note, .found = "not known", .meaning = "no node said"};
  Diagnosis finding{.subject = "classes", .found = "one"};
  if (number == 1) return finding;
  finding.health = Health::Note;
  finding.found.clear();
  const auto& first = answers[static_cast<std::size_t>(std::ranges::find(classes, 1U) - classes.begin())];
  for (std::size_t each = 1; each <= number; ++each) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < answers.size(); ++i)
      if (classes[i] == each) names.push_back(answers[i].node);
    finding.found += fmt::format("{}{}", each == 1 ? "" : " | ", listed(names));
    if (each == 1) continue;
    const auto& other = answers[static_cast<std::size_t>(std::ranges::find(classes, each) - classes.begin())];
    finding.meaning += fmt::format("on {} {}; ", other.node, difference_words(*first.machine, *other.machine));
  }
  finding.meaning +=
      "a campaign keeps to the class of its first node: --constraint, --exclude or --partition choose, and tune "
      "--each-class makes one of each";
  return finding;
}

Diagnosis check_likeness(const std::vector<NodeAnswer>& answers) {
  Diagnosis finding{.subject = "likeness", .found = "nothing differs that may change times"};
  const NodeAnswer* first = nullptr;
  std::vector<std::string> unlike;
  for (const NodeAnswer& answer : answers) {
    if (!answer.machine) continue;
    if (first == nullptr) first = &answer;
    if (const auto words = difference_words(*first->machine, *answer.machine, space::Match::Verify); !words.empty())
      unlike.push_back(fmt::format("on {} {}", answer.node, words));
  }
  if (unlike.empty()) return finding;
  finding.health = Health::Note;
  finding.found = fmt::format("{}", fmt::join(unlike, "; "));
  finding.meaning =
      "may change times; a campaign measures the default on each node, and counts by how much they differ";
  return finding;
}

Diagnosis check_clocks(const std::vector<NodeAnswer>& answers) {
  Diagnosis finding{.subject = "clocks", .found = "as this machine's"};
  std::vector<std::string> wrong;
  for (const NodeAnswer& answer : answers) {
    const std::int64_t ahead = answer.clock_ahead_seconds;
    if (std::abs(ahead) > kRightClock)
      wrong.push_back(fmt::format("{} is {} s {}", answer.node, std::abs(ahead), ahead > 0 ? "ahead" : "behind"));
  }
  if (wrong.empty()) return finding;
  finding.health = Health::Note;
  finding.found = listed(wrong);
  finding.meaning =
      "when runs began is told by them, how long they took is not; munge refuses words that are five minutes "
      "old: set them by NTP";
  return finding;
}

}  // namespace nocturne::tuner
