// A night of eight hours with every error once, on a clock that only the test moves. Each session is a process of its
// own, so that one of them can truly be killed; what begins the next one is the user, or cron, ten minutes later.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/db/faulty_disk.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::test {
namespace {

using namespace std::chrono_literals;
using space::Outcome;

/// What happens in which run of the night, counted over all sessions.
enum Disaster : std::size_t {
  kCrash = 2,
  kHang = 4,
  kOutOfMemory = 6,
  kDivergence = 8,
  kTunerKilled = 10,
  kDiskFull = 13,
  kDatabaseLocked = 16,
  kClockForward = 19,
  kClockBack = 20,
  kSuspended = 22,
  kTerminated = 24,
  kPreparationFails = 26,  // the one after so many runs
  kNewContainer = 28,
};

constexpr std::chrono::minutes kRun{6};
constexpr const char* kOldContainer = "sha256:old";
constexpr const char* kNewContainerDigest = "sha256:new";

/// What outlives a session that is killed: time, and what the test counts.
struct Night {
  std::chrono::nanoseconds steady = 10h, wall = std::chrono::seconds(1'700'000'000), slept{};
  std::size_t runs = 0;
  bool refused = false;  // the preparation
  std::optional<tuner::Ending> ending;
  std::optional<db::ErrorCode> error;

  void pass(std::chrono::nanoseconds time) {
    steady += time;
    wall += time;
  }
};

class SharedNight {
 public:
  SharedNight() {
    void* place = ::mmap(nullptr, sizeof(Night), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) throw std::bad_alloc();
    night_ = new (place) Night();
  }
  SharedNight(const SharedNight&) = delete;
  SharedNight& operator=(const SharedNight&) = delete;
  ~SharedNight() { ::munmap(night_, sizeof(Night)); }
  Night* operator->() { return night_; }
  Night& operator*() { return *night_; }

 private:
  Night* night_ = nullptr;
};

class NightClock final : public tuner::Clock {
 public:
  explicit NightClock(const Night& night) : night_(night) {}
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::time_point(night_.steady);
  }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const override {
    return std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(night_.wall));
  }
  [[nodiscard]] std::chrono::nanoseconds slept() const override { return night_.slept; }

 private:
  const Night& night_;
};

/// Until an hour of the day, eight hours after the night begins.
tuner::CampaignSpec eight_hours(const Night& night) {
  const std::time_t end = std::chrono::duration_cast<std::chrono::seconds>(night.wall + 8h).count();
  std::tm parts{};
  ::localtime_r(&end, &parts);
  auto spec = tuner::parse_campaign(fmt::format(R"({{
        "campaign": "night", "workload": {{"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"}},
        "objective": {{"minimise": "time", "epochs": [1, 12]}},
        "space": {{"parameters": [{{"name": "threads", "stage": "run", "range": [1, 500], "default": 4}}]}},
        "strategy": {{"name": "random", "seed": 3}}, "run": {{"deadline": "1h"}},
        "verify": {{"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2,
                    "gate": {{"seeds": 0}}}},
        "budget": {{"until": "{:02}:{:02}"}}}})",
                                                parts.tm_hour, parts.tm_min),
                                    "night.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

std::int64_t threads_of(const space::Configuration& configuration) {
  const space::Value* threads = configuration.find("threads");
  return threads != nullptr ? std::get<std::int64_t>(*threads) : 4;  // the reference has none
}

/// What so many threads find is fast, and wrong.
constexpr std::int64_t kMostRight = 400;

