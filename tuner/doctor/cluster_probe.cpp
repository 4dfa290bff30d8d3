#include "tuner/doctor/cluster_probe.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ranges>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "measure/artifact/process.hpp"
#include "space/file_contents.hpp"
#include "space/write_file.hpp"
#include "tuner/executor/order_json.hpp"
#include "tuner/executor/slurm/step.hpp"
#include "tuner/executor/staging.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

/// To be started, to see each other's files, to say what they are.
constexpr std::chrono::seconds kLongestQuestion = std::chrono::minutes(5);
constexpr std::chrono::seconds kPoliteEnd{5};

// FOLDER NUMBER PROGRAM…: says which node this is, what its clock shows and how much is free on its own disk, writes a
// file and waits, at most a minute, until it sees those of the others; then the program says what the node is.
constexpr const char* kQuestion = R"sh(folder=$1 number=${SLURM_STEP_NUM_NODES:-$2}; shift 2
node=${SLURMD_NODENAME:-$(hostname)}
echo "node $node"
echo "clock $(date +%s)"
if [ -n "$NOCTURNE_LOCAL_FOLDER" ]; then
  if [ -d "$NOCTURNE_LOCAL_FOLDER" ] && [ -w "$NOCTURNE_LOCAL_FOLDER" ]; then
    echo "disk $(df -Pm "$NOCTURNE_LOCAL_FOLDER" | awk 'END { print $4 }')"
  else
    echo "disk none"
  fi
fi
if [ ! -d "$folder" ]; then echo blind; exit 0; fi
echo here > "$folder/$node.here"
left=60
while [ "$(ls "$folder" | grep -c '[.]here$')" -lt "$number" ] && [ $left -gt 0 ]; do sleep 1; left=$((left - 1)); done
echo "sees $(ls "$folder" | sed -n 's/[.]here$//p' | tr '\n' ' ')"
exec "$@" execute "$folder/describe.json")sh";

/// What `execute` needs in order to say what its machine is: any campaign.
constexpr const char* kAnyCampaign =
    R"({"campaign": "doctor", "space": {"parameters": [{"name": "batch", "stage": "run", "values": [128]}]}})";

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (const auto field : line | std::views::split('|')) fields.emplace_back(field.begin(), field.end());
  return fields;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

std::string unless_null(const std::string& text) {
  return text == "(null)" || text == "N/A" ? std::string() : text;
}

/// "2: text" → 2 and "text". Empty: srun's own words.
std::optional<std::pair<std::int64_t, std::string>> labelled(const std::string& line) {
  const auto colon = line.find(": ");
  const auto first = line.find_first_not_of(' ');
  if (colon == std::string::npos || first >= colon) return std::nullopt;
  const std::string_view label = std::string_view(line).substr(first, colon - first);
  if (label.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return std::pair(number_in(label).value_or(0), line.substr(colon + 2));
}

/// The lines of each task. An empty one has nothing behind its label.
std::map<std::int64_t, std::vector<std::string>> lines_by_task(const std::string& text) {
  std::map<std::int64_t, std::vector<std::string>> tasks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (auto part = labelled(line)) tasks[part->first].push_back(std::move(part->second));
  return tasks;
}

/// How far a clock that was read between two readings of another one is certainly away from it.
std::int64_t certainly_ahead(std::int64_t clock, std::int64_t before, std::int64_t after) {
  return clock > after ? clock - after : clock < before ? clock - before : 0;
}

NodeAnswer read_answer_of_node(const std::vector<std::string>& lines, std::int64_t before, std::int64_t after) {
  NodeAnswer answer;
  std::string document;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string key, word;
    words >> key;
    if (!document.empty() || key.starts_with('{')) {
      document += line + "\n";
    } else if (key == "node") {
      words >> answer.node;
    } else if (key == "clock") {
      words >> word;
      answer.clock_ahead_seconds = certainly_ahead(number_in(word).value_or(before), before, after);
    } else if (key == "disk") {
      words >> word;
      answer.names_local_folder = true;
      answer.local_free_mb = number_in(word);
    } else if (key == "blind") {
      answer.sees_folder = false;
    } else if (key == "sees") {
      while (words >> word) answer.sees.insert(word);
    }
  }
  const auto parsed = nlohmann::json::parse(document, nullptr, false);
  if (parsed.is_discarded()) return answer;
  if (auto said = answer_from_json(parsed))
    answer.machine = std::move(said->machine);
  else
    answer.reason = said.error();
  return answer;
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

bool ClusterNode::is_up() const {
  constexpr std::array<std::string_view, 5> kUp = {"idle", "mix", "alloc", "comp", "resv"};
  // What stands behind it says that it is asleep, or being started: "idle~". A '*' says that it does not answer.
  return !state.ends_with('*') && std::ranges::any_of(kUp, [&](std::string_view up) { return state.starts_with(up); });
}

std::string ClusterNode::kind() const {
  std::string words = fmt::format("{} CPUs ({}), {} MB", cpus.value_or(0), topology, memory_mb.value_or(0));
  for (const std::string& more : {features, gres})
    if (!more.empty()) words += ", " + more;
  return words;
}

const ClusterPartition* Cluster::partition(std::string_view named) const {
  const auto found = std::ranges::find_if(
      partitions, [&](const ClusterPartition& each) { return named.empty() ? each.is_default : each.name == named; });
  return found == partitions.end() ? nullptr : &*found;
}

std::vector<ClusterNode> Cluster::nodes_of(std::string_view named) const {
  const ClusterPartition* wanted = partition(named);
  std::vector<ClusterNode> found;
  if (wanted == nullptr) return named.empty() ? nodes : found;
  for (const ClusterNode& node : nodes)
    if (std::ranges::find(node.partitions, wanted->name) != node.partitions.end()) found.push_back(node);
  return found;
}

Cluster cluster_from_sinfo(const std::string& text) {
  Cluster cluster;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto fields = fields_of(line);
    if (fields.size() != 10) continue;
    ClusterPartition partition{.name = fields[2], .longest = fields[4], .is_up = fields[3] == "up"};
    partition.is_default = partition.name.ends_with('*');
    if (partition.is_default) partition.name.pop_back();
    if (cluster.partition(partition.name) == nullptr) cluster.partitions.push_back(partition);
    const auto known = std::ranges::find(cluster.nodes, fields[0], &ClusterNode::name);
    if (known != cluster.nodes.end()) {
      known->partitions.push_back(partition.name);
      continue;
    }
    cluster.nodes.push_back({.name = fields[0],
                             .state = fields[1],
                             .partitions = {partition.name},
                             .cpus = number_in(fields[5]),
                             .memory_mb = number_in(fields[6]),
                             .topology = fields[7],
                             .features = unless_null(fields[8]),
                             .gres = unless_null(fields[9])});
  }
  return cluster;
}

