#include "tuner/own_command/command_document.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "measure/run/launch.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/own_command/utf8.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;
using measure::Timing;

/// A run trains a twentieth of an epoch whose lines count examples: a few lines, as most trainings print them.
std::int64_t steps_of_examples(std::int64_t examples) {
  constexpr std::int64_t kFewest = 40, kShare = 20;
  return std::max(kFewest, examples / kShare);
}

/// Empty: every text of the command can stand in a campaign file, which is JSON and so UTF-8.
std::string text_that_is_none(const OwnCommand& command) {
  const auto told = [](std::string_view what, std::string_view text) {
    return is_utf8(text) ? std::string()
                         : fmt::format(
                               "{} is not UTF-8, as a campaign file has to be: '{}'. Rename it, or give it to "
                               "the command by a script",
                               what, escaped_bytes(text));
  };
  std::string sentence;
  for (std::size_t i = 0; i < command.words.size() && sentence.empty(); ++i) {
    sentence =
        told(i == 0 ? std::string("the command") : fmt::format("argument {} of the command", i), command.words[i]);
  }
  for (const Variation& variation : command.variations) {
    if (sentence.empty()) sentence = told("--vary", variation.name);
    for (const space::Value& value : variation.values)
      if (sentence.empty()) sentence = told("--vary", space::to_text(value));
  }
  if (sentence.empty()) sentence = told("--name", command.name);
  if (sentence.empty()) sentence = told("--pattern", command.pattern);
  if (sentence.empty()) sentence = told("--accuracy", command.accuracy);
  if (sentence.empty()) sentence = told("the folder", command.folder.string());
  return sentence;
}

/// Variables of frameworks that change how fast they train and not what. The first value is what they do without it.
struct FrameworkVariable {
  std::string_view framework, name;
  std::array<std::string_view, 2> values;
  std::string_view explanation;
};
constexpr std::array<FrameworkVariable, 2> kFrameworkVariables = {{
    {"tensorflow", "TF_ENABLE_ONEDNN_OPTS", {"1", "0"}, "oneDNN's kernels, or Eigen's."},
    {"mxnet",
     "MXNET_ENGINE_TYPE",
     {"ThreadedEnginePerDevice", "NaiveEngine"},
     "Operations side by side, or one by one."},
}};

std::string parameter_of(std::string_view variable) {
  return "env." + std::string(variable);
}

bool varies(const OwnCommand& command, const std::string& parameter) {
  return std::ranges::any_of(command.variations, [&](const auto& each) { return each.parameter() == parameter; });
}

/// Where no parameter sets it, a variable has the value that the user's shell gives it.
void add_variables_of_shell(const OwnCommand& command, Json& parameters) {
  for (const measure::GovernedVariable& variable : measure::governed_variables()) {
    const auto found = command.shell.find(std::string(variable.name));
    const std::string name = parameter_of(variable.name);
    if (found == command.shell.end() || varies(command, name)) continue;
    Json parameter = {{"name", name},
                      {"stage", "run"},
                      {"type", "categorical"},
                      {"values", {found->second}},
                      {"description", "As the shell has it that the command was tuned from."}};
    if (variable.parameter == "threads" || variable.parameter == "affinity")
      parameter["active_if"] = "threads_set == False";
    if (variable.parameter == "wait_policy") parameter["active_if"] = "wait_policy == 'default'";
    parameters.push_back(std::move(parameter));
  }
}

Json surroundings(const OwnCommand& command) {
  const char* usual_threads = command.has_slower_cores ? "machine.fast_cores" : "machine.cores";
  Json parameters = Json::array(
      {{{"name", "threads_set"},
        {"stage", "run"},
        {"type", "boolean"},
        {"default", false},
        {"description", "Whether the number of OpenMP threads and their places are set, or left to the command."}},
       {{"name", "threads"},
        {"stage", "run"},
        {"range", command.sets_threads ? Json{usual_threads, usual_threads} : Json{1, "machine.cores"}},
        {"default", usual_threads},
        {"active_if", "threads_set == True"}},
       {{"name", "affinity"}, {"stage", "run"}, {"values", command.affinities}, {"active_if", "threads_set == True"}},
       {{"name", "wait_policy"}, {"stage", "run"}, {"values", {"default", "active", "passive"}}}});
  if (!sets_allocator(command.shell)) {
    parameters.push_back(
        {{"name", "allocator"}, {"stage", "run"}, {"values", command.allocators}, {"default", "glibc"}});
    parameters.push_back({{"name", "huge_pages"}, {"stage", "run"}, {"type", "boolean"}, {"default", false}});
  }
  if (!command.memory_policies.empty())
    parameters.push_back({{"name", "memory_policy"}, {"stage", "run"}, {"values", command.memory_policies}});
  for (const FrameworkVariable& variable : kFrameworkVariables) {
    if (std::ranges::find(command.frameworks, variable.framework) == command.frameworks.end()) continue;
    const std::string name = parameter_of(variable.name);
    // Where the user varies it himself, his values count.
    if (varies(command, name)) continue;
    parameters.push_back({{"name", name},
                          {"stage", "run"},
                          {"type", "categorical"},
                          {"values", variable.values},
                          {"description", variable.explanation}});
    const auto in_shell = command.shell.find(std::string(variable.name));
    if (in_shell == command.shell.end()) continue;
    Json& values = parameters.back()["values"];
    if (std::ranges::find(values, Json(in_shell->second)) == values.end()) values.push_back(in_shell->second);
    parameters.back()["default"] = in_shell->second;
  }
  add_variables_of_shell(command, parameters);
  return parameters;
}

