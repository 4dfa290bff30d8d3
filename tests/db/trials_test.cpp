#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using nocturne::space::Outcome;
using nocturne::space::Purpose;

TEST_CASE("a trial is reserved, finished with its runs, and read back whole", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto trial = store.reserve_trial(id, reservation(0));
  auto stored = store.load_numbered_trial(id, 0);
  CHECK(stored.state == TrialState::Reserved);
  CHECK(!stored.finished_unix_ns);
  const std::vector<RunRecord> runs = {run("r1"), run("r2")};
  store.finish_trial(trial, ok_result(12.5), runs);
  const auto detail = store.load_trial(trial);
  stored = detail.stored;
  CHECK(stored.id == trial);
  CHECK(stored.campaign == id);
  CHECK(stored.campaign_name == "c");
  CHECK(stored.state == TrialState::Finished);
  CHECK(stored.key == "key-0");
  CHECK(stored.trial.number == 0);
  CHECK(stored.trial.configuration == configuration(0));
  CHECK(stored.trial.fidelity.steps == 40);
  CHECK(stored.trial.outcome == Outcome::Ok);
  CHECK(stored.trial.estimate == ok_result(12.5).estimate);
  CHECK(stored.trial.parts == ok_result(12.5).parts);
  CHECK(stored.finished_unix_ns >= stored.reserved_unix_ns);
  CHECK(stored.runs == 2);
  REQUIRE(detail.runs.size() == 2);
  CHECK(detail.runs[1].record.run.id == "r2");
}

TEST_CASE("a result that contradicts itself is refused", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto trial = store.reserve_trial(id, reservation(0));
  TrialResult result = ok_result(1);
  SECTION("ok without an estimate") {
    result.estimate.reset();
  }
  SECTION("failed with an estimate") {
    result.outcome = Outcome::Failed;
  }
  SECTION("not a number") {
    result.estimate->value = std::numeric_limits<double>::quiet_NaN();
  }
  SECTION("killed") {
    result = failed_result(Outcome::Killed, "by us");
  }
  CHECK(error_of([&] { return store.finish_trial(trial, result); }).code == ErrorCode::Inconsistent);
  CHECK(store.find_trial(id, 0)->state == TrialState::Reserved);
}

TEST_CASE("a trial is finished once, and updated only then", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto trial = store.reserve_trial(id, reservation(0));
  CHECK(error_of([&] { return store.update_trial(trial, ok_result(1)); }).code == ErrorCode::Inconsistent);
  store.finish_trial(trial, ok_result(2));
  CHECK(error_of([&] { return store.finish_trial(trial, ok_result(3)); }).code == ErrorCode::Inconsistent);
  CHECK(error_of([&] { return store.reserve_trial(id, reservation(0)); }).code == ErrorCode::Inconsistent);
  const std::vector<RunRecord> runs = {run("audit")};
  store.update_trial(trial, ok_result(4), runs);
  CHECK(store.find_trial(id, 0)->trial.estimate->value == 4);
  CHECK(store.find_trial(id, 0)->runs == 1);
}

TEST_CASE("several trials are updated together or not at all", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto first = store.reserve_trial(id, reservation(0)), second = store.reserve_trial(id, reservation(1));
  store.finish_trial(first, ok_result(3));
  const std::vector<std::pair<TrialId, TrialResult>> both = {{first, ok_result(6)}, {second, ok_result(8)}};
  CHECK(error_of([&] { return store.update_trials(both); }).code == ErrorCode::Inconsistent);  // one is not finished
  CHECK(store.load_trial(first).stored.trial.estimate == ok_result(3).estimate);
  CHECK(store.exchanges(id).size() == 1);
  store.finish_trial(second, ok_result(4));
  store.update_trials(both);
  CHECK(store.load_trial(first).stored.trial.estimate == ok_result(6).estimate);
  CHECK(store.load_trial(second).stored.trial.estimate == ok_result(8).estimate);
  CHECK(store.exchanges(id).size() == 4);  // told again
}

TEST_CASE("what is written together is there whole or not at all, and is seen meanwhile", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const Store other = open(folder / "n.db", Mode::ReadOnly);
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto measure = [&](std::int64_t number) {
    const auto trial = store.reserve_trial(id, reservation(number));
    CHECK(store.find_trial(id, number)->state == TrialState::Reserved);
    CHECK_FALSE(other.find_trial(id, number));
    store.finish_trial(trial, ok_result(1));
  };
  const auto fail = [&] {
    measure(0);
    throw std::runtime_error("the lights went out");
  };
  CHECK_THAT(error_of([&] { return store.write_together(fail); }).what(),
             Catch::Matchers::ContainsSubstring("the lights went out"));
  CHECK_FALSE(store.find_trial(id, 0));
  CHECK(store.exchanges(id).empty());
  store.write_together([&] { measure(0); });
  CHECK(other.find_trial(id, 0)->state == TrialState::Finished);
  CHECK(other.exchanges(id).size() == 1);
}

