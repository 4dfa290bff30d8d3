#include "tuner/deploy/bundle.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "measure/environment/archive.hpp"
#include "tests/measure/environment/wheelhouse.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/bundle_parts.hpp"

// A node that packs and one that unpacks: real pip, real tar, two data folders, no network.

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// One machine's folders: sources with a recipe and its worker, environments, builds, profiles.
class Node {
 public:
  Node(const fs::path& folder, const test::Wheelhouse& house, bool has_recipe = true) : folder_(folder) {
    fs::create_directories(source() / "measure/environment/fix_ups");
    test::make_file(source() / "kernels/python/tiny_worker.py", "import tiny\n");
    if (has_recipe) {
      test::make_file(source() / "measure/environment/recipes/tiny-1.0.json",
                      R"({"recipe": "tiny-1.0", "worker": "tiny_worker.py", "packages": [["tiny==1.0"]],
                          "imports": ["tiny"], "environment": {"TINY": "{environment}/x"}})");
    }
    frameworks_ = std::make_unique<tuner::Frameworks>(
        tuner::Frameworks::Places{.source_root = source(),
                                  .user_recipes = folder / "recipes",
                                  .environments = folder / "environments",
                                  .pythons = [places = house.places] { return places; }});
  }
  [[nodiscard]] fs::path source() const { return folder_ / "source"; }
  [[nodiscard]] fs::path profiles() const { return folder_ / "profiles"; }
  [[nodiscard]] fs::path builds() const { return folder_ / "builds"; }
  [[nodiscard]] const tuner::Frameworks& frameworks() const { return *frameworks_; }
  [[nodiscard]] deploy::BundlePlaces places() const {
    return {.frameworks = *frameworks_,
            .installation = {.source_root = source(), .onednn_prefix = {}},
            .builds_folder = builds(),
            .profiles_folder = profiles(),
            .recipes_folder = folder_ / "recipes",
            .temporary = folder_ / "bundles",
            .progress = {}};
  }
  [[nodiscard]] measure::Environment install(const test::Wheelhouse& house) const {
    std::string error;
    measure::EnvironmentStore* store = frameworks_->store(error);
    REQUIRE(store != nullptr);
    measure::InstallOptions options = frameworks_->install_options();
    options.free_bytes_to_keep = 0;
    auto made = store->obtain(*frameworks_->recipe("tiny-1.0"), house.places, options);
    INFO((made ? "" : made.error().reason));
    REQUIRE(made);
    return std::move(*made);
  }

 private:
  fs::path folder_;
  std::unique_ptr<tuner::Frameworks> frameworks_;
};

/// As a campaign's export has it.
deploy::Profile profile_on(const Node& node, const measure::Environment& environment) {
  deploy::Profile profile = test::sample_profile();
  profile.training.recipe = "tiny-1.0";
  profile.training.program = environment.python;
  profile.training.arguments = {(node.source() / "kernels/python/tiny_worker.py").string()};
  profile.training.artifact = environment.key;
  profile.training.packages = environment.lock;
  profile.training.data_folder = node.source() / "examples/data/mnist";
  profile.launch.set["TINY"] = (environment.folder / "x").string();
  return profile;
}

std::string failure_of(const std::expected<deploy::Bundle, deploy::MakingFailure>& result) {
  return result ? std::string() : result.error().reason;
}

}  // namespace