/// "2x" → 2; 0: it is no multiple.
std::int64_t multiple_of(const std::string& value) {
  std::int64_t times = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), times);
  return read.ec == std::errc() && std::string_view(read.ptr) == "x" && times > 1 && times <= 1024 ? times : 0;
}

/// The batch size as a number: with it go the steps of an epoch. Its lever knows it as a multiple of the script's.
Json batch_parameter(const OwnCommand& command, Json& levers) {
  Json values = Json::array({*command.batch});
  for (const SeenLever& each : command.levers) {
    if (each.name != "batch" || !command.allow_batch) continue;
    measure::Lever lever = each.lever;
    lever.told = {{std::to_string(*command.batch), measure::kAsScript}};
    for (const std::string& value : each.values) {
      const std::int64_t times = multiple_of(value);
      // A value that is no multiple has no number to stand for, and an epoch's steps could not be counted.
      if (times == 0) continue;
      values.push_back(times * *command.batch);
      const std::string text = std::to_string(times * *command.batch);
      lever.told[text] = value;
      if (lever.lines.contains(value)) lever.lines[text] = lever.lines[value];
      lever.lines.erase(value);
    }
    levers["batch"] = measure::to_json(lever);
  }
  return {{"name", "batch"}, {"stage", "run"}, {"values", std::move(values)}, {"default", *command.batch}};
}

/// Levers as parameters; what the module is told of them goes to `levers`.
void add_levers(const OwnCommand& command, const std::set<std::string>& taken, Json& parameters, Json& levers) {
  if (command.batch && command.timing == Timing::Steps && !taken.contains("batch"))
    parameters.push_back(batch_parameter(command, levers));
  // The user's own parameter of a lever's name is not the lever.
  const auto is_offered = [&](const std::string& name) {
    return !taken.contains(name) && std::ranges::any_of(command.levers, [&](const SeenLever& each) {
      return each.name == name && (command.allow_batch || each.lever.changes != measure::kChangesLearning);
    });
  };
  for (const SeenLever& each : command.levers) {
    if (each.name == "batch" || !is_offered(each.name)) continue;
    Json parameter = {{"name", each.name},
                      {"stage", each.compiles ? "compile" : "run"},
                      {"type", "categorical"},
                      {"values", each.values},
                      {"default", measure::kAsScript},
                      {"description", each.description}};
    if (each.name == "learning_rate" && levers.contains("batch")) {
      // Rules for the learning rate are rules for larger batches: without one there is nothing to make up for.
      parameter["active_if"] = fmt::format("batch > {}", *command.batch);
    }
    if (each.inert_at && is_offered(each.inert_at->lever)) parameter["active_if"] = inert_expression(*each.inert_at);
    parameters.push_back(std::move(parameter));
    levers[each.name] = measure::to_json(each.lever);
  }
}

/// The time of the epochs that it trains; or until the network is accurate enough, which depends on the levers that
/// change what is learnt and, as far as anybody knows, on every option of its own.
Json objective_of(const OwnCommand& command, const Json& levers) {
  if (command.accuracy.empty()) {
    const bool is_whole = command.epochs == std::floor(command.epochs);
    return {{"epochs", Json::array({is_whole ? Json(std::llround(command.epochs)) : Json(command.epochs)})}};
  }
  Json learning = Json::array({"batch"});
  for (const auto& [name, lever] : levers.items())
    if (lever.value("changes", "") == measure::kChangesLearning && name != "batch") learning.push_back(name);
  for (const Variation& variation : command.variations)
    if (!variation.variable && variation.parameter() != "batch") learning.push_back(variation.parameter());
  return {{"minimise", kTimeToAccuracy}, {"accuracy", command.target}, {"learning_parameters", std::move(learning)}};
}

/// Examples of an epoch, or steps where each is one.
std::int64_t epoch_of(const OwnCommand& command, bool has_batch) {
  if (command.examples) return *command.examples;
  const std::int64_t steps = command.steps_per_epoch.value_or(kStepsOfAnEpoch);
  // With a batch the unit is the example, so that larger batches mean fewer steps of the same epoch.
  return has_batch ? steps * command.batch.value_or(1) : steps;
}

