#include "measure/environment/recipe.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

void write_recipe(const fs::path& folder, const std::string& name, const std::string& text) {
  fs::create_directories(folder);
  std::ofstream(folder / (name + ".json")) << text;
}

std::string recipe_titled(const std::string& title) {
  return R"({"title": ")" + title + R"(", "worker": "w.py", "packages": [["x==1"]]})";
}

}  // namespace

TEST_CASE("a user's recipe takes precedence over the shipped one", "[environment][recipe]") {
  const test::TemporaryFolder folder;
  write_recipe(folder.path() / "own", "b", recipe_titled("my b"));
  write_recipe(folder.path() / "shipped", "b", recipe_titled("shipped b"));
  write_recipe(folder.path() / "shipped", "a", recipe_titled("shipped a") + " // with a comment\n");
  const RecipeSet set =
      RecipeSet::load({folder.path() / "own", folder.path() / "shipped", folder.path() / "not there"});
  CHECK(set.problems().empty());
  REQUIRE(set.recipes().size() == 2);
  CHECK(set.recipes()[0].name == "a");
  CHECK(set.recipes()[1].title == "my b");
  CHECK(set.find("b")->file == folder.path() / "own/b.json");
}

TEST_CASE("a recipe that cannot be read is left out and named", "[environment][recipe]") {
  const test::TemporaryFolder folder;
  write_recipe(folder.path(), "good", recipe_titled("good"));
  write_recipe(folder.path(), "torn", "{\"title\": ");
  write_recipe(folder.path(), "wrong", R"({"worker": "../up.py"})");
  std::ofstream(folder.path() / "notes.txt") << "no recipe";
  fs::create_directories(folder.path() / "folder.json");
  const RecipeSet set = RecipeSet::load({folder.path()});
  CHECK(set.recipes().size() == 1);
  REQUIRE(set.problems().size() == 2);
  CHECK(set.problems()[0].contains("torn.json: is not JSON"));
  CHECK(set.problems()[1].contains("wrong.json: /worker is '../up.py'"));
  const auto unknown = set.find("god");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error() == "there is no recipe 'god', did you mean 'good'?");
}

TEST_CASE("each shipped recipe can be read, and its worker and fix-ups are there", "[environment][recipe]") {
  const fs::path root = NOCTURNE_SOURCE_DIR;
  const RecipeSet set = RecipeSet::load({root / "measure/environment/recipes"});
  for (const std::string& problem : set.problems()) FAIL_CHECK(problem);
  for (const char* expected : {"cntk-2.7",
                               "jax-0.10",
                               "mxnet-1.6",
                               "mxnet-1.9.1",
                               "mxnet-mkl-1.6",
                               "onednn",
                               "paddle-3.3",
                               "pytorch-1.4",
                               "pytorch-2.15",
                               "pytorch-2.8-ipex",
                               "tensorflow-1.14",
                               "tensorflow-1.14-ngraph",
                               "tensorflow-2.1",
                               "tensorflow-2.21",
                               "tinygrad",
                               "torch-xla-2.9",
                               "debian-pytorch-reference",
                               "debian-pytorch-openblas",
                               "debian-pytorch-blis",
                               "onednn-opt-build",
                               "pytorch-2.15-cuda",
                               "jax-0.10-cuda",
                               "tensorflow-2.21-cuda"}) {
    INFO(expected);
    CHECK(set.find(expected));
  }
  for (const EnvironmentRecipe& recipe : set.recipes()) {
    INFO(recipe.name);
    CHECK_FALSE(recipe.licence.empty());
    CHECK_FALSE(recipe.title.empty());
    for (const std::string& fix_up : recipe.fix_ups)
      CHECK(fs::exists(root / "measure/environment/fix_ups" / (fix_up + ".py")));
    if (recipe.kind != RecipeKind::Python) continue;
    CHECK(fs::exists(root / "kernels/python" / recipe.worker));
    std::ifstream worker(root / "kernels/python" / recipe.worker);
    const std::string source{std::istreambuf_iterator<char>(worker), {}};
    for (const std::string& compiler : recipe.graph_compilers) CHECK(source.contains('"' + compiler + '"'));
    CHECK_FALSE(recipe.imports.empty());
    CHECK(recipe.download_bytes > 0);
    CHECK(recipe.disk_bytes > recipe.download_bytes);
    if (recipe.source != "pip") continue;  // the versions are the distribution's
    const auto is_pinned = [](const std::string& package) { return package.contains("=="); };
    CHECK(std::ranges::any_of(recipe.steps.front().packages, is_pinned));
  }
}

}  // namespace nocturne::measure
