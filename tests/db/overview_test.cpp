#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "space/objective.hpp"
#include "space/random.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using nocturne::space::Configuration;
using nocturne::space::Outcome;
using nocturne::space::Value;

namespace {

/// Some threads, one in three with a framework of its own, times with equal ones among them, one in five failed; the
/// last one is still under way, and another campaign lies in the same file.
struct Night {
  Night() {
    other = begin("other");
    for (std::int64_t i = 0; i < 3; ++i) finish(other, i, ok_result(0.001));
    id = begin("c");
    nocturne::space::Random random(3);
    for (std::int64_t i = 0; i < 60; ++i) {
      const bool fails = i % 5 == 3;
      const auto value = static_cast<double>(1 + random.below(9));
      finish(id, i,
             fails ? failed_result(i % 10 == 3 ? Outcome::Crashed : Outcome::Wrong, i < 9 ? "" : "late")
                   : ok_result(value));
    }
    (void)store.reserve_trial(id, reservation_of(60));
    all = store.list_trials({.campaign = id, .state = TrialState::Finished});
  }

  CampaignId begin(const std::string& name) { return store.begin_or_resume_campaign(campaign(name)).id; }
  static Configuration configuration_of(std::int64_t number) {
    Configuration result = configuration(number);
    if (number % 3 == 0) result.set("framework", "f" + std::to_string(number % 4));
    if (number % 7 == 0) result.set("huge_pages", number % 2 == 0);
    return result;
  }
  static TrialReservation reservation_of(std::int64_t number) {
    TrialReservation result = reservation(number);
    result.configuration = configuration_of(number);
    return result;
  }
  void finish(CampaignId campaign, std::int64_t number, const TrialResult& result) {
    store.finish_trial(store.reserve_trial(campaign, reservation_of(number)), result);
  }

  TemporaryFolder folder;
  Store store = open(folder / "n.db");
  CampaignId other = 0, id = 0;
  std::vector<StoredTrial> all;  ///< finished, by number
};

/// The same as Store::levels() by walking through the trials.
std::vector<LevelSummary> walked(const std::vector<StoredTrial>& trials, const std::string& parameter, double epochs) {
  std::vector<LevelSummary> levels;
  const auto seconds = [&](const StoredTrial& each) { return nocturne::space::total_time(*each.trial.parts, epochs); };
  for (const StoredTrial& each : trials) {
    const Value* value = each.trial.configuration.find(parameter);
    if (value == nullptr) continue;
    auto level = std::ranges::find(levels, *value, &LevelSummary::value);
    if (level == levels.end()) level = levels.insert(level, {.value = *value});
    if (each.trial.outcome != Outcome::Ok) {
      ++level->failed;
      if (level->reason.empty() && level->trained == 0) level->reason = each.trial.reason;
      continue;
    }
    ++level->trained;
    level->reason.clear();
    if (!level->fastest || seconds(each) < seconds(*level->fastest)) level->fastest = each;
  }
  std::ranges::sort(levels, {}, &LevelSummary::value);
  return levels;
}

}  // namespace

TEST_CASE("what a campaign came to is counted and chosen as by walking through its trials", "[db]") {
  const Night night;
  std::map<Outcome, std::int64_t> outcomes;
  for (const StoredTrial& each : night.all) ++outcomes[each.trial.outcome];
  CHECK(night.store.count_outcomes(night.id) == outcomes);
  CHECK(outcomes.at(Outcome::Wrong) == 6);

  std::vector<std::int64_t> failed;
  for (const StoredTrial& each : night.store.failed_trials(night.id)) failed.push_back(each.trial.number);
  CHECK(failed == std::vector<std::int64_t>{3, 8, 13, 18, 23, 28, 33, 38, 43, 48, 53, 58});

  for (const double epochs : {0.0, 1.0, 12.0}) {
    const auto fastest = night.store.fastest(night.id, epochs);
    REQUIRE(fastest);
    const StoredTrial* walked = nullptr;
    for (const StoredTrial& each : night.all) {
      const auto seconds = [&](const StoredTrial& trial) {
        return nocturne::space::total_time(*trial.trial.parts, epochs);
      };
      if (each.trial.parts && (walked == nullptr || seconds(each) < seconds(*walked))) walked = &each;
    }
    CHECK(fastest->trial.number == walked->trial.number);
  }
}

