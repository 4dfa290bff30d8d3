#include "tuner/campaign_file/chosen_frameworks.hpp"

#include <algorithm>
#include <utility>

namespace nocturne::tuner {

std::string framework_of(const WorkerChoice& choice, const space::Configuration& configuration) {
  if (!choice.recipe.empty() && choice.recipe != "auto") return choice.recipe;
  const space::Value* framework = configuration.find("framework");
  return framework != nullptr ? space::to_text(*framework) : "onednn";
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
