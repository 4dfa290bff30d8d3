#include "measure/environment/environment_store.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <fstream>
#include <iterator>

#include "measure/environment/environment_installer.hpp"
#include "tests/measure/environment/wheelhouse.hpp"

// Real environments with real pip, out of packages of a few bytes; no network.

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using test::entries_of;
using test::printed_by;
using test::Wheelhouse;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("an environment is installed once, runs after its move, and is found again", "[environment][store]") {
  Wheelhouse house(test::Pip::Installed);
  house.add("tiny", "1.0", "import part", "part>=2");
  house.add("part", "2.5");
  house.add_fix_up("leave_a_mark", "import sys; open(sys.argv[1] + '/mark', 'w').write('fixed'); print('marked')");
  EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny==1.0"});
  recipe.fix_ups = {"leave_a_mark"};
  EnvironmentStore store(house.root());
  CHECK_FALSE(store.find(recipe));
  const auto made = store.obtain(recipe, house.places, house.options);
  INFO((made ? "" : made.error().reason + made.error().log_tail));
  REQUIRE(made);
  CHECK(made->installed_now);
  CHECK(made->folder.parent_path() == fs::canonical(house.root()));
  CHECK(made->folder.filename().string() == "tiny-1.0-" + made->key.substr(0, 12));
  CHECK(printed_by(*made, "import tiny, part; print(tiny.version, part.version)") == "1.0 2.5\n");
  CHECK(text_of(made->folder / "mark") == "fixed");
  CHECK(std::ranges::is_sorted(made->lock));
  CHECK(std::ranges::any_of(made->lock, [](const std::string& line) { return line.starts_with("part==2.5 --hash="); }));
  CHECK(text_of(made->folder / "lock.txt").contains("tiny==1.0 --hash=sha256:"));
  CHECK(text_of(made->folder / "install.log").contains("leave_a_mark"));
  CHECK(made->bytes > 1'000'000);  // pip alone is more
  CHECK(entries_of(house.root() / ".making") == 0);
  CHECK(entries_of(house.root() / ".downloads") == 0);
  CHECK((fs::status(house.root()).permissions() & fs::perms::others_all) == fs::perms::none);
  CHECK(std::ranges::find(house.said, "tiny-1.0: 2/4 tiny==1.0") != house.said.end());

  const EnvironmentStore other(house.root());  // as another campaign sees it
  const auto again = other.find(recipe);
  REQUIRE(again);
  CHECK_FALSE(again->installed_now);
  CHECK(again->folder == made->folder);
  CHECK(again->lock == made->lock);
  CHECK(again->install_time == made->install_time);
  CHECK(again->interpreter.version == made->interpreter.version);
  REQUIRE(other.list().size() == 1);
  CHECK(other.list().front().recipe == "tiny-1.0");

  recipe.note = recipe.licence = "another";  // what is not installed may be edited
  CHECK(store.find(recipe));
  recipe.steps.front().packages = {"tiny>=1.0"};
  CHECK_FALSE(store.find(recipe));

  CHECK_FALSE(store.remove("tiny"));
  CHECK_FALSE(store.remove("../environments/tiny-1.0"));
  CHECK(store.remove("tiny-1.0"));
  CHECK_FALSE(fs::exists(made->folder));
  CHECK(store.list().empty());
  CHECK_FALSE(store.remove("tiny-1.0"));
}

TEST_CASE("what was installed stays until it is updated, and the one before until the next update",
          "[environment][store][thorough]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  const EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  EnvironmentStore store(house.root());
  const auto first = store.obtain(recipe, house.places, house.options);
  REQUIRE(first);
  house.add("tiny", "2.0");
  CHECK(store.obtain(recipe, house.places, house.options)->key == first->key);

  const auto second = store.update(recipe, house.places, house.options);
  REQUIRE(second);
  CHECK(second->key != first->key);
  CHECK(store.find(recipe)->key == second->key);
  CHECK(printed_by(*first, "import tiny; print(tiny.version)") == "1.0\n");  // a campaign still uses it
  CHECK(printed_by(*second, "import tiny; print(tiny.version)") == "2.0\n");

  house.options.lock = first->lock;  // exactly these again
  const auto back = store.update(recipe, house.places, house.options);
  REQUIRE(back);
  CHECK(back->key == first->key);
  CHECK(back->folder == first->folder);
  house.options.lock.clear();
  house.add("tiny", "3.0");
  REQUIRE(store.update(recipe, house.places, house.options));
  CHECK_FALSE(fs::exists(second->folder));  // nobody's any more
  CHECK(fs::exists(first->folder));
}