TEST_CASE("what each value of a parameter came to is that of a walk through the trials", "[db]") {
  const Night night;
  for (const std::string parameter : {"threads", "framework", "huge_pages", "none"}) {
    CAPTURE(parameter);
    const auto expected = walked(night.all, parameter, 12);
    const auto levels = night.store.levels(night.id, parameter, 12);
    REQUIRE(levels.size() == expected.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      CHECK(levels[i].value == expected[i].value);
      CHECK(levels[i].trained == expected[i].trained);
      CHECK(levels[i].failed == expected[i].failed);
      CHECK(levels[i].reason == expected[i].reason);
      REQUIRE(levels[i].fastest.has_value() == expected[i].fastest.has_value());
      if (levels[i].fastest) CHECK(levels[i].fastest->trial.number == expected[i].fastest->trial.number);
    }
  }
}

TEST_CASE("a trial is found by its number where it is finished, and by its configuration where it is ok", "[db]") {
  const Night night;
  CHECK(night.store.finished_trial(night.id, 3)->trial.outcome == Outcome::Crashed);
  CHECK_FALSE(night.store.finished_trial(night.id, 60));  // under way
  CHECK_FALSE(night.store.finished_trial(night.id, 61));
  CHECK(night.store.first_ok(night.id, Night::configuration_of(4))->trial.number == 4);
  CHECK_FALSE(night.store.first_ok(night.id, Night::configuration_of(3)));
  CHECK(night.store.first_ok(night.other, Night::configuration_of(2))->campaign == night.other);
  CHECK_FALSE(night.store.fastest(99, 1));
}

TEST_CASE("the last durations are those of trials that were run", "[db]") {
  Night night;
  TrialReservation equal = Night::reservation_of(0);
  equal.number = 61;
  (void)night.store.reuse_trial(night.id, equal, night.all.front().id);
  const auto durations = night.store.last_durations(night.id, 2);
  REQUIRE(durations.size() == 2);
  const StoredTrial& last = night.all.back();
  CHECK(durations.back().count() == *last.finished_unix_ns - last.reserved_unix_ns);
  CHECK(night.store.last_durations(night.id, 1000).size() == 60);
}

TEST_CASE("a digest of what a model learns from changes with each thing that it does, and with nothing else", "[db]") {
  Night night;
  std::set<std::string> seen;
  const auto is_new = [&] { return seen.insert(night.store.learning_digest(night.id)).second; };
  CHECK(is_new());
  CHECK_FALSE(is_new());
  night.store.append_event({.campaign = night.id, .what = "nothing to learn"});
  night.finish(night.other, 3, ok_result(5));
  CHECK_FALSE(is_new());

  night.store.record_ask(night.id, {.strategy = "s", .count = 1, .answer = {{.number = 70, .configuration = {}}}});
  CHECK(is_new());
  night.finish(night.id, 62, ok_result(3));
  CHECK(is_new());
  night.store.update_trial(night.all[0].id, ok_result(2));
  CHECK(is_new());
  night.store.add_run(night.all[1].id, run("late"));
  CHECK(is_new());
  night.store.save_peaks(night.id, {{"figures", 1}});
  CHECK(is_new());

  const auto comparison =
      night.store.begin_comparison({.campaign = night.id, .candidate = configuration(1), .baseline = configuration(0)});
  CHECK_FALSE(is_new());
  night.store.save_verdict(
      {.comparison = comparison, .horizon_epochs = 12, .primary = true, .verdict = "same", .pairs = 6});
  CHECK(is_new());

  night.store.save_noise_floor({.fingerprint = "machine-1",
                                .workload = "a/b/c",
                                .steps = 40,
                                .figures = {{.method = "slices", .estimator = "paired", .pairs = 6, .sd = 0.02}}});
  CHECK(is_new());
  auto record = campaign("c");
  record.spec["budget"] = {{"wall", "9min"}};
  (void)night.store.begin_or_resume_campaign(record);
  CHECK(is_new());
}

TEST_CASE("a digest covers the campaigns that a campaign knows of", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto before = store.begin_or_resume_campaign(campaign("before")).id;
  store.finish_trial(store.reserve_trial(before, reservation(0)), ok_result(1));
  auto record = campaign("after");
  record.history = {{.campaign = before, .same = true, .trials = 1}};
  const auto after = store.begin_or_resume_campaign(record).id;
  const auto digest = store.learning_digest(after);
  store.update_trial(store.find_trial(before, 0)->id, ok_result(2));
  CHECK(store.learning_digest(after) != digest);
}