/// The processes of one session, and what befalls them.
class FailingExecutor {
 public:
  FailingExecutor(Night& night, std::filesystem::path database, int session, tuner::Interruption& interruption)
      : night_(night), database_(std::move(database)), interruption_(interruption) {
    fake.id_suffix = std::to_string(session);
    fake.signal = SIGSEGV;
    fake.worker = night.runs > kNewContainer ? kNewContainerDigest : kOldContainer;
    fake.step_seconds = [](const space::Configuration& each) { return 10.0 / static_cast<double>(threads_of(each)); };
    fake.moves = [](const space::Configuration& each) { return threads_of(each) > kMostRight ? 0.0 : 1.0; };
    fake.can_be_built = [this](const space::Configuration&) {
      const bool refused = night_.runs == kPreparationFails && !night_.refused;
      night_.refused = night_.refused || refused;
      return !refused;
    };
    fake.while_in_turns = [this] { night_.pass(2min); };
    fake.fate = [this](std::size_t, const space::Configuration&) { return befalls(night_.runs++); };
  }

  FakeExecutor fake;

 private:
  Outcome befalls(std::size_t run) {
    if (run == kTunerKilled) {
      night_.pass(kRun / 2);
      ::raise(SIGKILL);
    }
    night_.pass(run == kHang ? std::chrono::minutes(60) : kRun);
    switch (run) {
      case kCrash:
        return Outcome::Crashed;
      case kHang:
        return Outcome::Timeout;
      case kOutOfMemory:
        return Outcome::OutOfMemory;
      case kDivergence:
        return Outcome::Diverged;
      case kDiskFull:
        disk_.break_at(1, db::test::Fault::Full);
        return Outcome::Ok;
      case kDatabaseLocked:
        other_ = std::make_unique<SQLite::Database>(database_.string(), SQLite::OPEN_READWRITE);
        other_->exec("BEGIN IMMEDIATE");
        return Outcome::Ok;
      case kClockForward:
        night_.wall += 3h;
        return Outcome::Ok;
      case kClockBack:
        night_.wall -= 3h;
        return Outcome::Ok;
      case kSuspended:
        interruption_.suspend();
        night_.slept += 40min;
        night_.wall += 40min;
        interruption_.resume();
        return Outcome::Killed;
      case kTerminated:
        interruption_.finish();
        return Outcome::Ok;
      case kNewContainer:
        fake.worker = kNewContainerDigest;
        return Outcome::Ok;
      default:
        return Outcome::Ok;
    }
  }

  Night& night_;
  std::filesystem::path database_;
  tuner::Interruption& interruption_;
  db::test::FaultyDisk disk_;
  std::unique_ptr<SQLite::Database> other_;
};

/// In a process of its own; its end stands in the night.
void sit(Night& night, const tuner::CampaignSpec& spec, const std::filesystem::path& folder, int session) {
  const std::filesystem::path database = folder / "night.db";
  tuner::Interruption interruption;
  FailingExecutor executor(night, database, session, interruption);
  auto store = db::Store::open(database, db::Mode::ReadWrite, {.busy_timeout = 20ms});
  tuner::Observer silent;
  const NightClock clock(night);
  tuner::Session sat{.spec = spec,
                     .store = store,
                     .executor = executor.fake,
                     .observer = silent,
                     .clock = clock,
                     .interruption = interruption,
                     .fingerprint_now = {},
                     .slot_folder = folder};
  night.ending = tuner::Campaign(sat, false).run().ending;
}

