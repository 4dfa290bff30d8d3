#include "tuner/campaign/finals/finals.hpp"

#include <cmath>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign/answer/judged_learning.hpp"

namespace nocturne::test {
namespace {

tuner::CampaignSpec spec_of(const std::string& text) {
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

tuner::CampaignSpec wide_spec(const std::string& verify = "{}", const std::string& constraints = "[]") {
  const std::string text = R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [12]},
    "space": {"parameters": [
      {"name": "threads", "stage": "run", "range": [1, 4], "default": 1},
      {"name": "layout", "stage": "run", "values": ["plain", "blocked"], "default": "plain"},
      {"name": "huge_pages", "stage": "run", "type": "boolean", "default": false},
      {"name": "wait", "stage": "run", "values": ["active", "passive"], "default": "active"},
      {"name": "spins", "stage": "run", "range": [1, 3], "default": 1, "active_if": "wait == 'passive'"}],
      "constraints": )" + constraints +
                           R"(},
    "worker": {"command": ["/bin/true"]}, "strategy": {"name": "exhaustive"}, "verify": )" +
                           verify + "}";
  return spec_of(text);
}

space::Configuration fast() {
  space::Configuration winner;
  winner.set("threads", space::Value(std::int64_t{4}));
  winner.set("layout", space::Value("blocked"));
  winner.set("huge_pages", space::Value(true));
  winner.set("wait", space::Value("passive"));
  winner.set("spins", space::Value(std::int64_t{3}));
  return winner;
}

/// Threads and layout matter; huge pages cost 0.3 %, waiting nothing.
double log_time(const space::Configuration& each) {
  double time = -std::log(static_cast<double>(std::get<std::int64_t>(*each.find("threads"))));
  if (*each.find("layout") == space::Value("blocked")) time -= 0.1;
  if (*each.find("huge_pages") == space::Value(true)) time -= 0.003;
  return time;
}

bool differs(const space::Configuration& a, const char* name, const space::Configuration& b) {
  return *a.find(name) != *b.find(name);
}

}  // namespace

TEST_CASE("what does nothing is put back, what costs least first, and what matters stays", "[simplify]") {
  const auto spec = wide_spec();
  const auto baseline = spec.space.default_configuration();
  const auto way = tuner::simplify(spec.space, fast(), baseline, log_time, 1);
  REQUIRE(way.size() == 2);
  CHECK_FALSE(differs(way[0], "wait", baseline));  // and what waiting alone makes active is gone with it
  CHECK(way[0].find("spins") == nullptr);
  CHECK(differs(way[0], "huge_pages", baseline));
  const auto& last = way.back();
  CHECK(differs(last, "threads", baseline));
  CHECK(differs(last, "layout", baseline));
  CHECK_FALSE(differs(last, "huge_pages", baseline));
  CHECK_FALSE(differs(last, "wait", baseline));
  CHECK(last.find("spins") == nullptr);
  for (const auto& each : way) CHECK(spec.space.contains(each));
}

TEST_CASE("the margin is that of the whole way, not of each step", "[simplify]") {
  const auto spec = wide_spec();
  const auto way = tuner::simplify(spec.space, fast(), spec.space.default_configuration(), log_time, 0.1);
  REQUIRE_FALSE(way.empty());
  CHECK(*way.back().find("huge_pages") == space::Value(true));
}

TEST_CASE("no step leads to a configuration that is not allowed", "[simplify]") {
  const auto spec = wide_spec(
      "{}", R"([{"require": "huge_pages or layout == 'plain'", "because": "blocked layouts need huge pages here"}])");
  const auto way = tuner::simplify(spec.space, fast(), spec.space.default_configuration(), log_time, 1);
  REQUIRE_FALSE(way.empty());
  for (const auto& each : way) {
    CHECK(spec.space.contains(each));
    CHECK(*each.find("huge_pages") == space::Value(true));
  }
}

TEST_CASE("where every setting matters, or the default is as fast, there is no way", "[simplify]") {
  const auto spec = wide_spec();
  auto winner = spec.space.default_configuration();
  winner.set("threads", space::Value(std::int64_t{4}));
  CHECK(tuner::simplify(spec.space, winner, spec.space.default_configuration(), log_time, 1).empty());
  winner = spec.space.default_configuration();
  winner.set("huge_pages", space::Value(true));
  CHECK(tuner::simplify(spec.space, winner, spec.space.default_configuration(), log_time, 1).empty());
}

TEST_CASE("a campaign reports the smallest change that wins", "[simplify]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = [](const space::Configuration& each) {
    return 0.1 * std::exp(log_time(each));
  };
  const auto spec = wide_spec(R"({"pairs": 4, "finalists": 2, "selection_pairs": 2})");
  REQUIRE(campaign_fixture.sit(spec).ending == tuner::Ending::Complete);
  const tuner::Answer answer = campaign_fixture.answer();
  REQUIRE(answer.best);
  CHECK(answer.changes.size() == 2);
  CHECK(differs(answer.best->trial.configuration, "threads", spec.space.default_configuration()));
  CHECK(differs(answer.best->trial.configuration, "layout", spec.space.default_configuration()));
  CHECK(answer.verified_faster());
}

