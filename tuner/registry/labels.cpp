#include "tuner/registry/labels.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/json_field.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

// What recipes call them; the first that a name contains.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kFamilies = {{{"tensorflow", "tensorflow"},
                                                                                     {"pytorch", "pytorch"},
                                                                                     {"torch", "pytorch"},
                                                                                     {"mxnet", "mxnet"},
                                                                                     {"cntk", "cntk"},
                                                                                     {"jax", "jax"},
                                                                                     {"paddle", "paddle"}}};

constexpr std::array kKinds = {std::pair{"framework", Labels::Kind::Framework},
                               std::pair{"application", Labels::Kind::Application},
                               std::pair{"mpi_library", Labels::Kind::MpiLibrary}};

/// The part of "tensorflow-2.21-cuda" that is a version.
std::string version_in_name(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('-'));
    if (!part.empty() && part.front() >= '0' && part.front() <= '9') return std::string(part);
    name.remove_prefix(std::min(part.size() + 1, name.size()));
  }
  return {};
}

/// "any" is no label.
void take_label(const Json& document, const char* key, std::string& out) {
  space::take_field(document, key, out);
  if (out == "any") out.clear();
}

}  // namespace

Labels labels_from_json(const Json& document, Labels start) {
  Labels labels = std::move(start);
  for (const auto& [key, kind] : kKinds) {
    if (!document.contains(key)) continue;
    labels.kind = kind;
    space::take_field(document, key, labels.name);
  }
  space::take_field(document, "version", labels.version);
  space::take_field(document, "source", labels.source);
  space::take_field(document, "opt_build", labels.opt_build);
  take_label(document, "cpu", labels.cpu);
  take_label(document, "accelerator", labels.accelerator);
  if (document.contains("graph_compilers")) labels.graph_compilers = document["graph_compilers"];
  const Json has = document.value("has", Json::object());
  for (const auto& [name, version] : has.items())
    labels.has[name] = version.is_string() ? version.get<std::string>() : "";
  return labels;
}

Json to_json(const Labels& labels) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  const auto* const kind = std::ranges::find(kKinds, labels.kind, &decltype(kKinds)::value_type::second);
  return {{"kind", kind->first},
          {"name", labels.name},
          {"version", text(labels.version)},
          {"source", text(labels.source)},
          {"opt_build", labels.opt_build ? Json(*labels.opt_build) : Json()},
          {"cpu", labels.cpu.empty() ? "any" : labels.cpu},
          {"accelerator", labels.accelerator.empty() ? "any" : labels.accelerator},
          {"graph_compilers", labels.graph_compilers},
          {"offered", labels.offered},
          {"has", labels.has}};
}

std::string to_text(const Labels& labels) {
  std::vector<std::string> parts = {labels.version.empty() ? labels.name : labels.name + " " + labels.version};
  const auto add = [&](const std::string& part) {
    if (!part.empty()) parts.push_back(part);
  };
  add(labels.source);
  if (labels.opt_build == true && labels.source != "opt-build") add("optimised build");
  add(labels.cpu);
  add(labels.accelerator == "none" ? "" : labels.accelerator);
  for (const std::string& compiler : labels.graph_compilers) add(compiler);
  for (const auto& [library, version] : labels.has) add(version.empty() ? library : library + " " + version);
  return fmt::format("{}", fmt::join(parts, ", "));
}

Labels labels_of_name(std::string_view framework) {
  Labels labels{.name = std::string(framework), .version = version_in_name(framework), .accelerator = "none"};
  const auto* family =
      std::ranges::find_if(kFamilies, [&](const auto& each) { return framework.contains(each.first); });
  if (family != kFamilies.end()) labels.name = family->second;
  if (framework.contains("cuda")) labels.accelerator = "nvidia";
  return labels;
}

Labels labels_of(const measure::EnvironmentRecipe& recipe) {
  Labels labels = labels_of_name(recipe.name);
  labels.source = recipe.source;
  labels.opt_build = recipe.source == "opt-build";
  if (recipe.needs_gpu) labels.accelerator = "nvidia";
  labels.offered = recipe.graph_compilers;
  std::erase(labels.offered, "none");
  // The first is what it is for.
  if (!recipe.graph_compilers.empty() && recipe.graph_compilers.front() != "none")
    labels.graph_compilers = {recipe.graph_compilers.front()};
  return labels_from_json(recipe.document.value("labels", Json::object()), std::move(labels));
}

std::optional<Labels> labels_of(const measure::ImageRecipe& recipe) {
  if (!recipe.labels.is_object() || recipe.labels.empty()) return std::nullopt;
  return labels_from_json(recipe.labels, {.kind = Labels::Kind::Application,
                                          .name = recipe.name,
                                          .source = recipe.kind == measure::ImageKind::Reference ? "hub" : "image",
                                          .accelerator = "none"});
}

}  // namespace nocturne::tuner