/// The words as a template under construction: each stands for itself or has a place.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : plain_(words) {
    // Braces that the user wrote are text; only ours make places.
    for (const std::string& word : words) template_.push_back(measure::escaped_word(word));
  }

  /// Makes a place for the variation, and its parameter. The error is a sentence.
  std::expected<Json, std::string> vary(const Variation& variation) {
    Json parameter = {{"name", variation.parameter()}, {"stage", "run"}};
    if (variation.variable) return with_values(std::move(parameter), variation, std::nullopt);
    return variation.values.empty() ? vary_flag(std::move(parameter), variation)
                                    : vary_value(std::move(parameter), variation);
  }

  [[nodiscard]] const std::vector<std::string>& result() const { return template_; }

 private:
  static std::expected<Json, std::string> with_values(Json parameter, const Variation& variation,
                                                      const std::optional<std::string>& now) {
    std::vector<space::Value> values = variation.values;
    if (now) {
      const auto same = [&](const space::Value& value) { return space::to_text(value) == *now; };
      const bool ascending = std::ranges::is_sorted(values);  // numbers whose neighbours are alike stay that
      // What the command says now is the baseline, so it is one of the values.
      if (std::ranges::none_of(values, same)) values.insert(values.begin(), written_value(*now));
      const bool numbers = std::ranges::none_of(
          values, [](const space::Value& value) { return std::holds_alternative<std::string>(value); });
      if (ascending && numbers) std::ranges::sort(values);
    }
    const bool mixed = std::ranges::any_of(values, [&](const auto& v) { return v.index() != values[0].index(); });
    Json list = Json::array();
    for (const space::Value& value : values)
      list.push_back(mixed ? Json(space::to_text(value)) : space::to_json(value));
    Json usual = list.front();
    for (std::size_t i = 0; now && i < values.size(); ++i)
      if (space::to_text(values[i]) == *now) usual = list[i];
    parameter["values"] = std::move(list);
    parameter["default"] = usual;
    // A text as default of numbers would be read as an expression; both have the same kind here.
    if (usual.is_string()) parameter["type"] = "categorical";
    return parameter;
  }

  std::expected<std::optional<std::size_t>, std::string> find(const Variation& variation) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 1; i < plain_.size(); ++i) {
      if (plain_[i] != variation.name && !plain_[i].starts_with(variation.name + "=")) continue;
      // Which of two counts is the program's own rule, which nobody here knows.
      if (found) return std::unexpected(fmt::format("--vary: {} stands in the command twice", variation.name));
      found = i;
    }
    return found;
  }

  std::expected<Json, std::string> vary_flag(Json parameter, const Variation& variation) {
    const auto at = find(variation);
    if (!at) return std::unexpected(at.error());
    if (*at && plain_[**at] != variation.name) {
      return std::unexpected(fmt::format("--vary: {} has a value in the command, so its values are needed: {}=A,B",
                                         variation.name, variation.name));
    }
    const std::string word = fmt::format("{{{}?{}}}", variation.parameter(), variation.name);
    parameter["type"] = "boolean";
    parameter["default"] = at->has_value();
    if (*at)
      template_[**at] = word;
    else
      template_.push_back(word);
    return parameter;
  }

  std::expected<Json, std::string> vary_value(Json parameter, const Variation& variation) {
    const auto at = find(variation);
    if (!at) return std::unexpected(at.error());
    const std::string place = "{" + variation.parameter() + "}";
    if (!*at) {
      if (variation.joined)
        template_.push_back(variation.name + "=" + place);
      else
        template_.insert(template_.end(), {variation.name, place});
      return with_values(std::move(parameter), variation, std::nullopt);
    }
    const std::string& word = plain_[**at];
    if (word != variation.name) {
      template_[**at] = variation.name + "=" + place;
      return with_values(std::move(parameter), variation, word.substr(variation.name.size() + 1));
    }
    if (**at + 1 == plain_.size())
      return std::unexpected(fmt::format("--vary: {} stands last in the command, without a value", variation.name));
    template_[**at + 1] = place;
    return with_values(std::move(parameter), variation, plain_[**at + 1]);
  }

  const std::vector<std::string>& plain_;
  std::vector<std::string> template_;
};

/// The files that it is made of, absolute and in order.
std::set<std::string> sources_of(const OwnCommand& command) {
  std::set<std::string> sources(command.sources.begin(), command.sources.end());
  if (const auto script = script_of(command.words, command.folder); !script.empty()) sources.insert(script.string());
  return sources;
}

