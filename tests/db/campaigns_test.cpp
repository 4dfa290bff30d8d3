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
    first = must(store.begin_or_resume_campaign(campaign("c")));
    CHECK(!first.resumed);
    CHECK(first.generation == 1);
    CHECK(first.trials == 0);
    must(store.finish_trial(must(store.reserve_trial(first.id, reservation(0))), ok_result(3)));
    must(store.reserve_trial(first.id, reservation(1)));
    must(store.finish_campaign(first.id));
    CHECK(must(store.find_campaign("c")).finished_unix_ns.has_value());
  }
  Store store = open(folder / "n.db");
  CampaignRecord record = campaign("c");
  record.strategy = "local";
  record.seed = 8;
  record.spec = {{"budget", {{"wall", "8h"}}}};
  const auto second = must(store.begin_or_resume_campaign(record));
  CHECK(second.resumed);
  CHECK(second.id == first.id);
  CHECK(second.trials == 2);
  CHECK(second.finished == 1);
  const auto summary = must(store.find_campaign("c"));
  CHECK(summary.strategy == "local");
  CHECK(summary.seed == 8);
  CHECK(summary.spec == record.spec);
  CHECK(summary.fingerprint == "machine-1");
  CHECK(!summary.finished_unix_ns);
  CHECK(summary.trials == 2);
  CHECK(summary.finished == 1);
  CHECK(summary.ok == 1);
  CHECK(must(store.parameters(second.id)).size() == 2);
}

TEST_CASE("another identity under the same name begins a new generation, and its own again goes back", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto one = must(store.begin_or_resume_campaign(campaign("c", "A")));
  const auto two = must(store.begin_or_resume_campaign(campaign("c", "B")));
  CHECK(!two.resumed);
  CHECK(two.generation == 2);
  CHECK(must(store.find_campaign("c")).id == two.id);
  const auto back = must(store.begin_or_resume_campaign(campaign("c", "A")));
  CHECK(back.resumed);
  CHECK(back.id == one.id);
  CHECK(must(store.find_campaign("c")).id == one.id);
  CHECK(must(store.find_campaign("c", 2)).id == two.id);
  CHECK(must(store.begin_or_resume_campaign(campaign("d", "A"))).generation == 1);
  CHECK(must(store.list_campaigns()).size() == 3);
}

TEST_CASE("fresh begins a new generation of the same identity, which later sessions resume", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  must(store.begin_or_resume_campaign(campaign("c")));
  CampaignRecord fresh = campaign("c");
  fresh.fresh = true;
  const auto second = must(store.begin_or_resume_campaign(fresh));
  CHECK(!second.resumed);
  CHECK(second.generation == 2);
  CHECK(must(store.begin_or_resume_campaign(campaign("c"))).id == second.id);
  CHECK(must(store.find_campaign("c")).fresh);
}

TEST_CASE("parameters come back in their order with every field", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const CampaignRecord record = campaign("c");
  const auto handle = must(store.begin_or_resume_campaign(record));
  const auto stored = must(store.parameters(handle.id));
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
  const auto none = store.find_campaign("c");
  REQUIRE(!none);
  CHECK_THAT(none.error().message, ContainsSubstring("nocturne tune"));
  must(store.begin_or_resume_campaign(campaign("evening")));
  const auto wrong = store.find_campaign("morning");
  REQUIRE(!wrong);
  CHECK(wrong.error().code == ErrorCode::NotFound);
  CHECK_THAT(wrong.error().message, ContainsSubstring("'evening'"));
  const auto generation = store.find_campaign("evening", 5);
  REQUIRE(!generation);
  CHECK_THAT(generation.error().message, ContainsSubstring("newest is 1"));
}

TEST_CASE("a campaign that was not begun here is not written", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto handle = must(store.begin_or_resume_campaign(campaign("c")));
  const auto trial = must(store.reserve_trial(handle.id, reservation(0)));
  must(store.release_campaign(handle.id));
  CHECK(store.reserve_trial(handle.id, reservation(1)).error().code == ErrorCode::NotOwner);
  CHECK(store.finish_trial(trial, ok_result(1)).error().code == ErrorCode::NotOwner);
  CHECK(store.add_run(trial, run("r")).error().code == ErrorCode::NotOwner);
  CHECK(store.record_ask(handle.id, {}).error().code == ErrorCode::NotOwner);
  CHECK(store.recover_interrupted(handle.id).error().code == ErrorCode::NotOwner);
  CHECK(store.begin_comparison({.campaign = handle.id}).error().code == ErrorCode::NotOwner);
}

TEST_CASE("a campaign keeps the history it began with, and forgets it where that is wanted", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto old = must(store.begin_or_resume_campaign(campaign("old")));
  const auto older = must(store.begin_or_resume_campaign(campaign("older")));
  CampaignRecord record = campaign("c");
  record.history = {{.campaign = old.id, .same = true, .trials = 7},
                    {.campaign = older.id, .same = false, .trials = 3}};
  const auto begun = must(store.begin_or_resume_campaign(record));
  CHECK(must(store.history(begun.id)) == *record.history);
  CHECK(must(store.history(old.id)).empty());

  record.history = {{.campaign = older.id, .same = true, .trials = 1}};  // finished since: it did not know
  CHECK(must(store.begin_or_resume_campaign(record)).id == begun.id);
  CHECK(must(store.history(begun.id)).size() == 2);

  must(store.release_campaign(old.id));
  must(store.remove_campaign(old.id));
  CHECK(must(store.history(begun.id)) ==
        std::vector<HistorySource>{{.campaign = older.id, .same = false, .trials = 3}});

  record.history.reset();
  CHECK(must(store.begin_or_resume_campaign(record)).id == begun.id);
  CHECK(must(store.history(begun.id)).empty());
}
