#include "tuner/deploy/relocation.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

#include "tests/tuner/deploy/sample_profile.hpp"
#include "tuner/deploy/verification.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a profile that is moved is compared with itself on the host", "[deploy]") {
  const auto moved = deploy::moved_into(test::sample_profile(), "podman", "debian-12");
  REQUIRE(moved);
  CHECK(moved->campaign == "mnist-evening-podman");
  CHECK(*moved->configuration.find("container") == space::Value(std::string("podman")));
  CHECK(*moved->configuration.find("image") == space::Value(std::string("debian-12")));
  auto host = moved->gain->baseline;
  CHECK(*host.find("container") == space::Value(std::string("host")));
  host.erase("container");
  CHECK(host == test::sample_profile().configuration);
  const auto campaign = deploy::verification_campaign(*moved, {});
  REQUIRE(campaign);
  const auto& parameters = campaign->at("space").at("parameters");
  const auto named = [&](const char* name) {
    return *std::ranges::find_if(parameters, [&](const auto& each) { return each.at("name") == name; });
  };
  CHECK(named("container").at("values") == nlohmann::json{"host", "podman"});
  CHECK(named("image").at("active_if") == "container == 'podman'");
}

TEST_CASE("what cannot be moved into a container is refused with a sentence", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  CHECK_THAT(deploy::moved_into(profile, "podmann", "debian-12").error(), ContainsSubstring("did you mean 'podman'?"));
  profile.configuration.set("container", std::string("charliecloud"));
  CHECK_THAT(deploy::moved_into(profile, "podman", "debian-12").error(), ContainsSubstring("charliecloud already"));
  profile = test::sample_profile();
  profile.training.own_command = nlohmann::json::object();
  CHECK_THAT(deploy::moved_into(profile, "podman", "debian-12").error(), ContainsSubstring("a command of your own"));
}

TEST_CASE("what a container costs becomes the proof and enters the estimate", "[deploy]") {
  const deploy::Profile host = test::sample_profile();
  auto moved = deploy::moved_into(host, "podman", "debian-12").value();
  // ln(T(host) / T(container)) = −0.1: the container takes 1.105 times as long.
  deploy::keep_cost(moved, host,
                    {.verdict = measure::Verdict::Slower,
                     .pairs = 8,
                     .gain_percent = -9.5,
                     .low_percent = -10,
                     .high_percent = -9,
                     .log_ratio = -0.1,
                     .standard_error = 0.01});
  CHECK(moved.gain->verdict == "slower");
  CHECK(moved.gain->pairs == 8);
  CHECK(moved.gain->high_percent == -9);
  CHECK(moved.estimate->value == Catch::Approx(150.5 * 1.10517).epsilon(1e-4));
  CHECK(moved.estimate->standard_error == Catch::Approx(1.686).epsilon(1e-2));
  CHECK_THAT(moved.forced, ContainsSubstring("on the host; there it is 2.04 times as fast"));
}
