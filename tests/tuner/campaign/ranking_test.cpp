#include "tuner/campaign/answer/ranking.hpp"

#include <algorithm>
#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace nocturne::test {
namespace {

db::StoredTrial tried(std::int64_t number, const std::string& framework, double start, double epoch) {
  db::StoredTrial trial;
  trial.trial.number = number;
  trial.trial.configuration.set("framework", framework);
  trial.trial.outcome = space::Outcome::Ok;
  trial.trial.parts = space::Parts{.compile = start, .steps_per_epoch = 10, .steady_step = epoch / 10};
  return trial;
}

db::StoredTrial broken(std::int64_t number, const std::string& framework, const std::string& reason) {
  auto trial = tried(number, framework, 0, 0);
  trial.trial.outcome = space::Outcome::Unsupported;
  trial.trial.parts.reset();
  trial.trial.reason = reason;
  return trial;
}

/// What a store says of these trials (tests/db/overview_test.cpp holds it against a walk like this one).
std::vector<db::LevelSummary> levels_of(const std::vector<db::StoredTrial>& trials, double epochs) {
  std::vector<db::LevelSummary> levels;
  for (const db::StoredTrial& each : trials) {
    const auto* value = each.trial.configuration.find("framework");
    auto level = std::ranges::find(levels, *value, &db::LevelSummary::value);
    if (level == levels.end()) level = levels.insert(level, {.value = *value, .fastest = {}});
    const bool ok = each.trial.outcome == space::Outcome::Ok;
    ++(ok ? level->trained : level->failed);
    if (level->reason.empty()) level->reason = each.trial.reason;
    const auto seconds = [&](const db::StoredTrial& trial) { return space::total_time(*trial.trial.parts, epochs); };
    if (ok && (!level->fastest || seconds(each) < seconds(*level->fastest))) level->fastest = each;
  }
  for (db::LevelSummary& level : levels)
    if (level.trained > 0) level.reason.clear();
  return levels;
}

tuner::Ranking ranked(const nlohmann::json& document, const std::vector<db::StoredTrial>& trials, double epochs,
                      const std::vector<db::StoredComparison>& comparisons = {}) {
  return tuner::rank(document, "framework", levels_of(trials, epochs), trials.front(), comparisons, epochs);
}

std::vector<std::string> order(const tuner::Ranking& ranking) {
  std::vector<std::string> names;
  for (const auto& each : ranking.levels) names.push_back(space::to_text(each.level));
  return names;
}

const nlohmann::json kDocument = {{"space",
                                   {{"parameters",
                                     {{{"name", "batch"}, {"stage", "run"}, {"values", {32, 64}}},
                                      {{"name", "container"}, {"stage", "environment"}, {"values", {"host"}}},
                                      {{"name", "framework"},
                                       {"stage", "environment"},
                                       {"values", {"never", "bad", "slow", "compiled", "late"}}}}}}}};

const std::vector<db::StoredTrial> kTrials = {tried(0, "slow", 1, 10),     tried(1, "slow", 1, 6),
                                              tried(2, "compiled", 50, 2), broken(3, "bad", "no wheel"),
                                              broken(4, "bad", "another"), broken(5, "compiled", "once"),
                                              tried(6, "late", 2, 8)};

}  // namespace

TEST_CASE("levels are ranked by the best of each, at the horizon asked for", "[ranking]") {
  const auto twelve = ranked(kDocument, kTrials, 12);
  CHECK(order(twelve) == std::vector<std::string>{"slow", "compiled", "late", "bad", "never"});
  CHECK(twelve.levels[0].best->trial.number == 1);  // the better of its two
  CHECK(twelve.levels[0].seconds == Catch::Approx(1 + 12 * 6));
  CHECK(twelve.levels[0].trained == 2);
  const auto ninety = ranked(kDocument, kTrials, 90);
  CHECK(order(ninety) == std::vector<std::string>{"compiled", "slow", "late", "bad", "never"});
}

