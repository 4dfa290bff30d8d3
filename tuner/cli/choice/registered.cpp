#include "tuner/cli/choice/registered.hpp"

#include <algorithm>
#include <ostream>
#include <system_error>

#include "measure/container/image_store.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::cli {

tuner::Registry registry_here(const Context& context) {
  std::vector<std::filesystem::path> roots = {tuner::find_installation().source_root / "tuner" / "registry"};
  if (const auto own = context.configuration_folder(); !own.empty()) roots.insert(roots.begin(), own);
  tuner::Registry registry = tuner::Registry::load(roots);
  for (const std::string& problem : registry.problems)
    *context.err << "A file of the registry is left out: " << printable(problem) << '\n';
  return registry;
}

std::vector<measure::ImageRecipe> image_recipes_here(const Context& context) {
  auto recipes = measure::known_images(
      {context.image_recipes_folder(), tuner::find_installation().source_root / "measure" / "container" / "images"});
  std::error_code ignored;
  if (!std::filesystem::is_directory(context.images_folder(), ignored)) return recipes;
  for (const measure::StoredImage& made : measure::ImageStore(context.images_folder()).list()) {
    const auto recipe = std::ranges::find(recipes, made.name, &measure::ImageRecipe::name);
    if (recipe != recipes.end() && std::filesystem::is_directory(made.folder / "root", ignored))
      recipe->folder = made.folder / "root";
  }
  return recipes;
}

}  // namespace nocturne::cli
