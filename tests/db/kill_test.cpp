#include <csignal>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "tests/db/child.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using nocturne::space::Outcome;

namespace {

CampaignRecord as_child(const std::string& name) {
  return {.name = name, .identity = "identity-of-" + name, .strategy = "random", .seed = 1};
}

}  // namespace

TEST_CASE("a process killed between reservation and finish leaves a trial that is run again, the same", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Child child("die-after-reservation", path, {"c"});
  CHECK(child.rest().empty());
  REQUIRE(child.wait().signal == SIGKILL);

  Store store = open(path);
  CHECK(store.integrity_check().empty());
  const auto handle = store.begin_or_resume_campaign(as_child("c"));
  CHECK(handle.resumed);
  CHECK(handle.trials == 1);
  CHECK(handle.finished == 0);
  const auto [interrupted, in_flight] = store.recover_interrupted(handle.id);
  REQUIRE(interrupted.size() == 1);
  CHECK(in_flight == 1);
  CHECK(interrupted[0].trial.number == 0);
  nocturne::space::Configuration same;
  same.set("threads", std::int64_t{0});
  CHECK(interrupted[0].trial.configuration == same);
  const auto killed = store.load_run("c-0");
  CHECK(!killed.in_flight);
  CHECK(killed.record.run.outcome == Outcome::Killed);
  CHECK(!killed.record.run.reason.empty());

  TrialReservation wrong = reservation(0);
  CHECK(error_of([&] { return store.reserve_trial(handle.id, wrong); }).code == ErrorCode::Inconsistent);
  TrialReservation again{.number = 0, .configuration = same, .fidelity = {.steps = 40}, .key = "0"};
  const auto trial = store.reserve_trial(handle.id, again);
  CHECK(trial == interrupted[0].id);
  CHECK(store.recover_interrupted(handle.id).trials.empty());  // it is ours now
  store.finish_trial(trial, ok_result(1));
  CHECK(store.load_trial(trial).runs.size() == 1);
}

TEST_CASE("a process killed at any statement of finish leaves the whole trial or nothing of it", "[db]") {
  int statement = 0;  // 0: while it commits
  for (bool survived = false; !survived; ++statement) {
    CAPTURE(statement);
    const TemporaryFolder folder;
    const auto path = folder / "n.db";
    Child child("die-inside", path, {"c", std::to_string(statement)});
    survived = child.rest() == "survived\n";
    REQUIRE((survived || child.wait().signal == SIGKILL));
    Store store = open(path);
    CHECK(store.integrity_check().empty());
    const auto handle = store.begin_or_resume_campaign(as_child("c"));
    CHECK(store.recover_interrupted(handle.id).trials.size() == (survived ? 0 : 1));
    CHECK(store.exchanges(handle.id).size() == (survived ? 1 : 0));
    CHECK(store.load_numbered_trial(handle.id, 0).runs == (survived ? 1 : 0));
  }
  CHECK(statement > 15);  // the run, 5 samples, the trial and the tell alone are more than ten
}

TEST_CASE("a tuner killed again and again ends with what it would have done undisturbed", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  constexpr int kKills = 12;
  std::size_t so_far = 0;
  for (int kills = 0; kills < kKills; ++kills) {
    Child child("tune", path, {"c", "1000000"});  // it does not come to an end before it is killed
    std::optional<std::string> last;
    for (int lines = 0; lines <= kills % 7; ++lines) last = child.line();
    child.kill();
    CHECK(child.wait().signal == SIGKILL);
    REQUIRE(last);
    CAPTURE(*last);
    REQUIRE(last->starts_with("finished "));
    const Store store = open(path, Mode::ReadOnly);
    REQUIRE(store.integrity_check().empty());
    so_far = store.list_trials({.state = TrialState::Finished}).size();
    REQUIRE(so_far > std::stoul(last->substr(9)));  // nothing that was reported is lost
  }
  const std::size_t wanted = so_far + 3;
  Child undisturbed("tune", path, {"c", std::to_string(wanted)});
  CHECK(undisturbed.rest().ends_with("finished " + std::to_string(wanted - 1) + "\n"));
  Store store = open(path);
  const auto trials = store.list_trials({});
  REQUIRE(trials.size() == wanted);
  const auto log = store.exchanges(trials[0].campaign);
  const auto outcome = [](const StoredRun& stored) { return stored.record.run.outcome; };
  REQUIRE(log.size() == wanted);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    CHECK(trials[i].trial.number == static_cast<std::int64_t>(i));
    CHECK(std::get<Tell>(log[i]).trial.number == static_cast<std::int64_t>(i));
    const auto runs = store.load_trial(trials[i].id).runs;
    CHECK(std::ranges::count(runs, Outcome::Ok, outcome) == 1);
    CHECK(std::ranges::count(runs, Outcome::Killed, outcome) == static_cast<std::ptrdiff_t>(runs.size()) - 1);
    CHECK(runs.back().record.run.samples.size() == 20);
  }
}
