#include "tuner/campaign_file/framework_values.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/nearest.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

/// The default as the file has it, else the first value; empty: neither is a text.
std::string default_framework(const Json& parameter, const Json& values) {
  const Json& chosen = parameter.contains("default") ? parameter.at("default") : values.at(0);
  return chosen.is_string() ? chosen.get<std::string>() : std::string();
}

}  // namespace

std::vector<UnavailableFramework> read_framework_values(Checks& checks, const WorkerChoice& worker,
                                                        const Frameworks& frameworks) {
  std::vector<UnavailableFramework> unavailable;
  if (!worker.command.empty() || !worker.own.empty()) return unavailable;
  if (worker.recipe != "auto") {
    const std::string reason = checks.sound("/worker/recipe") ? frameworks.obstacle(worker.recipe) : std::string();
    if (!reason.empty())
      checks.add("/worker/recipe", fmt::format("'{}' is unavailable here: {}", worker.recipe, reason));
    return unavailable;
  }
  const Json::json_pointer section("/space/parameters");
  if (!checks.root().contains(section) || !checks.root()[section].is_array()) return unavailable;
  const std::vector<std::string> known = frameworks.names();
  const Json& parameters = checks.root()[section];
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Json& parameter = parameters[i];
    const std::string pointer = pointer_to(section.to_string(), i);
    if (!parameter.is_object() || parameter.value("name", Json()) != "framework" || !checks.sound(pointer)) continue;
    const std::string values_pointer = pointer_to(pointer, "values");
    const Json values = parameter.value("values", Json::array());
    if (!values.is_array() || values.empty()) continue;
    for (std::size_t v = 0; v < values.size(); ++v) {
      const std::string name = values[v].is_string() ? values[v].get<std::string>() : values[v].dump();
      if (std::ranges::find(known, name) == known.end()) {
        checks.add(pointer_to(values_pointer, v), fmt::format("no worker is called {}", shown(values[v])),
                   fmt::format("{}", fmt::join(known, ", ")), space::nearest(name, known));
        continue;
      }
      std::string reason = frameworks.obstacle(name);
      if (reason.empty()) continue;
      if (name == default_framework(parameter, values)) {
        const std::string at = parameter.contains("default") ? pointer_to(pointer, "default") : values_pointer;
        checks.add(at, fmt::format("the default '{}' is unavailable here: {}", name, reason),
                   "a default that this machine can have");
      }
      unavailable.push_back({.name = name, .reason = std::move(reason)});
    }
  }
  return unavailable;
}

space::ConstraintSpec constraint_against(const UnavailableFramework& framework) {
  return {.require = fmt::format("framework != '{}'", framework.name),
          .because = "unavailable here: " + framework.reason};
}

std::string framework_of(const WorkerChoice& choice, const space::Configuration& configuration) {
  if (!choice.recipe.empty() && choice.recipe != "auto") return choice.recipe;
  return configuration.text_of("framework", "onednn");
}

std::vector<std::string> wanted_frameworks(const CampaignSpec& spec) {
  if (!spec.worker.command.empty() || !spec.worker.own.empty()) return {};
  const space::Parameter* framework = spec.space.find("framework");
  if (spec.worker.recipe != "auto" || framework == nullptr) return {framework_of(spec.worker, {})};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < framework->size(); ++i) {
    std::string name = space::to_text(framework->value(i));
    const auto same = [&](const UnavailableFramework& each) { return each.name == name; };
    if (std::ranges::none_of(spec.unavailable, same)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace nocturne::tuner
