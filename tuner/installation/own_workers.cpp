#include "tuner/installation/own_workers.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "measure/artifact/compiler.hpp"
#include "measure/run/own_program.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

/// "nocturne-cudnn" → "NOCTURNE_CUDNN_PROGRAM".
std::string variable_of(std::string_view program) {
  std::string name;
  for (const char each : program) {
    const bool small = each >= 'a' && each <= 'z';
    name += each == '-' ? '_' : small ? static_cast<char>(each - 'a' + 'A') : each;
  }
  return name + "_PROGRAM";
}

constexpr std::array kRecipes = {
    WorkerRecipe{"onednn", "kernels/onednn/build.json", "our own trainer in C++ on oneDNN, for CPUs"},
    WorkerRecipe{"cudnn", "", "our own trainer in CUDA C++ on cuDNN, for NVIDIA GPUs", "nocturne-cudnn"},
};

}  // namespace

const WorkerRecipe* find_shipped_worker(std::string_view name) {
  const WorkerRecipe* worker = find_worker(name);
  return worker != nullptr && !worker->program.empty() ? worker : nullptr;
}

fs::path find_shipped(const WorkerRecipe& worker) {
  if (worker.program.empty()) return {};
  std::error_code error;
  const char* named = std::getenv(variable_of(worker.program).c_str());
  const fs::path program =
      named != nullptr && *named != '\0' ? fs::absolute(named, error) : measure::beside_own_program(worker.program);
  return !error && ::access(program.c_str(), X_OK) == 0 ? program : fs::path();
}

bool sees_gpu(const fs::path& root) {
  std::error_code ignored;
  for (const char* sign : {"dev/nvidia0", "dev/nvidiactl", "dev/dxg", "proc/driver/nvidia/version"})
    if (fs::exists(root / sign, ignored)) return true;
  return false;
}

fs::path program_that_came_along() {
  return measure::find_own_program("nocturne-onednn", "NOCTURNE_ONEDNN_PROGRAM");
}

std::string worker_obstacle(const WorkerRecipe& worker) {
  if (worker.program.empty()) {
    const bool obtainable = came_along() || !measure::find_compilers().empty();
    return obtainable ? "" : "there is no compiler that could build it, and nocturne-onednn did not come along";
  }
  if (!sees_gpu()) return "this machine shows no NVIDIA GPU";
  if (find_shipped(worker).empty()) {
    return fmt::format(
        "{} is not built: ./quickstart --cuda --setup-only gets nvcc and cuDNN and builds it, or {} "
        "names a build of it",
        worker.program, variable_of(worker.program));
  }
  return {};
}

std::span<const WorkerRecipe> worker_recipes() {
  return kRecipes;
}

const WorkerRecipe* find_worker(std::string_view name) {
  const auto found = std::ranges::find(kRecipes, name, &WorkerRecipe::name);
  return found != kRecipes.end() ? &*found : nullptr;
}

}  // namespace nocturne::tuner
