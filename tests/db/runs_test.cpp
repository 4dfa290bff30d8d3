#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using nocturne::space::Outcome;

namespace {

void check_equal(const nocturne::space::Run& a, const nocturne::space::Run& b) {
  CHECK(a.id == b.id);
  CHECK(a.purpose == b.purpose);
  CHECK(a.outcome == b.outcome);
  CHECK(a.reason == b.reason);
  CHECK(a.exit_code == b.exit_code);
  CHECK(a.signal == b.signal);
  CHECK(a.folder == b.folder);
  CHECK(a.command == b.command);
  CHECK(a.artifact == b.artifact);
  CHECK(a.started_unix_ns == b.started_unix_ns);
  CHECK(a.wall == b.wall);
  CHECK(a.cpu == b.cpu);
  CHECK(a.seed == b.seed);
  CHECK(a.ready == b.ready);
  CHECK(a.phases == b.phases);
  CHECK(a.samples == b.samples);
  CHECK(a.epochs == b.epochs);
  CHECK(a.curve == b.curve);
  CHECK(a.norms == b.norms);
  CHECK(a.accuracy == b.accuracy);
  CHECK(a.memory == b.memory);
  CHECK(a.device == b.device);
  CHECK(a.load == b.load);
  CHECK(a.log_tail == b.log_tail);
}

struct Begun {
  TemporaryFolder folder;
  Store store = open(folder / "n.db");
  CampaignId campaign_id = store.begin_or_resume_campaign(campaign("c")).id;
  TrialId trial = store.reserve_trial(campaign_id, reservation(0));
};

}  // namespace

TEST_CASE("a run comes back with every field", "[db]") {
  Begun begun;
  RunRecord record = run("r");
  SECTION("all filled") {}
  SECTION("all that is optional empty") {
    record = {};
    record.run.id = "r";
  }
  SECTION("ended by a signal") {
    record.run.outcome = Outcome::Crashed;
    record.run.exit_code.reset();
    record.run.signal = 11;
    record.run.reason = "SIGSEGV";
  }
  SECTION("output that is no text") {
    record.run.log_tail = std::string("\xff\xfe torn \xc3", 9) + '\0' + std::string("after NUL \x80");
    record.run.command = "caf\xe9 \xf0\x9f\x8c\x99";
    record.run.reason = "\xed\xa0\x80";
  }
  SECTION("extreme numbers") {
    record.run.samples = {{.first_step = std::numeric_limits<std::int64_t>::max(),
                           .steps = std::numeric_limits<std::int64_t>::min(),
                           .wall = std::chrono::nanoseconds::max(),
                           .cpu = std::chrono::nanoseconds::min(),
                           .data_wait = {},
                           .loss = std::numeric_limits<double>::denorm_min()},
                          {.loss = std::numeric_limits<double>::infinity()},
                          {.loss = 0.1}};
  }
  begun.store.add_run(begun.trial, record);
  const StoredRun stored = begun.store.load_run("r");
  CHECK(stored.trial == begun.trial);
  CHECK(!stored.in_flight);
  CHECK(stored.record.fingerprint == record.fingerprint);
  check_equal(stored.record.run, record.run);
}

TEST_CASE("a ready event with bytes that are no text is stored with them replaced", "[db]") {
  Begun begun;
  RunRecord record = run("r");
  record.run.ready = {{"device", "GPU \xff"}};
  begun.store.add_run(begun.trial, record);
  CHECK(begun.store.load_run("r").record.run.ready.at("device") == "GPU \xef\xbf\xbd");
}

TEST_CASE("a device that tells only its name is stored, too, and goes with its run", "[db]") {
  Begun begun;
  RunRecord record = run("r");
  record.run.device = nocturne::space::DeviceReport{.name = "Silent", .readings = 1};
  begun.store.add_run(begun.trial, record);
  CHECK(begun.store.load_run("r").record.run.device == record.run.device);
  begun.store.finish_trial(begun.trial, ok_result(1));
  CHECK(query_number(begun.folder / "n.db", "SELECT count(*) FROM device_reports") == 1);
  begun.store.release_campaign(begun.campaign_id);
  begun.store.remove_campaign(begun.campaign_id);
  CHECK(query_number(begun.folder / "n.db", "SELECT count(*) FROM device_reports") == 0);
}

