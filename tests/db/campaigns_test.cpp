#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a campaign of equal name and identity is resumed, with budget and strategy as they are now", "[db]") {
  const TemporaryFolder folder;
  CampaignHandle first;
  {
    Store store = open(folder / "n.db");
    first = store.begin_or_resume_campaign(campaign("c"));
    CHECK(!first.resumed);
    CHECK(first.generation == 1);
    CHECK(first.trials == 0);
    store.finish_trial(store.reserve_trial(first.id, reservation(0)), ok_result(3));
    store.reserve_trial(first.id, reservation(1));
    store.finish_campaign(first.id);
    CHECK(store.find_campaign("c")->finished_unix_ns.has_value());
  }
  Store store = open(folder / "n.db");
  CampaignRecord record = campaign("c");
  record.strategy = "local";
  record.seed = 8;
  record.spec = {{"budget", {{"wall", "8h"}}}};
  const auto second = store.begin_or_resume_campaign(record);
  CHECK(second.resumed);
  CHECK(second.id == first.id);
  CHECK(second.trials == 2);
  CHECK(second.finished == 1);
  const auto summary = store.load_campaign("c");
  CHECK(summary.strategy == "local");
  CHECK(summary.seed == 8);
  CHECK(summary.spec == record.spec);
  CHECK(summary.fingerprint == "machine-1");
  CHECK(!summary.finished_unix_ns);
  CHECK(summary.trials == 2);
  CHECK(summary.finished == 1);
  CHECK(summary.ok == 1);
  CHECK(store.parameters(second.id).size() == 2);
}

TEST_CASE("another identity under the same name begins a new generation, and its own again goes back", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto one = store.begin_or_resume_campaign(campaign("c", "A"));
  const auto two = store.begin_or_resume_campaign(campaign("c", "B"));
  CHECK(!two.resumed);
  CHECK(two.generation == 2);
  CHECK(store.find_campaign("c")->id == two.id);
  const auto back = store.begin_or_resume_campaign(campaign("c", "A"));
  CHECK(back.resumed);
  CHECK(back.id == one.id);
  CHECK(store.find_campaign("c")->id == one.id);
  CHECK(store.find_campaign("c", 2)->id == two.id);
  CHECK(store.begin_or_resume_campaign(campaign("d", "A")).generation == 1);
  CHECK(store.list_campaigns().size() == 3);
}

TEST_CASE("fresh begins a new generation of the same identity, which later sessions resume", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  store.begin_or_resume_campaign(campaign("c"));
  CampaignRecord fresh = campaign("c");
  fresh.fresh = true;
  const auto second = store.begin_or_resume_campaign(fresh);
  CHECK(!second.resumed);
  CHECK(second.generation == 2);
  CHECK(store.begin_or_resume_campaign(campaign("c")).id == second.id);
  CHECK(store.find_campaign("c")->fresh);
}

TEST_CASE("parameters come back in their order with every field", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const CampaignRecord record = campaign("c");
  const auto handle = store.begin_or_resume_campaign(record);
  const auto stored = store.parameters(handle.id);
  REQUIRE(stored.size() == record.parameters.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    CHECK(stored[i].name == record.parameters[i].name);
    CHECK(stored[i].stage == record.parameters[i].stage);
    CHECK(stored[i].domain == record.parameters[i].domain);
    CHECK(stored[i].default_value == record.parameters[i].default_value);
    CHECK(stored[i].active_if == record.parameters[i].active_if);
    CHECK(stored[i].unit == record.parameters[i].unit);
    CHECK(stored[i].description == record.parameters[i].description);
  }
}

TEST_CASE("an unknown campaign or generation is answered with what there is", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto refusal = [&](const char* name, std::optional<std::int64_t> generation = {}) -> std::string {
    CHECK_FALSE(store.find_campaign(name, generation));
    const Error error = error_of([&] { return store.load_campaign(name, generation); });
    CHECK(error.code == ErrorCode::NotFound);
    return error.what();
  };
  CHECK_THAT(refusal("c"), ContainsSubstring("nocturne tune"));
  store.begin_or_resume_campaign(campaign("evening"));
  CHECK_THAT(refusal("morning"), ContainsSubstring("'evening'"));
  CHECK_THAT(refusal("evening", 5), ContainsSubstring("newest is 1"));
}

TEST_CASE("a campaign that was not begun here is not written", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto handle = store.begin_or_resume_campaign(campaign("c"));
  const auto trial = store.reserve_trial(handle.id, reservation(0));
  store.release_campaign(handle.id);
  CHECK(error_of([&] { return store.reserve_trial(handle.id, reservation(1)); }).code == ErrorCode::NotOwner);
  CHECK(error_of([&] { return store.finish_trial(trial, ok_result(1)); }).code == ErrorCode::NotOwner);
  CHECK(error_of([&] { return store.add_run(trial, run("r")); }).code == ErrorCode::NotOwner);
  CHECK(error_of([&] { return store.record_ask(handle.id, {}); }).code == ErrorCode::NotOwner);
  CHECK(error_of([&] { return store.recover_interrupted(handle.id); }).code == ErrorCode::NotOwner);
  CHECK(error_of([&] { return store.begin_comparison({.campaign = handle.id}); }).code == ErrorCode::NotOwner);
}

TEST_CASE("a campaign keeps the history it began with, and forgets it where that is wanted", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto old = store.begin_or_resume_campaign(campaign("old"));
  const auto older = store.begin_or_resume_campaign(campaign("older"));
  CampaignRecord record = campaign("c");
  record.history = {{.campaign = old.id, .same = true, .trials = 7},
                    {.campaign = older.id, .same = false, .trials = 3}};
  const auto begun = store.begin_or_resume_campaign(record);
  CHECK(store.history(begun.id) == *record.history);
  CHECK(store.history(old.id).empty());

  record.history = {{.campaign = older.id, .same = true, .trials = 1}};  // finished since: it did not know
  CHECK(store.begin_or_resume_campaign(record).id == begun.id);
  CHECK(store.history(begun.id).size() == 2);

  store.release_campaign(old.id);
  store.remove_campaign(old.id);
  CHECK(store.history(begun.id) == std::vector<HistorySource>{{.campaign = older.id, .same = false, .trials = 3}});

  record.history.reset();
  CHECK(store.begin_or_resume_campaign(record).id == begun.id);
  CHECK(store.history(begun.id).empty());
}
