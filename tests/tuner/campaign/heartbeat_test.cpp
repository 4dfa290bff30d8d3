#include "tuner/campaign/heartbeat/heartbeat_writer.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/campaign/heartbeat/observed_status.hpp"
#include "tuner/campaign/observer.hpp"

namespace nocturne::test {
namespace {

using namespace std::chrono_literals;
using tuner::Condition;
using tuner::Heartbeat;
using tuner::ObservedStatus;

tuner::Opening opening() {
  return {.id = 7, .campaign = "night", .generation = 2, .trials_known = 3, .recovery = {}, .strategy = "auto"};
}

space::Configuration configuration() {
  space::Configuration result;
  result.set("batch", std::int64_t{256});
  return result;
}

tuner::Progress progress() {
  space::Trial baseline{.number = 0, .configuration = configuration()},
      best{.number = 4, .configuration = configuration()};
  baseline.estimate = space::Estimate{.value = 30, .standard_error = 1, .runs = 1};
  best.estimate = space::Estimate{.value = 20, .standard_error = 1, .runs = 1};
  return {.finished = 5, .failed = 1, .wanted = {}, .baseline = baseline, .best = best, .elapsed = 60s, .left = 600s};
}

struct Beating {
  test::TemporaryFolder folder;
  ManualClock clock;
  std::filesystem::path database = folder.path() / "n.db";
  [[nodiscard]] std::optional<Heartbeat> read() const {
    return tuner::read_heartbeat(tuner::heartbeat_file(database, 7));
  }
};

/// A process that is gone: another started under this pid since.
db::ProcessIdentity dead_process() {
  db::ProcessIdentity process = db::this_process();
  --process.start_ticks;
  return process;
}

TEST_CASE("a heartbeat tells what the campaign does, and what it knows so far", "[heartbeat]") {
  Beating beating;
  tuner::HeartbeatWriter writer(beating.database, "night.json", beating.clock);
  CHECK_FALSE(beating.read());  // not opened yet
  writer.opened(opening());
  REQUIRE(beating.read());
  CHECK(beating.read()->activity == "opening");
  CHECK(beating.read()->generation == 2);
  CHECK(beating.read()->file == "night.json");
  CHECK(db::life_of(beating.read()->process) == db::Life::Alive);

  writer.preparing(4, configuration());
  CHECK(beating.read()->activity == "preparing");
  writer.running(4, configuration());
  CHECK(beating.read()->doing == "measuring trial 4");
  CHECK(beating.read()->configuration == configuration().to_json());
  const auto before = *beating.read();
  beating.clock.pass(9s);
  writer.progress({});
  CHECK(beating.read()->written_steady_ns == before.written_steady_ns);  // not four times a second
  beating.clock.pass(1s);
  writer.progress({});
  CHECK(beating.read()->written_steady_ns == before.written_steady_ns + 10'000'000'000);
  CHECK(beating.read()->since_steady_ns == before.since_steady_ns);

  writer.finished({.number = 4, .configuration = configuration()}, false, progress());
  const auto after = *beating.read();
  CHECK(after.activity == "choosing");
  CHECK(after.configuration.is_null());
  CHECK(after.finished == 5);
  CHECK(after.failed == 1);
  CHECK(after.last_trial == 4);
  CHECK(after.best_trial == 4);
  CHECK(after.ratio == 1.5);
  CHECK(after.expected_end_unix_ns.value() == after.written_unix_ns + 600'000'000'000);
  writer.choosing(3);
  writer.verifying(0, 4);
  CHECK(beating.read()->doing == "measuring pair 1 of 4 of 3 finalists");
  writer.chosen({});
  writer.verifying(2, 6);
  CHECK(beating.read()->doing == "measuring pair 3 of 6 of the best and the default");
  const auto promised = beating.read()->next_by_steady_ns.value();
  beating.clock.pass(60s);
  writer.pair_finished(3, 6, {});
  CHECK(beating.read()->next_by_steady_ns.value() == promised + 60'000'000'000);
}

TEST_CASE("a wait for the slot has no limit, and afterwards it does what it did", "[heartbeat]") {
  Beating beating;
  tuner::HeartbeatWriter writer(beating.database, "night.json", beating.clock);
  writer.opened(opening());
  writer.verifying(0, 6);
  CHECK(beating.read()->next_by_steady_ns);
  writer.waiting_for_slot({.cpu = 0, .pid = 42, .campaign = "other", .since_unix_s = 0});
  writer.waiting_for_slot({.cpu = 0, .pid = 43, .campaign = "third", .since_unix_s = 0});
  CHECK(beating.read()->activity == "waiting");
  CHECK(beating.read()->doing.find("'third' (process 43)") != std::string::npos);
  CHECK_FALSE(beating.read()->next_by_steady_ns);
  writer.slot_taken({});
  CHECK(beating.read()->activity == "finals");
  CHECK(beating.read()->doing == "measuring pair 1 of 6 of the best and the default");
  CHECK(beating.read()->next_by_steady_ns);
}

TEST_CASE("a run that outlives its deadline is told at once, and until something else begins", "[heartbeat]") {
  Beating beating;
  tuner::HeartbeatWriter writer(beating.database, "night.json", beating.clock);
  writer.opened(opening());
  writer.running(4, configuration());
  const auto tell = [&](std::chrono::nanoseconds elapsed) {
    beating.clock.pass(1s);
    writer.progress({.phase = {}, .loss = {}, .elapsed = elapsed, .deadline = 60s});
    return beating.read()->overdue_ns;
  };
  CHECK_FALSE(tell(59s));
  CHECK_FALSE(tell(62s));  // its supervisor may be ending it
  CHECK(tell(64s) == 4'000'000'000);
  writer.finished({.number = 4, .configuration = configuration()}, false, progress());
  CHECK_FALSE(beating.read()->overdue_ns);
}

TEST_CASE("a pair may be as silent as it may last", "[heartbeat]") {
  Beating beating;
  tuner::HeartbeatWriter writer(beating.database, "night.json", beating.clock);
  tuner::Opening slow = opening();
  slow.longest_pair = 61min;
  writer.opened(slow);
  writer.verifying(0, 6);
  const auto beat = beating.read();
  REQUIRE(beat);
  REQUIRE(beat->next_by_steady_ns);
  CHECK(std::chrono::nanoseconds(*beat->next_by_steady_ns - beat->written_steady_ns) > 61min);
}

TEST_CASE("the last heartbeat says how the session ended", "[heartbeat]") {
  Beating beating;
  {
    tuner::HeartbeatWriter writer(beating.database, "night.json", beating.clock);
    writer.opened(opening());
    writer.end("interrupted", "ended by the user");
    CHECK(beating.read()->ended());
    CHECK(beating.read()->ending == "interrupted");
    writer.running(9, configuration());  // nobody hears of it any more
  }
  CHECK(beating.read()->ending == "interrupted");
  CHECK(beating.read()->because == "ended by the user");
  {
    tuner::HeartbeatWriter(beating.database, "night.json", beating.clock).opened(opening());
  }
  CHECK(beating.read()->ending == "error");  // destroyed without a word
}

TEST_CASE("a heartbeat that is torn, foreign or cannot be written is none, and no error", "[heartbeat]") {
  Beating beating;
  const auto file = tuner::heartbeat_file(beating.database, 7);
  tuner::HeartbeatWriter writer(beating.database, "night.json", beating.clock);
  writer.opened(opening());
  REQUIRE(beating.read());
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  CHECK_FALSE(beating.read());
  for (const char* text : {"", "[]", "{}", "null", R"({"campaign": 3, "activity": [], "process": {"pid": "x"}})"}) {
    std::ofstream(file, std::ios::trunc) << text;
    CHECK_FALSE(beating.read());
  }
  std::ofstream(file, std::ios::trunc) << std::string(1 << 20, ' ') << "{}";
  CHECK_FALSE(beating.read());
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  CHECK_FALSE(beating.read());
  writer.running(4, configuration());  // cannot replace a folder
  CHECK_FALSE(beating.read());
  CHECK_FALSE(std::filesystem::exists(file.string() + ".new"));
}

TEST_CASE("a heartbeat survives its way through the file", "[heartbeat]") {
  Beating beating;
  tuner::HeartbeatWriter writer(beating.database, "night.json", beating.clock);
  writer.opened(opening());
  writer.finished({.number = 4, .configuration = configuration()}, false, progress());
  writer.running(5, configuration());
  const nlohmann::json document = tuner::to_json(*beating.read());
  CHECK(tuner::to_json(*tuner::heartbeat_from_json(document)) == document);
  CHECK(document.size() > 18);
}

TEST_CASE("the condition of a campaign follows from database, heartbeat and process", "[heartbeat]") {
  Heartbeat beat;
  beat.process = db::this_process();
  beat.activity = "measuring";
  beat.next_by_steady_ns = 1000;
  const ObservedStatus alive{.finished_unix_ns = {},
                             .owner_pid = beat.process.pid,
                             .heartbeat = beat,
                             .writer = db::Life::Alive,
                             .stopped = false,
                             .steady_ns = 1000};
  CHECK(tuner::condition_of(alive) == Condition::Running);

  auto stalled = alive;
  stalled.supervisor = {.pid = 4711, .state = 'T'};
  CHECK(tuner::condition_of(stalled) == Condition::Stalled);
  stalled.stopped = true;
  CHECK(tuner::condition_of(stalled) == Condition::Stopped);  // it must be continued first

  auto overdue = alive;
  overdue.supervisor = {.pid = 4711, .state = 'S'};
  CHECK(tuner::condition_of(overdue) == Condition::Running);
  overdue.heartbeat->overdue_ns = 5'000'000'000;
  CHECK(tuner::condition_of(overdue) == Condition::Overdue);
  overdue.supervisor->state = 'T';
  CHECK(tuner::condition_of(overdue) == Condition::Stalled);

  auto silent = alive;
  silent.steady_ns = 1001;
  CHECK(tuner::condition_of(silent) == Condition::Hanging);
  silent.heartbeat->next_by_steady_ns.reset();
  CHECK(tuner::condition_of(silent) == Condition::Running);  // waits for something without a limit
  silent = alive;
  silent.steady_ns = 1001;
  silent.stopped = true;
  CHECK(tuner::condition_of(silent) == Condition::Stopped);

  auto other = alive;  // the database names another process, which has not written a heartbeat
  other.owner_pid = beat.process.pid + 1;
  other.steady_ns = 5000;
  CHECK(tuner::condition_of(other) == Condition::Running);
  other.heartbeat.reset();
  CHECK(tuner::condition_of(other) == Condition::Running);

  auto gone = alive;
  gone.owner_pid.reset();
  gone.writer = db::Life::Dead;
  CHECK(tuner::condition_of(gone) == Condition::Died);
  gone.heartbeat->activity = "ended";
  CHECK(tuner::condition_of(gone) == Condition::Interrupted);
  gone.heartbeat.reset();
  CHECK(tuner::condition_of(gone) == Condition::Interrupted);
  gone.finished_unix_ns = 5;
  CHECK(tuner::condition_of(gone) == Condition::Finished);
  auto late = alive;  // the campaign is complete and given back, its process writes the profile
  late.owner_pid.reset();
  CHECK(tuner::condition_of(late) == Condition::Running);
}

TEST_CASE("the last word before a kill is known, that of a living or ended tuner is none", "[heartbeat]") {
  Beating beating;
  CHECK_FALSE(tuner::last_word_before_kill(beating.database, 7));
  const auto file = tuner::heartbeat_file(beating.database, 7);
  Heartbeat beat;
  beat.campaign = "night";
  beat.activity = "measuring";
  beat.written_unix_ns = 12345;
  beat.process = db::this_process();
  REQUIRE(tuner::write_heartbeat(file, beat));
  CHECK_FALSE(tuner::last_word_before_kill(beating.database, 7));
  beat.process = dead_process();
  REQUIRE(tuner::write_heartbeat(file, beat));
  CHECK(tuner::last_word_before_kill(beating.database, 7) == 12345);
  beat.activity = "ended";
  REQUIRE(tuner::write_heartbeat(file, beat));
  CHECK_FALSE(tuner::last_word_before_kill(beating.database, 7));
}

TEST_CASE("what was found after a kill is one line", "[heartbeat]") {
  CHECK(tuner::to_text(tuner::Recovery{}).empty());
  CHECK(tuner::to_text(tuner::Recovery{.trials = {3}}) ==
        "The last session ended in trial 3: it runs again; all that was finished is kept");
  CHECK(tuner::to_text(tuner::Recovery{.trials = {3}, .runs = 1, .processes = 1}) ==
        "Found after a kill: trial 3 was in flight and runs again, 1 run is marked as killed, 1 process left over was "
        "ended; all that was finished is kept");
  CHECK(tuner::to_text(tuner::Recovery{.trials = {3, 4}, .runs = 2, .processes = 2, .control_groups = 1}) ==
        "Found after a kill: trials 3, 4 were in flight and run again, 2 runs are marked as killed, 2 processes and 1 "
        "control group left over were ended; all that was finished is kept");
  const std::string timed = tuner::to_text(tuner::Recovery{.killed_about_unix_ns = 1'700'000'000'000'000'000});
  CHECK(timed.starts_with("Found after a kill at about "));
  CHECK(timed.ends_with(": no trial was in flight; all that was finished is kept"));
}

}  // namespace
}  // namespace nocturne::test