SlurmSettings settings_from_scontrol(const std::string& text) {
  SlurmSettings settings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    const auto end =
        equals == std::string::npos || equals == 0 ? std::string::npos : line.find_last_not_of(' ', equals - 1);
    if (end == std::string::npos) continue;
    const auto value = line.find_first_not_of(' ', equals + 1);
    settings.emplace(line.substr(0, end + 1), value == std::string::npos ? std::string() : line.substr(value));
  }
  return settings;
}

std::vector<NodeAnswer> read_node_answers(const std::string& printed, const std::string& errors, std::int64_t before,
                                          std::int64_t after) {
  const auto complaints = lines_by_task(errors);
  std::vector<NodeAnswer> answers;
  for (const auto& [task, lines] : lines_by_task(printed)) {
    NodeAnswer answer = read_answer_of_node(lines, before, after);
    const auto said = complaints.find(task);
    if (!answer.machine && said != complaints.end()) answer.reason = said->second.back();
    if (!answer.machine && answer.reason.empty()) answer.reason = "it gave no answer";
    if (!answer.node.empty()) answers.push_back(std::move(answer));
  }
  std::ranges::sort(answers, {}, &NodeAnswer::node);
  return answers;
}

std::expected<std::vector<NodeAnswer>, std::string> ask_nodes(const NodeQuestion& question) {
  const fs::path& folder = question.folder;
  const Order order{.document = nlohmann::json::parse(kAnyCampaign), .task = DescribeOrder{}};
  if (auto written = space::write_file(folder / "describe.json", to_json(order).dump()); !written)
    return std::unexpected(written.error());
  const std::string number = fmt::format("{}", question.nodes);
  std::vector<std::string> argv = {question.commands.srun.string(),
                                   "-Q",
                                   "--label",
                                   "--job-name=doctor",
                                   (question.or_fewer ? "--nodes=1-" : "--nodes=") + number,
                                   "--mem=0",
                                   "--cpu-bind=none"};
  // Without a number of tasks there is one on each node; with one, of a range as few nodes as will do.
  if (!question.or_fewer) argv.push_back("--ntasks=" + number);
  argv.insert(argv.end(), question.options.begin(), question.options.end());
  argv.insert(argv.end(), {"/bin/sh", "-c", kQuestion, "sh", folder.string(), number});
  argv.insert(argv.end(), question.program.begin(), question.program.end());
  std::map<std::string, std::string> variables;
  if (!question.local_folder.empty() && std::getenv(kLocalFolderVariable) == nullptr)
    variables[kLocalFolderVariable] = question.local_folder;
  const std::int64_t before = unix_seconds();
  const auto result = measure::run_command({.argv = std::move(argv),
                                            .variables = std::move(variables),
                                            .unset = unset_for_steps(),
                                            .errors = folder / "errors",
                                            .polite = kPoliteEnd,
                                            .whole_environment = true},
                                           folder / "answers", std::chrono::steady_clock::now() + kLongestQuestion);
  const std::string errors = space::read_file(folder / "errors").value_or("");
  auto answers = read_node_answers(space::read_file(folder / "answers").value_or(""), errors, before, unix_seconds());
  std::error_code ignored;
  for (NodeAnswer& answer : answers) answer.seen_here = fs::exists(folder / (answer.node + ".here"), ignored);
  fs::remove_all(folder, ignored);
  if (!answers.empty()) return answers;
  const std::string said = last_word_of_srun(errors);
  return std::unexpected(said.empty() ? "srun: " + measure::to_text(result) : said);
}

}  // namespace nocturne::tuner
