#include "tuner/campaign/preparation.hpp"

#include <algorithm>
#include <utility>

#include "tuner/campaign_file/framework_values.hpp"

namespace nocturne::tuner {
namespace {

constexpr const char* kFramework = "framework";
constexpr const char* kSource = "source";

std::string values_of(const space::Configuration& configuration, std::span<const std::string> names) {
  space::Configuration part;
  for (const std::string& name : names)
    if (const auto* value = configuration.find(name)) part.set(name, *value);
  return part.canonical();
}

}  // namespace

PreparationCosts::PreparationCosts(const space::Space& space, std::span<const db::BuildRecord> builds,
                                   std::int64_t began_unix_ns, std::map<std::string, double> installs,
                                   std::vector<RecipeAnswer> answers)
    : installs_(std::move(installs)) {
  worker_.answers = std::move(answers);
  bool any_build = false;
  for (const space::Parameter& parameter : space.parameters()) {
    const bool chooses = parameter.name == kFramework || (parameter.name == kSource && !worker_.answers.empty());
    const bool is_priced = chooses && !installs_.empty();
    if (parameter.stage == space::Stage::Environment && !is_priced) environment_.push_back(parameter.name);
    if (parameter.stage <= space::Stage::Build) build_.push_back(parameter.name);
    any_build = any_build || parameter.stage == space::Stage::Build;
  }
  if (!any_build) build_.clear();
  std::vector<double> seconds;
  for (const db::BuildRecord& build : builds) {
    if (build.build_ns <= 0 || build.created_unix_ns >= began_unix_ns) continue;
    const double took = static_cast<double>(build.build_ns) * 1e-9;
    const auto environment = db::environment_of(build);
    if (!environment)
      seconds.push_back(took);
    else if (const auto known = installs_.find(*environment); known != installs_.end() && known->second > 0)
      known->second = took;
  }
  if (seconds.empty()) return;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  build_seconds_ = *middle;
}

std::string PreparationCosts::framework_of(const space::Configuration& configuration) const {
  if (configuration.find(kFramework) == nullptr) return {};
  std::string name = tuner::framework_of(worker_, configuration);
  return installs_.contains(name) ? name : std::string();
}

void PreparationCosts::prepared(const space::Configuration& configuration) {
  environments_.insert(values_of(configuration, environment_));
  builds_.insert(values_of(configuration, build_));
  if (std::string framework = framework_of(configuration); !framework.empty()) frameworks_.insert(std::move(framework));
}

double PreparationCosts::seconds(const space::Configuration& configuration) const {
  double sum = 0;
  if (!environment_.empty() && !environments_.contains(values_of(configuration, environment_)))
    sum += kEnvironmentSeconds;
  // What is installed is not built.
  if (const std::string framework = framework_of(configuration); !framework.empty())
    return frameworks_.contains(framework) ? sum : sum + installs_.at(framework);
  if (!build_.empty() && !builds_.contains(values_of(configuration, build_))) sum += build_seconds_;
  return sum;
}

void CostAware::tell(std::span<const space::Trial> finished) {
  for (const space::Trial& trial : finished) costs_->prepared(trial.configuration);
  inner_->tell(finished);
}

}  // namespace nocturne::tuner
