// A campaign over several slots: orders finish in another order than they were given, some are lost, and the tuner is
// killed in between.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign/node_effects.hpp"
#include "tuner/campaign/scheduler.hpp"
#include "tuner/executor/order.hpp"

namespace nocturne::test {
namespace {

using End = tuner::TrialAnswer::End;

constexpr std::size_t kSlots = 4;

tuner::CampaignSpec spec_with(const std::string& strategy) {
  auto spec = tuner::parse_campaign(fmt::format(R"({{
        "campaign": "test", "workload": {{"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"}},
        "objective": {{"minimise": "time", "epochs": [1, 12]}}, "worker": {{"command": ["/bin/true"]}},
        "space": {{"parameters": [
          {{"name": "framework", "stage": "environment", "values": ["ours", "theirs", "old"], "default": "ours"}},
          {{"name": "threads", "stage": "run", "range": [1, 8], "default": 4}},
          {{"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "default": 128}},
          {{"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"}}]}},
        "strategy": {{"name": "{}", "seed": 3}}, "budget": {{"trials": 40}},
        "verify": {{"gate": {{"on": false}}, "accuracy_epochs": 0}}}})",
                                                strategy),
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

/// What the simulated tuner dies of.
struct TunerKilled {};

/// Nodes that answer when they like, always in the same order: of what is in flight, first the trial whose
/// configuration has the smallest identity. Outlives the sessions, as nodes do.
class SimulatedNodes final : public tuner::OrderExecutor {
 public:
  explicit SimulatedNodes(std::int64_t steps) : steps_(steps) {}

  std::set<std::size_t> kills;             ///< the tuner dies when it waits for this answer, counted from 0
  std::map<std::int64_t, int> losses;      ///< how often the order of a trial is still lost
  std::function<void(std::size_t)> after;  ///< called with the number of answers given
  std::vector<std::string> happened;       ///< "ask 3", "tell 2", … each ask once
  std::size_t most_in_flight = 0, submitted = 0;
  /// Node → how many times longer everything takes there; trials go round. Empty: orders have no node.
  std::map<std::string, double> nodes;

  [[nodiscard]] std::size_t slots() const override { return kSlots; }

  void submit(tuner::TrialOrder order) override {
    ++submitted;
    REQUIRE(orders_.size() < kSlots);
    const std::string identity = order.configuration.identity();
    REQUIRE_FALSE(orders_.contains(identity));  // no configuration is in flight twice
    if (asked_.insert(order.number).second) happened.push_back(fmt::format("ask {}", order.number));
    orders_.emplace(identity, std::move(order));
    most_in_flight = std::max(most_in_flight, orders_.size());
  }

  tuner::TrialAnswer next() override {
    if (kills.erase(answers_) > 0) {
      orders_.clear();
      throw TunerKilled();
    }
    const tuner::TrialOrder order = orders_.extract(orders_.begin()).mapped();
    if (losses[order.number]-- > 0) return tuner::TrialAnswer{.number = order.number, .end = End::Lost};
    if (!nodes.empty() && order.number == 0) measure_defaults(order);
    ++answers_;
    happened.push_back(fmt::format("tell {}", order.number));
    if (after) after(answers_);
    auto answer = answer_to(order);
    if (!nodes.empty())
      place(answer, std::next(nodes.begin(), order.number % std::ssize(nodes))->first, space::Purpose::Search);
    return answer;
  }

  std::vector<tuner::DefaultOnNode> take_defaults() override { return std::exchange(defaults_, {}); }

 private:
  /// As it would have been measured on that node.
  void place(tuner::TrialAnswer& answer, const std::string& node, space::Purpose purpose) const {
    answer.node = node;
    answer.machine.emplace().set({.name = "system.host", .value = node, .match = space::Match::Ignore});
    tuner::take_away(-std::log(nodes.at(node)), answer.trial);
    space::Run run;
    run.id = fmt::format("{}-{}", answer.number, node);
    run.purpose = purpose;
    run.outcome = answer.trial.outcome;
    answer.runs.push_back({.run = run, .fingerprint = answer.machine->identity()});
  }

  void measure_defaults(const tuner::TrialOrder& order) {
    for (const auto& [node, slowness] : nodes) {
      if (node == nodes.begin()->first) continue;  // its own trial is there
      tuner::DefaultOnNode each{.node = node, .answer = answer_to(order)};
      place(each.answer, node, space::Purpose::Verify);
      defaults_.push_back(std::move(each));
    }
  }

  [[nodiscard]] tuner::TrialAnswer answer_to(const tuner::TrialOrder& order) const {
    tuner::TrialAnswer answer{.number = order.number};
    answer.trial.number = order.number;
    answer.trial.configuration = order.configuration;
    answer.trial.fidelity = {.steps = steps_};
    answer.reservation = {.number = order.number,
                          .configuration = order.configuration,
                          .fidelity = answer.trial.fidelity,
                          .key = order.configuration.identity()};
    const auto threads = std::get<std::int64_t>(*order.configuration.find("threads"));
    if (threads == 7) {
      answer.trial.outcome = space::Outcome::Crashed;
      answer.trial.reason = "seven";
      return answer;
    }
    const bool is_ours = *order.configuration.find("framework") == space::Value("ours");
    const double step = (is_ours ? 0.02 : 0.05) / std::sqrt(static_cast<double>(threads));
    answer.trial.outcome = space::Outcome::Ok;
    answer.trial.parts = space::Parts{.import = 1, .steps_per_epoch = 100, .steady_step = step};
    answer.trial.estimate =
        space::Estimate{.value = space::total_time(*answer.trial.parts, 12), .standard_error = 0.01, .runs = 1};
    return answer;
  }

  std::int64_t steps_;
  std::map<std::string, tuner::TrialOrder> orders_;  // in flight, by identity of the configuration
  std::set<std::int64_t> asked_;
  std::vector<tuner::DefaultOnNode> defaults_;
  std::size_t answers_ = 0;
};

struct Sessions : SessionFixture<> {
  Sessions(const CampaignFolder& folder, const std::string& strategy)
      : SessionFixture(folder), spec(spec_with(strategy)), nodes(spec.run.steps) {}

  tuner::SessionResult sit() {
    return with_session(spec, [this](tuner::Session& session) {
      session.wanted = enqueued;
      return tuner::Campaign(session, false, &nodes).run();
    });
  }

  /// Sessions until one of them is not killed; then the search has ended, and with it the test's interest.
  tuner::SessionResult sit_until_done() {
    for (;;) {
      try {
        return sit();
      } catch (const TunerKilled&) {
        ++killed;
      }
    }
  }

  /// The stored asks and tells: "ask 3", "tell 2", …
  [[nodiscard]] std::vector<std::string> stored(bool with_configuration = false) const {
    const db::Store store = reading();
    std::vector<std::string> lines;
    const auto exchanges = store.exchanges(store.find_campaign("test").value().id);
    for (const db::Exchange& exchange : exchanges) {
      if (const auto* tell = std::get_if<db::Tell>(&exchange)) {
        lines.push_back(fmt::format("tell {}", tell->trial.number));
        continue;
      }
      const auto& ask = std::get<db::Ask>(exchange);
      if (ask.strategy == "finals") continue;
      REQUIRE(ask.answer.size() == 1);
      lines.push_back(fmt::format("ask {}", ask.answer[0].number));
      if (with_configuration) lines.back() += " " + ask.strategy + " " + ask.answer[0].configuration.canonical();
    }
    return lines;
  }

  tuner::CampaignSpec spec;
  SimulatedNodes nodes;
  std::vector<space::Configuration> enqueued;
  int killed = 0;
};

/// Ends a session with its search.
void end_with_the_search(Sessions& sessions) {
  sessions.nodes.after = [&sessions](std::size_t answers) {
    if (answers == 40) sessions.interruption.finish();
  };
}

constexpr const char* kStrategies[] = {"auto", "model", "random", "local", "genetic", "exhaustive"};

}  // namespace

TEST_CASE("asks and tells of several slots are stored in the order in which they happen", "[campaign][slots]") {
  for (const std::string strategy : kStrategies) {
    INFO(strategy);
    const CampaignFolder folder;
    Sessions sessions(folder, strategy);
    sessions.nodes.losses = {{3, 1}, {11, 2}};
    end_with_the_search(sessions);
    sessions.sit_until_done();
    CHECK(sessions.nodes.most_in_flight == kSlots);
    CHECK(sessions.stored() == sessions.nodes.happened);
    CHECK(std::ranges::count_if(sessions.nodes.happened, [](const auto& each) { return each.starts_with("tell"); }) ==
          40);
    // They did not simply end in the order in which they began.
    std::vector<std::string> tells;
    for (const std::string& each : sessions.nodes.happened)
      if (each.starts_with("tell")) tells.push_back(each);
    std::vector<std::string> in_order;
    for (std::size_t i = 0; i < tells.size(); ++i) in_order.push_back(fmt::format("tell {}", i));
    CHECK(tells != in_order);
  }
}

TEST_CASE("a campaign over several slots that is killed and resumed proposes what an undisturbed one proposes",
          "[campaign][slots]") {
  for (const std::string strategy : kStrategies) {
    INFO(strategy);
    const CampaignFolder undisturbed_folder, folder;
    Sessions undisturbed(undisturbed_folder, strategy), sessions(folder, strategy);
    sessions.nodes.kills = {1, 6, 19, 20, 33};
    for (Sessions* each : {&undisturbed, &sessions}) {
      each->nodes.losses = {{5, 1}};
      space::Configuration wish = each->spec.space.default_configuration();
      wish.set("threads", std::int64_t{2});
      each->enqueued = {wish};
      end_with_the_search(*each);
      each->sit_until_done();
    }
    CHECK(sessions.killed == 5);
    CHECK(sessions.stored(true) == undisturbed.stored(true));
    CHECK(std::ranges::none_of(sessions.watcher.notes,
                               [](const std::string& note) { return note.contains("proposes otherwise"); }));
  }
}

TEST_CASE("trials of slow and fast nodes are told as they would have been on the default's node", "[campaign][slots]") {
  const CampaignFolder folder, equal_folder;
  Sessions sessions(folder, "random"), equal(equal_folder, "random");
  for (Sessions* each : {&sessions, &equal}) {
    each->spec.run.process_sd = 1e-4;  // so that the differences of nodes are no chance
    each->nodes.nodes = {{"n1", 1}, {"n2", 1}, {"n3", 1}};
  }
  sessions.nodes.nodes = {{"n1", 1.05}, {"n2", 1.2}, {"n3", 0.9}};
  for (Sessions* each : {&sessions, &equal}) {
    end_with_the_search(*each);
    each->sit_until_done();
  }
  const auto trials = [](const Sessions& of) {
    const db::Store store = of.reading();
    return store.list_trials({.campaign = store.find_campaign("test").value().id});
  };
  const auto told = trials(sessions), true_times = trials(equal);
  REQUIRE(told.size() == true_times.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    CAPTURE(i);
    REQUIRE(told[i].trial.configuration == true_times[i].trial.configuration);
    if (!told[i].trial.estimate) continue;
    // On n1, where everything takes 5 % longer than nominally.
    CHECK(told[i].trial.estimate->value / true_times[i].trial.estimate->value == Catch::Approx(1.05).epsilon(1e-3));
  }
  CHECK(std::ranges::any_of(sessions.watcher.notes,
                            [](const std::string& note) { return note.contains("the node n2 takes"); }));
  CHECK(std::ranges::none_of(equal.watcher.notes, [](const std::string& note) { return note.contains("the node"); }));
  // The default's runs on the others are kept with its own.
  const db::Store store = sessions.reading();
  const auto runs = store.load_trial(told.front().id).runs;
  CHECK(std::ranges::count_if(runs,
                              [](const auto& each) { return each.record.run.purpose == space::Purpose::Verify; }) == 2);
}

TEST_CASE("an interruption lets the orders in flight finish and gives no more", "[campaign][slots]") {
  const CampaignFolder folder;
  Sessions sessions(folder, "random");
  std::size_t submitted = 0;
  sessions.nodes.after = [&](std::size_t answers) {
    if (answers != 10) return;
    sessions.interruption.finish();
    submitted = sessions.nodes.submitted;
  };
  CHECK(sessions.sit().ending == tuner::Ending::Interrupted);
  CHECK(sessions.nodes.submitted == submitted);
  CHECK(sessions.watcher.numbers.size() == submitted);
}

TEST_CASE("an order that is lost again and again ends the session", "[campaign][slots]") {
  const CampaignFolder folder;
  Sessions sessions(folder, "random");
  sessions.nodes.losses = {{6, 100}};
  CHECK(sessions.sit().ending == tuner::Ending::Interrupted);
  CHECK(sessions.nodes.losses[6] == 100 - tuner::Scheduler::kMostLosses);
  CHECK(std::ranges::find(sessions.watcher.numbers, 6) == sessions.watcher.numbers.end());
}

}  // namespace nocturne::test
