#include "tuner/campaign/history.hpp"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <functional>
#include <optional>

#include "search/history/prior.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign/learned_campaign.hpp"

namespace nocturne::test {
namespace {

constexpr std::string_view kCampaign = R"({
  "campaign": "NAME", "workload": {"network": "NETWORK", "data": "mnist", "optimizer": "adadelta"},
  "objective": {"minimise": "time", "epochs": [1, 12], "primary": PRIMARY},
  "space": {"parameters": [
    {"name": "threads", "stage": "run", "range": [1, 16], "default": 4},
    {"name": "idle", "stage": "run", "range": [1, 8], "default": 1},
    {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"}EXTRA]},
  "worker": {"command": ["/bin/true"]},
  "strategy": {"name": "auto", "seed": SEED, "history": HISTORY},
  "budget": {"trials": TRIALS}, "run": {"deadline": "DEADLINE"},
  "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}
})";

struct CampaignWish {
  std::string name = "first";
  int trials = 12;
  int seed = 3;
  bool history = true;
  std::string network = "mnist_cnn";
  std::string extra;  ///< more parameters
  int primary = 12;
  std::string deadline = "2min";
};

tuner::CampaignSpec spec_of(const CampaignWish& wanted) {
  std::string text(kCampaign);
  const auto put = [&](const std::string& what, const std::string& by) {
    text.replace(text.find(what), what.size(), by);
  };
  put("NAME", wanted.name);
  put("NETWORK", wanted.network);
  put("PRIMARY", std::to_string(wanted.primary));
  put("EXTRA", wanted.extra);
  put("SEED", std::to_string(wanted.seed));
  put("HISTORY", wanted.history ? "true" : "false");
  put("TRIALS", std::to_string(wanted.trials));
  put("DEADLINE", wanted.deadline);
  auto spec = tuner::parse_campaign(text, "history.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

/// bf16 halves the step, threads help to 11 of them, `idle` does nothing.
double step_seconds(const space::Configuration& configuration) {
  const auto threads = static_cast<double>(std::get<std::int64_t>(*configuration.find("threads")));
  const bool bf16 = *configuration.find("precision") == space::Value("bf16");
  return (bf16 ? 0.04 : 0.08) * (0.1 + 1 / threads + 0.02 * std::max(0.0, threads - 11));
}

space::Fingerprint machine(const std::string& name) {
  space::Fingerprint fingerprint;
  fingerprint.set({.name = "cpu.model", .value = name});
  return fingerprint;
}

struct Sessions final : tuner::Observer {
  void note(const std::string& sentence) override { notes.push_back(sentence); }
  void finished(const space::Trial& trial, bool, const tuner::Progress&) override {
    asked.push_back(trial.configuration);
  }

  /// `killed_at`: the run of this session that is killed in flight; -1: none.
  tuner::Ending sit(const CampaignWish& wanted, const std::string& on = "this", int killed_at = -1) {
    FakeExecutor executor;
    executor.step_seconds = step_seconds;
    executor.id_suffix = std::to_string(count_++);
    tuner::SystemClock clock;
    tuner::Interruption interruption;
    executor.fate = [&](std::size_t run, const space::Configuration& configuration) {
      if (times_out(configuration)) return space::Outcome::Timeout;
      if (killed_at < 0 || run < static_cast<std::size_t>(killed_at)) return space::Outcome::Ok;
      interruption.abandon();
      return space::Outcome::Killed;
    };
    const auto spec = spec_of(wanted);
    auto store = db::Store::open(file(), db::Mode::ReadWrite);
    const auto fingerprint = machine(on);
    tuner::Session session{.spec = spec,
                           .store = store,
                           .executor = executor,
                           .observer = *this,
                           .clock = clock,
                           .interruption = interruption,
                           .fingerprint_now = [fingerprint] { return fingerprint; },
                           .fingerprint = fingerprint,
                           .slot_folder = folder.path()};
    return tuner::Campaign(session, false).run().ending;
  }

  [[nodiscard]] db::Store open() const { return db::Store::open(file(), db::Mode::ReadOnly); }
  [[nodiscard]] std::vector<db::HistorySource> choose(const CampaignWish& wanted,
                                                      const std::string& on = "this") const {
    const auto spec = spec_of(wanted);
    return tuner::choose_history(open(), {.document = spec.document, .fingerprint_key = machine(on).key()}, spec.space);
  }
  [[nodiscard]] std::filesystem::path file() const { return folder.path() / "test.db"; }

  std::function<bool(const space::Configuration&)> times_out = [](const auto&) { return false; };
  test::TemporaryFolder folder;
  std::vector<std::string> notes;
  std::vector<space::Configuration> asked;

 private:
  int count_ = 0;
};

}  // namespace

TEST_CASE("finished campaigns of this machine and workload are evidence, all others rank", "[campaign]") {
  Sessions sessions;
  sessions.sit({.name = "first"});
  sessions.sit({.name = "killed"}, "this", 3);
  sessions.sit({.name = "abroad"}, "that");
  sessions.sit({.name = "other", .network = "mnist_mlp"});
  const auto store = sessions.open();
  const auto id = [&](const std::string& name) { return store.find_campaign(name).value().id; };
  const auto sources = sessions.choose({.name = "next"});
  REQUIRE(sources.size() == 3);  // the killed one is not finished
  CHECK(sources[0] == db::HistorySource{.campaign = id("first"), .same = true, .trials = 12});
  CHECK(sources[1] == db::HistorySource{.campaign = id("abroad"), .same = false, .trials = 12});  // same workload
  CHECK(sources[2] == db::HistorySource{.campaign = id("other"), .same = false, .trials = 12});
  CHECK(sessions.choose({.name = "next"}, "that")[0].campaign == id("abroad"));
  // With another parameter nothing that was measured is in the space.
  const auto wider =
      sessions.choose({.name = "next", .extra = R"(, {"name": "more", "stage": "run", "values": ["a", "b"]})"});
  REQUIRE(wider.size() == 3);
  CHECK(std::ranges::none_of(wider, &db::HistorySource::same));
}

TEST_CASE("a second campaign says what it knows and begins with what was best", "[campaign]") {
  Sessions sessions;
  sessions.sit({.name = "first", .trials = 30});
  CHECK(sessions.notes.empty());
  sessions.sit({.name = "abroad", .trials = 10, .seed = 5}, "that");
  REQUIRE(sessions.notes.size() == 1);
  CHECK(sessions.notes[0] == "history: 1 campaign of another machine, workload or space gives a first order");
  sessions.notes.clear();
  sessions.asked.clear();
  sessions.sit({.name = "second", .trials = 6, .seed = 4});
  REQUIRE_FALSE(sessions.notes.empty());
  CHECK(sessions.notes[0] ==
        "history: 1 campaign, 30 trials of this machine and workload; 1 campaign of another machine, workload or space "
        "gives a first order");
  REQUIRE(sessions.asked.size() == 6);
  const auto store = sessions.open();
  const auto best = store.best(store.find_campaign("first").value().id);
  CHECK(sessions.asked[1] == best->trial.configuration);
  const auto events = store.events(store.find_campaign("second").value().id);
  CHECK(std::ranges::count(events, sessions.notes[0], &db::EventRecord::what) == 1);
  const auto learned = tuner::learn_from(store, store.find_campaign("second").value());
  REQUIRE(learned);
  CHECK((*learned)->history == sessions.notes[0]);
  CHECK((*learned)->search->models().prior().holds());
}

TEST_CASE("an order that is right is not given up", "[campaign]") {
  for (int seed = 1; seed <= 10; ++seed) {
    Sessions sessions;
    sessions.sit({.name = "first", .trials = 30});
    sessions.sit({.name = "abroad", .trials = 10, .seed = seed}, "that");
    CAPTURE(seed, sessions.notes);
    CHECK(sessions.notes.size() == 1);  // that there is one
  }
}

TEST_CASE("a killed campaign with history asks what an undisturbed one asks, whatever was finished since",
          "[campaign]") {
  const CampaignWish second{.name = "second", .trials = 16, .seed = 4, .primary = 1};
  Sessions undisturbed;
  undisturbed.sit({.name = "first", .trials = 25});
  undisturbed.sit({.name = "abroad", .trials = 12}, "that");
  undisturbed.asked.clear();
  undisturbed.sit(second);

  Sessions disturbed;
  disturbed.sit({.name = "first", .trials = 25});
  disturbed.sit({.name = "abroad", .trials = 12}, "that");
  disturbed.asked.clear();
  for (int session = 0; disturbed.sit(second, "this", 3) != tuner::Ending::Complete; ++session) {
    REQUIRE(session < 20);
    // Meanwhile the past grows: the campaign must not know.
    const auto asked = disturbed.asked;
    if (session == 1) disturbed.sit({.name = "first", .trials = 28});
    if (session == 2) disturbed.sit({.name = "third", .trials = 10, .seed = 9});
    disturbed.asked = asked;
  }
  CHECK(disturbed.asked == undisturbed.asked);
}

TEST_CASE("without history a campaign asks what it asks of an empty database", "[campaign]") {
  Sessions empty, full;
  empty.sit({.name = "second", .trials = 12, .seed = 4});
  full.sit({.name = "first", .trials = 25});
  full.notes.clear();
  full.asked.clear();
  full.sit({.name = "second", .trials = 12, .seed = 4, .history = false});
  CHECK(full.notes.empty());
  CHECK(full.asked == empty.asked);
  CHECK(full.open().history(full.open().load_campaign("second").id).empty());

  // Taken away later, it is forgotten for good.
  Sessions later;
  later.sit({.name = "first", .trials = 25});
  later.sit({.name = "second", .trials = 12, .seed = 4, .primary = 1}, "this", 4);
  CHECK(later.open().history(later.open().load_campaign("second").id).size() == 1);
  later.notes.clear();
  later.sit({.name = "second", .trials = 12, .seed = 4, .history = false, .primary = 1});
  CHECK(later.open().history(later.open().load_campaign("second").id).empty());
  CHECK(std::ranges::none_of(later.notes, [](const auto& each) { return each.starts_with("history"); }));
}

TEST_CASE("times of the past are those of the present horizon, and of the trials there were then", "[campaign]") {
  Sessions sessions;
  sessions.sit({.name = "first", .trials = 10});
  const auto store = sessions.open();
  const auto id = store.find_campaign("first").value().id;
  const auto history = tuner::load_history(store, {{.campaign = id, .same = true, .trials = 8}},
                                           {.minimise = "time", .epochs = {1, 90}, .primary = 90});
  REQUIRE(history.size() == 1);
  CHECK(history[0].name == "first");
  REQUIRE(history[0].trials.size() == 8);
  for (const auto& trial : history[0].trials)
    CHECK(trial.estimate->value == Catch::Approx(space::total_time(*trial.parts, 90)));
}

TEST_CASE("a timeout of the past is a failure where the run waited about as long as it may now", "[campaign]") {
  const auto is_bf16 = [](const space::Configuration& each) { return *each.find("precision") == space::Value("bf16"); };
  Sessions sessions;
  sessions.times_out = is_bf16;
  sessions.sit({.name = "first", .trials = 20});
  const auto timeouts_of = [&](bool same, std::optional<std::chrono::nanoseconds> hopeless) {
    const auto id = sessions.open().find_campaign("first").value().id;
    const db::HistorySource source{.campaign = id, .same = same, .trials = 20};
    const auto history = tuner::load_history(sessions.open(), {source}, {}, hopeless);
    return std::ranges::count(history.at(0).trials, space::Outcome::Timeout, &space::Trial::outcome);
  };
  const auto timed_out = std::ranges::count_if(sessions.asked, is_bf16);
  REQUIRE(timed_out > 0);
  CHECK(timeouts_of(true, std::chrono::milliseconds(1)) == timed_out);
  CHECK(timeouts_of(true, std::chrono::hours(1)) == 0);  // it did not wait that long
  CHECK(timeouts_of(true, std::nullopt) == 0);
  CHECK(timeouts_of(false, std::chrono::milliseconds(1)) == 0);  // another machine may be faster

  const auto before = sessions.asked;
  const auto asks_again = [&](const CampaignWish& wanted) {
    sessions.asked.clear();
    sessions.sit(wanted);
    return std::ranges::any_of(sessions.asked, [&](const space::Configuration& each) {
      return is_bf16(each) && std::ranges::find(before, each) != before.end();
    });
  };
  CHECK_FALSE(asks_again({.name = "second", .trials = 20, .deadline = "1ms"}));
  CHECK(asks_again({.name = "third", .trials = 20}));  // two minutes are more than they had
}

TEST_CASE("how long is too long to wait again depends on the deadline and the budget", "[campaign]") {
  using namespace std::chrono_literals;
  CHECK(tuner::hopeless_wait({.deadline = 100s}, {}) == 80s);
  CHECK(tuner::hopeless_wait({.deadline = 100s}, {.wall = 1h}) == 80s);
  CHECK(tuner::hopeless_wait({.deadline = 100s}, {.wall = 300s}) == 60s);
}

}  // namespace nocturne::test
