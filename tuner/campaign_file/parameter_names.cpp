#include "tuner/campaign_file/parameter_names.hpp"

#include <algorithm>
#include <array>

#include "measure/artifact/recipe.hpp"
#include "measure/run/launch.hpp"

namespace nocturne::tuner {
namespace {

/// `framework` picks the worker, `source` its recipe, `container`, `image` and `image_form` where it runs; the others
/// the worker reads from its request.
constexpr std::array<std::string_view, 23> kOfWorkers = {
    "framework",      "precision",    "batch",         "layout",
    "graph_compiler", "onednn",       "inter_threads", "execution",
    "pooling",        "container",    "image",         "image_form",
    "device",         "data_threads", "prefetch",      "learning_rate_rule",
    "algorithm",      "cuda_graphs",  "streams",       "workspace_mib",
    "fusion",         "nnpack",       "source"};

}  // namespace

std::vector<std::string> known_parameters() {
  std::vector<std::string> names(kOfWorkers.begin(), kOfWorkers.end());
  for (const measure::BuildParameter& parameter : measure::build_parameters()) names.emplace_back(parameter.name);
  for (const measure::LaunchParameter& parameter : measure::launch_parameters()) names.emplace_back(parameter.name);
  return names;
}

bool is_known_parameter(std::string_view name) {
  return measure::is_launch_parameter(name) || std::ranges::find(kOfWorkers, name) != kOfWorkers.end() ||
         std::ranges::find(measure::build_parameters(), name, &measure::BuildParameter::name) !=
             measure::build_parameters().end();
}

}  // namespace nocturne::tuner
