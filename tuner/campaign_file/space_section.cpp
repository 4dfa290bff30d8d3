#include "tuner/campaign_file/space_section.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/artifact/recipe.hpp"
#include "measure/run/launch.hpp"
#include "space/facts_json.hpp"
#include "space/nearest.hpp"
#include "tuner/campaign_file/command_section.hpp"
#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/campaign_file/parameter_names.hpp"
#include "tuner/campaign_file/parameter_section.hpp"
#include "tuner/campaign_file/shipped_build.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;
constexpr std::string_view kConstraints = "/space/constraints";

/// The sound part of the section, and from which entries of the file it came.
struct Section {
  std::vector<space::ParameterSpec> parameters;
  std::vector<std::size_t> parameter_indices;
  std::vector<space::ConstraintSpec> constraints;
  std::vector<std::size_t> constraint_indices;
  std::set<std::string> refused;  ///< names of parameters that are left out
  bool nameless = false;          ///< one without a usable name is left out
};

void read_parameters(Checks& checks, Section& section) {
  const Json* list =
      checks.root().contains("/space/parameters"_json_pointer) ? &checks.root()["space"]["parameters"] : nullptr;
  if (list == nullptr || !list->is_array()) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string pointer = pointer_to(kParametersPointer, i);
    const Json& parameter = (*list)[i];
    auto spec = checks.sound(pointer) ? parameter_spec(checks, pointer, parameter) : std::nullopt;
    if (spec) {
      section.parameters.push_back(std::move(*spec));
      section.parameter_indices.push_back(i);
    } else if (parameter.is_object() && parameter.contains("name") && parameter["name"].is_string()) {
      section.refused.insert(parameter["name"].get<std::string>());
    } else {
      section.nameless = true;
    }
  }
}

