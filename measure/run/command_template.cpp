#include "measure/run/command_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "space/digest.hpp"
#include "space/file_contents.hpp"

namespace nocturne::measure {
namespace {

using space::Configuration;
using space::Value;

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool continues_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

/// A piece of a word: text as it stands, or a place.
struct Piece {
  std::string text;  // of a place with a condition: what stands behind the question mark
  std::optional<CommandPlace> place = {};
};

/// Reads what begins with the braces at `at`; 0: they are text.
std::size_t read_place(std::string_view word, std::size_t at, Piece& piece) {
  std::size_t braces = 0;
  while (at + braces < word.size() && word[at + braces] == '{') ++braces;
  std::size_t end = at + braces;
  if (end == word.size() || !begins_name(word[end])) return 0;
  while (end < word.size() && continues_name(word[end])) ++end;
  const std::string name(word.substr(at + braces, end - at - braces));
  // As many braces close as have opened. One brace makes a place, a second one around it makes text again.
  const std::string closing(braces, '}');
  if (word.substr(end).starts_with(closing)) {
    end += braces;
    if (braces == 1)
      piece = {.text = "", .place = CommandPlace{.name = name}};
    else
      piece = {.text = std::string(word.substr(at + 1, end - at - 2))};
    return end - at;
  }
  // A condition is the whole word, so that its text may hold braces.
  if (at == 0 && end < word.size() && word[end] == '?' && word.ends_with(closing) && word.size() >= end + 1 + braces) {
    if (braces == 1) {
      piece = {.text = std::string(word.substr(end + 1, word.size() - end - 2)),
               .place = CommandPlace{.name = name, .condition = true}};
    } else {
      piece = {.text = std::string(word.substr(1, word.size() - 2))};
    }
    return word.size();
  }
  return 0;
}

std::vector<Piece> pieces_of(std::string_view word) {
  std::vector<Piece> pieces;
  std::string text;
  for (std::size_t at = 0; at < word.size();) {
    Piece piece;
    const std::size_t length = word[at] == '{' ? read_place(word, at, piece) : 0;
    if (length == 0) {
      // All braces of a run stand or fall together.
      do text += word[at++];
      while (at < word.size() && word[at] == '{' && word[at - 1] == '{');
      continue;
    }
    at += length;
    if (!piece.place) {
      text += piece.text;
      continue;
    }
    if (!text.empty()) pieces.push_back({.text = std::exchange(text, {})});
    pieces.push_back(std::move(piece));
  }
  if (!text.empty()) pieces.push_back({.text = std::move(text)});
  return pieces;
}

/// Filling a word: its text; nothing where it is left out alone; `gone` where its group is.
struct FilledWord {
  std::optional<std::string> text;
  bool gone = false;
};

std::expected<FilledWord, std::string> fill_word(std::string_view word, const Configuration& configuration,
                                                 const CommandRun& run) {
  FilledWord filled{.text = ""};
  for (const Piece& piece : pieces_of(word)) {
    if (!piece.place) {
      *filled.text += piece.text;
      continue;
    }
    const std::string& name = piece.place->name;
    if (is_run_place(name)) {
      *filled.text += name == "run.steps" ? std::to_string(run.steps) : std::to_string(run.seed);
      continue;
    }
    const Value* value = configuration.find(name);
    // Inactive in this configuration: the option goes, and with it the rest of its group, or its value would stand
    // alone.
    if (value == nullptr) return FilledWord{.text = std::nullopt, .gone = true};
    if (!piece.place->condition) {
      *filled.text += space::to_text(*value);
      continue;
    }
    const bool* on = std::get_if<bool>(value);
    if (on == nullptr) {
      return std::unexpected(fmt::format("'{}' asks whether {} is true, which is {}: a boolean has to stand there",
                                         word, name, space::to_text(*value)));
    }
    if (!*on) return FilledWord{.text = std::nullopt};
    *filled.text += piece.text;
  }
  // An argument of a process ends at its first zero byte: the rest would be lost without a word.
  if (filled.text->find('\0') != std::string::npos) return std::unexpected(fmt::format("'{}' holds a zero byte", word));
  return filled;
}

constexpr std::pair<Timing, std::string_view> kTimings[] = {
    {Timing::Process, "process"}, {Timing::Steps, "steps"}, {Timing::Detect, "detect"}};

constexpr auto kFiles = std::to_array<std::pair<Files, std::string_view>>(
    {{Files::InPlace, "in place"}, {Files::PrivateFolder, "private folder"}, {Files::Private, "private"}});

std::expected<std::map<std::string, std::string>, std::string> texts_of(const nlohmann::json& object) {
  std::map<std::string, std::string> texts;
  if (!object.is_object()) return std::unexpected("an object of texts");
  for (const auto& [name, text] : object.items()) {
    if (!text.is_string()) return std::unexpected("an object of texts");
    texts[name] = text.get<std::string>();
  }
  return texts;
}

/// The error is what was expected.
std::expected<Lever, std::string> lever_from_json(const nlohmann::json& document) {
  const auto texts = [&](const char* key) {
    return document.is_object() ? document.value(key, nlohmann::json()) : nlohmann::json();
  };
  const nlohmann::json variable = texts("variable"), changes = texts("changes");
  if (!variable.is_string() || !is_lever_variable(variable.get<std::string>()))
    return std::unexpected("a lever with a 'variable' NOCTURNE_LEVER_…");
  Lever lever{.variable = variable.get<std::string>(),
              .changes = changes.is_string() ? changes.get<std::string>() : ""};
  for (const auto& [key, member] : {std::pair("lines", &Lever::lines), std::pair("told", &Lever::told)}) {
    auto read = texts_of(document.value(key, nlohmann::json::object()));
    if (!read) return std::unexpected(fmt::format("'{}' as {}", key, read.error()));
    lever.*member = *std::move(read);
  }
  return lever;
}

}  // namespace

std::string_view to_text(Files files) {
  return std::ranges::find(kFiles, files, &std::pair<Files, std::string_view>::first)->second;
}

bool CommandTemplate::whole() const {
  return timing == Timing::Process ||
         (timing == Timing::Pattern && pattern.find("<total_seconds>") != std::string::npos);
}

std::string Lever::word(const std::string& value) const {
  const auto found = told.find(value);
  return found != told.end() ? found->second : value;
}

bool Lever::is_pulled(const Configuration& configuration, const std::string& parameter) const {
  const Value* value = configuration.find(parameter);
  return value != nullptr && word(space::to_text(*value)) != kAsScript;
}

bool is_lever_variable(std::string_view name) {
  constexpr std::string_view kPrefix = "NOCTURNE_LEVER_";
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
         std::ranges::all_of(name, [](char c) { return continues_name(c) && c != '.'; });
}

bool is_run_place(std::string_view name) {
  return name == "run.steps" || name == "run.seed";
}

std::vector<CommandPlace> places_in(std::string_view word) {
  std::vector<CommandPlace> places;
  for (Piece& piece : pieces_of(word))
    if (piece.place) places.push_back(std::move(*piece.place));
  return places;
}

std::string escaped_word(std::string_view text) {
  // Only where some text of braces would be read: another brace on each side of it.
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    Piece piece;
    const std::size_t length = text[at] == '{' ? read_place(text, at, piece) : 0;
    if (length == 0) {
      do escaped += text[at++];
      while (at < text.size() && text[at] == '{' && text[at - 1] == '{');
      continue;
    }
    escaped += '{' + std::string(text.substr(at, length)) + '}';
    at += length;
  }
  return escaped;
}

