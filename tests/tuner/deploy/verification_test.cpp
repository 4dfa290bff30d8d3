#include "tuner/deploy/verification.hpp"

#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/deploy/sample_profile.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using deploy::VerificationOutcome;

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

/// Pairs that say so: a gain in per cent with its interval.
measure::ComparisonMember pairs_say(measure::Verdict verdict, double low, double high) {
  return {
      .log_ratios = std::vector<double>(8),
      .state = verdict == measure::Verdict::Undecided ? measure::MemberState::Open : measure::MemberState::Decided,
      .comparison = measure::Comparison{
          .verdict = verdict, .pairs = 8, .gain_percent = (low + high) / 2, .low_percent = low, .high_percent = high}};
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

TEST_CASE("settings that the command names and neither of them has are active in none", "[verification]") {
  space::Configuration baseline, candidate;
  for (auto* each : {&baseline, &candidate}) each->set("workers", std::string("script"));
  baseline.set("allocator", std::string("glibc"));
  candidate.set("allocator", std::string("jemalloc"));
  deploy::Profile profile = profile_of(baseline, candidate);
  profile.epochs = 1;
  // How far workers load ahead, and what else depends on that there are some.
  profile.training.own_command = nlohmann::json::parse(R"json({
    "template": ["python3", "train.py", ["--ahead", "{ahead}"]], "time": "process",
    "environment": {"PINNED": "{pinned}"},
    "levers": {"workers": {"changes": "nothing", "variable": "NOCTURNE_LEVER_WORKERS"},
               "prefetch": {"changes": "nothing", "variable": "NOCTURNE_LEVER_PREFETCH"}}})json");
  const auto spec = parsed(profile);
  CHECK(spec.space.default_configuration() == baseline);
  CHECK(spec.space.contains(candidate));
  CHECK(spec.space.find("prefetch") != nullptr);
  CHECK(spec.worker.own.levers.contains("prefetch"));
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
  using measure::Verdict;
  const deploy::Profile profile = test::sample_profile();  // +101 to +107 % where it was tuned
  const auto find = [&](Verdict verdict, double low, double high) {
    return deploy::verification_of(pairs_say(verdict, low, high), profile, 1, "8 pairs do not tell");
  };
  CHECK(find(Verdict::Faster, 99, 103).finding == VerificationOutcome::Holds);
  CHECK(find(Verdict::Same, 0.1, 0.5).finding == VerificationOutcome::Holds);
  const auto less = find(Verdict::Faster, 3, 9);
  CHECK(less.finding == VerificationOutcome::Holds);
  CHECK_THAT(less.because, ContainsSubstring("less than the +101.0 to +107.0 %"));
  CHECK(find(Verdict::Same, -0.5, 0.5).finding == VerificationOutcome::DoesNotHold);
  const auto slower = find(Verdict::Slower, -9, -2);
  CHECK(slower.finding == VerificationOutcome::DoesNotHold);
  CHECK_THAT(slower.because, ContainsSubstring("slower than the default: -5.5 % (-9.0 to -2.0 %, 8 pairs)"));
  CHECK(find(Verdict::Undecided, -3, 0.8).finding ==
        VerificationOutcome::DoesNotHold);  // not faster by more than the margin
  const auto open = find(Verdict::Undecided, -3, 4);
  CHECK(open.finding == VerificationOutcome::NotMeasured);
  CHECK_THAT(open.because, ContainsSubstring("undecided, 8 pairs do not tell: +0.5 %"));
}

TEST_CASE("pairs that were not measured to the end are no finding about the profile", "[verification]") {
  const deploy::Profile profile = test::sample_profile();
  auto pairs = pairs_say(measure::Verdict::Undecided, 3, 9);
  pairs.state = measure::MemberState::Failed;
  const auto failed = deploy::verification_of(pairs, profile, 1, "20 pairs do not tell");
  CHECK(failed.finding == VerificationOutcome::NotMeasured);
  CHECK(failed.because == "pair after pair failed");
  const auto none = deploy::verification_of({}, profile, 1, "the time is over");
  CHECK(none.finding == VerificationOutcome::NotMeasured);
  CHECK(none.because == "the time is over before there were two pairs");
}