TEST_CASE("a finish that fails half-way leaves nothing of itself", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto trial = store.reserve_trial(id, reservation(0));
  std::vector<RunRecord> runs = {run("good"), run("bad")};
  runs[1].fingerprint = "of no machine we know";
  CHECK_THAT(error_of([&] { store.finish_trial(trial, ok_result(1), runs); }).what(),
             Catch::Matchers::ContainsSubstring("of no machine we know"));
  CHECK(error_of([&] { return store.load_run("good"); }).code == ErrorCode::NotFound);
  CHECK(store.exchanges(id).empty());
  CHECK(store.find_trial(id, 0)->state == TrialState::Reserved);
}

TEST_CASE("an equal trial is found in any campaign and reused with its runs", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto first = store.begin_or_resume_campaign(campaign("c", "A")).id;
  const auto source = store.reserve_trial(first, reservation(0));
  const auto second = store.begin_or_resume_campaign(campaign("c", "B")).id;
  CHECK(!store.find_equal_trial(second, "key-0"));  // not finished yet
  const std::vector<RunRecord> runs = {run("r1")};
  store.finish_trial(source, ok_result(6), runs);
  const auto equal = store.find_equal_trial(second, "key-0");
  REQUIRE(equal);
  CHECK(equal->id == source);
  CHECK(!store.find_equal_trial(second, "key-1"));

  const auto reused = store.reuse_trial(second, reservation(0), source);
  const auto detail = store.load_trial(reused);
  CHECK(detail.stored.reused_from == source);
  CHECK(detail.stored.trial.estimate == ok_result(6).estimate);
  CHECK(detail.stored.runs == 1);
  REQUIRE(detail.runs.size() == 1);
  CHECK(detail.runs[0].trial == source);
  CHECK(std::get<Tell>(store.exchanges(second).at(0)).trial.number == 0);

  const auto third = store.begin_or_resume_campaign(campaign("d")).id;
  const auto again = store.reuse_trial(third, reservation(0), reused);
  CHECK(store.load_trial(again).stored.reused_from == source);  // no chains

  CampaignRecord fresh = campaign("c", "A");
  fresh.fresh = true;
  const auto fourth = store.begin_or_resume_campaign(fresh).id;
  CHECK(!store.find_equal_trial(fourth, "key-0"));
}

TEST_CASE("the peak of a trial is that of its own runs, whatever is run or killed later", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto run_of = [](const std::string& id, std::int64_t peak, Purpose purpose, Outcome outcome = Outcome::Ok) {
    RunRecord record = run(id);
    record.run.purpose = purpose;
    record.run.outcome = outcome;
    record.run.memory = nocturne::space::Memory{.peak_rss_bytes = peak, .device_bytes = 0};
    return record;
  };
  const auto first = store.begin_or_resume_campaign(campaign("c", "A")).id;
  const auto trial = store.reserve_trial(first, reservation(0));
  CHECK_FALSE(store.find_trial(first, 0)->trial.peak_bytes);
  store.add_run(trial, run_of("killed", 900, Purpose::Search, Outcome::Killed));
  const std::vector<RunRecord> runs = {run_of("r1", 100, Purpose::Search), run_of("r2", 300, Purpose::Audit)};
  store.finish_trial(trial, ok_result(6), runs);
  store.add_run(trial, run_of("verified", 800, Purpose::Verify));
  CHECK(store.find_trial(first, 0)->trial.peak_bytes == 300);
  CHECK(std::get<Tell>(store.exchanges(first).at(0)).trial.peak_bytes == 300);

  const auto second = store.begin_or_resume_campaign(campaign("c", "B")).id;
  store.reuse_trial(second, reservation(0), trial);
  CHECK(store.find_trial(second, 0)->trial.peak_bytes == 300);
  CHECK(std::get<Tell>(store.exchanges(second).at(0)).trial.peak_bytes == 300);
}

