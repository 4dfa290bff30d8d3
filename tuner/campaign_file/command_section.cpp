#include "tuner/campaign_file/command_section.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include "space/digest.hpp"
#include "space/nearest.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using measure::CommandTemplate;
using measure::Timing;

constexpr std::string_view kTimeAllowed = "\"process\", \"steps\", or {\"pattern\": \"a regular expression\"}";
constexpr std::string_view kEpochAllowed =
    "the number of examples in one epoch (of training steps, where there is no parameter 'batch')";

bool is_environment_name(std::string_view name) {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, is_word);
}

/// A number of threads that the module sets is the command's to ask for.
bool is_ours(const std::string& name) {
  return name.starts_with("NOCTURNE_") && name != measure::kThreadsVariable;
}

void read_environment(Checks& checks, CommandTemplate& command) {
  const Json* variables = checks.get("/worker", "environment");
  if (variables == nullptr) return;
  for (const auto& [name, text] : variables->items()) {
    const std::string pointer = pointer_to("/worker/environment", name);
    if (!text.is_string()) continue;  // the schema has said so
    if (!is_environment_name(name) || is_ours(name) || name == "LD_PRELOAD") {
      checks.add(pointer, fmt::format("found {}", shown(Json(name))),
                 "a name of letters, digits and '_' that is not Nocturne's (NOCTURNE_…) and not LD_PRELOAD, which the "
                 "parameter 'allocator' sets",
                 {}, At::Key);
      continue;
    }
    command.environment[name] = text.get<std::string>();
  }
}

/// Null where it is none. Adds what is wrong, a named group that is not `known` too, to the problems.
std::unique_ptr<RE2> parse_pattern(Checks& checks, const char* pointer, const std::string& pattern,
                                   const std::vector<std::string>& known) {
  RE2::Options quiet;
  quiet.set_log_errors(false);
  auto parsed = std::make_unique<RE2>(pattern, quiet);
  if (!parsed->ok()) {
    checks.add(pointer, fmt::format("found {}: {}", shown(Json(pattern)), parsed->error()),
               "a regular expression as RE2 has them");
    return nullptr;
  }
  for (const auto& [name, index] : parsed->NamedCapturingGroups()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    checks.add(pointer, fmt::format("the pattern has a group '{}'", name), fmt::format("{}", fmt::join(known, ", ")),
               space::nearest(name, known));
  }
  return parsed;
}

/// Its pattern needs a group that says how accurate it is.
void read_accuracy(Checks& checks, const CommandTemplate& command) {
  if (command.accuracy.empty()) return;
  const char* pointer = "/worker/accuracy";
  if (command.accuracy == measure::kAccuracySeen) {
    if (command.timing != Timing::Steps)
      checks.add(pointer, "the module in front of the command does not see it", "\"steps\" as 'time', or a pattern");
    return;
  }
  const auto parsed = parse_pattern(checks, pointer, command.accuracy, measure::accuracy_groups());
  if (!parsed) return;
  const auto& groups = parsed->NamedCapturingGroups();
  if (parsed->NumberOfCapturingGroups() == 0 || groups.contains("right") != groups.contains("of")) {
    checks.add(pointer, "found " + shown(Json(command.accuracy)),
               "a pattern with a group for the number, as 'accuracy: ([0-9.]+)', or with the groups 'right' and 'of'");
  }
  if (command.whole())
    checks.add(pointer, "the process is timed as a whole", "a command whose steps are seen: 'time' is \"steps\"");
}

void read_time(Checks& checks, CommandTemplate& command) {
  const Json* time = checks.get("/worker", "time");
  if (time == nullptr) return;
  if (time->is_object()) {
    const Json* pattern = checks.get("/worker/time", "pattern");
    if (pattern != nullptr) {
      const std::string text = pattern->get<std::string>();
      if (!parse_pattern(checks, "/worker/time/pattern", text, measure::pattern_groups())) return;
      command.timing = Timing::Pattern;
      command.pattern = text;
    } else {
      checks.add("/worker/time", "key 'pattern' is missing", std::string(kTimeAllowed));
    }
  } else if (*time == "steps") {
    command.timing = Timing::Steps;
  } else if (*time != "process") {
    checks.add("/worker/time", "found " + shown(*time), std::string(kTimeAllowed),
               space::nearest(time->get<std::string>(), std::vector<std::string>{"process", "steps"}));
  }
}

