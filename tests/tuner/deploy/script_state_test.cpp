#include "tuner/deploy/script_state.hpp"

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/campaign/unix_time.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

namespace {

deploy::Profile profile_of_script(const std::filesystem::path& folder) {
  deploy::Profile profile = test::sample_profile();
  profile.training.own_command = {{"template", {"python3", "train.py", "--batch={batch}"}},
                                  {"folder", folder.string()}};
  return profile;
}

}  // namespace

TEST_CASE("a profile knows the files that were measured, and sees which were edited", "[deploy]") {
  const test::TemporaryFolder folder;
  const auto script = folder.path() / "train.py";
  test::make_file(script, "print('training')\n");
  deploy::Profile profile = profile_of_script(folder.path());
  space::Run run;
  run.started_unix_ns = tuner::now_unix_ns() + 1'000'000'000;
  run.ready = {{"versions", {{"python", "1.5"}, {"torch", "2.1.0+cpu"}, {"odd", 7}}}};
  deploy::note_sources(run, profile);
  REQUIRE(profile.training.sources.size() == 1);
  CHECK(profile.training.sources.at(script).size() == 64);
  CHECK(profile.training.versions.at("torch") == "2.1.0+cpu");
  CHECK_FALSE(profile.training.versions.contains("odd"));

  profile.training.versions.erase("torch");
  const auto changed = deploy::changes_since(profile);
  REQUIRE(changed.size() == 1);  // Python alone
  CHECK_THAT(changed[0], ContainsSubstring("python is 3.") && ContainsSubstring("was 1.5 when it was measured"));
  profile.training.versions.clear();
  CHECK(deploy::changes_since(profile).empty());
  test::make_file(script, "print('edited')\n");
  REQUIRE(deploy::changes_since(profile).size() == 1);
  CHECK(deploy::changes_since(profile)[0] == script.string() + " was edited since it was measured");

  // The campaign says what it is made of.
  std::vector<std::string> names;
  for (const char* name : {"a.py", "b.py", "c.py", "d.py", "e.py"}) {
    names.push_back((folder.path() / name).string());
    test::make_file(names.back(), "pass\n");
  }
  profile.training.own_command["sources"] = names;
  profile.training.sources.clear();
  deploy::note_sources({.started_unix_ns = run.started_unix_ns}, profile);
  CHECK(profile.training.sources.size() == names.size());
  CHECK(deploy::changes_since(profile).empty());
  for (const std::string& name : names) test::make_file(name, "edited\n");
  CHECK(deploy::changes_since(profile) ==
        std::vector{fmt::format("{}, {}, {}, and 2 more files were edited since it was measured", names[0], names[1],
                                names[2])});
}

TEST_CASE("a script that was edited between its run and the export is not taken for the measured one", "[deploy]") {
  const test::TemporaryFolder folder;
  test::make_file(folder.path() / "train.py", "print('edited')\n");
  deploy::Profile profile = profile_of_script(folder.path());
  space::Run run;
  run.started_unix_ns = tuner::now_unix_ns() - 3'600'000'000'000;
  deploy::note_sources(run, profile);
  CHECK(profile.training.sources.at(folder.path() / "train.py").empty());
  CHECK_THAT(deploy::changes_since(profile).at(0), ContainsSubstring("was edited"));
}

TEST_CASE("a program is no script", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.training.own_command = {{"template", {"/bin/sh", "-c", "exit"}}, {"folder", "/"}};
  deploy::note_sources({}, profile);
  CHECK(profile.training.sources.empty());
  CHECK(deploy::changes_since(profile).empty());
}
