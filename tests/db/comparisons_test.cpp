#include <catch2/catch_test_macros.hpp>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;

TEST_CASE("pairs, slices and verdicts come back as they were stored", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = must(store.begin_or_resume_campaign(campaign("c"))).id;
  const auto baseline = must(store.claim_trial(id, claim(0)));
  const auto candidate = must(store.claim_trial(id, claim(1)));
  must(store.finish_trial(baseline, ok_result(2)));
  must(store.finish_trial(candidate, ok_result(1)));
  const auto comparison = must(store.begin_comparison(
      {.campaign = id, .candidate = configuration(1), .baseline = configuration(0), .role = "verify"}));
  for (std::int64_t i = 0; i < 2; ++i) {
    const std::string n = std::to_string(i);
    must(
        store.add_pair(comparison, {.index = i,
                                    .first = i % 2 == 0 ? Side::Candidate : Side::Baseline,
                                    .candidate_trial = candidate,
                                    .baseline_trial = baseline,
                                    .candidate = run("c" + n),
                                    .baseline = run("b" + n),
                                    .slices = {{.side = Side::Candidate, .first_step = 1, .steps = 5, .wall_ns = 10},
                                               {.side = Side::Baseline, .first_step = 2, .steps = 6, .wall_ns = 11}}}));
  }
  VerdictRecord verdict{.comparison = comparison,
                        .horizon_epochs = 12,
                        .primary = true,
                        .verdict = "undecided",
                        .log_ratio_mean = -0.1,
                        .log_ratio_low = -0.3,
                        .log_ratio_high = 0.1,
                        .confidence = 0.95,
                        .pairs = 1};
  must(store.save_verdict(verdict));
  verdict.verdict = "faster";
  verdict.log_ratio_high = -0.05;
  verdict.pairs = 2;
  must(store.save_verdict(verdict));
  VerdictRecord other = verdict;
  other.horizon_epochs = 1;
  other.primary = false;
  must(store.save_verdict(other));

  const auto found = must(store.comparisons(id));
  REQUIRE(found.size() == 1);
  CHECK(found[0].id == comparison);
  CHECK(found[0].record.candidate == configuration(1));
  CHECK(found[0].record.baseline == configuration(0));
  CHECK(found[0].record.role == "verify");
  REQUIRE(found[0].pairs.size() == 2);
  CHECK(found[0].pairs[1].first == Side::Baseline);
  CHECK(found[0].pairs[1].candidate_run == "c1");
  CHECK(found[0].pairs[1].baseline_run == "b1");
  REQUIRE(found[0].pairs[1].slices.size() == 2);
  CHECK(found[0].pairs[1].slices[1] == Slice{.side = Side::Baseline, .first_step = 2, .steps = 6, .wall_ns = 11});
  REQUIRE(found[0].verdicts.size() == 2);
  CHECK(found[0].verdicts[0] == other);
  CHECK(found[0].verdicts[1] == verdict);
  CHECK(found[0].judged_unix_ns >= found[0].started_unix_ns);
  CHECK(must(store.load_trial(candidate)).runs.size() == 2);
}

TEST_CASE("half a pair is not stored", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = must(store.begin_or_resume_campaign(campaign("c"))).id;
  const auto trial = must(store.claim_trial(id, claim(0)));
  const auto comparison = must(store.begin_comparison({.campaign = id}));
  PairRecord pair{.candidate_trial = trial, .baseline_trial = 99, .candidate = run("c"), .baseline = run("b")};
  CHECK(store.add_pair(comparison, pair).error().code == ErrorCode::Inconsistent);
  CHECK(store.load_run("c").error().code == ErrorCode::NotFound);
  CHECK(store.add_pair(99, pair).error().code == ErrorCode::NotFound);
  CHECK(store.save_verdict({.comparison = comparison, .verdict = "splendid"}).error().code == ErrorCode::Inconsistent);
}