std::expected<std::vector<std::string>, std::string> fill_words(const CommandTemplate& command,
                                                                const Configuration& configuration,
                                                                const CommandRun& run) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < command.groups.size(); ++i) {
    std::vector<std::string> group;
    bool gone = false;
    for (const std::string& word : command.groups[i]) {
      auto filled = fill_word(word, configuration, run);
      if (!filled) return std::unexpected(std::move(filled.error()));
      gone = gone || filled->gone;
      if (filled->text) group.push_back(std::move(*filled->text));
    }
    if (!gone) words.insert(words.end(), group.begin(), group.end());
    if (i == 0 && (words.empty() || words.front().empty()))
      return std::unexpected("the command has no program: its first word is left out or empty");
  }
  return words;
}

std::expected<std::map<std::string, std::string>, std::string> fill_environment(const CommandTemplate& command,
                                                                                const Configuration& configuration,
                                                                                const CommandRun& run) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, text] : command.environment) {
    auto filled = fill_word(text, configuration, run);
    if (!filled) return std::unexpected(fmt::format("{}: {}", name, filled.error()));
    if (filled->text) variables[name] = std::move(*filled->text);
  }
  for (const auto& [name, lever] : command.levers) {
    const Value* value = configuration.find(name);
    if (value == nullptr) continue;
    variables[lever.variable] = lever.word(space::to_text(*value));
  }
  return variables;
}