TEST_CASE("steps that take no dependencies along do not", "[environment][store]") {
  Wheelhouse house;
  house.add("tiny", "1.0", "", "never-heard-of");
  EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  recipe.steps.front().no_dependencies = true;
  const auto made = house.obtain(recipe);
  REQUIRE(made);
  CHECK(printed_by(*made, "import tiny; print(tiny.version)") == "1.0\n");
}

TEST_CASE("neither the caller's Python nor its pip settings leak in", "[environment][store]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  fs::create_directories(house.path() / "leak");
  std::ofstream(house.path() / "leak/sitecustomize.py") << "raise SystemExit(3)";
  setenv("PYTHONPATH", (house.path() / "leak").c_str(), 1);
  setenv("PIP_TARGET", (house.path() / "elsewhere").c_str(), 1);
  const auto made = house.obtain(Wheelhouse::recipe({"tiny"}));
  unsetenv("PYTHONPATH");
  unsetenv("PIP_TARGET");
  INFO((made ? "" : made.error().reason));
  REQUIRE(made);
  CHECK_FALSE(fs::exists(house.path() / "elsewhere"));
}

TEST_CASE("what a virtual environment of the user's has already is used, not installed",
          "[environment][store][thorough]") {
  Wheelhouse house;  // without a wheel of tiny: nothing else could serve
  const fs::path own = house.path() / "own";
  const auto made =
      command_output({.argv = {house.places.named.front().string(), "-I", "-m", "venv", "--without-pip", own.string()}},
                     std::chrono::steady_clock::now() + std::chrono::minutes(1));
  REQUIRE(made);
  const auto named_by = [](const fs::path& folder) { return fs::directory_iterator(folder)->path(); };
  const fs::path packages = named_by(own / "lib") / "site-packages";
  fs::create_directories(packages / "tiny-2.0.dist-info");
  std::ofstream(packages / "tiny-2.0.dist-info/METADATA") << "Metadata-Version: 2.1\nName: tiny\nVersion: 2.0\n";
  std::ofstream(packages / "tiny.py") << "import besides\n";
  fs::create_directories(house.path() / "more");
  std::ofstream(house.path() / "more/besides.py") << "";
  std::ofstream(packages / "more.pth") << (house.path() / "more").string() << '\n';
  auto recipe = Wheelhouse::recipe({"tiny"});
  recipe.uses_system_packages = true;

  CHECK_FALSE(house.obtain(recipe));
  const auto way = GENERATE(0, 1, 2);
  INFO("named as " << way);
  if (way == 0) house.places.activated = {own};
  if (way == 1) house.places.named.push_back(own / "bin/python3");
  if (way == 2) house.places.named.push_back(own / "bin");
  const auto environment = house.obtain(recipe);
  INFO((environment ? "" : environment.error().reason + "\n" + environment.error().log_tail));
  REQUIRE(environment);
  CHECK(printed_by(*environment, "import tiny; print(tiny.__file__)") == (packages / "tiny.py").string() + "\n");
  CHECK(std::ranges::count(environment->lock, "tiny==2.0") == 1);
  CHECK_FALSE(bound_to_machine(*environment, recipe).empty());

  recipe.uses_system_packages = false;
  CHECK_FALSE(EnvironmentStore(house.path() / "elsewhere").obtain(recipe, house.places, house.options));
}

TEST_CASE("an environment without its Python, or with a torn manifest, does not count", "[environment][store]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  const EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  const auto made = house.obtain(recipe);
  REQUIRE(made);
  const EnvironmentStore store(house.root());
  const auto does_not_count = [&] { return !store.find(recipe) && store.list().empty(); };
  for (const fs::path& file : {house.root() / "tiny-1.0.current", made->folder / "manifest.json"}) {
    const std::string before = text_of(file);
    fs::resize_file(file, 4);
    CHECK(does_not_count());
    std::ofstream(file) << "../../elsewhere\n";
    CHECK(does_not_count());
    std::ofstream(file) << before;
    REQUIRE(store.find(recipe));
  }
  fs::remove(made->python);
  fs::create_symlink("/nonexistent/python", made->python);
  CHECK(does_not_count());
}

}  // namespace nocturne::measure
