#include <catch2/catch_test_macros.hpp>

#include "tests/db/child.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;

TEST_CASE("a campaign is removed with all that is its own", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store store = open(path);
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  store.record_ask(id,
                   {.strategy = "random", .count = 1, .answer = {{.number = 0, .configuration = configuration(0)}}});
  const auto trial = store.reserve_trial(id, reservation(0));
  const std::vector<RunRecord> runs = {run("r")};
  store.finish_trial(trial, ok_result(1), runs);
  const auto comparison =
      store.begin_comparison({.campaign = id, .candidate = configuration(0), .baseline = configuration(0)});
  store.add_pair(
      comparison,
      {.candidate_trial = trial, .baseline_trial = trial, .candidate = run("a"), .baseline = run("b"), .slices = {{}}});
  store.save_verdict({.comparison = comparison, .horizon_epochs = 1, .verdict = "same"});
  store.append_event({.campaign = id, .what = "x"});
  store.remove_campaign(id);
  for (const char* table : {"campaigns", "parameters", "configurations", "configuration_values", "trials", "exchanges",
                            "asks", "ask_answers", "tells", "runs", "samples", "phases", "epochs", "comparisons",
                            "pairs", "slices", "verdicts", "events", "leases"}) {
    CAPTURE(table);
    CHECK(query_number(path, std::string("SELECT count(*) FROM ") + table) == 0);
  }
  CHECK(store.integrity_check().empty());
  CHECK(error_of([&] { return store.remove_campaign(id); }).code == ErrorCode::NotFound);
}

TEST_CASE("removing a campaign keeps the runs that others reuse", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto first = store.begin_or_resume_campaign(campaign("c", "A")).id;
  const auto source = store.reserve_trial(first, reservation(0));
  const std::vector<RunRecord> runs = {run("r")};
  store.finish_trial(source, ok_result(1), runs);
  std::vector<TrialId> heirs;
  for (const char* identity : {"B", "C"}) {
    const auto id = store.begin_or_resume_campaign(campaign("c", identity)).id;
    heirs.push_back(store.reuse_trial(id, reservation(0), source));
  }
  store.remove_campaign(first);
  CHECK(!store.load_trial(heirs[0]).stored.reused_from);
  CHECK(store.load_trial(heirs[1]).stored.reused_from == heirs[0]);
  for (const TrialId heir : heirs) {
    const auto detail = store.load_trial(heir);
    REQUIRE(detail.runs.size() == 1);
    CHECK(detail.runs[0].record.run.samples.size() == 3);
  }
  CHECK(store.integrity_check().empty());
}

TEST_CASE("run folders are listed by age, those in use not, and forgotten one by one", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store store = open(path);
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const auto trial = store.reserve_trial(id, reservation(0));
  RunRecord old = run("old");
  old.run.started_unix_ns = 100;
  RunRecord young = run("young");
  young.run.started_unix_ns = 900;
  RunRecord flying = run("flying");
  flying.run.started_unix_ns = 50;
  store.add_run(trial, old);
  store.add_run(trial, young);
  store.begin_run(trial, flying);
  auto folders = store.run_folders(500);
  REQUIRE(folders.size() == 1);
  CHECK(folders[0].run == "old");
  CHECK(folders[0].folder == old.run.folder);
  CHECK(store.run_folders(1000).size() == 2);
  store.forget_run_folder("old");
  CHECK(store.run_folders(500).empty());
  CHECK(store.load_run("old").record.run.samples.size() == 3);
  store.release_campaign(id);
  CHECK(store.run_folders(500).at(0).in_flight);
}

TEST_CASE("compacting gives the room of what was removed back", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store store = open(path);
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const std::vector<RunRecord> runs = {run("r", 20'000)};
  store.finish_trial(store.reserve_trial(id, reservation(0)), ok_result(1), runs);
  store.compact();
  const auto before = std::filesystem::file_size(path);
  store.remove_campaign(id);
  store.compact();
  CHECK(std::filesystem::file_size(path) < before / 2);
  CHECK(store.integrity_check().empty());
}

TEST_CASE("the integrity check finds rows that refer to nothing", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  const Store store = open(path);
  execute_sql(path, "PRAGMA foreign_keys = OFF; INSERT INTO leases VALUES (42, 43, 0)");
  const auto found = store.integrity_check();
  CHECK(found.size() == 2);
}
