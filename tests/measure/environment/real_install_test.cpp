#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>

#include "measure/environment/environment_store.hpp"
#include "measure/environment/recipe.hpp"

// Hidden, for it downloads: NOCTURNE_REAL_RECIPE=mxnet-1.9.1 NOCTURNE_REAL_ROOT=FOLDER nocturne_environment_test
// "[real]"

namespace nocturne::measure {

TEST_CASE("a shipped recipe installs for real", "[.][real]") {
  const char* name = std::getenv("NOCTURNE_REAL_RECIPE");
  const char* root = std::getenv("NOCTURNE_REAL_ROOT");
  if (name == nullptr || root == nullptr) SKIP("NOCTURNE_REAL_RECIPE and NOCTURNE_REAL_ROOT are not set");
  const std::filesystem::path here = std::filesystem::path(NOCTURNE_SOURCE_DIR) / "measure/environment";
  const auto recipe = RecipeSet::load({here / "recipes"}).find(name);
  REQUIRE(recipe);
  InstallOptions options;
  options.fix_ups = here / "fix_ups";
  options.progress = [](std::string_view line) { fmt::print("{}\n", line); };
  const auto made = EnvironmentStore(root).obtain(*recipe, python_places(), options);
  INFO((made ? "" : made.error().reason + "\n" + made.error().log_tail));
  REQUIRE(made);
  const double seconds = std::chrono::duration<double>(made->install_time).count();
  fmt::print("{}: Python {}, {} MB, {:.1f} s{}\n", made->folder.string(), to_text(made->interpreter.version),
             made->bytes / 1'000'000, seconds, made->installed_now ? "" : " then");
  for (const std::string& line : made->lock) fmt::print("  {}\n", line);
}

}  // namespace nocturne::measure