/// Names and kinds as the file writes them: what the space makes of them is not known before all is sound.
struct ParameterNames {
  std::vector<std::string> names;
  std::vector<std::string> booleans;
  std::vector<std::string> conditional;
};

ParameterNames written_parameters(const Json& root) {
  ParameterNames written;
  const Json::json_pointer place("/space/parameters");
  if (!root.contains(place) || !root[place].is_array()) return written;
  for (const Json& parameter : root[place]) {
    if (!parameter.is_object() || !parameter.contains("name") || !parameter["name"].is_string()) continue;
    written.names.push_back(parameter["name"].get<std::string>());
    if (parameter.value("type", Json()) == "boolean") written.booleans.push_back(written.names.back());
    if (parameter.contains("active_if")) written.conditional.push_back(written.names.back());
  }
  return written;
}

bool is_among(const std::string& name, const std::vector<std::string>& names) {
  return std::ranges::find(names, name) != names.end();
}

void check_word(Checks& checks, const std::string& pointer, const std::string& word, const ParameterNames& written) {
  for (const measure::CommandPlace& place : measure::places_in(word)) {
    if (measure::is_run_place(place.name)) continue;
    if (!is_among(place.name, written.names)) {
      std::vector<std::string> known = written.names;
      known.insert(known.end(), {"run.steps", "run.seed"});
      checks.add(pointer, fmt::format("no parameter is called '{}'", place.name),
                 fmt::format("{}; {{{{{}}}}} for the text itself", fmt::join(known, ", "), place.name),
                 space::nearest(place.name, known));
    } else if (place.condition && !is_among(place.name, written.booleans)) {
      checks.add(pointer, fmt::format("'{}' asks whether '{}' is true, which is no boolean", word, place.name),
                 written.booleans.empty() ? "a parameter of type boolean"
                                          : fmt::format("{}", fmt::join(written.booleans, ", ")));
    }
  }
}

}  // namespace

CommandTemplate read_command(Checks& checks, const fs::path& home) {
  CommandTemplate command;
  const Json* words = checks.get("/worker", "template");
  if (words == nullptr) {
    if (checks.root().contains("/worker/template"_json_pointer)) return command;  // the schema has said what is wrong
    for (const char* key :
         {"environment", "folder", "time", "accuracy", "levers", "epoch_ends", "step", "files", "shared", "sources"}) {
      if (checks.get("/worker", key) == nullptr) continue;
      checks.add(pointer_to("/worker", key), fmt::format("'{}' without 'template'", key),
                 "it belongs to a command of your own, whose words stand in 'template'", {}, At::Key);
    }
    return command;
  }
  for (const Json& each : *words) {
    std::vector<std::string> group;
    for (const Json& word : each.is_array() ? each : Json::array({each})) group.push_back(word.get<std::string>());
    command.groups.push_back(std::move(group));
  }
  for (const char* key : {"recipe", "command"})
    if (checks.get("/worker", key) != nullptr)
      checks.add("/worker", fmt::format("both '{}' and 'template'", key), "one of them");
  fs::path folder = ".";
  if (const Json* named = checks.get("/worker", "folder")) folder = named->get<std::string>();
  command.folder = fs::absolute(home / folder).lexically_normal();
  if (command.folder.filename().empty() && command.folder.has_relative_path())
    command.folder = command.folder.parent_path();  // without the slash at its end
  read_environment(checks, command);
  read_time(checks, command);
  if (const auto read = measure::read_module(checks.root().at("worker"), command); !read) {
    checks.add("/worker", read.error(),
               fmt::format("as '{}' writes it", command_text({"tune", "--write-campaign", "-", "--", "COMMAND"})));
  }
  read_accuracy(checks, command);
  for (auto* paths : {&command.shared, &command.sources})
    for (fs::path& path : *paths) path = fs::absolute(home / path).lexically_normal();
  return command;
}

space::Workload command_workload(Checks& checks, const CommandTemplate& command) {
  const auto text = [&](std::string_view key, std::string_view usual) {
    const Json* value = checks.get("/workload", key);
    return value != nullptr ? value->get<std::string>() : std::string(usual);
  };
  space::Workload workload;
  CommandTemplate made_of_whatever = command;  // an edited script trains the same workload, as far as anybody knows
  made_of_whatever.sources.clear();
  made_of_whatever.epoch_ends = {};  // what is seen of it
  made_of_whatever.step.clear();
  workload.network =
      text("network", "own-" + space::short_digest(measure::to_json(made_of_whatever).dump()).substr(0, 12));
  workload.data = text("data", "own");
  workload.optimizer = text("optimizer", "own");
  const Json* examples = checks.get("/workload", "training_examples");
  if (command.whole()) {
    workload.training_examples = 1;  // the process is one step of one epoch
  } else if (examples != nullptr) {
    workload.training_examples = examples->get<std::int64_t>();
  } else if (checks.sound("/workload")) {
    checks.add(checks.root().contains("workload") ? "/workload" : "",
               "key 'training_examples' of 'workload' is missing", std::string(kEpochAllowed));
  }
  return workload;
}

