#include "tuner/executor/worker_catalogue.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace nocturne::tuner {
namespace {

constexpr std::array kRecipes = {
    WorkerRecipe{"onednn", "kernels/onednn/build.json", "our own trainer in C++ on oneDNN, for CPUs"},
    WorkerRecipe{"cudnn", "", "our own trainer in CUDA C++ on cuDNN, for NVIDIA GPUs", "nocturne-cudnn"},
};

}  // namespace

std::span<const WorkerRecipe> worker_recipes() {
  return kRecipes;
}

const WorkerRecipe* find_worker(std::string_view name) {
  const auto found = std::ranges::find(kRecipes, name, &WorkerRecipe::name);
  return found != kRecipes.end() ? &*found : nullptr;
}

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
