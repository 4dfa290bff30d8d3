#include "tuner/own_command/seen_training.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <ranges>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "measure/run/launch.hpp"
#include "measure/supervisor/run_folder.hpp"
#include "tuner/own_command/utf8.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLargestReportBytes = 1 << 20;
constexpr std::int64_t kMostRoundSteps = 10'000;
constexpr std::size_t kMostLevers = 100, kMostValues = 50, kMostFiles = 1000, kMostSources = 500, kMostNotes = 50;
constexpr std::size_t kLongestText = 1000;

std::optional<Json> read_object(const fs::path& file) {
  Json document = measure::read_run_json(file.parent_path(), file.filename().string(), kLargestReportBytes);
  return document.is_object() ? std::optional(std::move(document)) : std::nullopt;
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return {};
  auto text = found->get<std::string>();
  return text.size() <= kLongestText && is_utf8(text) ? text : std::string();
}

/// Above 0.
std::optional<std::int64_t> count_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto count = found->get<std::int64_t>();
  return count > 0 && count < (std::int64_t{1} << 40) ? std::optional(count) : std::nullopt;
}

std::vector<std::string> texts_at(const Json& object, const char* key, std::size_t most) {
  std::vector<std::string> texts;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return texts;
  for (const Json& each : *found)
    if (each.is_string() && texts.size() < most && each.get<std::string>().size() <= kLongestText)
      texts.push_back(each.get<std::string>());
  return texts;
}

bool is_parameter_name(std::string_view name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && name.size() <= 40 && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
         std::ranges::all_of(name, plain) && !measure::is_launch_parameter(name);
}

/// {"lever": name, "value": text}, as the word of a report may stand in an expression.
std::optional<LeverValue> inert_at(const Json& document) {
  const Json found = document.value("inert_at", Json());
  if (!found.is_object()) return std::nullopt;
  LeverValue at{.lever = text_at(found, "lever"), .value = text_at(found, "value")};
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  const bool usable = is_parameter_name(at.lever) && !at.value.empty() && std::ranges::all_of(at.value, plain);
  return usable ? std::optional(std::move(at)) : std::nullopt;
}

constexpr std::string_view kUnequal = " != '";

/// What inert_expression() wrote, read back.
std::optional<LeverValue> read_inert_expression(std::string_view text) {
  const std::size_t at = text.find(kUnequal);
  if (at == std::string_view::npos || !text.ends_with('\'')) return std::nullopt;
  text.remove_suffix(1);
  return LeverValue{.lever = std::string(text.substr(0, at)), .value = std::string(text.substr(at + kUnequal.size()))};
}

/// "rounding, checkpoint", as the schema of campaigns allows it.
bool is_known_change(const std::string& changes) {
  constexpr std::array<std::string_view, 4> kSome = {"rounding", "precision", "random stream", "checkpoint"};
  if (changes.empty() || changes == "nothing" || changes == measure::kChangesLearning) return true;
  return std::ranges::all_of(std::views::split(std::string_view(changes), std::string_view(", ")), [&](auto part) {
    return std::ranges::find(kSome, std::string_view(part.begin(), part.end())) != kSome.end();
  });
}

std::optional<SeenLever> read_lever(const Json& document) {
  if (!document.is_object()) return std::nullopt;
  SeenLever seen{
      .name = text_at(document, "name"),
      .description = text_at(document, "description"),
      .values = texts_at(document, "values", kMostValues),
      .compiles = text_at(document, "stage") == "compile",
      .inert_at = inert_at(document),
      .lever = {.variable = text_at(document, "variable"), .changes = text_at(document, "changes"), .lines = {}}};
  if (const auto lines = document.find("lines"); lines != document.end() && lines->is_object()) {
    for (const auto& [value, text] : lines->items())
      if (text.is_string()) seen.lever.lines[value] = text.get<std::string>();
  }
  const bool usable = is_parameter_name(seen.name) && measure::is_lever_variable(seen.lever.variable) &&
                      seen.values.size() >= 2 && seen.values.front() == measure::kAsScript &&
                      is_known_change(seen.lever.changes);
  return usable ? std::optional(std::move(seen)) : std::nullopt;
}

/// Where the parameter's values are not the module's words: those words, as a report has them.
void call_as_told(SeenLever& seen) {
  measure::Lever& lever = seen.lever;
  for (std::string& value : seen.values) value = lever.word(value);
  std::map<std::string, std::string> lines;
  for (auto& [value, text] : lever.lines) lines[lever.word(value)] = std::move(text);
  lever.lines = std::move(lines);
  lever.told.clear();
}

std::optional<double> seconds_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double seconds = found->get<double>();
  return std::isfinite(seconds) && seconds > 0 ? std::optional(seconds) : std::nullopt;
}

/// Those of `object`'s list `key` that are wanted(entry).
template <typename Wanted>
std::vector<WrittenFile> files_at(const Json& object, const char* key, const Wanted& wanted) {
  std::vector<WrittenFile> files;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return files;
  for (const Json& each : *found) {
    if (files.size() == kMostFiles || !each.is_object() || !wanted(each)) continue;
    WrittenFile file{.path = text_at(each, "path"), .bytes = count_at(each, "bytes").value_or(0)};
    file.deleted = each.value("deleted", Json()) == true;
    if (!file.path.empty()) files.push_back(std::move(file));
  }
  return files;
}