namespace {

/// The time to an accuracy, of a command.
void check_target(Checks& checks, const CommandTemplate& command) {
  if (command.accuracy.empty()) {
    checks.add("/objective/minimise", fmt::format("found {}", kTimeToAccuracy),
               "time; or 'accuracy' in 'worker', a pattern that finds how accurate the command says it is");
  }
  if (!is_among("batch", written_parameters(checks.root()).names)) {
    checks.add("/objective/minimise", fmt::format("found {}, without a parameter 'batch'", kTimeToAccuracy),
               "a parameter 'batch' of the examples in a step, one value at least: epochs are counted by it");
  }
}

}  // namespace

void fit_to_command(Checks& checks, const CommandTemplate& command, space::Objective& objective,
                    VerifySettings& verify) {
  if (checks.get("/verify", "accuracy_epochs") != nullptr && verify.accuracy_epochs > 0) {
    checks.add("/verify/accuracy_epochs", fmt::format("found {}", verify.accuracy_epochs),
               "0: what a command of your own learns is not known here");
  }
  if (objective.target) check_target(checks, command);
  verify.accuracy_epochs = 0;
  verify.gate.learning = verify.gate.on && !command.levers.empty();
  verify.gate.on = false;
  if (!command.whole()) return;
  if (const Json* epochs = checks.get("/objective", "epochs");
      epochs != nullptr && objective.epochs != std::vector{1.0}) {
    checks.add("/objective/epochs", "found " + shown(*epochs),
               "[1]: a command whose process is timed as a whole trains as long as it trains");
  }
  objective.epochs = {1};
  objective.primary = 1;
  // A pair is one process of each, one after the other.
  verify.slices = 1;
  verify.slice_steps = 1;
}

void check_places(Checks& checks, const CommandTemplate& command) {
  const ParameterNames written = written_parameters(checks.root());
  const Json words = checks.root().value("/worker/template"_json_pointer, Json::array());
  for (std::size_t i = 0; i < command.groups.size() && i < words.size(); ++i) {
    const std::string pointer = pointer_to("/worker/template", i);
    for (std::size_t j = 0; j < command.groups[i].size(); ++j)
      check_word(checks, words[i].is_array() ? pointer_to(pointer, j) : pointer, command.groups[i][j], written);
    const std::string& word = command.groups[i].front();
    const auto places = measure::places_in(word);
    const bool lone = !words[i].is_array() && places.size() == 1 && word == "{" + places[0].name + "}";
    if (!lone || i == 0 || !is_among(places[0].name, written.conditional)) continue;
    const std::string& before = command.groups[i - 1].back();
    if (words[i - 1].is_array() || !before.starts_with('-') || !measure::places_in(before).empty()) continue;
    checks.add(pointer, fmt::format("'{}' would be left standing where '{}' is inactive", before, places[0].name),
               fmt::format("a list in the list, which is left out as a whole: [{}, {}]", shown(Json(before)),
                           shown(Json(word))));
  }
  for (const auto& [name, text] : command.environment)
    check_word(checks, pointer_to("/worker/environment", name), text, written);
  for (const auto& [name, lever] : command.levers) {
    if (is_among(name, written.names)) continue;
    checks.add(pointer_to("/worker/levers", name), fmt::format("no parameter is called '{}'", name),
               fmt::format("{}", fmt::join(written.names, ", ")), space::nearest(name, written.names), At::Key);
  }
}

std::vector<std::string> names_in(const CommandTemplate& command) {
  std::vector<std::string> names;
  const auto note = [&](const std::string& word) {
    for (measure::CommandPlace& place : measure::places_in(word)) names.push_back(std::move(place.name));
  };
  for (const auto& group : command.groups) std::ranges::for_each(group, note);
  for (const auto& [name, text] : command.environment) note(text);
  for (const auto& [name, lever] : command.levers) names.push_back(name);
  if (command.timing == Timing::Steps) names.emplace_back("batch");  // what the steps are compared by
  return names;
}

}  // namespace nocturne::tuner
