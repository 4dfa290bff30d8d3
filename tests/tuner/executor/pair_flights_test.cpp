// Pairs on several nodes at once: which node measures which, and what is told of them.

#include "tuner/executor/pair_flights.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tuner/executor/pair_driver.hpp"

namespace nocturne::test {
namespace {

using tuner::OrderEnd;
using tuner::PairEnd;
using tuner::PairsEnd;

/// Nodes that measure nothing; of the pairs under way that of the last node ends first.
class FakeNodes final : public tuner::OrderExecutor {
 public:
  explicit FakeNodes(std::vector<std::string> names) : names_(std::move(names)) {}

  std::function<OrderEnd(const std::string& node, std::size_t count)> fate = [](auto...) { return OrderEnd::Finished; };
  std::size_t most = 0, given = 0;
  std::map<std::string, std::vector<std::int64_t>> orders;  ///< indices of each node's, as given

  void lose(const std::string& node) { std::erase(names_, node); }

  [[nodiscard]] std::size_t slots() const override { return std::max<std::size_t>(names_.size(), 1); }
  void submit(tuner::TrialOrder /*order*/) override { FAIL("no trial is measured here"); }
  tuner::TrialAnswer next() override { return {}; }
  [[nodiscard]] std::vector<std::string> pair_nodes() const override { return names_; }
  void submit_pair(const std::string& node, tuner::PairOrder order) override {
    REQUIRE_FALSE(under_way_.contains(node));
    REQUIRE(std::ranges::find(names_, node) != names_.end());
    orders[node].push_back(order.index);
    under_way_.emplace(node, order.index);
    most = std::max(most, under_way_.size());
  }
  tuner::PairOnNode next_pair() override {
    REQUIRE_FALSE(under_way_.empty());
    const auto last = under_way_.extract(std::prev(under_way_.end()));
    return {.node = last.key(), .index = last.mapped(), .answer = {.end = fate(last.key(), given++)}};
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::int64_t> under_way_;
};

/// Pairs whose ratio is a function of the node and of how many it had.
class NodeSeries final : public tuner::PairSeries {
 public:
  explicit NodeSeries(std::function<double(const std::string&, std::size_t)> ratio) : ratio_(std::move(ratio)) {}

  int measured_here = 0;
  bool stopped = false;
  mutable std::vector<double> saved;  ///< confidences

  PairEnd measure_pair() override {
    ++measured_here;
    return keep("");
  }
  tuner::PairOrder next_order(bool candidate_first) override {
    indices_.insert(next_ + (next_ % 2 == (candidate_first ? 1 : 0) ? 0 : 1));
    next_ = *indices_.rbegin() + 1;
    return {.index = *indices_.rbegin()};
  }
  PairEnd take(tuner::PairOnNode ended) override {
    CHECK(indices_.erase(ended.index) == 1);
    if (ended.answer.end != OrderEnd::Finished) return PairEnd::Lost;
    return keep(ended.node);
  }
  [[nodiscard]] std::vector<double> log_ratios() const override { return ratios_; }
  [[nodiscard]] std::vector<std::string> nodes() const override { return nodes_; }
  [[nodiscard]] std::chrono::nanoseconds pair_time() const override { return {}; }
  void save_verdicts(double confidence) const override { saved.push_back(confidence); }
  [[nodiscard]] bool interrupted() const override { return stopped; }
  [[nodiscard]] tuner::OrderObserver& observer() const override { return observer_; }
  [[nodiscard]] std::int64_t on(const std::string& node) const { return std::ranges::count(nodes_, node); }

 private:
  PairEnd keep(const std::string& node) {
    ratios_.push_back(ratio_(node, static_cast<std::size_t>(on(node))));
    nodes_.push_back(node);
    return PairEnd::Stored;
  }