const std::vector<std::string>& pattern_groups() {
  static const std::vector<std::string> names = {
      "step_seconds", "step_milliseconds", "samples_per_second", "steps_per_second", "total_seconds", "step", "samples",
      "loss"};
  return names;
}

const std::vector<std::string>& accuracy_groups() {
  static const std::vector<std::string> names = {"accuracy", "percent", "right", "of"};
  return names;
}

nlohmann::json to_json(const Lever& lever) {
  nlohmann::json document = {{"variable", lever.variable}, {"changes", lever.changes}, {"lines", lever.lines}};
  if (!lever.told.empty()) document["told"] = lever.told;
  return document;
}

std::string state_of_file(const std::filesystem::path& file) {
  constexpr std::uintmax_t kLargestScriptBytes = 1 << 20;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  if (error) return {};
  if (bytes > kLargestScriptBytes)
    return fmt::format("{} {}", bytes, std::filesystem::last_write_time(file, error).time_since_epoch().count());
  return space::sha256_of_file(file).value_or("");
}

std::string state_of_sources(const CommandTemplate& command) {
  std::string all;
  for (const auto& path : command.sources) all += path.string() + '\0' + state_of_file(path) + '\0';
  return all.empty() ? std::string() : space::sha256(all);
}

nlohmann::json to_json(const CommandTemplate& command) {
  nlohmann::json words = nlohmann::json::array();
  for (const std::vector<std::string>& group : command.groups) {
    // Written as it was read: a word by itself is no list of one.
    if (group.size() == 1)
      words.push_back(group.front());
    else
      words.push_back(group);
  }
  nlohmann::json document = {{"template", std::move(words)}, {"folder", command.folder.string()}};
  if (!command.environment.empty()) document["environment"] = command.environment;
  if (command.timing == Timing::Pattern) document["time"] = {{"pattern", command.pattern}};
  for (const auto& [timing, name] : kTimings)
    if (command.timing == timing) document["time"] = name;
  if (!command.accuracy.empty()) document["accuracy"] = command.accuracy;
  for (const auto& [name, lever] : command.levers) document["levers"][name] = to_json(lever);
  if (const EpochEnds& ends = command.epoch_ends; ends.steps > 0) {
    document["epoch_ends"] = {{"steps", ends.steps}, {"examples", ends.examples}};
    if (ends.every > 1) document["epoch_ends"]["every"] = ends.every;
  }
  if (!command.step.empty()) document["step"] = command.step;
  if (command.files != Files::InPlace) document["files"] = to_text(command.files);
  for (const auto& path : command.shared) document["shared"].push_back(path.string());
  for (const auto& path : command.sources) document["sources"].push_back(path.string());
  return document;
}

/// The last step of a cut epoch is told with its end; of what is left of the first epoch something has to be timed.
constexpr std::int64_t kFewestStepsOfEpoch = 3;

