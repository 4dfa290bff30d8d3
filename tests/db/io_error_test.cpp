#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/db/faulty_disk.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using nocturne::space::Outcome;

namespace {

constexpr std::int64_t kTrials = 3;

struct Sat {
  std::vector<std::int64_t> acknowledged;  ///< trials that were reported as finished
  std::optional<Error> error;              ///< that ended it
};

/// Opens, resumes and finishes what is missing, until it is told of an error: then it ends, as a tuner does.
Sat sit(const std::filesystem::path& path, const std::string& who) {
  Sat sat;
  try {
    auto store = Store::open(path, Mode::ReadWrite);
    const auto handle = store.begin_or_resume_campaign(campaign("c"));
    store.recover_interrupted(handle.id);
    for (std::int64_t number = handle.finished; number < kTrials; ++number) {
      const auto trial = store.reserve_trial(handle.id, reservation(number));
      const RunRecord record = run(who + "-" + std::to_string(number), 40);
      store.begin_run(trial, record);
      store.finish_trial(trial, ok_result(1), std::span(&record, 1));
      sat.acknowledged.push_back(number);
    }
    store.release_campaign(handle.id);
  } catch (const Error& error) {
    sat.error = error;
  }
  return sat;
}

std::vector<StoredTrial> finished_in(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return {};
  const auto store = Store::open(path, Mode::ReadWrite);
  CHECK(store.integrity_check().empty());
  return store.list_trials({.state = TrialState::Finished});
}

}  // namespace

TEST_CASE("a disk that breaks at any write loses nothing that was acknowledged, and the campaign goes on", "[db]") {
  const Fault fault = GENERATE(Fault::Once, Fault::ForGood, Fault::Torn, Fault::Full);
  CAPTURE(static_cast<int>(fault));
  FaultyDisk disk;
  // The first kind at every one; the others, which differ from it in what comes after, at every third.
  const int stride = fault == Fault::Once ? 1 : 3;
  int at = 0, told = 0;
  for (bool broke = true; broke;) {
    CAPTURE(at += stride);
    const TemporaryFolder folder;
    const auto path = folder / "n.db";
    disk.break_at(at, fault);
    const Sat first = sit(path, "first");
    broke = disk.fix();
    told += first.error ? 1 : 0;
    if (first.error) {
      CAPTURE(first.error->what());
      const auto expected = fault == Fault::Full ? ErrorCode::Full : ErrorCode::Io;
      CHECK(first.error->code == expected);
      CHECK(std::string(first.error->what()).find(path.string()) != std::string::npos);
    } else {
      CHECK(first.acknowledged.size() == kTrials);  // what failed was work that can be done later
    }

    const auto stored = finished_in(path);
    for (const std::int64_t number : first.acknowledged)
      CHECK(std::ranges::count(stored, number, [](const StoredTrial& each) { return each.trial.number; }) == 1);
    // The process that could not give its lease back is gone; here it is this one.
    if (first.error && std::filesystem::exists(path)) execute_sql(path, "DELETE FROM leases");
    const Sat second = sit(path, "second");
    if (second.error) FAIL(second.error->what());
    const auto all = finished_in(path);
    REQUIRE(all.size() == kTrials);
    const Store store = open(path, Mode::ReadOnly);
    for (const StoredTrial& trial : all) {
      const auto runs = store.load_trial(trial.id).runs;
      CHECK(std::ranges::count(runs, Outcome::Ok, [](const auto& each) { return each.record.run.outcome; }) == 1);
      CHECK(runs.back().record.run.samples.size() == 40);
    }
  }
  CHECK(at > 100);            // so many writes, truncations and syncs there were
  CHECK(told > 50 / stride);  // most of them before something was acknowledged
}
