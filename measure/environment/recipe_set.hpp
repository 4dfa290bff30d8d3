#pragma once

/// All recipes this user has: shipped ones and their own.

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "measure/environment/recipe.hpp"

namespace nocturne::measure {

class RecipeSet {
 public:
  /// Folders in order of precedence; those that are not there count as empty. A file that cannot be read or parsed is
  /// left out and named in problems().
  [[nodiscard]] static RecipeSet load(const std::vector<std::filesystem::path>& folders);

  [[nodiscard]] const std::vector<EnvironmentRecipe>& recipes() const { return recipes_; }  ///< sorted by name
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }      ///< a sentence a file
  /// The error is a sentence with the nearest known name.
  [[nodiscard]] std::expected<EnvironmentRecipe, std::string> find(std::string_view name) const;

 private:
  std::vector<EnvironmentRecipe> recipes_;
  std::vector<std::string> problems_;
};

}  // namespace nocturne::measure