std::expected<void, std::string> read_module(const nlohmann::json& document, CommandTemplate& command) {
  const nlohmann::json levers = document.value("levers", nlohmann::json::object());
  if (!levers.is_object()) return std::unexpected("levers: expected an object");
  for (const auto& [name, each] : levers.items()) {
    auto lever = lever_from_json(each);
    if (!lever) return std::unexpected(fmt::format("levers.{}: expected {}", name, lever.error()));
    command.levers[name] = *std::move(lever);
  }
  const nlohmann::json accuracy = document.value("accuracy", nlohmann::json(""));
  if (!accuracy.is_string()) return std::unexpected("accuracy: expected a pattern");
  command.accuracy = accuracy.get<std::string>();
  if (const auto ends = document.find("epoch_ends"); ends != document.end()) {
    const auto number = [&](const char* key, std::int64_t without) {
      const nlohmann::json value = ends->is_object() ? ends->value(key, nlohmann::json(without)) : nlohmann::json();
      return value.is_number_integer() ? value.get<std::int64_t>() : 0;
    };
    command.epoch_ends = {.steps = number("steps", 0), .examples = number("examples", 0), .every = number("every", 1)};
    const EpochEnds& cut = command.epoch_ends;
    if (cut.steps < kFewestStepsOfEpoch || cut.examples < 1 || cut.every < 1)
      return std::unexpected(
          fmt::format("epoch_ends: expected steps (at least {}), examples and every", kFewestStepsOfEpoch));
  }
  const nlohmann::json step = document.value("step", nlohmann::json(""));
  if (!step.is_string()) return std::unexpected("step: expected what a step is, such as \"optimizer step\"");
  command.step = step.get<std::string>();
  const nlohmann::json files = document.value("files", nlohmann::json("in place"));
  const auto known = std::ranges::find(kFiles, files, &std::pair<Files, std::string_view>::second);
  if (known == kFiles.end()) return std::unexpected(R"(files: expected "in place", "private" or "private folder")");
  command.files = known->first;
  for (const auto& [key, paths] : {std::pair("shared", &command.shared), std::pair("sources", &command.sources)}) {
    const nlohmann::json listed = document.value(key, nlohmann::json::array());
    const bool all =
        listed.is_array() && std::ranges::all_of(listed, [](const auto& path) { return path.is_string(); });
    if (!all) return std::unexpected(fmt::format("{}: expected a list of paths", key));
    for (const nlohmann::json& path : listed) paths->emplace_back(path.get<std::string>());
  }
  return {};
}

std::expected<CommandTemplate, std::string> command_from_json(const nlohmann::json& document) {
  CommandTemplate command;
  const auto wrong = [](std::string_view key, std::string_view expected) {
    return std::unexpected(fmt::format("{}: expected {}", key, expected));
  };
  if (!document.is_object()) return wrong("worker", "an object");
  const nlohmann::json words = document.value("template", nlohmann::json());
  if (!words.is_array() || words.empty()) return wrong("template", "a list of words");
  for (const nlohmann::json& each : words) {
    std::vector<std::string> group;
    const nlohmann::json list = each.is_array() ? each : nlohmann::json::array({each});
    for (const nlohmann::json& word : list) {
      if (!word.is_string()) return wrong("template", "words, and lists of words");
      group.push_back(word.get<std::string>());
    }
    command.groups.push_back(std::move(group));
  }
  auto environment = texts_of(document.value("environment", nlohmann::json::object()));
  if (!environment) return wrong("environment", environment.error());
  command.environment = *std::move(environment);
  if (auto read = read_module(document, command); !read) return std::unexpected(read.error());
  const nlohmann::json folder = document.value("folder", nlohmann::json(""));
  if (!folder.is_string()) return wrong("folder", "a path");
  command.folder = folder.get<std::string>();
  const nlohmann::json time = document.value("time", nlohmann::json("process"));
  if (time.is_object() && time.contains("pattern") && time["pattern"].is_string()) {
    command.timing = Timing::Pattern;
    command.pattern = time["pattern"].get<std::string>();
    return command;
  }
  for (const auto& [timing, name] : kTimings) {
    if (time == name) {
      command.timing = timing;
      return command;
    }
  }
  return wrong("time", "\"process\", \"steps\" or {\"pattern\": …}");
}

}  // namespace nocturne::measure
