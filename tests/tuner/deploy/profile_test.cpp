#include "tuner/deploy/profile.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The error for a document with one place changed.
std::string error_with(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json document = deploy::to_json(test::sample_profile());
  document[nlohmann::json::json_pointer(pointer)] = value;
  const auto profile = deploy::profile_from_json(document);
  return profile ? "accepted" : profile.error();
}

}  // namespace

TEST_CASE("a profile survives its JSON", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.launch.cpus = {0, 2, 3};
  profile.launch.preload = {"/usr/lib/libjemalloc.so.2"};
  profile.launch.memory = {.mode = "bind", .nodes = {0, 1}};
  profile.step = deploy::StepForecast{.seconds = 0.0125, .sd = 0.03, .degrees = 9, .processes = 6};
  profile.training.sources = {{"/home/me/model.py", std::string(64, 'a')}, {"/home/me/train.py", ""}};
  profile.training.versions = {{"python", "3.11.2"}, {"torch", "2.1.0+cpu"}};
  profile.of_default.push_back(test::sample_profile());
  profile.of_default.front().configuration = profile.gain->baseline;
  const auto again = deploy::profile_from_json(nlohmann::json::parse(deploy::to_json(profile).dump()));
  REQUIRE(again);
  CHECK(*again == profile);

  profile.workload = {.network = "resnet50",
                      .data = "folder",
                      .optimizer = "sgd_momentum",
                      .training_examples = 1281167,
                      .data_folder = "/images",
                      .skip_broken = true,
                      .learning_rate = 0.1,
                      .momentum = 0.8,
                      .weight_decay = 0,
                      .label_smoothing = 0.1};
  profile.gain.reset();
  profile.estimate.reset();
  const auto bare = deploy::profile_from_json(deploy::to_json(profile));
  REQUIRE(bare);
  CHECK(*bare == profile);
}

TEST_CASE("a profile that would do harm or nonsense is refused, and the place is named", "[deploy]") {
  CHECK(error_with("/profile", 2) == "this profile has version 2; this nocturne reads up to version 1");
  CHECK_THAT(error_with("/training/program", "worker"),
             ContainsSubstring("/training/program: expected an absolute path"));
  CHECK_THAT(error_with("/training/data_folder", "."), ContainsSubstring("/training/data_folder"));
  CHECK_THAT(error_with("/training/arguments", {1}), ContainsSubstring("/training/arguments"));
  CHECK_THAT(error_with("/training/partial_batch", "keep"), ContainsSubstring("drop or train"));
  CHECK_THAT(error_with("/training/program", std::string("/a\0b", 4)), ContainsSubstring("NUL"));
  CHECK_THAT(error_with("/launch/environment/A B", "x"), ContainsSubstring("'A B'"));
  CHECK_THAT(error_with("/launch/environment", {{"X", 1}}), ContainsSubstring("/launch/environment"));
  CHECK_THAT(error_with("/launch/unset", {"a;b"}), ContainsSubstring("'a;b'"));
  CHECK_THAT(error_with("/launch/cpus", {-1}), ContainsSubstring("/launch/cpus"));
  CHECK_THAT(error_with("/launch/memory_policy", {{"mode", "bind"}, {"nodes", nlohmann::json::array()}}),
             ContainsSubstring("/launch/memory_policy/mode"));
  CHECK_THAT(error_with("/launch/memory_policy", {{"mode", "x"}, {"nodes", {0}}}),
             ContainsSubstring("/launch/memory_policy/mode"));
  CHECK_THAT(error_with("/launch/preload", {"lib.so"}), ContainsSubstring("/launch/preload"));
  CHECK_THAT(error_with("/launch/preload", {"/a.so:/b.so"}), ContainsSubstring("/launch/preload"));
  CHECK_THAT(error_with("/configuration", {{"x", nullptr}}), ContainsSubstring("/configuration"));
  CHECK_THAT(error_with("/objective/epochs", "many"), ContainsSubstring("/objective/epochs"));
  CHECK_THAT(error_with("/verdict/pairs", -1), ContainsSubstring("/verdict/pairs"));
  const nlohmann::json step = {{"seconds", 0.1}, {"sd", 0.05}, {"degrees", 4}, {"processes", 1}};
  CHECK(error_with("/step", step) == "accepted");
  for (const auto& [key, value] : std::map<std::string, nlohmann::json>{
           {"seconds", 0}, {"sd", 7}, {"degrees", 1e-300}, {"processes", 0}, {"seconds", "much"}}) {
    nlohmann::json wrong = step;
    wrong[key] = value;
    CHECK_THAT(error_with("/step", wrong), ContainsSubstring("/step"));
  }
  for (const auto& sources : {nlohmann::json{{"train.py", ""}}, {{"/train.py", "$(id)"}}, {{"/train.py", 7}}, {"/a"}})
    CHECK_THAT(error_with("/training/sources", sources), ContainsSubstring("/training/sources: expected"));
  nlohmann::json inner = deploy::to_json(test::sample_profile());
  inner["training"]["program"] = "worker";
  CHECK_THAT(error_with("/default", inner), ContainsSubstring("/default/training/program"));
  CHECK(error_with("/a_key_of_the_future", 1) == "accepted");

  nlohmann::json document = deploy::to_json(test::sample_profile());
  document.erase("launch");
  CHECK_THAT(deploy::profile_from_json(document).error(), ContainsSubstring("/launch"));
  CHECK_FALSE(deploy::profile_from_json(nlohmann::json::array()));
}

TEST_CASE("a file that is no profile is refused with its path", "[deploy]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "p.json";
  CHECK_THAT(deploy::load_profile(file).error(), ContainsSubstring(file.string()));
  test::make_file(file, "{\"profile\": 1");
  CHECK_THAT(deploy::load_profile(file).error(), ContainsSubstring("not JSON"));
  test::make_file(file, std::string(2 << 20, ' '));
  CHECK_THAT(deploy::load_profile(file).error(), ContainsSubstring("larger than"));
  test::make_file(file, std::string(400'000, '[') + std::string(400'000, ']'));
  CHECK_THAT(deploy::load_profile(file).error(), ContainsSubstring("nested more than"));
  test::make_file(file, deploy::to_json(test::sample_profile()).dump());
  CHECK(deploy::load_profile(file) == test::sample_profile());
}

TEST_CASE("a campaign's name becomes a harmless file name", "[deploy]") {
  CHECK(deploy::file_stem("mnist-evening") == "mnist-evening");
  CHECK(deploy::file_stem("../../etc/x y") == "_.-..-etc-x-y");
  CHECK(deploy::file_stem("") == "profile");
  CHECK(deploy::file_stem("-rf").front() != '-');
  CHECK(deploy::file_stem("..").front() != '.');
  CHECK(deploy::file_stem(std::string(500, 'x')).size() == 100);
}

TEST_CASE("the sentence on the gain says the verdict", "[deploy]") {
  deploy::Gain gain = *test::sample_profile().gain;
  CHECK(deploy::gain_text(gain) ==
        "is 2.04 times as fast as the default for 12 epochs (+104.0 %, 95 % interval +101.0 to +107.0 %, 6 pairs)");
  gain.verdict = "same";
  CHECK_THAT(deploy::gain_text(gain), ContainsSubstring("as fast as the default"));
  gain.verdict = "undecided";
  CHECK_THAT(deploy::gain_text(gain), ContainsSubstring("not distinguished"));
}
