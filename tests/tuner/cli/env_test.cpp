#include <stdlib.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/measure/environment/wheelhouse.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/exporter.hpp"

// The subcommand `env` at a fixture whose sources know one tiny framework; real pip, no network.

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;
namespace fs = std::filesystem;

namespace {

class EnvFixture {
 public:
  EnvFixture() {
    const fs::path source = house.path() / "source";
    test::make_file(source / "kernels/python/tiny_worker.py", "import tiny\n");
    fs::create_directories(source / "measure/environment/fix_ups");
    test::make_file(
        source / "measure/environment/recipes/tiny-1.0.json",
        R"({"recipe": "tiny-1.0", "worker": "tiny_worker.py", "packages": [["tiny"]], "imports": ["tiny"]})");
    test::make_file(
        source / "measure/environment/recipes/own-1.json",
        R"({"recipe": "own-1", "kind": "command", "command": {"template": [["./gone"]], "time": "steps"}})");
    test::make_file(source / "measure/container/images/mine.json",
                    R"({"image": "mine", "title": "my root", "kind": "folder", "folder": "/nowhere/at/all"})");
    setenv("NOCTURNE_SOURCE", source.c_str(), 1);
    setenv("NOCTURNE_PYTHONS", house.places.named.front().c_str(), 1);
    // Else the newest of this machine would be chosen, and each be asked who it is.
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("PYENV_ROOT", "/nowhere", 1);
    setenv("UV_PYTHON_INSTALL_DIR", "/nowhere", 1);
  }
  EnvFixture(const EnvFixture&) = delete;
  EnvFixture& operator=(const EnvFixture&) = delete;
  ~EnvFixture() {
    unsetenv("NOCTURNE_SOURCE");
    unsetenv("NOCTURNE_PYTHONS");
    unsetenv("PYENV_ROOT");
    unsetenv("UV_PYTHON_INSTALL_DIR");
    setenv("PATH", path_before_.c_str(), 1);
  }
  /// `kind`: "environments" or "images".
  nlohmann::json row(const std::string& name, const char* kind = "environments") {
    REQUIRE(cli.nocturne({"env", "list", "--json"}) == ExitCode::Ok);
    const nlohmann::json document = cli.json();
    for (const nlohmann::json& each : document.at(kind))
      if (each.at("name") == name) return each;
    FAIL("no row " << name);
    return {};
  }
  test::Wheelhouse house;
  test::CliFixture cli;

 private:
  std::string path_before_ = std::getenv("PATH");
};

/// As if it had been used last this long ago.
void age(const fs::path& environment, std::chrono::hours by) {
  nlohmann::json manifest = nlohmann::json::parse(test::read_file(environment / "manifest.json"));
  manifest["installed_unix_s"] = manifest["installed_unix_s"].get<std::int64_t>() - by.count() * 3600;
  test::make_file(environment / "manifest.json", manifest.dump());
  fs::last_write_time(environment / "manifest.json", fs::file_time_type::clock::now() - by);
}

}  // namespace

TEST_CASE("env list says what there is of environments, commands and images, and why not", "[cli][env]") {
  EnvFixture place;
  CHECK(place.row("tiny-1.0").at("state") == "available");
  CHECK(place.row("own-1").at("state") == "not here");
  CHECK(place.cli.nocturne({"env", "python", "own-1"}) == ExitCode::Negative);
  CHECK(place.cli.nocturne({"env", "python", "tiny-1.0"}) == ExitCode::NotFound);
  CHECK_THAT(place.row("own-1").at("reason"), ContainsSubstring("gone is not here"));
  CHECK(place.row("mine", "images").at("state") == "not here");
  CHECK_THAT(place.row("mine", "images").at("reason"), ContainsSubstring("there is no folder /nowhere/at/all"));
  CHECK(place.cli.nocturne({"env", "list"}) == ExitCode::Ok);
  CHECK_THAT(place.cli.out(), ContainsSubstring("\nmine ") && ContainsSubstring("tiny-1.0"));
  CHECK_FALSE(fs::exists(place.cli.data() / "environments"));  // looking makes nothing
}

