#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "measure/artifact/artifact.hpp"
#include "measure/artifact/plan.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Unit = std::vector<fs::path>;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// Two sources in one folder, each with a header of its own; the second uses what only the first includes.
BuildRecipe two_that_lean_on_each_other(const fs::path& root) {
  write(root / "a/one.hpp", "#pragma once\nconstexpr int kOne = 1;\n");
  write(root / "a/one.cpp", "#include \"one.hpp\"\nint one() { return kOne; }\n");
  write(root / "a/two.cpp", "int main() { return one() + kOne; }\n");
  BuildRecipe recipe;
  recipe.name = "leaning";
  recipe.source_root = root;
  recipe.sources = {"a/one.cpp", "a/two.cpp"};
  recipe.include = {"."};
  return recipe;
}

const BuildFlags kPlain{.optimisation = "O0"};
const BuildOptions kOptions{.prefixes = {}, .jobs = 2, .deadline = std::chrono::seconds(60), .cpus = {}};

}  // namespace

TEST_CASE("units are neighbours of one folder, no more than asked for", "[artifact]") {
  const Unit sources = {"a/1.cpp", "a/2.cpp", "a/3.cpp", "b/4.cpp", "a/5.cpp"};
  CHECK(units_of(sources, 1) == std::vector<Unit>{{"a/1.cpp"}, {"a/2.cpp"}, {"a/3.cpp"}, {"b/4.cpp"}, {"a/5.cpp"}});
  CHECK(units_of(sources, 2) == std::vector<Unit>{{"a/1.cpp", "a/2.cpp"}, {"a/3.cpp"}, {"b/4.cpp"}, {"a/5.cpp"}});
  CHECK(units_of(sources, 8) == std::vector<Unit>{{"a/1.cpp", "a/2.cpp", "a/3.cpp"}, {"b/4.cpp"}, {"a/5.cpp"}});
  CHECK(units_of({}, 8).empty());
  CHECK(unit_arguments({"a.cpp", "b.cpp", "c.cpp"}) ==
        std::vector<std::string>{"-include", "a.cpp", "-include", "b.cpp", "c.cpp"});
}

TEST_CASE("sources are compiled together only where the recipe says so", "[artifact]") {
  const test::TemporaryFolder folder;
  BuildRecipe recipe = two_that_lean_on_each_other(folder.path() / "src");
  ArtifactStore store(folder.path() / "builds");
  const auto apart = store.obtain(recipe, kPlain, kOptions);
  REQUIRE_FALSE(apart);
  CHECK(apart.error().reason.contains("a/two.cpp"));

  recipe.together = 2;
  const auto joined = store.obtain(recipe, kPlain, kOptions);
  REQUIRE(joined);
  CHECK(WEXITSTATUS(std::system(joined->program.c_str())) == 2);
}

TEST_CASE("the key of sources compiled together knows every header and the grouping", "[artifact]") {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path() / "src";
  BuildRecipe recipe = two_that_lean_on_each_other(root);
  recipe.together = 2;
  ArtifactStore store(folder.path() / "builds");
  const auto before = store.key_of(recipe, kPlain, kOptions);
  REQUIRE(before);
  write(root / "a/one.hpp", "#pragma once\nconstexpr int kOne = 3;\n");
  const auto after = store.key_of(recipe, kPlain, kOptions);
  REQUIRE(after);
  CHECK(*after != *before);
  recipe.together = 1;
  const auto apart = store.key_of(recipe, kPlain, kOptions);
  REQUIRE(apart);
  CHECK(*apart != *after);
}

}  // namespace nocturne::measure
