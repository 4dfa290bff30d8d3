#pragma once

/// What the parameter `framework` can name: our own workers, built from source (own_workers.hpp), and the recipes
/// of environments (measure/environment), shipped ones and the user's; and what of it this machine cannot have.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/environment/environment_store.hpp"
#include "measure/environment/recipe.hpp"
#include "space/facts.hpp"

namespace nocturne::tuner {

/// The fact: what `framework` can name on this machine.
inline constexpr const char* kFrameworksFact = "machine.frameworks";

/// Not thread-safe.
class Frameworks {
 public:
  struct Places {
    std::filesystem::path source_root;   ///< kernels/python, shipped recipes and fix-ups lie below it
    std::filesystem::path user_recipes;  ///< these take precedence; empty: none
    std::filesystem::path environments;  ///< where environments are made
    std::function<measure::PythonPlaces()> pythons = measure::python_places;
  };

  /// Our own workers alone.
  Frameworks() = default;
  /// Reads the recipes; looks at nothing else yet.
  explicit Frameworks(Places places);

  /// Our own first, then the recipes' in order.
  [[nodiscard]] std::vector<std::string> names() const;
  /// An environment's recipe; null: our own worker, or no such name.
  [[nodiscard]] const measure::EnvironmentRecipe* recipe(std::string_view name) const;
  /// All of environments, by name.
  [[nodiscard]] const std::vector<measure::EnvironmentRecipe>& recipes() const { return recipes_; }
  /// The recipe, or our own worker, that `framework` means where it comes from `source` (a recipe's own; our workers
  /// use libraries of PyPI): the one of that name, else the first that says it answers it. Empty: none does.
  [[nodiscard]] std::string answering(std::string_view framework, std::string_view source) const;
  /// What recipes answer beside their own names, sorted: "pytorch".
  [[nodiscard]] std::vector<std::string> answered() const;
  /// Recipe files that cannot be read, a sentence each.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  /// Why this machine cannot have it, a sentence; empty: nothing is known against it, or it is installed. What may
  /// go right another time, as a full disk, is not told here. Asks the Pythons of this machine at the first call; makes
  /// nothing but a folder in the temporary one.
  [[nodiscard]] std::string obstacle(std::string_view name) const;
  /// Empty: not installed, or no environment.
  [[nodiscard]] std::optional<measure::Environment> installed(std::string_view name) const;
  /// Names without an obstacle: the fact machine.frameworks.
  [[nodiscard]] std::vector<std::string> available() const;

  /// Where environments are made, and makes that folder; null with the reason in `error` where it cannot be used.
  [[nodiscard]] measure::EnvironmentStore* store(std::string& error) const;
  [[nodiscard]] const measure::PythonPlaces& pythons() const;
  [[nodiscard]] measure::InstallOptions install_options() const;
  /// Holds the Python workers.
  [[nodiscard]] std::filesystem::path worker_folder() const { return places_.source_root / "kernels" / "python"; }

 private:
  class LookingStore;
  [[nodiscard]] std::string find_obstacle(const measure::EnvironmentRecipe& recipe) const;

  Places places_;
  std::vector<measure::EnvironmentRecipe> recipes_;
  std::vector<std::string> problems_;
  mutable std::optional<measure::PythonPlaces> pythons_;
  mutable std::unique_ptr<measure::EnvironmentStore> store_;
  mutable std::string store_error_;
  mutable std::shared_ptr<LookingStore> looking_;
  mutable std::map<std::string, std::string, std::less<>> obstacles_;
};

/// About how long installing takes, on two cores and a usual line.
[[nodiscard]] double usual_install_seconds(const measure::EnvironmentRecipe& recipe);

/// The fact machine.frameworks beside the others.
void add_frameworks(space::Facts& facts, const Frameworks& frameworks);

}  // namespace nocturne::tuner