/// But for its levers, which are documents already.
measure::CommandTemplate template_of(const OwnCommand& command, const std::vector<std::string>& words) {
  measure::CommandTemplate own{.folder = command.folder,
                               .timing = command.timing,
                               .pattern = command.pattern,
                               .accuracy = command.accuracy,
                               .epoch_ends = command.epoch_ends,
                               .step = command.step,
                               .files = command.files,
                               .shared = command.shared};
  for (const std::string& word : words) own.groups.push_back({word});
  for (const std::string& source : sources_of(command)) own.sources.emplace_back(source);
  return own;
}

/// What nobody knows of the command and a campaign has to: a sentence, or empty.
std::string missing_facts(const OwnCommand& command, const measure::CommandTemplate& own, bool counts_examples,
                          bool batch_varies) {
  if (counts_examples && !command.examples)
    return "the group 'samples' counts examples: --examples N says how many of them an epoch has";
  if (!own.whole() && batch_varies && !command.examples)
    return "a batch size varies, so steps are not of equal work: --examples N says how many examples an epoch has";
  if (!command.accuracy.empty() && (own.whole() || !(batch_varies || command.batch))) {
    return "the time to an accuracy needs the steps of the training and their batch size, which are not seen in this "
           "command: a campaign file can name them ('nocturne schema campaign')";
  }
  return {};
}

}  // namespace

std::vector<std::string> surrounding_variables() {
  std::vector<std::string> names;
  for (const measure::GovernedVariable& each : measure::governed_variables()) names.emplace_back(each.name);
  for (const FrameworkVariable& each : kFrameworkVariables) names.emplace_back(each.name);
  return names;
}

bool sets_allocator(const std::map<std::string, std::string>& shell) {
  return std::ranges::any_of(measure::governed_variables(), [&](const measure::GovernedVariable& each) {
    return (each.parameter == "allocator" || each.parameter == "huge_pages") && shell.contains(std::string(each.name));
  });
}

std::expected<Json, std::string> command_document(const OwnCommand& command) {
  if (std::string sentence = text_that_is_none(command); !sentence.empty()) return std::unexpected(std::move(sentence));
  Json parameters = surroundings(command);
  Words words(command.words);
  std::set<std::string> names;
  for (const Json& parameter : parameters) names.insert(parameter["name"].get<std::string>());
  for (const Variation& variation : command.variations) {
    if (!names.insert(variation.parameter()).second) {
      return std::unexpected(fmt::format("--vary: {} would be the parameter '{}', which there is already",
                                         variation.name, variation.parameter()));
    }
    auto parameter = words.vary(variation);
    if (!parameter) return std::unexpected(std::move(parameter.error()));
    parameters.push_back(*std::move(parameter));
  }
  Json levers = Json::object();
  add_levers(command, names, parameters, levers);
  measure::CommandTemplate own = template_of(command, words.result());
  if (command.replaces_threads && command.timing == Timing::Steps)
    own.environment[measure::kThreadsVariable] = "{threads}";
  const bool counts_examples = command.timing == Timing::Pattern && command.pattern.contains("<samples>");
  if (std::string missing = missing_facts(command, own, counts_examples, names.contains("batch")); !missing.empty())
    return std::unexpected(std::move(missing));

  Json constraints = Json::array();
  if (!sets_allocator(command.shell)) {
    constraints.push_back({{"require", "allocator != 'tcmalloc' or huge_pages == False"},
                           {"because", "tcmalloc does not ask for huge pages: it would have no effect"}});
  }
  Json document = {
      {"campaign", command.name.empty() ? name_of_command(command.words) : command.name},
      {"description", "Made by 'nocturne tune -- COMMAND'"},
      {"worker", measure::to_json(own)},
      {"objective", objective_of(command, levers)},
      {"space", {{"parameters", std::move(parameters)}, {"constraints", std::move(constraints)}}},
      {"strategy", {{"name", "auto"}}},
  };
  if (!own.whole()) {
    const bool has_batch = names.contains("batch") || (command.batch && command.timing == Timing::Steps);
    document["workload"] = {{"training_examples", epoch_of(command, has_batch)}};
  }
  // Without a batch size each example is a step, and lines come after many.
  if (counts_examples && !names.contains("batch")) document["run"]["steps"] = steps_of_examples(*command.examples);
  if (command.steps) document["run"]["steps"] = *command.steps;
  if (command.steps_per_sample) document["run"]["steps_per_sample"] = *command.steps_per_sample;
  if (!levers.empty()) {
    document["worker"]["levers"] = std::move(levers);
    if (!command.records_learning) document["verify"]["gate"]["on"] = false;
  }
  if (command.slice_steps) document["verify"]["slice_steps"] = *command.slice_steps;
  if (command.slices) document["verify"]["slices"] = *command.slices;
  if (command.deadline) document["run"]["deadline"] = fmt::format("{}s", command.deadline->count());
  return document;
}

}  // namespace nocturne::tuner