TEST_CASE("a bundle brings an environment and its profile to a node without a network", "[bundle][thorough]") {
  test::Wheelhouse house;
  house.add("tiny", "1.0", "import part", "part");
  house.add("part", "2.0");
  const Node here(house.path() / "here", house);
  const measure::Environment environment = here.install(house);
  const deploy::Profile profile = profile_on(here, environment);
  fs::create_directories(house.path() / "out");
  const auto packed = deploy::pack_bundle({}, profile, house.path() / "out", here.places());
  INFO(failure_of(packed));
  REQUIRE(packed);
  CHECK(packed->environments == std::vector<std::string>{"tiny-1.0"});
  CHECK(packed->file.filename().string() == "mnist-evening-" + packed->id.substr(0, 12) + ".nocturne");
  CHECK(fs::is_empty(house.path() / "here/bundles"));
  const auto again = deploy::pack_bundle({}, profile, house.path() / "out", here.places());
  REQUIRE(again);
  CHECK(again->file == packed->file);  // the same is called the same

  // No path of the machine that packed is in it.
  fs::create_directories(house.path() / "look");
  REQUIRE(measure::unpack_archive(packed->file, house.path() / "look"));
  for (const char* part : {"profile.json", "bundle.json", "contents.json"})
    CHECK_THAT(test::read_file(house.path() / "look" / part), !ContainsSubstring((house.path() / "here").string()));

  fs::remove_all(house.wheels());  // pip finds nothing but what the bundle holds
  fs::create_directories(house.wheels());
  for (const bool has_recipe : {true, false}) {
    CAPTURE(has_recipe);
    const fs::path folder = house.path() / (has_recipe ? "knows" : "learns");
    const Node there(folder, house, has_recipe);
    const auto opened = deploy::open_bundle(packed->file, there.places());
    INFO(failure_of(opened));
    REQUIRE(opened);
    CHECK(opened->id == packed->id);
    const auto arrived = deploy::load_profile(opened->profile);
    INFO((arrived ? "" : arrived.error()));
    REQUIRE(arrived);
    const auto& training = arrived->training;
    CHECK(training.program.string().starts_with((folder / "environments").string()));
    CHECK(training.arguments == std::vector{(there.source() / "kernels/python/tiny_worker.py").string()});
    CHECK(training.data_folder == there.source() / "examples/data/mnist");
    CHECK(arrived->launch.set.at("TINY").starts_with((folder / "environments").string()));
    measure::Environment installed;
    installed.python = training.program;
    CHECK(test::printed_by(installed, "import tiny, part; print(tiny.version, part.version)") == "1.0 2.0\n");
  }
}

TEST_CASE("a bundle that does not fit a node is refused with a sentence", "[bundle]") {
  test::Wheelhouse house;
  house.add("tiny", "1.0");
  const Node here(house.path() / "here", house);
  const fs::path file = house.path() / "x.nocturne";
  (void)here.install(house);
  REQUIRE(deploy::pack_bundle({"tiny-1.0"}, {}, file, here.places()));
  {
    const Node there(house.path() / "there", house, false);
    test::make_file(house.path() / "there/recipes/tiny-1.0.json",
                    R"({"recipe": "tiny-1.0", "worker": "tiny_worker.py", "packages": [["tiny==2.0"]]})");
    const Node again(house.path() / "there", house, false);  // reads recipes anew
    CHECK_THAT(failure_of(deploy::open_bundle(file, again.places())), ContainsSubstring("is another one than"));
  }
  house.places = {};
  const Node bare(house.path() / "bare", house);
  CHECK_THAT(failure_of(deploy::open_bundle(file, bare.places())),
             ContainsSubstring("which this machine does not have"));
}