std::vector<WrittenFile> prepared_files(const Json& document, std::int64_t first_step) {
  const auto prepared = [first_step](const Json& entry) {
    const Json made = entry.value("made_unix_ns", Json());
    return made.is_number_integer() && made.get<std::int64_t>() < first_step && text_at(entry, "kind") != "temporary";
  };
  std::vector<WrittenFile> files = files_at(document, "written", prepared);
  std::ranges::copy(files_at(document, "outside", prepared), std::back_inserter(files));
  return files;
}

}  // namespace

std::string inert_expression(const LeverValue& at) {
  return at.lever + std::string(kUnequal) + at.value + "'";
}

std::optional<double> epochs_trained(const SeenTraining& seen) {
  if (seen.epochs) return static_cast<double>(*seen.epochs);
  if (!seen.steps_in_all) return std::nullopt;
  if (!seen.steps_per_epoch) return 1;  // all of it is one
  const double epochs = static_cast<double>(*seen.steps_in_all) / static_cast<double>(*seen.steps_per_epoch);
  return std::stod(fmt::format("{:.4g}", epochs));  // as people write it
}

std::optional<SeenTraining> read_training_report(const fs::path& file) {
  const auto document = read_object(file);
  if (!document) return std::nullopt;
  SeenTraining seen{.framework = text_at(*document, "framework"),
                    .framework_version = text_at(*document, "framework_version"),
                    .device = text_at(*document, "device"),
                    .unit = text_at(*document, "unit"),
                    .units = count_at(*document, "events_per_step"),
                    .batch = count_at(*document, "batch"),
                    .steps_per_epoch = count_at(*document, "steps_per_epoch"),
                    .examples_per_epoch = count_at(*document, "examples_per_epoch"),
                    .loader_examples = count_at(*document, "loader_examples"),
                    .epochs = count_at(*document, "epochs"),
                    .steps_in_all = count_at(*document, "steps_in_all"),
                    .trains = text_at(*document, "trains"),
                    .ends_repeat = count_at(*document, "ends_repeat"),
                    .sets_threads = document->value("sets_threads", Json()) == true,
                    .records_learning = document->value("records_learning", Json()) != false,
                    .omp_num_threads = text_at(*document, "omp_num_threads"),
                    .sources = texts_at(*document, "sources", kMostSources),
                    .notes = texts_at(*document, "notes", kMostNotes),
                    .ended = document->value("ended", Json()) == true};
  seen.step_seconds = seconds_at(*document, "step_seconds");
  if (const auto round = document->find("round"); round != document->end() && round->is_object()) {
    const auto steps = count_at(*round, "steps");
    const auto seconds = seconds_at(*round, "seconds");
    if (steps && seconds && *steps <= kMostRoundSteps) seen.round = {.steps = *steps, .seconds = *seconds};
  }
  if (const auto share = document->find("share"); share != document->end() && share->is_object()) {
    for (const auto& [name, part] : share->items())
      if (part.is_number() && part.get<double>() >= 0 && part.get<double>() <= 1) seen.share[name] = part.get<double>();
  }
  for (const Json& each : document->value("levers", Json::array())) {
    // No lever of its own: the parameter around the command says how many.
    if (each.is_object() && text_at(each, "variable") == measure::kThreadsVariable) seen.replaces_threads = true;
    auto lever = read_lever(each);
    if (lever && seen.levers.size() < kMostLevers) seen.levers.push_back(*std::move(lever));
  }
  for (const Json& each : document->value("refused", Json::array()))
    if (each.is_object() && !text_at(each, "name").empty())
      seen.refused[text_at(each, "name")] = text_at(each, "reason");
  return seen;
}

std::vector<SeenLever> levers_of(const Json& document) {
  std::vector<SeenLever> levers;
  auto command = measure::command_from_json(document.value("worker", Json::object()));
  const Json parameters = document.value("/space/parameters"_json_pointer, Json::array());
  if (!command) return levers;
  for (const Json& parameter : parameters) {
    const std::string name = text_at(parameter, "name");
    const auto found = command->levers.find(name);
    if (found == command->levers.end()) continue;
    SeenLever lever{.name = name,
                    .description = text_at(parameter, "description"),
                    .compiles = text_at(parameter, "stage") == "compile",
                    .inert_at = read_inert_expression(text_at(parameter, "active_if")),
                    .lever = found->second};
    for (const Json& value : parameter.value("values", Json::array()))
      lever.values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    call_as_told(lever);
    levers.push_back(std::move(lever));
  }
  return levers;
}

std::optional<WrittenFiles> read_written_files(const fs::path& file, std::int64_t first_step) {
  const auto document = read_object(file);
  if (!document) return std::nullopt;
  const auto kept = [](const Json& entry) {
    const std::string kind = text_at(entry, "kind");
    return kind != "temporary" && kind != "cache";  // nobody's to miss
  };
  return WrittenFiles{.kind = text_at(*document, "kind"),
                      .inside = files_at(*document, "written", kept),
                      .outside = files_at(*document, "outside", kept),
                      .prepared = prepared_files(*document, first_step),
                      .more = count_at(*document, "more").value_or(0),
                      .notes = texts_at(*document, "notes", kMostNotes)};
}

}  // namespace nocturne::tuner
