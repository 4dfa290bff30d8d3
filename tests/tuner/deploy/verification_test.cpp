#include "tuner/deploy/verification.hpp"

#include <cmath>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/deploy/sample_profile.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using deploy::Finding;

namespace {

tuner::CampaignSpec parsed(const deploy::Profile& profile) {
  const auto document = deploy::verification_campaign(profile, {.pairs = 8});
  if (!document) FAIL(document.error());
  auto spec = tuner::parse_campaign(document->dump(), "profile", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

deploy::Profile profile_of(space::Configuration baseline, space::Configuration candidate) {
  deploy::Profile profile = test::sample_profile();
  profile.gain->baseline = std::move(baseline);
  profile.configuration = std::move(candidate);
  return profile;
}

db::StoredTrial trial(std::int64_t number, const space::Configuration& configuration,
                      space::Outcome outcome = space::Outcome::Ok) {
  db::StoredTrial stored;
  stored.id = number + 1;
  stored.trial.number = number;
  stored.trial.configuration = configuration;
  stored.trial.outcome = outcome;
  if (outcome != space::Outcome::Ok) stored.trial.reason = "no such instruction";
  return stored;
}

/// The profile measured again: gain in per cent, its interval, in a verdict's own logarithms.
tuner::Answer answer_with(const deploy::Profile& profile, const std::string& verdict, double low, double high) {
  tuner::Answer answer;
  answer.baseline = trial(0, profile.gain->baseline);
  answer.best = trial(1, profile.configuration);
  answer.verdict = db::VerdictRecord{.verdict = verdict,
                                     .log_ratio_mean = -std::log1p((low + high) / 200),
                                     .log_ratio_low = -std::log1p(high / 100),
                                     .log_ratio_high = -std::log1p(low / 100),
                                     .pairs = 8};
  return answer;
}

}  // namespace

TEST_CASE("a profile becomes a campaign of the two configurations it was about", "[verification]") {
  space::Configuration baseline, candidate;
  for (auto* each : {&baseline, &candidate}) {
    each->set("batch", std::int64_t{128});
    each->set("allocator", std::string("it's \\ odd"));
  }
  baseline.set("precision", std::string("f32"));
  candidate.set("precision", std::string("bf16"));
  baseline.set("huge_pages", false);
  candidate.set("huge_pages", true);
  const auto spec = parsed(profile_of(baseline, candidate));
  CHECK(spec.space.default_configuration() == baseline);
  CHECK(spec.space.contains(candidate));
  CHECK(spec.space.find("batch")->size() == 1);
  CHECK(spec.verify.pairs == 8);
  CHECK(spec.verify.finalists == 1);
  CHECK_FALSE(spec.verify.simplify);
  CHECK(spec.objective.epochs == std::vector{12.0});
  CHECK(spec.worker.command.empty());
}

TEST_CASE("settings that only one of them has are active there alone", "[verification]") {
  space::Configuration baseline, candidate;
  baseline.set("wait", std::string("act'ive"));
  candidate.set("wait", std::string("passive"));
  candidate.set("spins", std::int64_t{3});
  baseline.set("bind", true);
  deploy::Profile profile = profile_of(baseline, candidate);
  profile.training.artifact.clear();  // a worker of our own reads no such settings
  const auto spec = parsed(profile);
  CHECK(spec.space.default_configuration() == baseline);
  CHECK(spec.space.contains(candidate));
}

TEST_CASE("a worker that was not built by us is called as the profile calls it", "[verification]") {
  space::Configuration baseline, candidate;
  baseline.set("threads", std::int64_t{1});
  candidate.set("threads", std::int64_t{2});
  deploy::Profile profile = profile_of(baseline, candidate);
  profile.training.artifact.clear();
  CHECK(parsed(profile).worker.command == std::vector<std::string>{"/opt/builds/k/worker", "--quiet"});
}

TEST_CASE("what cannot be compared is said", "[verification]") {
  deploy::Profile profile = test::sample_profile();
  profile.gain.reset();
  CHECK_THAT(deploy::verification_campaign(profile, {}).error(), ContainsSubstring("not compared with a default"));
  space::Configuration baseline, candidate;
  baseline.set("threads", std::int64_t{1});
  CHECK_THAT(deploy::verification_campaign(profile_of(baseline, baseline), {}).error(),
             ContainsSubstring("the default itself"));
  candidate = baseline;
  candidate.set("spins", std::int64_t{1});
  CHECK_THAT(deploy::verification_campaign(profile_of(baseline, candidate), {}).error(),
             ContainsSubstring("only in which settings exist"));
}

TEST_CASE("the finding follows the interval", "[verification]") {
  const deploy::Profile profile = test::sample_profile();  // +101 to +107 % where it was tuned
  CHECK(deploy::verification_of(answer_with(profile, "faster", 99, 103), profile).finding == Finding::Holds);
  const auto less = deploy::verification_of(answer_with(profile, "faster", 3, 9), profile);
  CHECK(less.finding == Finding::Holds);
  CHECK_THAT(less.because, ContainsSubstring("less than the +101.0 to +107.0 %"));
  CHECK(deploy::verification_of(answer_with(profile, "same", -0.5, 0.5), profile).finding == Finding::DoesNotHold);
  CHECK(deploy::verification_of(answer_with(profile, "slower", -9, -2), profile).finding == Finding::DoesNotHold);
  CHECK(deploy::verification_of(answer_with(profile, "undecided", -3, 4), profile).finding == Finding::NotMeasured);
}

TEST_CASE("a side that does not train here is no finding about the profile", "[verification]") {
  const deploy::Profile profile = test::sample_profile();
  tuner::Answer answer;
  answer.baseline = trial(0, profile.gain->baseline, space::Outcome::Crashed);
  CHECK(deploy::verification_of(answer, profile).finding == Finding::NotMeasured);
  answer.baseline = trial(0, profile.gain->baseline);
  answer.failures = {trial(1, profile.configuration, space::Outcome::Unsupported)};
  const auto found = deploy::verification_of(answer, profile);
  CHECK(found.finding == Finding::NotMeasured);
  CHECK_THAT(found.because, ContainsSubstring("unsupported: no such instruction"));
}