TEST_CASE("a level where nothing trained has a reason, one that was not tried has none", "[ranking]") {
  const auto ranking = ranked(kDocument, kTrials, 12);
  CHECK(ranking.levels[3].failed == 2);
  CHECK(ranking.levels[3].reason == "no wheel");
  CHECK_FALSE(ranking.levels[3].best);
  CHECK(ranking.levels[4].failed == 0);
  CHECK(ranking.levels[4].reason.empty());
  CHECK(ranking.levels[1].failed == 1);  // once, but it trained before
  CHECK(ranking.levels[1].reason.empty());
}

TEST_CASE("without a name the first environment parameter with a choice is ranked", "[ranking]") {
  CHECK(tuner::ranked_parameter(kDocument, "") == "framework");
  CHECK_FALSE(tuner::ranked_parameter(kDocument, "no_such"));
  CHECK_FALSE(tuner::ranked_parameter(nlohmann::json::object(), ""));
}

TEST_CASE("the best of a level is described by what it has and the default has not", "[ranking]") {
  auto document = kDocument;
  auto& parameters = document["/space/parameters"_json_pointer];
  parameters.push_back({{"name", "layout"}, {"stage", "run"}, {"values", {"nchw", "nhwc"}}, {"default", "nchw"}});
  auto trials = kTrials;
  trials[0].trial.configuration.set("batch", std::int64_t{32});  // the default, where the layout is inactive
  trials[1].trial.configuration.set("batch", std::int64_t{64});
  trials[2].trial.configuration.set("batch", std::int64_t{32});
  trials[2].trial.configuration.set("layout", "nhwc");
  trials[6].trial.configuration.set("layout", "nchw");
  const auto ranking = ranked(document, trials, 12);
  CHECK(ranking.levels[0].settings.to_json() == nlohmann::json({{"batch", 64}}));
  CHECK(ranking.levels[1].settings.to_json() == nlohmann::json({{"layout", "nhwc"}}));
  CHECK(ranking.levels[2].settings.empty());
  CHECK(ranking.levels[3].settings.empty());  // none trained
}

TEST_CASE("the standard error of a trial is known at the horizon of its estimate alone", "[ranking]") {
  auto trials = kTrials;
  trials[1].trial.estimate = space::Estimate{.value = 73, .standard_error = 0.7, .runs = 3};
  CHECK(ranked(kDocument, trials, 12).levels[0].standard_error == 0.7);
  const auto ninety = ranked(kDocument, trials, 90);
  CHECK(ninety.levels[1].best->trial.number == 1);
  CHECK(ninety.levels[1].standard_error == 0);
}

TEST_CASE("pairs of a level's best with the first level's stand beside it, seen from the level", "[ranking]") {
  const auto& leader = kTrials[1].trial.configuration;
  const auto& second = kTrials[2].trial.configuration;
  REQUIRE(leader != second);
  db::StoredComparison comparison{
      .record = {.campaign = 1, .candidate = leader, .baseline = second, .role = "compare"}};
  comparison.verdicts.push_back({.horizon_epochs = 12,
                                 .verdict = "faster",
                                 .log_ratio_mean = std::log(0.5),
                                 .log_ratio_low = std::log(0.4),
                                 .log_ratio_high = std::log(0.6),
                                 .pairs = 6});
  const auto ranking = ranked(kDocument, kTrials, 12, {comparison});
  CHECK_FALSE(ranking.levels[0].gain);
  REQUIRE(ranking.levels[1].gain);
  CHECK(ranking.levels[1].gain->verdict == "slower");
  CHECK(ranking.levels[1].gain->gain_percent == Catch::Approx(-50));
  CHECK_FALSE(ranking.levels[2].gain);
  CHECK_FALSE(ranked(kDocument, kTrials, 90, {comparison}).levels[1].gain);
}

}  // namespace nocturne::test
