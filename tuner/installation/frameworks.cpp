#include "tuner/installation/frameworks.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "measure/container/container.hpp"
#include "measure/container/runtimes.hpp"
#include "measure/run/command_template.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::tuner {

namespace fs = std::filesystem;

/// A store for the moment, where none was made yet: whoever only looks leaves nothing behind.
class Frameworks::LookingStore {
 public:
  LookingStore() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "nocturne-look-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr) return;  // TMPDIR may name a folder that is gone
    folder_ = name;
    try {
      store_ = std::make_unique<measure::EnvironmentStore>(folder_);
    } catch (const fs::filesystem_error&) {  // a full disk
    }
  }
  LookingStore(const LookingStore&) = delete;
  LookingStore& operator=(const LookingStore&) = delete;
  ~LookingStore() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  /// Null: the temporary folder cannot be used, and nothing can be said.
  [[nodiscard]] const measure::EnvironmentStore* store() const { return store_.get(); }

 private:
  fs::path folder_;
  std::unique_ptr<measure::EnvironmentStore> store_;
};

namespace {

/// Whether its program is there.
std::string obstacle_of_command(const measure::EnvironmentRecipe& recipe) {
  const auto command = measure::command_from_json(recipe.command);
  if (!command) return "its command cannot be read: " + command.error();
  if (command->groups.front().empty()) return "its command names no program";
  const std::string program = command->groups.front().front();
  const fs::path path = program.contains('/') ? command->folder / program : fs::path(program);
  const bool there =
      program.contains('/') ? ::access(path.c_str(), X_OK) == 0 : measure::find_tool(program).has_value();
  return there ? std::string() : fmt::format("its program {} is not here: build or install it", path.string());
}

}  // namespace

Frameworks::Frameworks(Places places) : places_(std::move(places)) {
  std::vector<fs::path> folders;
  if (!places_.user_recipes.empty()) folders.push_back(places_.user_recipes);
  folders.push_back(places_.source_root / "measure" / "environment" / "recipes");
  const measure::RecipeSet set = measure::RecipeSet::load(folders);
  problems_ = set.problems();
  for (const measure::EnvironmentRecipe& recipe : set.recipes()) {
    // One of kind native alone describes a worker of ours.
    const bool describes = recipe.kind == measure::RecipeKind::Native && !recipe.build;
    if (!describes && find_worker(recipe.name) == nullptr) recipes_.push_back(recipe);
  }
}

std::vector<std::string> Frameworks::names() const {
  std::vector<std::string> names;
  for (const WorkerRecipe& worker : worker_recipes()) names.emplace_back(worker.name);
  for (const measure::EnvironmentRecipe& recipe : recipes_) names.push_back(recipe.name);
  return names;
}

const measure::EnvironmentRecipe* Frameworks::recipe(std::string_view name) const {
  const auto found = std::ranges::find(recipes_, name, &measure::EnvironmentRecipe::name);
  return found != recipes_.end() ? &*found : nullptr;
}

std::string Frameworks::answering(std::string_view framework, std::string_view source) const {
  if (find_worker(framework) != nullptr && source == "pip") return std::string(framework);
  if (const measure::EnvironmentRecipe* named = recipe(framework); named != nullptr && named->source == source)
    return named->name;
  const auto found = std::ranges::find_if(recipes_, [&](const measure::EnvironmentRecipe& each) {
    return each.framework == framework && each.source == source;
  });
  return found != recipes_.end() ? found->name : std::string();
}

std::vector<std::string> Frameworks::answered() const {
  std::set<std::string> names;
  for (const measure::EnvironmentRecipe& each : recipes_)
    if (!each.framework.empty()) names.insert(each.framework);
  return {names.begin(), names.end()};
}

measure::EnvironmentStore* Frameworks::store(std::string& error) const {
  if (!store_ && store_error_.empty()) {
    try {
      store_ = std::make_unique<measure::EnvironmentStore>(places_.environments);
    } catch (const fs::filesystem_error& failure) {
      store_error_ =
          fmt::format("environments cannot be kept in {}: {}", places_.environments.string(), failure.code().message());
    }
  }
  error = store_error_;
  return store_.get();
}

const measure::PythonPlaces& Frameworks::pythons() const {
  if (!pythons_) pythons_ = places_.pythons();
  return *pythons_;
}

measure::InstallOptions Frameworks::install_options() const {
  measure::InstallOptions options;
  options.fix_ups = places_.source_root / "measure" / "environment" / "fix_ups";
  return options;
}

std::optional<measure::Environment> Frameworks::installed(std::string_view name) const {
  const measure::EnvironmentRecipe* wanted = recipe(name);
  std::error_code ignored;
  // Looking makes no folder.
  if (wanted == nullptr || (!store_ && !fs::is_directory(places_.environments, ignored))) return std::nullopt;
  std::string error;
  const measure::EnvironmentStore* kept = store(error);
  return kept != nullptr ? kept->find(*wanted) : std::nullopt;
}

std::string Frameworks::obstacle(std::string_view name) const {
  if (const WorkerRecipe* own = find_worker(name)) return worker_obstacle(*own);
  const measure::EnvironmentRecipe* wanted = recipe(name);
  if (wanted == nullptr) return {};
  if (const auto known = obstacles_.find(name); known != obstacles_.end()) return known->second;
  std::string reason = installed(name) ? std::string() : find_obstacle(*wanted);
  // Whoever tells it names the framework.
  if (const std::string own = wanted->name + ": "; reason.starts_with(own)) reason.erase(0, own.size());
  return obstacles_.emplace(name, std::move(reason)).first->second;
}

std::string Frameworks::find_obstacle(const measure::EnvironmentRecipe& recipe) const {
  if (recipe.kind == measure::RecipeKind::Image) {
    return measure::available_containers().size() > 1
               ? std::string()
               : "runs in a container, and no container runtime can run here: 'nocturne doctor' says why";
  }
  if (recipe.kind == measure::RecipeKind::Command) return obstacle_of_command(recipe);
  std::error_code ignored;
  std::string error;
  const measure::EnvironmentStore* kept = nullptr;
  if (store_ || fs::is_directory(places_.environments, ignored)) {
    kept = store(error);
  } else {
    if (!looking_) looking_ = std::make_shared<LookingStore>();
    kept = looking_->store();
  }
  if (kept == nullptr) return error;
  const auto failure = kept->obstacle(recipe, pythons(), install_options());
  return failure && failure->unavailable ? failure->reason : std::string();
}

std::vector<std::string> Frameworks::available() const {
  std::vector<std::string> names = this->names();
  std::erase_if(names, [this](const std::string& name) { return !obstacle(name).empty(); });
  std::ranges::sort(names);
  return names;
}

double usual_install_seconds(const measure::EnvironmentRecipe& recipe) {
  // 16 to 190 s for 0.3 to 1.6 GB: most of it is unpacking.
  constexpr double kBytesASecond = 12e6, kUnknown = 120;
  return recipe.disk_bytes > 0 ? static_cast<double>(recipe.disk_bytes) / kBytesASecond : kUnknown;
}

void add_frameworks(space::Facts& facts, const Frameworks& frameworks) {
  facts.set(kFrameworksFact, frameworks.available());
}

}  // namespace nocturne::tuner