TEST_CASE("what cannot be packed or opened is a sentence", "[bundle]") {
  test::Wheelhouse house;
  const Node here(house.path() / "here", house);
  const fs::path file = house.path() / "x.nocturne";
  SECTION("an environment that is not there") {
    CHECK_THAT(failure_of(deploy::pack_bundle({"tiny-1.0"}, {}, file, here.places())),
               ContainsSubstring("is not installed"));
  }
  SECTION("a command of the user's own") {
    deploy::Profile profile = test::sample_profile();
    profile.training.own_command = {{"template", {"true"}}};
    CHECK_THAT(failure_of(deploy::pack_bundle({}, profile, file, here.places())),
               ContainsSubstring("a command of your own"));
  }
  SECTION("a later version") {
    const fs::path content = house.path() / "content";
    test::make_file(content / "bundle.json", R"({"nocturne_bundle": 2})");
    REQUIRE(measure::pack_folder(content, file));
    CHECK_THAT(failure_of(deploy::open_bundle(file, here.places())), ContainsSubstring("'nocturne_bundle' is not 1"));
  }
  SECTION("names that lead elsewhere") {
    for (const char* document :
         {R"({"nocturne_bundle": 1, "environments": [{"recipe": "../x", "packages": ["a==1"]}]})",
          R"({"nocturne_bundle": 1, "environments": ["x"]})",
          R"({"nocturne_bundle": 1, "environments": [{"recipe": 3}]})",
          R"({"nocturne_bundle": 1, "build": {"key": "../../etc", "name": "x"}})",
          R"({"nocturne_bundle": 1, "build": {"key": 1}})"}) {
      CAPTURE(document);
      const fs::path content = house.path() / "content";
      fs::remove_all(content);
      test::make_file(content / "bundle.json", document);
      REQUIRE(measure::pack_folder(content, file));
      CHECK_FALSE(failure_of(deploy::open_bundle(file, here.places())).empty());
    }
  }
  CHECK((!fs::exists(house.path() / "here/bundles") || fs::is_empty(house.path() / "here/bundles")));
}

TEST_CASE("the build of a profile travels with the libraries it was linked with", "[bundle]") {
  test::Wheelhouse house;
  const Node here(house.path() / "here", house), there(house.path() / "there", house);
  const std::string key(64, 'a');
  const fs::path program = here.builds() / key / "worker";
  // A shell is a program like any other, and all that it needs is the system's.
  fs::create_directories(program.parent_path());
  fs::copy_file("/bin/sh", program);
  test::make_file(program.parent_path() / "manifest.json", R"({"name": "worker"})");
  deploy::Profile profile = test::sample_profile();
  profile.training.recipe = "onednn";
  profile.training.program = program;
  profile.training.artifact = key;
  const fs::path file = house.path() / "x.nocturne";
  const auto packed = deploy::pack_bundle({}, profile, file, here.places());
  INFO(failure_of(packed));
  REQUIRE(packed);
  CHECK(packed->build == key);
  const auto opened = deploy::open_bundle(file, there.places());
  INFO(failure_of(opened));
  REQUIRE(opened);
  const auto arrived = deploy::load_profile(opened->profile);
  REQUIRE(arrived);
  CHECK(arrived->training.program == there.builds() / key / "worker");
  CHECK(arrived->launch.set.at("LD_LIBRARY_PATH") == (there.builds() / key / "libraries").string());
  CHECK(test::read_file(arrived->training.program) == test::read_file("/bin/sh"));
}

TEST_CASE("paths are moved whole names at a time", "[bundle]") {
  const deploy::Moves moves = {{"/a/b", "/X"}};
  const nlohmann::json document = {{"p", "/a/b/c:/a/bc:/a/b"}, {"list", {"/a/b", 3, nullptr}}, {"/a/b", "key"}};
  const nlohmann::json result = deploy::moved(document, moves);
  CHECK(result.at("p") == "/X/c:/a/bc:/X");
  CHECK(result.at("list") == nlohmann::json({"/X", 3, nullptr}));
  CHECK(result.contains("/a/b"));  // names are no paths
}

TEST_CASE("libraries outside the system's folders are a program's own", "[bundle]") {
  CHECK(deploy::own_libraries("\tlinux-vdso.so.1 (0x00007ffd)\n"
                              "\tlibdnnl.so.3 => /opt/onednn/lib/libdnnl.so.3 (0x00007f11)\n"
                              "\tlibgomp.so.1 => /lib/x86_64-linux-gnu/libgomp.so.1 (0x00007f12)\n"
                              "\tlibz.so.1 => /usr/lib/libz.so.1 (0x0)\n\tlibq.so => /usr/local/lib/libq.so (0x0)\n"
                              "\tlibgone.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x0)\n") ==
        std::vector<fs::path>{"/opt/onednn/lib/libdnnl.so.3", "/usr/local/lib/libq.so"});
}
