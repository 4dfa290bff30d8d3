#include "tuner/campaign_file/framework_values.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/nearest.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

constexpr const char* kFramework = "framework";
constexpr const char* kSource = "source";

/// A parameter of the file that lists its values.
struct ListedParameter {
  std::string pointer;
  Json parameter, values;

  /// As the file has it, else the first value; empty: neither is a text.
  [[nodiscard]] std::string default_text() const {
    const Json& chosen = parameter.contains("default") ? parameter.at("default") : values.at(0);
    return chosen.is_string() ? chosen.get<std::string>() : std::string();
  }
  [[nodiscard]] std::string text(std::size_t value) const {
    return values[value].is_string() ? values[value].get<std::string>() : values[value].dump();
  }
};

/// Empty: there is none of this name that is sound and has values.
std::optional<ListedParameter> find_parameter(const Checks& checks, std::string_view name) {
  const Json::json_pointer section("/space/parameters");
  if (!checks.root().contains(section) || !checks.root()[section].is_array()) return std::nullopt;
  const Json& parameters = checks.root()[section];
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Json& parameter = parameters[i];
    std::string pointer = pointer_to(section.to_string(), i);
    if (!parameter.is_object() || parameter.value("name", Json()) != name || !checks.sound(pointer)) continue;
    Json values = parameter.value("values", Json::array());
    if (!values.is_array() || values.empty()) continue;
    return ListedParameter{.pointer = std::move(pointer), .parameter = parameter, .values = std::move(values)};
  }
  return std::nullopt;
}

/// The recipes of one value, source by source.
void look_at_sources(const std::string& name, const ListedParameter& source, const Frameworks& frameworks,
                     FrameworkValues& read) {
  std::vector<UnavailableFramework> refused;  // one a reason
  for (std::size_t i = 0; i < source.values.size(); ++i) {
    const std::string from = source.text(i);
    const std::string recipe = frameworks.answering(name, from);
    std::string reason = recipe.empty() ? "no recipe has it from there" : frameworks.obstacle(recipe);
    if (!recipe.empty()) read.answers.push_back({.framework = name, .source = from, .recipe = recipe});
    if (reason.empty()) continue;
    auto known = std::ranges::find(refused, reason, &UnavailableFramework::reason);
    if (known == refused.end()) known = refused.insert(refused.end(), {.name = name, .reason = std::move(reason)});
    known->sources.push_back(from);
  }
  std::ranges::move(refused, std::back_inserter(read.unavailable));
}

bool is_left_out(const UnavailableFramework& each, std::string_view framework, std::string_view source) {
  return each.name == framework &&
         (each.sources.empty() || std::ranges::find(each.sources, source) != each.sources.end());
}

/// There would be nothing to compare with.
void check_default(Checks& checks, const ListedParameter& framework, const std::optional<ListedParameter>& source,
                   const FrameworkValues& read) {
  const std::string name = framework.default_text(), from = source ? source->default_text() : std::string();
  for (const UnavailableFramework& each : read.unavailable) {
    if (!is_left_out(each, name, from)) continue;
    const std::string at =
        pointer_to(framework.pointer, framework.parameter.contains("default") ? "default" : "values");
    checks.add(
        at, fmt::format("the default '{}'{} is unavailable here: {}", name, source ? " from " + from : "", each.reason),
        "a default that this machine can have");
  }
}

/// What a value of `framework` may be.
std::vector<std::string> known_values(const Frameworks& frameworks, bool from_sources) {
  std::vector<std::string> known = frameworks.names();
  if (from_sources)
    for (const std::string& each : frameworks.answered())
      if (std::ranges::find(known, each) == known.end()) known.push_back(each);
  return known;
}

}  // namespace

FrameworkValues read_framework_values(Checks& checks, const WorkerChoice& worker, const Frameworks& frameworks) {
  FrameworkValues read;
  if (!worker.command.empty() || !worker.own.empty()) return read;
  if (worker.recipe != "auto") {
    const std::string reason = checks.sound("/worker/recipe") ? frameworks.obstacle(worker.recipe) : std::string();
    if (!reason.empty())
      checks.add("/worker/recipe", fmt::format("'{}' is unavailable here: {}", worker.recipe, reason));
    return read;
  }
  const auto framework = find_parameter(checks, kFramework), source = find_parameter(checks, kSource);
  if (!framework) return read;
  const std::vector<std::string> known = known_values(frameworks, source.has_value());
  for (std::size_t v = 0; v < framework->values.size(); ++v) {
    const std::string name = framework->text(v);
    if (std::ranges::find(known, name) == known.end()) {
      checks.add(pointer_to(pointer_to(framework->pointer, "values"), v),
                 fmt::format("no worker is called {}", shown(framework->values[v])),
                 fmt::format("{}", fmt::join(known, ", ")), space::nearest(name, known));
    } else if (source) {
      look_at_sources(name, *source, frameworks, read);
    } else if (std::string reason = frameworks.obstacle(name); !reason.empty()) {
      read.unavailable.push_back({.name = name, .reason = std::move(reason)});
    }
  }
  check_default(checks, *framework, source, read);
  return read;
}

std::string text_of(const UnavailableFramework& framework) {
  if (framework.sources.empty()) return framework.name;
  return fmt::format("{} from {}", framework.name, fmt::join(framework.sources, ", "));
}

space::ConstraintSpec constraint_against(const UnavailableFramework& framework) {
  std::string require = fmt::format("framework != '{}'", framework.name);
  if (!framework.sources.empty())
    require += fmt::format(" or source not in ['{}']", fmt::join(framework.sources, "', '"));
  return {.require = std::move(require), .because = "unavailable here: " + framework.reason};
}

std::string framework_of(const WorkerChoice& choice, const space::Configuration& configuration) {
  if (!choice.recipe.empty() && choice.recipe != "auto") return choice.recipe;
  std::string name = configuration.text_of(kFramework, "onednn");
  if (configuration.find(kSource) == nullptr) return name;
  const std::string from = configuration.text_of(kSource);
  const auto found = std::ranges::find_if(
      choice.answers, [&](const RecipeAnswer& each) { return each.framework == name && each.source == from; });
  return found != choice.answers.end() ? found->recipe : name;
}

std::vector<std::string> wanted_frameworks(const CampaignSpec& spec) {
  if (!spec.worker.command.empty() || !spec.worker.own.empty()) return {};
  const space::Parameter* framework = spec.space.find("framework");
  if (spec.worker.recipe != "auto" || framework == nullptr) return {framework_of(spec.worker, {})};
  std::vector<std::string> names;
  for (const RecipeAnswer& each : spec.worker.answers) {
    const auto is_out = [&](const UnavailableFramework& out) { return is_left_out(out, each.framework, each.source); };
    if (std::ranges::none_of(spec.unavailable, is_out) && std::ranges::find(names, each.recipe) == names.end())
      names.push_back(each.recipe);
  }
  if (!spec.worker.answers.empty()) return names;
  for (std::size_t i = 0; i < framework->size(); ++i) {
    std::string name = space::to_text(framework->value(i));
    const auto same = [&](const UnavailableFramework& each) { return each.name == name; };
    if (std::ranges::none_of(spec.unavailable, same)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace nocturne::tuner