TEST_CASE("a setting that the model thinks little of, and pairs show to matter, stays", "[simplify]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  // Alone, processes with huge pages were slow by chance by nearly as much as huge pages gain: the search sees next to
  // nothing.
  const auto gain = [](const space::Configuration& each) {
    return *each.find("huge_pages") == space::Value(true) ? 0.95 : 1.0;
  };
  campaign_fixture.executor.step_seconds = [&](const space::Configuration& each) {
    return 0.1 * std::exp(log_time(each)) * gain(each);
  };
  campaign_fixture.executor.process_sd = [&](const space::Configuration& each) {
    return *each.find("huge_pages") == space::Value(true) ? 0.994 / gain(each) : 1.0;
  };
  const auto spec = wide_spec(R"({"pairs": 4, "finalists": 4, "selection_pairs": 2})");
  REQUIRE(campaign_fixture.sit(spec).ending == tuner::Ending::Complete);
  CHECK(*campaign_fixture.answer().best->trial.configuration.find("huge_pages") == space::Value(true));
}

TEST_CASE("of two changed scripts the one that is known to learn rightly stays, though the other is simpler",
          "[simplify]") {
  const std::string text = R"json({
    "campaign": "test", "workload": {"training_examples": 1000}, "objective": {"minimise": "time", "epochs": [1]},
    "worker": {"template": ["/bin/true", "{threads}"], "time": "process", "levers": {
      "layout": {"variable": "NOCTURNE_LEVER_LAYOUT", "changes": "rounding"},
      "wait": {"variable": "NOCTURNE_LEVER_WAIT", "changes": "rounding"}}},
    "space": {"parameters": [
      {"name": "threads", "stage": "run", "range": [1, 16], "default": 1},
      {"name": "layout", "stage": "run", "type": "categorical", "values": ["script", "blocked"]},
      {"name": "wait", "stage": "run", "type": "categorical", "values": ["script", "passive"]}]},
    "strategy": {"name": "exhaustive"}, "verify": {"pairs": 4, "finalists": 1}})json";
  const auto spec = spec_of(text);
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = [](const space::Configuration& each) {
    const double layout = *each.find("layout") == space::Value("blocked") ? 0.8 : 1;
    const double waits = *each.find("wait") == space::Value("passive") ? 0.997 : 1;
    return 10 * layout * waits / static_cast<double>(std::get<std::int64_t>(*each.find("threads")));
  };
  const bool judged = GENERATE(true, false);
  const auto result = campaign_fixture.with_session(spec, [&](tuner::Session& session) {
    // No run of the script records what it learns, so nothing is judged but what is stored here.
    campaign_fixture.watcher.after = [&](const space::Trial& trial) {
      if (!judged || *trial.configuration.find("wait") != space::Value("passive")) return;
      space::Run run{
          .id = "judged", .purpose = space::Purpose::Gate, .outcome = space::Outcome::Ok, .folder = "/nowhere"};
      run.id += std::to_string(trial.number);
      tuner::store_judgement({.learning = measure::Learning::Same, .sentence = "as it does"}, run.ready);
      const auto stored = session.store.load_numbered_trial(session.campaign, trial.number);
      session.store.add_run(stored.id, {.run = run, .fingerprint = session.fingerprint.identity()});
    };
    return tuner::Campaign(session, false).run();
  });
  CHECK(result.ending == tuner::Ending::Complete);
  const auto best = campaign_fixture.answer().best.value().trial.configuration;
  CHECK(*best.find("layout") == space::Value("blocked"));
  CHECK(*best.find("wait") == space::Value(judged ? "passive" : "script"));
}

TEST_CASE("a script unchanged that cannot be prepared any more leaves no run behind", "[simplify]") {
  const std::string text = R"json({
    "campaign": "test", "workload": {"training_examples": 1000}, "objective": {"minimise": "time", "epochs": [1]},
    "worker": {"template": ["/bin/true"], "time": "process", "levers": {
      "layout": {"variable": "NOCTURNE_LEVER_LAYOUT", "changes": "rounding"}}},
    "space": {"parameters": [
      {"name": "layout", "stage": "run", "type": "categorical", "values": ["script", "blocked"]}]},
    "strategy": {"name": "exhaustive"}, "verify": {"pairs": 4, "finalists": 1}})json";
  const auto spec = spec_of(text);
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  const auto is_blocked = [](const space::Configuration& each) {
    return *each.find("layout") == space::Value("blocked");
  };
  campaign_fixture.executor.step_seconds = [&](const space::Configuration& each) { return is_blocked(each) ? 8 : 10; };
  bool searched = false;
  campaign_fixture.watcher.after = [&](const space::Trial& trial) { searched = searched || trial.number == 1; };
  campaign_fixture.executor.can_be_built = [&](const space::Configuration& each) {
    return !searched || is_blocked(each);
  };
  const auto result = campaign_fixture.with_session(
      spec, [](tuner::Session& session) { return tuner::Campaign(session, false).run(); });
  CHECK(result.ending == tuner::Ending::Complete);
  REQUIRE(searched);
  const db::Store store = campaign_fixture.reading();
  for (const db::StoredTrial& trial : store.list_trials({.campaign = store.load_campaign("test").id}))
    for (const db::StoredRun& stored : store.load_trial(trial.id).runs) CHECK_FALSE(stored.record.run.id.empty());
}

}  // namespace nocturne::test
