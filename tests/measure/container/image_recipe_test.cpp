#include "measure/container/image_recipe.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/container/runtimes.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

std::expected<ImageRecipe, std::string> parsed(const nlohmann::json& document, const fs::path& beside = "/") {
  return image_recipe_from_json(document, beside);
}

const std::string kDigits(64, 'a');

}  // namespace

TEST_CASE("the shipped recipes of images can be read", "[container]") {
  const fs::path folder = fs::path(NOCTURNE_SOURCE_DIR) / "measure/container/images";
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto recipe = load_image_recipe(entry.path());
    CHECK((recipe ? "" : recipe.error()) == std::string());
    ++count;
  }
  CHECK(count >= 2);
  CHECK(find_image_recipe("debian-12", {"/nowhere", folder})->suite == "bookworm");
  CHECK_THAT(find_image_recipe("debian-1", {folder}).error(), ContainsSubstring("debian-12, debian-13"));
}

TEST_CASE("names of images that are paths or options are refused", "[container]") {
  for (const char* name : {"", "-x", "../x", "a/b", ".hidden", "a b", "--privileged", "a\nb"}) {
    INFO(name);
    CHECK_FALSE(is_image_name(name));
    CHECK_FALSE(find_image_recipe(name, {"/"}));
    CHECK_FALSE(parsed({{"image", name}, {"kind", "debootstrap"}, {"suite", "bookworm"}}));
  }
  CHECK(is_image_name("debian-12.1_x"));
}

TEST_CASE("a reference needs a digest, and is nothing else than a reference", "[container]") {
  const auto reference = [](const std::string& text) {
    return parsed({{"image", "x"}, {"kind", "reference"}, {"reference", text}}).has_value();
  };
  CHECK(reference("127.0.0.1:5000/team/trainer@sha256:" + kDigits));
  CHECK(reference("trainer@sha256:" + kDigits));
  CHECK_FALSE(reference("trainer:latest"));
  CHECK_FALSE(reference("trainer@sha256:" + kDigits + "0"));
  CHECK_FALSE(reference("trainer@sha256:" + std::string(64, 'A')));
  CHECK_FALSE(reference("--privileged@sha256:" + kDigits));
  CHECK_FALSE(reference("../../etc@sha256:" + kDigits));
  CHECK_FALSE(reference("a b@sha256:" + kDigits));
  CHECK_FALSE(reference("a;reboot@sha256:" + kDigits));
  CHECK(is_on_loopback("127.0.0.1:5000/x@sha256:"));
  CHECK_FALSE(is_on_loopback("registry.example/127.0.0.1"));
}

TEST_CASE("packages, suites and mirrors that are options are refused", "[container]") {
  const nlohmann::json good = {
      {"image", "x"}, {"kind", "debootstrap"}, {"suite", "bookworm"}, {"packages", {"libstdc++6"}}};
  CHECK(parsed(good));
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, nlohmann::json>>{{"packages", {"--foreign"}},
                                                                     {"packages", {"a,b"}},
                                                                     {"suite", "--help"},
                                                                     {"suite", "../x"},
                                                                     {"mirror", "--arch=x"},
                                                                     {"mirror", "http://x/ y"},
                                                                     {"packets", {"a"}},
                                                                     {"kind", "magic"}}) {
    INFO(key << " " << value.dump());
    nlohmann::json bad = good;
    bad[key] = value;
    CHECK_FALSE(parsed(bad));
  }
}

TEST_CASE("a file of an image lies beside its recipe, and its contents are its identity", "[container]") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "Dockerfile") << "FROM scratch\n";
  nlohmann::json document = {{"image", "x"}, {"kind", "file"}, {"file", "Dockerfile"}};
  const auto recipe = parsed(document, folder.path());
  REQUIRE(recipe);
  const std::string before = identity_of(*recipe);
  std::ofstream(folder.path() / "Dockerfile") << "FROM other\n";
  CHECK(identity_of(*recipe) != before);
  document["file"] = "../Dockerfile";
  CHECK_FALSE(parsed(document, folder.path()));
  document["file"] = "missing";
  CHECK_FALSE(parsed(document, folder.path()));
}

TEST_CASE("each runtime says which kinds of images it can get", "[container]") {
  const test::TemporaryFolder folder;
  const ImageRecipe hub{
      .name = "x", .title = "", .kind = ImageKind::Reference, .reference = "127.0.0.1:5/x@sha256:" + kDigits};
  for (const ContainerRuntime* runtime : container_runtimes()) {
    const auto steps = runtime->acquire(hub, folder.path(), "nocturne/x");
    REQUIRE(steps);
    bool named = false;
    for (const auto& step : *steps)
      for (const std::string& word : step) named = named || word.ends_with(hub.reference);
    CHECK(named);
  }
  const ImageRecipe definition{.name = "x", .title = "", .kind = ImageKind::File, .file = "/x/a.def"};
  const ImageRecipe dockerfile{.name = "x", .title = "", .kind = ImageKind::File, .file = "/x/Dockerfile"};
  for (const ContainerRuntime* runtime : container_runtimes()) {
    const bool is_apptainer = runtime->name() == "apptainer";
    CHECK(runtime->acquire(definition, folder.path(), "t").has_value() == is_apptainer);
    CHECK(runtime->acquire(dockerfile, folder.path(), "t").has_value() != is_apptainer);
  }
}
