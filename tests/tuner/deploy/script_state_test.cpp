#include "tuner/deploy/script_state.hpp"

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

TEST_CASE("a profile knows the script that was measured, and sees that it was edited", "[deploy]") {
  const test::TemporaryFolder folder;
  const auto script = folder.path() / "train.py";
  test::make_file(script, "print('training')\n");
  deploy::Profile profile = profile_of_script(folder.path());
  space::Run run;
  run.started_unix_ns = tuner::now_unix_ns() + 1'000'000'000;
  run.ready = {{"versions", {{"python", "1.5"}, {"torch", "2.1.0+cpu"}, {"odd", 7}}}};
  deploy::note_script(run, profile);
  CHECK(profile.training.script == script);
  CHECK(profile.training.script_digest.size() == 64);
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
}

TEST_CASE("a script that was edited between its run and the export is not taken for the measured one", "[deploy]") {
  const test::TemporaryFolder folder;
  test::make_file(folder.path() / "train.py", "print('edited')\n");
  deploy::Profile profile = profile_of_script(folder.path());
  space::Run run;
  run.started_unix_ns = tuner::now_unix_ns() - 3'600'000'000'000;
  deploy::note_script(run, profile);
  CHECK(profile.training.script_digest.empty());
  CHECK_THAT(deploy::changes_since(profile).at(0), ContainsSubstring("was edited"));
}

TEST_CASE("a program is no script", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.training.own_command = {{"template", {"/bin/sh", "-c", "exit"}}, {"folder", "/"}};
  deploy::note_script({}, profile);
  CHECK(profile.training.script.empty());
  CHECK(deploy::changes_since(profile).empty());
}