  std::function<double(const std::string&, std::size_t)> ratio_;
  std::set<std::int64_t> indices_;
  std::int64_t next_ = 0;
  std::vector<double> ratios_;
  std::vector<std::string> nodes_;
  mutable tuner::OrderObserver observer_;
};

double always_faster(const std::string& /*node*/, std::size_t pair) {
  return pair % 2 == 0 ? 0.101 : 0.1;
}
double never_told(const std::string& /*node*/, std::size_t pair) {
  return pair % 2 == 0 ? 1 : -1;
}

constexpr measure::ComparisonPolicy kPolicy = {.pairs = 6, .most_pairs = 12, .margin_percent = 1};

PairsEnd run(NodeSeries& series, FakeNodes& nodes) {
  auto driver = tuner::PairDriver::open({&series}, kPolicy);
  return driver.run({.nodes = &nodes});
}

}  // namespace

TEST_CASE("pairs of a comparison are spread evenly over three nodes and measured at once", "[pairs][nodes]") {
  FakeNodes nodes({"n1", "n2", "n3", "n4"});
  NodeSeries series(always_faster);
  CHECK(run(series, nodes) == PairsEnd::Complete);
  CHECK(nodes.most == 3);
  for (const std::string node : {"n1", "n2", "n3"}) {
    CAPTURE(node);
    CHECK(series.on(node) == 2);
    // Each side was first once.
    CHECK(nodes.orders[node][0] % 2 != nodes.orders[node][1] % 2);
  }
  CHECK(series.log_ratios().size() == 6);
  CHECK(series.measured_here == 0);
  CHECK_FALSE(series.saved.empty());
}

TEST_CASE("on two nodes, and on one, as many pairs are measured as anywhere", "[pairs][nodes]") {
  for (const std::vector<std::string>& names : {std::vector<std::string>{"n1"}, std::vector<std::string>{"n1", "n2"}}) {
    FakeNodes nodes(names);
    NodeSeries series(never_told);
    CHECK(run(series, nodes) == PairsEnd::Complete);
    CHECK(series.log_ratios().size() == 12);
    CHECK(nodes.most == names.size());
    for (const std::string& name : names) CHECK(series.on(name) == 12 / std::ssize(names));
  }
}

TEST_CASE("a comparison goes on on the nodes that it began on", "[pairs][nodes]") {
  NodeSeries series(never_told);
  for (const std::string node : {"n7", "n5"}) {
    const auto order = series.next_order(false);
    CHECK(series.take({.node = node, .index = order.index}) == PairEnd::Stored);
  }
  FakeNodes nodes({"n1", "n2", "n5", "n7"});
  CHECK(run(series, nodes) == PairsEnd::Complete);
  CHECK(nodes.orders.size() == 3);
  for (const std::string node : {"n1", "n5", "n7"}) CHECK(series.on(node) == 4);
}

TEST_CASE("nodes that are to be avoided measure only where others are too few", "[pairs][nodes]") {
  for (const std::size_t others : {2UL, 3UL}) {
    CAPTURE(others);
    std::vector<std::string> names = {"n1", "n2"};  // to be avoided
    for (std::size_t i = 0; i < others; ++i) names.push_back("other" + std::to_string(i));
    FakeNodes nodes(names);
    NodeSeries series(always_faster);
    auto driver = tuner::PairDriver::open({&series}, kPolicy);
    CHECK(driver.run({.nodes = &nodes, .avoided = {"n2", "n1"}}) == PairsEnd::Complete);
    CHECK(series.on("n1") == (others == 2 ? 2 : 0));
    CHECK(series.on("n2") == 0);
    CHECK(series.on("other0") == 2);
  }
}

TEST_CASE("a pair that its node loses is measured again, and a node that is left out is replaced", "[pairs][nodes]") {
  FakeNodes nodes({"n1", "n2", "n3", "n4"});
  int lost = 0;
  nodes.fate = [&](const std::string& node, std::size_t) {
    if (node != "n2") return OrderEnd::Finished;
    if (++lost == 3) nodes.lose("n2");
    return OrderEnd::Lost;
  };
  NodeSeries series(never_told);
  CHECK(run(series, nodes) == PairsEnd::Complete);
  CHECK(lost == 3);
  CHECK(series.log_ratios().size() == 12);
  CHECK(series.on("n2") == 0);
  CHECK(series.on("n4") > 0);
}

TEST_CASE("where every node is lost the rest is measured here", "[pairs][nodes]") {
  FakeNodes nodes({"n1", "n2"});
  nodes.fate = [&](const std::string& node, std::size_t count) {
    if (count >= 2) nodes.lose(node);
    return OrderEnd::Finished;
  };
  NodeSeries series(never_told);
  CHECK(run(series, nodes) == PairsEnd::Complete);
  CHECK(series.log_ratios().size() == 12);
  CHECK(series.measured_here > 0);
}

TEST_CASE("what is under way when time or the user ends a comparison is waited for and counts", "[pairs][nodes]") {
  for (const bool by_user : {true, false}) {
    CAPTURE(by_user);
    FakeNodes nodes({"n1", "n2", "n3"});
    NodeSeries series(never_told);
    nodes.fate = [&](const std::string&, std::size_t count) {
      series.stopped = by_user && count >= 1;
      return OrderEnd::Finished;
    };
    int asked = 0;
    auto driver = tuner::PairDriver::open({&series}, kPolicy);
    const auto end = driver.run({.time_for = [&](auto...) { return by_user || ++asked <= 4; }, .nodes = &nodes});
    CHECK(end == (by_user ? PairsEnd::Interrupted : PairsEnd::OutOfTime));
    CHECK(series.log_ratios().size() == 4);
    CHECK(nodes.given == 4);
  }
}

TEST_CASE("a race over nodes measures up to three pairs at once, none twice at a time on one node", "[pairs][nodes]") {
  FakeNodes nodes({"n1", "n2", "n3", "n4"});
  const std::vector<double> gains = {0, 0.05, 0.3, 0.1, 0.02, 0.01};
  measure::Race race(std::vector<measure::Entrant>(gains.size(), {.error = 0.2}), {}, 1);
  std::map<std::pair<std::size_t, std::size_t>, NodeSeries> series;
  const auto end = tuner::run_race(race, {.pairs_of = [&](const measure::RacePair& pair) -> tuner::PairSeries& {
                                            return series
                                                .try_emplace({pair.first, pair.second},
                                                             [&gains, pair](const std::string&, std::size_t) {
                                                               return gains[pair.first] - gains[pair.second];
                                                             })
                                                .first->second;
                                          },
                                          .most_pairs = 40,
                                          .nodes = &nodes});
  CHECK(end == PairsEnd::Complete);
  CHECK(race.leader() == 2);
  CHECK(nodes.most == 3);
  CHECK(race.pairs() == static_cast<int>(nodes.given));
}

TEST_CASE("a race whose pairs are lost on every node ends, and nobody is blamed", "[pairs][nodes]") {
  FakeNodes nodes({"n1", "n2", "n3"});
  nodes.fate = [](auto...) { return OrderEnd::Lost; };
  measure::Race race(std::vector<measure::Entrant>(2, {.error = 0.2}), {}, 1);
  NodeSeries series(always_faster);
  const auto end = tuner::run_race(
      race, {.pairs_of = [&](const measure::RacePair&) -> tuner::PairSeries& { return series; }, .nodes = &nodes});
  CHECK(end == PairsEnd::Complete);
  const auto given = static_cast<int>(nodes.given);
  CHECK((given >= measure::kMostLosses && given < measure::kMostLosses + 3));
  CHECK_FALSE((race.has_left(0) || race.has_left(1)));
}

}  // namespace nocturne::test