TEST_CASE("a run in flight is known as killed until its result replaces it", "[db]") {
  Begun begun;
  RunRecord record = run("r");
  begun.store.begin_run(begun.trial, record);
  const auto in_flight = begun.store.load_run("r");
  CHECK(in_flight.in_flight);
  CHECK(in_flight.record.run.outcome == Outcome::Killed);
  CHECK(in_flight.record.run.folder == record.run.folder);
  begun.store.finish_trial(begun.trial, ok_result(1), std::span(&record, 1));
  const auto stored = begun.store.load_run("r");
  CHECK(!stored.in_flight);
  check_equal(stored.record.run, record.run);
}

TEST_CASE("a run that ended stays as it is", "[db]") {
  Begun begun;
  RunRecord record = run("r");
  begun.store.add_run(begun.trial, record);
  const std::vector<RunRecord> listed = {record, run("another")};
  begun.store.finish_trial(begun.trial, ok_result(1), listed);
  CHECK(begun.store.load_trial(begun.trial).runs.size() == 2);
  record.run.outcome = Outcome::Failed;
  CHECK(error_of([&] { return begun.store.add_run(begun.trial, record); }).code == ErrorCode::Inconsistent);
  const auto other = begun.store.reserve_trial(begun.campaign_id, reservation(1));
  CHECK(error_of([&] { return begun.store.add_run(other, run("r")); }).code == ErrorCode::Inconsistent);
  CHECK(begun.store.load_run("r").record.run.outcome == Outcome::Ok);
}

TEST_CASE("a run of 50,000 samples comes back sample by sample", "[db]") {
  Begun begun;
  const RunRecord record = run("long", 50'000);
  begun.store.finish_trial(begun.trial, ok_result(1), std::span(&record, 1));
  CHECK((begun.store.load_run("long").record.run.samples == record.run.samples));
}

TEST_CASE("runs of the gate are found by their seed, whatever the campaign", "[db]") {
  Begun begun;
  const auto add = [&](const std::string& id, nocturne::space::Purpose purpose, Outcome outcome, std::int64_t seed) {
    RunRecord record = run(id);
    record.run.purpose = purpose;
    record.run.outcome = outcome;
    record.run.seed = seed;
    begun.store.add_run(begun.trial, record);
  };
  using nocturne::space::Purpose;
  add("second", Purpose::Gate, Outcome::Ok, 1001);
  add("first", Purpose::Gate, Outcome::Ok, 1000);
  add("failed", Purpose::Gate, Outcome::Crashed, 1000);
  add("beyond", Purpose::Gate, Outcome::Ok, 1002);
  add("searched", Purpose::Search, Outcome::Ok, 1001);
  const auto found = begun.store.gate_runs(1000, 2);
  REQUIRE(found.size() == 2);
  CHECK(found[0].stored.record.run.id == "first");
  CHECK(found[1].stored.record.run.id == "second");
  CHECK(found[1].stored.record.run.samples.size() == 3);
  CHECK(found[0].campaign == begun.campaign_id);
  CHECK(found[0].spec == campaign("c").spec);
}

TEST_CASE("when processes ran is read without what they measured, in the order of their start", "[db]") {
  Begun begun;
  RunRecord late = run("late"), early = run("early");
  early.run.started_unix_ns = late.run.started_unix_ns - 5;
  early.run.purpose = nocturne::space::Purpose::Gate;
  early.run.load.other_cpu.reset();
  begun.store.add_run(begun.trial, late);
  begun.store.add_run(begun.trial, early);
  begun.store.begin_run(begun.trial, run("begun"));
  const auto spans = begun.store.run_spans(begun.campaign_id);
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].id == "early");
  CHECK(spans[0].purpose == nocturne::space::Purpose::Gate);
  CHECK(spans[0].started_unix_ns == early.run.started_unix_ns);
  CHECK_FALSE(spans[0].other_cpu);
  CHECK(spans[1].id == "late");
  CHECK(spans[1].wall == late.run.wall);
  CHECK(spans[1].outcome == late.run.outcome);
  CHECK(spans[1].other_cpu == late.run.load.other_cpu);
  CHECK(spans[1].steal == late.run.load.steal);
  CHECK(spans[2].id == "begun");
  CHECK(spans[2].in_flight);
  CHECK(begun.store.run_spans(begun.campaign_id + 1).empty());
}