TEST_CASE("env update resolves anew and keeps the old one until then, and clean drops what nothing uses",
          "[cli][env][thorough]") {
  EnvFixture place;
  place.house.add("tiny", "1.0");
  REQUIRE(place.cli.nocturne({"env", "install", "tiny-1.0"}) == ExitCode::Ok);
  const nlohmann::json first = place.row("tiny-1.0");
  CHECK(first.at("state") == "installed");
  CHECK(first.at("disk_bytes").get<std::int64_t>() > 0);
  REQUIRE(place.cli.nocturne({"env", "python", "tiny-1.0"}) == ExitCode::Ok);
  CHECK(place.cli.out() == first.at("folder").get<std::string>() + "/bin/python\n");

  place.house.add("tiny", "2.0", "raise RuntimeError('broken')");
  CHECK(place.cli.nocturne({"env", "update", "tiny-1.0"}) == ExitCode::Negative);
  CHECK_THAT(place.cli.err(), ContainsSubstring("import tiny fails"));
  CHECK(place.row("tiny-1.0").at("key") == first.at("key"));  // still counts
  place.house.add("tiny", "3.0");
  REQUIRE(place.cli.nocturne({"env", "update", "tiny-1.0"}) == ExitCode::Ok);
  const nlohmann::json second = place.row("tiny-1.0");
  CHECK(second.at("key") != first.at("key"));
  const auto packages = second.at("packages").get<std::vector<std::string>>();
  CHECK(std::ranges::any_of(packages, [](const std::string& line) { return line.starts_with("tiny==3.0 --hash="); }));

  // The first is named by a profile, the second by nobody.
  (void)test::fill(place.cli);
  deploy::Profile profile = test::sample_profile();
  profile.training.artifact = first.at("key");
  test::make_file(place.cli.data() / "profiles/p.json", deploy::export_json(profile));
  const fs::path first_folder = first.at("folder").get<std::string>(),
                 second_folder = second.at("folder").get<std::string>();
  for (const fs::path& folder : {first_folder, second_folder}) age(folder, std::chrono::hours(24 * 60));
  REQUIRE(place.cli.nocturne({"clean", "--yes", "--json"}) == ExitCode::Ok);
  CHECK(fs::exists(second_folder));  // not asked for
  REQUIRE(place.cli.nocturne({"clean", "--environments"}) == ExitCode::Ok);
  CHECK_THAT(place.cli.out(), ContainsSubstring("environment") && ContainsSubstring("Would remove 1 "));
  CHECK_THAT(place.cli.err(), ContainsSubstring("an exported profile runs in it"));
  REQUIRE(place.cli.nocturne({"clean", "--environments", "--yes"}) == ExitCode::Ok);
  CHECK(fs::exists(first_folder));
  CHECK_FALSE(fs::exists(second_folder));
  CHECK(place.row("tiny-1.0").at("state") == "available");
}

TEST_CASE("env check --all has nothing to check where nothing is installed", "[cli][env]") {
  EnvFixture place;
  CHECK(place.cli.nocturne({"env", "check", "--all"}) == ExitCode::NotFound);
  CHECK_THAT(place.cli.err(), ContainsSubstring("no environment is installed"));
}

TEST_CASE("options of env check that do not go together are refused", "[cli][env]") {
  EnvFixture place;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"env", "list", "--thorough"},
                                                {"env", "install", "--all"},
                                                {"env", "check", "tiny-1.0", "--all"},
                                                {"env", "check", "tiny-1.0", "--vary", "precision=f32"},
                                                {"env", "check", "--thorough", "tiny-1.0", "--vary", "precision"},
                                                {"env", "check", "--thorough", "tiny-1.0", "--vary", "precision=f32,"},
                                                {"env", "check", "--thorough", "tiny-1.0", "--vary", "framework=x"}}) {
    INFO(words.back());
    CHECK(place.cli.nocturne(words) == ExitCode::Usage);
  }
  CHECK(place.cli.nocturne({"env", "check", "--thorough", "tiny-1.0", "--vary", "precison=f32"}) == ExitCode::Usage);
  CHECK_THAT(place.cli.err(), ContainsSubstring("did you mean 'precision'?"));
}

TEST_CASE("options of env that do not go together are refused", "[cli][env]") {
  test::CliFixture cli;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"env", "list", "--bundle", "x"},
                                                {"env", "install", "--bundle", "x", "mxnet-1.9.1"},
                                                {"env", "export", "mxnet-1.9.1", "--bundle", "x", "--output", "y"},
                                                {"env", "export", "mxnet-1.9.1", "--profile", "p"},
                                                {"env", "export", "--bundle", "x"}}) {
    CHECK(cli.nocturne(words) == ExitCode::Usage);
  }
  CHECK(cli.nocturne({"env", "install", "--bundle", "/nowhere/x.nocturne"}) == ExitCode::Negative);
  CHECK_THAT(cli.err(), ContainsSubstring("there is no file /nowhere/x.nocturne"));
  CHECK(cli.nocturne({"env", "export", "--profile", "/nowhere", "--bundle", "x"}) == ExitCode::NotFound);
}

TEST_CASE("env remove takes images that were made, too", "[cli][env]") {
  EnvFixture place;
  CHECK(place.cli.nocturne({"env", "remove", "mine"}) == ExitCode::Usage);  // made nowhere yet
  const fs::path image = place.cli.data() / "images" / "mine-1";
  test::make_file(image / "manifest.json", R"({"image": "mine", "digest": "sha256:1"})");
  CHECK(place.row("mine", "images").at("state") == "made");
  CHECK(place.cli.nocturne({"env", "check", "mine"}) == ExitCode::Usage);
  CHECK(place.cli.nocturne({"env", "remove", "mine", "--json"}) == ExitCode::Ok);
  CHECK(place.cli.json().at("images") == nlohmann::json::parse(R"([{"name": "mine", "removed": true}])"));
  CHECK(place.cli.json().at("environments").empty());
  CHECK_FALSE(fs::exists(image));
  CHECK(place.row("mine", "images").at("state") == "not here");
}
