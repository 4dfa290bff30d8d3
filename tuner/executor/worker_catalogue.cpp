#include "tuner/executor/worker_catalogue.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nocturne::tuner {
namespace {

constexpr std::array kRecipes = {
    WorkerRecipe{"onednn", "kernels/onednn/build.json", "our own trainer in C++ on oneDNN, for CPUs"},
};

}  // namespace

std::span<const WorkerRecipe> worker_recipes() {
  return kRecipes;
}

std::expected<WorkerRecipe, std::string> find_worker(const WorkerChoice& choice,
                                                     const space::Configuration& configuration) {
  std::string name = choice.recipe;
  if (name.empty() || name == "auto") {
    const space::Value* framework = configuration.find("framework");
    name = framework != nullptr ? space::to_text(*framework) : "onednn";
  }
  const auto found = std::ranges::find(kRecipes, name, &WorkerRecipe::name);
  if (found != kRecipes.end()) return *found;
  std::vector<std::string_view> known;
  for (const WorkerRecipe& recipe : kRecipes) known.push_back(recipe.name);
  return std::unexpected(fmt::format("no worker is called '{}'; known: {}", name, fmt::join(known, ", ")));
}

}  // namespace nocturne::tuner