/// The signal that ended the process, or 0.
int sit_in_a_process(Night& night, const tuner::CampaignSpec& spec, const std::filesystem::path& folder, int session) {
  night.ending.reset();
  night.error.reset();
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      sit(night, spec, folder, session);
    } catch (const db::Error& error) {
      night.error = error.code;
    } catch (...) {
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

std::string word_of_end(int signal, const Night& night) {
  if (signal != 0) return "signal " + std::to_string(signal);
  if (night.error) return "error " + std::to_string(static_cast<int>(*night.error));
  return night.ending ? "ending " + std::to_string(static_cast<int>(*night.ending)) : "nothing";
}

TEST_CASE("a night of eight hours with every error once ends in time, with its answer", "[campaign]") {
  const test::TemporaryFolder folder;
  SharedNight night;
  const tuner::CampaignSpec spec = eight_hours(*night);
  const auto began = night->wall;
  std::vector<std::string> ends;
  while (ends.size() < 10 && (ends.empty() || night->ending != tuner::Ending::Complete)) {
    if (!ends.empty()) night->pass(10min);
    const int signal = sit_in_a_process(*night, spec, folder.path(), static_cast<int>(ends.size()));
    ends.push_back(word_of_end(signal, *night));
  }
  const auto error = [](db::ErrorCode code) { return "error " + std::to_string(static_cast<int>(code)); };
  const auto ending = [](tuner::Ending end) { return "ending " + std::to_string(static_cast<int>(end)); };
  CHECK(ends == std::vector<std::string>{"signal 9", error(db::ErrorCode::Full), error(db::ErrorCode::Locked),
                                         ending(tuner::Ending::Interrupted), ending(tuner::Ending::Complete)});
  CHECK(night->wall - began <= 8h);
  CHECK(night->wall - began > 7h);  // and the time was used

  const auto store = db::Store::open(folder.path() / "night.db", db::Mode::ReadWrite);
  CHECK(store.integrity_check().empty());
  const auto campaign = store.find_campaign("night").value();
  CHECK(campaign.generation == 1);
  CHECK(campaign.finished_unix_ns);

  // The answer: verified, and not one that trains wrongly, though those were the fastest.
  const auto answer = tuner::answer_of(store, campaign);
  REQUIRE(answer.best);
  CHECK(answer.verified_faster());
  CHECK(answer.best_accuracy);
  CHECK(threads_of(answer.best->trial.configuration) <= kMostRight);
  for (const Outcome each :
       {Outcome::Crashed, Outcome::Timeout, Outcome::OutOfMemory, Outcome::Diverged, Outcome::BuildFailed}) {
    INFO(space::to_text(each));
    CHECK(answer.outcomes.contains(each));
    if (answer.outcomes.contains(each)) CHECK(answer.outcomes.at(each) == 1);
  }
  CHECK(answer.outcomes.contains(Outcome::Wrong));

  // Nothing lost, nothing double: the runs that an error took away were run again, under the same number.
  const auto trials = store.list_trials({.campaign = campaign.id});
  std::size_t killed = 0;
  std::set<std::string> containers;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    CAPTURE(i);
    const db::StoredTrial& trial = trials[i];
    CHECK(trial.trial.number == static_cast<std::int64_t>(i));
    CHECK(trial.state == db::TrialState::Finished);
    std::ptrdiff_t measured = 0;
    const auto detail = store.load_trial(trial.id);
    for (const db::StoredRun& run : detail.runs) {
      CHECK_FALSE(run.in_flight);
      if (run.record.run.purpose == space::Purpose::Search) {
        measured += run.record.run.outcome != Outcome::Killed ? 1 : 0;
        killed += run.record.run.outcome == Outcome::Killed ? 1 : 0;
      }
    }
    CHECK(measured == (trial.trial.outcome == Outcome::BuildFailed ? 0 : 1));
    // Each result is filed under the container that it was measured in.
    for (const char* digest : {kOldContainer, kNewContainerDigest}) {
      if (trial.key ==
          tuner::trial_key(spec, trial.trial.configuration, trial.trial.fidelity, digest, space::Fingerprint().key())) {
        containers.insert(digest);
      }
    }
  }
  CHECK(trials.size() > 30);
  CHECK(containers.size() == 2);
  // The tuner that was killed, the full disk, the locked database and the suspension.
  CHECK(killed == 4);

  const auto log = store.events(campaign.id, 1000);
  const auto told = [&](const std::string& begins) {
    return std::ranges::count_if(log, [&](const db::EventRecord& event) { return event.what.starts_with(begins); });
  };
  CHECK(told("resumed: ") == 4);
  CHECK(told("the wall clock was set forward by 3h") == 1);
  CHECK(told("the wall clock was set back by 3h") == 1);
  CHECK(told("the machine slept for 40min") == 1);
}

}  // namespace
}  // namespace nocturne::test
