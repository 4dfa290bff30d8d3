#include "tuner/report/published_side.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/campaign/answer/default_settings.hpp"

namespace nocturne::report {
namespace {

using nlohmann::json;
using tuner::Labels;

constexpr const char* kFramework = "framework";
constexpr const char* kSource = "source";
constexpr const char* kContainer = "container";
constexpr const char* kHost = "host";
constexpr const char* kUsualContainer = "podman";  // where no space says which there are

const std::array<std::pair<const char*, std::string PublishedSide::*>, 5> kLabels = {
    {{kFramework, &PublishedSide::framework},
     {"version", &PublishedSide::version},
     {kSource, &PublishedSide::source},
     {"has", &PublishedSide::has},
     {"lacks", &PublishedSide::lacks}}};

bool is_none(const space::Value& value) {
  return value == space::Value(std::string("none"));
}

std::string text_of(const space::Configuration& configuration, const char* parameter) {
  const space::Value* value = configuration.find(parameter);
  return value == nullptr ? std::string() : space::to_text(*value);
}

/// The first value of `container` that is none of the host's and that the space allows in its default.
std::string container_in(const space::Space& space) {
  const space::Parameter* parameter = space.find(kContainer);
  for (std::size_t i = 0; parameter != nullptr && i < parameter->size(); ++i) {
    space::Configuration tried = space.default_configuration();
    tried.set(kContainer, parameter->value(i));
    if (space::to_text(parameter->value(i)) != kHost && space.check(space.normalise(tried)).empty())
      return space::to_text(parameter->value(i));
  }
  return kUsualContainer;
}

bool comes_with(const Labels& labels, const std::string& what) {
  return labels.has.contains(what) || std::ranges::find(labels.graph_compilers, what) != labels.graph_compilers.end() ||
         std::ranges::find(labels.offered, what) != labels.offered.end();
}

bool fits(const PublishedSide& side, const Labels& labels) {
  const auto agrees = [](const std::string& wanted, const std::string& found) {
    return wanted.empty() || wanted == found;
  };
  return agrees(side.framework, labels.name) && agrees(side.version, labels.version) &&
         agrees(side.source, labels.source) && (side.has.empty() || comes_with(labels, side.has)) &&
         (side.lacks.empty() || !comes_with(labels, side.lacks));
}

/// Whether their labels tell the sides apart.
bool differ_by_labels(const PublishedSide& one, const PublishedSide& other) {
  return std::ranges::any_of(kLabels, [&](const auto& each) { return one.*each.second != other.*each.second; });
}

}  // namespace

FrameworkLabels framework_labels(const tuner::Frameworks& frameworks) {
  FrameworkLabels known;
  for (const std::string& name : frameworks.names()) {
    const measure::EnvironmentRecipe* recipe = frameworks.recipe(name);
    known[name] = recipe != nullptr ? tuner::labels_of(*recipe) : tuner::labels_of_name(name);
  }
  return known;
}

std::string PublishedSide::text() const {
  std::string text = framework.empty() ? "any framework" : framework;
  if (!version.empty()) text += " " + version;
  if (!source.empty()) text += ", " + source;
  if (!has.empty()) text += " with " + has;
  if (!lacks.empty()) text += " without " + lacks;
  return text;
}

std::expected<PublishedSide, std::string> read_side(const json& document) {
  if (!document.is_object()) return std::unexpected("an object was expected");
  PublishedSide side;
  json settings = document;
  for (const auto& [key, member] : kLabels) {
    if (!settings.contains(key)) continue;
    if (!settings[key].is_string()) return std::unexpected(fmt::format("'{}' is no text", key));
    side.*member = settings[key].get<std::string>();
    settings.erase(key);
  }
  auto read = space::Configuration::from_json(settings);
  if (!read) return std::unexpected(read.error());
  side.settings = std::move(*read);
  return side;
}

Labels labels_of(const space::Configuration& configuration, const FrameworkLabels& known) {
  const std::string framework = text_of(configuration, kFramework);
  const auto found = known.find(framework);
  Labels labels = found != known.end() ? found->second : tuner::labels_of_name(framework);
  if (std::string source = text_of(configuration, kSource); !source.empty()) labels.source = std::move(source);
  return labels;
}

bool is_side(const PublishedSide& side, const space::Configuration& configuration, const FrameworkLabels& known) {
  for (const auto& [name, value] : side.settings.values()) {
    const space::Value* found = configuration.find(name);
    if (found == nullptr ? !is_none(value) : *found != value) return false;
  }
  const std::string container = text_of(configuration, kContainer);
  if (side.in_container && (container.empty() || container == kHost)) return false;
  return fits(side, labels_of(configuration, known));
}

bool differ_as_sides(const PublishedSide& reference, const PublishedSide& candidate, const space::Configuration& first,
                     const space::Configuration& second, const FrameworkLabels& known) {
  const Labels here = labels_of(first, known), there = labels_of(second, known);
  if (reference.framework.empty() && candidate.framework.empty() && here.name != there.name) return false;
  if (reference.version.empty() && candidate.version.empty() && reference.framework == candidate.framework &&
      here.version != there.version)
    return false;
  if (reference.source.empty() && candidate.source.empty() && here.source != there.source) return false;
  const bool by_labels = differ_by_labels(reference, candidate);
  for (const tuner::Change& change : tuner::changes_between(first, second)) {
    const bool is_published = reference.settings.find(change.parameter) != nullptr ||
                              candidate.settings.find(change.parameter) != nullptr ||
                              (by_labels && (change.parameter == kFramework || change.parameter == kSource));
    if (!is_published && change.from && change.to) return false;
  }
  return true;
}

std::string framework_of(const PublishedSide& side, const FrameworkLabels& known, const space::Space* space) {
  const space::Parameter* parameter = space != nullptr ? space->find(kFramework) : nullptr;
  if (parameter != nullptr) {
    for (std::size_t i = 0; i < parameter->size(); ++i) {
      std::string name = space::to_text(parameter->value(i));
      space::Configuration alone;
      alone.set(kFramework, name);
      PublishedSide labels = side;
      labels.settings = {};
      labels.in_container = false;
      if (space->find(kSource) != nullptr) labels.source.clear();  // a parameter of its own there
      if (is_side(labels, alone, known)) return name;
    }
  }
  for (const auto& [name, labels] : known)
    if (fits(side, labels) && !(side.on_gpu && labels.accelerator == "none")) return name;
  return {};
}

std::string side_words(const PublishedSide& side, const FrameworkLabels& known, const space::Space* space) {
  std::vector<std::string> words;
  // The two sides of a hub's comparison are values of `source`.
  const bool is_by_labels = side.framework.empty() || (space == nullptr && side.in_container);
  const std::string framework = is_by_labels ? std::string() : framework_of(side, known, space);
  const bool asks_source = space != nullptr && space->find(kSource) != nullptr;
  if (!framework.empty())
    words.push_back(fmt::format("{}={}", kFramework, framework));
  else if (!side.framework.empty())
    words.push_back(
        fmt::format("{}={}{}{}", kFramework, side.framework, side.version.empty() ? "" : "-", side.version));
  if (!side.source.empty() && (framework.empty() || asks_source))
    words.push_back(fmt::format("{}={}", kSource, side.source));
  if (side.in_container)
    words.push_back(fmt::format("{}={}", kContainer, space != nullptr ? container_in(*space) : kUsualContainer));
  for (const auto& [name, value] : side.settings.values()) {
    if (space != nullptr && space->find(name) == nullptr && is_none(value)) continue;
    words.push_back(fmt::format("{}={}", name, space::to_text(value)));
  }
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace nocturne::report