/// Leaves out the expressions that mention a refused parameter. Nothing is lost: the file is refused anyway.
void drop_dependents(Section& section) {
  const auto hangs = [&](const std::string& expression) {
    const std::set<std::string> words = expression_words(expression);
    return std::ranges::any_of(section.refused, [&](const std::string& name) { return words.contains(name); });
  };
  for (space::ParameterSpec& parameter : section.parameters)
    if (hangs(parameter.active_if)) parameter.active_if.clear();
  for (std::size_t i = section.constraints.size(); i-- > 0;) {
    if (!hangs(section.constraints[i].require)) continue;
    section.constraints.erase(section.constraints.begin() + static_cast<std::ptrdiff_t>(i));
    section.constraint_indices.erase(section.constraint_indices.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// "/parameters/1/active_if" of the sound part to "/space/parameters/3/active_if" of the file.
std::string pointer_in_file(const std::string& path, const Section& section) {
  for (const auto& [list, indices] : {std::pair{std::string_view("/parameters/"), &section.parameter_indices},
                                      {std::string_view("/constraints/"), &section.constraint_indices}}) {
    if (!path.starts_with(list)) continue;
    const std::size_t end = std::min(path.find('/', list.size()), path.size());
    const std::size_t index = std::stoul(path.substr(list.size(), end - list.size()));
    return fmt::format("/space{}{}{}", list, indices->at(index), path.substr(end));
  }
  return "/space" + path;
}

void add_space_error(Checks& checks, const space::SpaceError& error, const Section& section) {
  if (section.nameless && error.message.starts_with("unknown name")) return;  // it may be the nameless one
  const std::string pointer = pointer_in_file(error.path, section);
  Problem problem = problem_at(checks.document(), pointer, At::Value, error.message);
  problem.excerpt = error.excerpt;
  const Json::json_pointer place(pointer);
  if (error.position && checks.root().contains(place) && checks.root()[place].is_string()) {
    const Json& text = checks.root()[place];
    // The column inside the text is known only where no escape sequence shifts it.
    if (text.dump().size() == text.get_ref<const std::string&>().size() + 2) problem.column += 1 + *error.position;
  }
  checks.add(std::move(problem));
}

/// Refuses what changes nothing: a parameter without a place in the user's command that is no launch setting.
void check_used(Checks& checks, const Section& section, const measure::CommandTemplate& command) {
  const std::vector<std::string> placed = names_in(command);
  std::vector<std::string> known = placed;
  for (const measure::LaunchParameter& parameter : measure::launch_parameters()) known.emplace_back(parameter.name);
  for (std::size_t i = 0; i < section.parameters.size(); ++i) {
    const std::string& name = section.parameters[i].name;
    if (measure::is_launch_parameter(name) || std::ranges::find(placed, name) != placed.end()) continue;
    // A switch that others depend on, or did where this campaign was made from another.
    if (std::holds_alternative<space::BooleanSpec>(section.parameters[i].domain)) continue;
    checks.add(
        pointer_to(pointer_to(kParametersPointer, section.parameter_indices[i]), "name"),
        fmt::format("nothing reads the parameter '{}'", name),
        fmt::format("{{{}}} in worker.template or worker.environment, or one of {}", name, fmt::join(known, ", ")),
        space::nearest(name, known));
  }
}

/// What no worker of ours reads is a misspelling. A user's own command may read anything.
void check_names(Checks& checks, const Section& section, const WorkerChoice& worker) {
  if (!worker.command.empty()) return;
  if (!worker.own.empty()) return check_used(checks, section, worker.own);
  const std::vector<std::string> known = known_parameters();
  for (std::size_t i = 0; i < section.parameters.size(); ++i) {
    const std::string& name = section.parameters[i].name;
    if (is_known_parameter(name)) continue;
    checks.add(pointer_to(pointer_to(kParametersPointer, section.parameter_indices[i]), "name"),
               fmt::format("no worker of Nocturne's own reads a parameter '{}'", name),
               fmt::format("{}; anything, where worker.command names a program of your own", fmt::join(known, ", ")),
               space::nearest(name, known));
  }
}

/// None of a parameter's values is what came along, where nothing else can be had.
void refuse_impossible_build(Checks& checks, const Section& section, const std::string& name) {
  const auto at = std::ranges::find(section.parameters, name, &space::ParameterSpec::name) - section.parameters.begin();
  checks.add(
      pointer_to(kParametersPointer, section.parameter_indices[static_cast<std::size_t>(at)]),
      fmt::format(
          "no compiler with the worker's headers here, and the worker that came along is none of these: '{}' is '{}'",
          name, space::to_text(*measure::shipped_value(name))),
      "that value among them, or no such parameter");
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}
bool begins_number(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The space as it constrains configurations: sentences and units for people are left out.
nlohmann::json space_without_prose(const space::Space& space) {
  nlohmann::json document = space.to_json();
  for (nlohmann::json& parameter : document["parameters"]) {
    parameter.erase("description");
    parameter.erase("unit");
  }
  for (nlohmann::json& constraint : document["constraints"]) constraint.erase("because");
  return document;
}

/// Facts that no expression names are left out, so that a machine with more memory goes on with a campaign that never
/// asked for its memory.
nlohmann::json facts_in_use(const space::Space& space, const space::Facts& facts) {
  std::set<std::string> words;
  for (const space::Parameter& parameter : space.parameters()) words.merge(expression_words(parameter.active_if));
  for (const space::ConstraintSpec& constraint : space.constraints()) words.merge(expression_words(constraint.require));
  space::Facts used;
  for (const auto& [name, fact] : facts.all())
    if (words.contains(name)) used.set(name, fact);
  return space::to_json(used);
}

}  // namespace

std::set<std::string> expression_words(std::string_view expression) {
  std::set<std::string> words;
  for (std::size_t i = 0; i < expression.size();) {
    const char c = expression[i];
    if (c == '\'' || c == '"') {
      for (++i; i < expression.size() && expression[i] != c; ++i)
        if (expression[i] == '\\') ++i;
      ++i;
    } else if (is_word(c)) {
      const std::size_t start = i;
      while (i < expression.size() && is_word(expression[i])) ++i;
      if (!begins_number(c) && c != '.') words.emplace(expression.substr(start, i - start));
    } else {
      ++i;
    }
  }
  return words;
}

nlohmann::json identity_of(const space::Space& space, const space::Facts& facts) {
  return {{"space", space_without_prose(space)}, {"facts", facts_in_use(space, facts)}};
}

std::vector<space::ConstraintSpec> read_constraints(Checks& checks, std::vector<std::size_t>* indices) {
  std::vector<space::ConstraintSpec> constraints;
  if (!checks.root().contains("/space/constraints"_json_pointer)) return constraints;
  const Json& list = checks.root().at("space").at("constraints");
  for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
    if (!checks.sound(pointer_to(kConstraints, i))) continue;
    constraints.push_back({list[i].at("require").get<std::string>(), list[i].at("because").get<std::string>()});
    if (indices != nullptr) indices->push_back(i);
  }
  return constraints;
}

std::optional<SpaceSection> read_space(Checks& checks, space::Facts facts, const WorkerChoice& worker,
                                       std::span<const UnavailableFramework> unavailable) {
  if (!checks.root().contains("space") && checks.sound("")) {
    checks.add("", "key 'space' is missing", "an object with 'parameters'; or 'extends' with a file that has it");
    return std::nullopt;
  }
  Section section;
  read_parameters(checks, section);
  section.constraints = read_constraints(checks, &section.constraint_indices);
  check_names(checks, section, worker);
  for (const UnavailableFramework& framework : unavailable)
    section.constraints.push_back(constraint_against(framework));
  ShippedBuild shipped;
  if (worker.command.empty() && worker.own.empty()) {
    shipped = keep_shipped_build(section.parameters, section.constraints, facts);
    for (const std::string& name : shipped.impossible) refuse_impossible_build(checks, section, name);
  }
  // They stand behind the file's own: a problem with one would be shown at the list.
  while (section.constraint_indices.size() < section.constraints.size())
    section.constraint_indices.push_back(section.constraint_indices.size());
  const bool complete = checks.sound("/space");
  if (!complete) drop_dependents(section);
  auto space = space::Space::create(section.parameters, section.constraints, facts);
  if (space && complete) return SpaceSection{.space = std::move(*space), .shipped_build = std::move(shipped.sentence)};
  // A section without one sound parameter would be called empty, which it is not.
  if (!space && (complete || !section.parameters.empty()))
    for (const space::SpaceError& error : space.error()) add_space_error(checks, error, section);
  return std::nullopt;
}

}  // namespace nocturne::tuner
