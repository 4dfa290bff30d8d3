#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;

TEST_CASE("pairs, slices and verdicts come back as they were stored", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto baseline = store.reserve_trial(id, reservation(0));
  const auto candidate = store.reserve_trial(id, reservation(1));
  store.finish_trial(baseline, ok_result(2));
  store.finish_trial(candidate, ok_result(1));
  const auto comparison = store.begin_comparison(
      {.campaign = id, .candidate = configuration(1), .baseline = configuration(0), .role = "verify"});
  for (std::int64_t i = 0; i < 2; ++i) {
    const std::string n = std::to_string(i);

    store.add_pair(comparison, {.index = i,
                                .first = i % 2 == 0 ? Side::Candidate : Side::Baseline,
                                .candidate_trial = candidate,
                                .baseline_trial = baseline,
                                .candidate = run("c" + n),
                                .baseline = run("b" + n),
                                .slices = {{.side = Side::Candidate, .first_step = 1, .steps = 5, .wall_ns = 10},
                                           {.side = Side::Baseline, .first_step = 2, .steps = 6, .wall_ns = 11}}});
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
  store.save_verdict(verdict);
  verdict.verdict = "faster";
  verdict.log_ratio_high = -0.05;
  verdict.pairs = 2;
  store.save_verdict(verdict);
  VerdictRecord other = verdict;
  other.horizon_epochs = 1;
  other.primary = false;
  store.save_verdict(other);

  const auto found = store.comparisons(id);
  REQUIRE(found.size() == 1);
  CHECK(found[0].id == comparison);
  CHECK(found[0].record.candidate == configuration(1));
  CHECK(found[0].record.baseline == configuration(0));
  CHECK(found[0].record.role == "verify");
  REQUIRE(found[0].pairs.size() == 2);
  CHECK(found[0].pairs[1].first == Side::Baseline);
  CHECK(found[0].pairs[1].candidate_run == "c1");
  CHECK(found[0].pairs[1].baseline_run == "b1");
  const auto slices = store.slices(comparison, 1);
  REQUIRE(slices.size() == 2);
  CHECK(slices[1] == Slice{.side = Side::Baseline, .first_step = 2, .steps = 6, .wall_ns = 11});
  REQUIRE(found[0].verdicts.size() == 2);
  CHECK(found[0].verdicts[0] == other);
  CHECK(found[0].verdicts[1] == verdict);
  CHECK(found[0].judged_unix_ns >= found[0].started_unix_ns);
  CHECK(store.load_trial(candidate).runs.size() == 2);
}

TEST_CASE("the time beside a campaign's trials is that of its pairs, gate, preflight and builds", "[db]") {
  using std::chrono::seconds;
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto baseline = store.reserve_trial(id, reservation(0));
  const auto candidate = store.reserve_trial(id, reservation(1));
  const auto lasting = [](const std::string& name, seconds time, nocturne::space::Purpose purpose) {
    RunRecord record = run(name);
    record.run.wall = time;
    record.run.purpose = purpose;
    record.run.artifact = "k1";
    return record;
  };
  store.finish_trial(baseline, ok_result(2), std::vector{lasting("s", seconds(5), nocturne::space::Purpose::Search)});
  store.finish_trial(candidate, ok_result(1));
  CHECK(store.time_beside_trials(id) == seconds(0));
  store.add_run(baseline, lasting("g", seconds(7), nocturne::space::Purpose::Gate));
  CHECK(store.time_beside_trials(id) == seconds(7));

  seconds expected(7);
  for (const auto& [role, method, counted] : {std::tuple{"verify", "slices", 30},
                                              {"select", "sequential", 50},
                                              {"compare", "slices", 0},
                                              {"search", "slices", 0}}) {
    const auto comparison = store.begin_comparison(
        {.campaign = id, .candidate = configuration(1), .baseline = configuration(0), .role = role, .method = method});
    const std::string name = role;
    store.add_pair(comparison, {.index = 0,
                                .candidate_trial = candidate,
                                .baseline_trial = baseline,
                                .candidate = lasting("c" + name, seconds(20), nocturne::space::Purpose::Verify),
                                .baseline = lasting("b" + name, seconds(30), nocturne::space::Purpose::Verify)});
    expected += seconds(counted);
    CHECK(store.time_beside_trials(id) == expected);
  }

  store.save_preflight(
      id, {.configuration = configuration(1), .outcome = nocturne::space::Outcome::Ok, .train = seconds(3)});
  expected += seconds(3);
  CHECK(store.time_beside_trials(id) == expected);
  const auto build = [](const std::string& key, std::int64_t created_unix_ns) {
    return BuildRecord{.key = key, .build_ns = 40'000'000'000, .created_unix_ns = created_unix_ns};
  };
  store.save_build(build("k0", 0));  // of another campaign
  CHECK(store.time_beside_trials(id) == expected);
  store.save_build(build("k1", 0));
  CHECK(store.time_beside_trials(id) == expected + seconds(40));
}

TEST_CASE("half a pair is not stored", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto trial = store.reserve_trial(id, reservation(0));
  const auto comparison = store.begin_comparison({.campaign = id});
  PairRecord pair{.candidate_trial = trial, .baseline_trial = 99, .candidate = run("c"), .baseline = run("b")};
  CHECK(error_of([&] { return store.add_pair(comparison, pair); }).code == ErrorCode::Inconsistent);
  CHECK(error_of([&] { return store.load_run("c"); }).code == ErrorCode::NotFound);
  CHECK(error_of([&] { return store.add_pair(99, pair); }).code == ErrorCode::NotFound);
  CHECK(error_of([&] { return store.save_verdict({.comparison = comparison, .verdict = "splendid"}); }).code ==
        ErrorCode::Inconsistent);
}