TEST_CASE("what a trial held of a device, and what that has, is read back, and told again", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto run_of = [](const std::string& name, std::int64_t device, Purpose purpose) {
    RunRecord record = run(name);
    record.run.purpose = purpose;
    record.run.memory = nocturne::space::Memory{.peak_rss_bytes = 100, .device_bytes = device};
    record.run.ready = {{"device_memory_bytes", 80}};
    return record;
  };
  const std::vector<RunRecord> on_device = {run_of("r1", 30, Purpose::Search), run_of("r2", 50, Purpose::Audit)};
  const auto trial = store.reserve_trial(id, reservation(0));
  store.finish_trial(trial, ok_result(6), on_device);
  store.add_run(trial, run_of("verified", 70, Purpose::Verify));
  const std::vector<RunRecord> on_host = {run_of("r3", 0, Purpose::Search)};
  store.finish_trial(store.reserve_trial(id, reservation(1)), ok_result(6), on_host);

  const auto log = store.exchanges(id);
  for (const auto& known : {store.find_trial(id, 0)->trial, std::get<Tell>(log.at(0)).trial}) {
    CHECK(known.device_bytes == 50);
    CHECK(known.device_memory_bytes == 80);
    CHECK(known.peak_bytes == 100);
  }
  for (const auto& known : {store.find_trial(id, 1)->trial, std::get<Tell>(log.at(1)).trial}) {
    CHECK_FALSE(known.device_bytes);
    CHECK_FALSE(known.device_memory_bytes);
  }
}

TEST_CASE("an equal trial that went well is preferred to one that failed later", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto first = store.begin_or_resume_campaign(campaign("a")).id;
  const auto good = store.reserve_trial(first, reservation(0));
  store.finish_trial(good, ok_result(6));
  const auto second = store.begin_or_resume_campaign(campaign("b")).id;
  store.finish_trial(store.reserve_trial(second, reservation(0)), failed_result(Outcome::Timeout, "after 60 s"));
  CHECK(store.find_equal_trial(second, "key-0")->id == good);
  CHECK(error_of([&] { return store.reuse_trial(second, reservation(1), good); }).code ==
        ErrorCode::Inconsistent);  // another key
}

TEST_CASE("trials are listed by number, value, outcome, state and configuration", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const std::vector<double> values = {5, 3, 4};
  for (std::int64_t n = 0; n < 3; ++n)
    store.finish_trial(store.reserve_trial(id, reservation(n)), ok_result(values[static_cast<std::size_t>(n)]));
  store.finish_trial(store.reserve_trial(id, reservation(3)), failed_result(Outcome::Crashed, "SIGSEGV"));
  store.reserve_trial(id, reservation(4));
  const auto other = store.begin_or_resume_campaign(campaign("other")).id;
  store.finish_trial(store.reserve_trial(other, reservation(1)), ok_result(1));

  const auto numbers = [&](const TrialFilter& filter) {
    std::vector<std::int64_t> result;
    for (const StoredTrial& stored : store.list_trials(filter)) result.push_back(stored.trial.number);
    return result;
  };
  using V = std::vector<std::int64_t>;
  CHECK(numbers({.campaign = id}) == V{0, 1, 2, 3, 4});
  CHECK(numbers({.campaign = id, .order = TrialFilter::Order::ByValue}) == V{1, 2, 0});
  CHECK(numbers({.campaign = id, .order = TrialFilter::Order::ByValue, .limit = 1}) == V{1});
  CHECK(numbers({.campaign = id, .outcome = Outcome::Crashed}) == V{3});
  CHECK(numbers({.campaign = id, .state = TrialState::Reserved}) == V{4});
  CHECK(numbers({.configuration = configuration(1).identity()}) == V{1, 1});
  CHECK(numbers({}).size() == 6);
  CHECK(store.best(id)->trial.number == 1);
  CHECK_FALSE(store.find_trial(id, 99));
  CHECK(error_of([&] { return store.load_numbered_trial(id, 99); }).code == ErrorCode::NotFound);
  CHECK(error_of([&] { return store.load_trial(99); }).code == ErrorCode::NotFound);
}

TEST_CASE("a campaign without an ok trial has no best one", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  store.finish_trial(store.reserve_trial(id, reservation(0)), failed_result(Outcome::Failed, "exit code 1"));
  CHECK(!store.best(id));
}

TEST_CASE("configurations are shared, and their values can be queried with their types", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store store = open(path);
  for (const char* name : {"a", "b"}) {
    const auto id = store.begin_or_resume_campaign(campaign(name)).id;
    store.reserve_trial(id, reservation(2));
  }
  CHECK(query_number(path, "SELECT count(*) FROM configurations") == 1);
  const auto has = [&](const std::string& condition) {
    return query_number(path, "SELECT count(*) FROM configuration_values WHERE " + condition) == 1;
  };
  CHECK(has("parameter = 'threads' AND value = 2 AND kind = 'integer' AND typeof(value) = 'integer'"));
  CHECK(has("parameter = 'precision' AND value = 'bf16' AND kind = 'text'"));
  CHECK(has("parameter = 'xla' AND value = 1 AND kind = 'boolean'"));
  CHECK(has("parameter = 'scale' AND kind = 'real' AND typeof(value) = 'real'"));
}
