#include "tuner/deploy/make_missing.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// Sources in which our own worker is a program of one line, built by the real compiler.
class SmallSources {
 public:
  SmallSources()
      : frameworks_({.source_root = folder_.path(), .user_recipes = {}, .environments = folder_.path() / "e"}) {
    test::make_file(folder_.path() / "kernels/onednn/build.json", R"({"name": "small", "sources": ["main.cpp"]})");
    test::make_file(folder_.path() / "main.cpp", "int main() { return 7; }\n");
  }
  [[nodiscard]] deploy::MakingPlaces places() {
    return {.frameworks = frameworks_,
            .installation = {.source_root = folder_.path(), .onednn_prefix = {}},
            .builds_folder = folder_.path() / "builds",
            .progress = [this](std::string_view line) { said.emplace_back(line); }};
  }
  [[nodiscard]] const fs::path& path() const { return folder_.path(); }
  std::vector<std::string> said;

 private:
  test::TemporaryFolder folder_;
  tuner::Frameworks frameworks_;
};

deploy::Profile profile_of_build() {
  deploy::Profile profile = test::sample_profile();
  profile.training.recipe = "onednn";
  profile.configuration.set("optimisation", std::string("O1"));
  return profile;
}

}  // namespace

TEST_CASE("a build that is gone is made again with the profile's flags", "[deploy][make]") {
  SmallSources sources;
  deploy::Profile profile = profile_of_build();
  CHECK(deploy::missing_part(profile, sources.places()) == "the build of onednn");
  const auto made = deploy::make_missing(profile, sources.places());
  INFO((made ? "" : made.error().reason + made.error().log_tail));
  REQUIRE(made);
  REQUIRE(made->size() == 1);  // it is not the one whose key the profile has
  CHECK_THAT(made->front(), ContainsSubstring("another build than the one that was measured"));
  CHECK(sources.said == std::vector<std::string>{"onednn: g++ -O1"});
  CHECK(test::shell("'" + profile.training.program.string() + "'").code == 7);
  CHECK(profile.training.program.parent_path() == fs::canonical(sources.path() / "builds") / profile.training.artifact);

  CHECK(deploy::missing_part(profile, sources.places()).empty());
  deploy::Profile again = profile;
  fs::remove_all(profile.training.program.parent_path());
  const auto same = deploy::make_missing(again, sources.places());
  REQUIRE(same);
  CHECK(same->empty());  // the very build
  CHECK(again == profile);
}

TEST_CASE("a profile that does not say how it was made is left alone", "[deploy][make]") {
  SmallSources sources;
  deploy::Profile profile = test::sample_profile();
  CHECK(deploy::missing_part(profile, sources.places()).empty());
  const auto made = deploy::make_missing(profile, sources.places());
  REQUIRE(made);
  CHECK(made->empty());
  CHECK(profile == test::sample_profile());
  profile.training.recipe = "nobody-knows-it";
  CHECK(deploy::missing_part(profile, sources.places()).empty());
}

TEST_CASE("a worker that is not built from here is looked for on this machine", "[deploy][make]") {
  SmallSources sources;
  const fs::path here = sources.path() / "nocturne-cudnn";
  ::setenv("NOCTURNE_CUDNN_PROGRAM", here.c_str(), 1);
  deploy::Profile profile = test::sample_profile();
  profile.training.artifact.clear();
  profile.training.recipe = "cudnn";
  profile.training.program = "/not/there/nocturne-cudnn";
  CHECK_FALSE(profile.training.is_command());
  CHECK(deploy::missing_part(profile, sources.places()) == "the program nocturne-cudnn");
  const auto none = deploy::make_missing(profile, sources.places());
  REQUIRE_FALSE(none);
  CHECK_FALSE(none.error().reason.empty());
  test::make_file(here, "#!/bin/sh\nexit 0\n");
  fs::permissions(here, fs::perms::owner_all);
  const auto found = deploy::make_missing(profile, sources.places());
  ::unsetenv("NOCTURNE_CUDNN_PROGRAM");
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  CHECK_THAT(found->front(), ContainsSubstring("is not known"));
  CHECK(profile.training.program == here);
  CHECK(deploy::missing_part(profile, sources.places()).empty());
}

TEST_CASE("what cannot be made is a sentence with the compiler's own words", "[deploy][make]") {
  SmallSources sources;
  deploy::Profile profile = profile_of_build();
  test::make_file(sources.path() / "main.cpp", "int main() { return nonsense; }\n");
  const auto failed = deploy::make_missing(profile, sources.places());
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error().reason, ContainsSubstring("nonsense"));
  CHECK_FALSE(failed.error().interrupted);
  std::stop_source stop;
  stop.request_stop();
  test::make_file(sources.path() / "main.cpp", "int main() { return 8; }\n");
  const auto stopped = deploy::make_missing(profile, sources.places(), stop.get_token());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().interrupted);
}

TEST_CASE("a profile keeps recipe and packages", "[deploy][make]") {
  deploy::Profile profile = profile_of_build();
  profile.training.packages = {"a==1", "b==2"};
  const auto read = deploy::profile_from_json(deploy::to_json(profile));
  INFO((read ? "" : read.error()));
  REQUIRE(read);
  CHECK(*read == profile);
}
