#include "measure/environment/recipe_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"
#include "space/nearest.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLongestRecipe = 1 << 20;  // a file of another kind has lost its way here

std::expected<EnvironmentRecipe, std::string> read_recipe(const fs::path& file) {
  const auto text = space::read_file(file, kLongestRecipe + 1);
  if (!text) return std::unexpected("cannot be read");
  if (text->size() > kLongestRecipe) return std::unexpected(fmt::format("is longer than {} bytes", kLongestRecipe));
  json document;
  try {
    document = json::parse(*text, nullptr, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const json::parse_error& wrong) {
    return std::unexpected(fmt::format("is not JSON: {}", wrong.what()));
  }
  auto recipe = parse_recipe(document, file.stem().string());
  if (recipe) recipe->file = file;
  if (recipe && recipe->kind == RecipeKind::Command && recipe->command.value("folder", json("")).is_string()) {
    std::error_code unresolved;
    // A link to a recipe means the folder that the recipe lies in.
    const fs::path folder = fs::weakly_canonical(file, unresolved).parent_path() / recipe->command.value("folder", "");
    recipe->command["folder"] = folder.lexically_normal().string();
  }
  return recipe;
}

}  // namespace

RecipeSet RecipeSet::load(const std::vector<fs::path>& folders) {
  RecipeSet set;
  std::map<std::string, EnvironmentRecipe> found;
  for (const fs::path& folder : folders) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const fs::directory_entry& entry : space::entries_of(folder)) {
      if (entry.path().extension() == ".json" && entry.is_regular_file(error)) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      auto recipe = read_recipe(file);
      if (!recipe) {
        set.problems_.push_back(fmt::format("{}: {}", file.string(), recipe.error()));
      } else {
        std::string name = recipe->name;
        found.try_emplace(std::move(name), std::move(*recipe));  // the first folder's stays
      }
    }
  }
  for (auto& [name, recipe] : found) set.recipes_.push_back(std::move(recipe));
  return set;
}

std::expected<EnvironmentRecipe, std::string> RecipeSet::find(std::string_view name) const {
  const auto found = std::ranges::find(recipes_, name, &EnvironmentRecipe::name);
  if (found != recipes_.end()) return *found;
  std::vector<std::string> names;
  for (const EnvironmentRecipe& recipe : recipes_) names.push_back(recipe.name);
  return std::unexpected(fmt::format("there is no recipe '{}'{}", name, space::did_you_mean(name, names)));
}

}  // namespace nocturne::measure
