#include "tuner/installation/worker_catalogue.hpp"

#include <algorithm>
#include <array>

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

}  // namespace nocturne::tuner
