#include "measure/comparison/sequential_comparison.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nocturne::measure {
namespace {

constexpr double kScatter = 0.03;  // sd of the log ratio of a simulated pair

/// What a campaign of comparisons found, whose pairs were drawn.
struct ComparisonDraw {
  std::vector<ComparisonMember> members;
  int pairs = 0;

  [[nodiscard]] bool found(std::size_t member, Verdict verdict) const {
    return members[member].comparison && members[member].comparison->verdict == verdict;
  }
  [[nodiscard]] bool holds(std::size_t member, double truth) const {
    const auto& judged = members[member].comparison;
    return judged && judged->low_percent <= 100 * std::expm1(truth) && 100 * std::expm1(truth) <= judged->high_percent;
  }
};

/// Members with these true log ratios, measured to the end.
ComparisonDraw draw(const std::vector<double>& truths, const ComparisonPolicy& policy, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, kScatter);
  SequentialComparison comparison(std::vector<std::vector<double>>(truths.size()), policy);
  ComparisonDraw drawn;
  while (const auto member = comparison.next()) {
    comparison.tell(truths[*member] + noise(random));
    ++drawn.pairs;
  }
  drawn.members = comparison.members();
  return drawn;
}

/// Tells ratios until the comparison is over, or `stop_after` pairs.
void tell_all(SequentialComparison& comparison, const std::function<double(std::size_t, std::size_t)>& ratio,
              int stop_after = 1000) {
  for (int told = 0; told < stop_after; ++told) {
    const auto member = comparison.next();
    if (!member) return;
    comparison.tell(ratio(*member, comparison.members()[*member].log_ratios.size()));
  }
}

/// A little to either side of a gain, so that the interval has a width.
double near(double gain, std::size_t pair) {
  return gain + (pair % 2 == 0 ? 0.001 : -0.001);
}

}  // namespace

TEST_CASE("that any of several equal members is called different happens in at most one campaign of twenty",
          "[sequential]") {
  std::mt19937_64 random(3);
  int wrong = 0;
  constexpr int kCampaigns = 2000;
  for (int campaign = 0; campaign < kCampaigns; ++campaign) {
    const ComparisonDraw drawn = draw({0, 0, 0, 0, 0}, {.margin_percent = 0}, random);
    bool any = false;
    for (std::size_t i = 0; i < 5; ++i) any = any || drawn.found(i, Verdict::Faster) || drawn.found(i, Verdict::Slower);
    wrong += any ? 1 : 0;
  }
  CAPTURE(wrong);
  CHECK(wrong <= kCampaigns * 0.06);  // 5 %, give or take two standard errors
  CHECK(wrong >= kCampaigns * 0.02);  // and the error is spent, not saved
}

TEST_CASE("the interval at which a member is decided holds the truth in nineteen campaigns of twenty", "[sequential]") {
  std::mt19937_64 random(5);
  for (const double truth : {0.0, 0.02, 0.08}) {
    int missed = 0;
    constexpr int kCampaigns = 2000;
    for (int campaign = 0; campaign < kCampaigns; ++campaign)
      missed += draw({truth}, {.pairs = 6, .most_pairs = 24}, random).holds(0, truth) ? 0 : 1;
    CAPTURE(truth, missed);
    CHECK(missed <= kCampaigns * 0.06);
  }
}

TEST_CASE("members that are decided give their share away, and the rest is still judged rightly", "[sequential]") {
  std::mt19937_64 random(4);
  int wrong = 0, found = 0;
  constexpr int kCampaigns = 1000;
  for (int campaign = 0; campaign < kCampaigns; ++campaign) {
    const ComparisonDraw drawn = draw({0.2, 0, 0.2, 0.2, 0.2}, {.margin_percent = 0}, random);
    wrong += drawn.found(1, Verdict::Faster) || drawn.found(1, Verdict::Slower) ? 1 : 0;
    for (const std::size_t i : {0UL, 2UL, 3UL, 4UL}) found += drawn.found(i, Verdict::Faster) ? 1 : 0;
  }
  CAPTURE(wrong, found);
  CHECK(found >= 4 * kCampaigns * 99 / 100);
  CHECK(wrong <= kCampaigns * 0.065);
  CHECK(wrong >= kCampaigns * 0.025);  // one member alone has all of the error, not a fifth
}

TEST_CASE("each look is as strict as planned, and stricter where several share the error", "[sequential]") {
  const ComparisonPolicy policy{.pairs = 4, .most_pairs = 12, .margin_percent = 0};
  const auto alone = plan_looks(4, 12), shared = plan_looks(4, 12, kComparisonError / 3);
  for (const std::size_t members : {1UL, 3UL}) {
    SequentialComparison comparison(std::vector<std::vector<double>>(members), policy);
    for (const Look& look : members == 1 ? alone : shared) {
      CHECK(comparison.next_look() == look.pairs);
      // Alternating ratios decide nothing.
      tell_all(
          comparison, [](std::size_t, std::size_t pair) { return pair % 2 == 0 ? 1.0 : -1.0; },
          look.pairs * static_cast<int>(members) -
              static_cast<int>(comparison.members()[0].log_ratios.size() * members));
      CHECK(comparison.members()[0].confidence == look.confidence);
      CHECK(comparison.members()[0].state == MemberState::Open);
    }
    CHECK_FALSE(comparison.next());
  }
  CHECK(shared.front().confidence > alone.front().confidence);
}

TEST_CASE("the decided are measured no further, the others up to the most pairs", "[sequential]") {
  SequentialComparison comparison(std::vector<std::vector<double>>(4), {.pairs = 4, .most_pairs = 12});
  tell_all(comparison, [](std::size_t member, std::size_t pair) {
    const std::vector<double> gains = {0.5, -0.3, 0.0};
    return member < 3 ? near(gains[member], pair) : (pair % 2 == 0 ? 0.5 : -0.5);
  });
  const auto& members = comparison.members();
  CHECK(members[0].comparison->verdict == Verdict::Faster);
  CHECK(members[1].comparison->verdict == Verdict::Slower);
  CHECK(members[2].comparison->verdict == Verdict::Same);
  CHECK(members[3].comparison->verdict == Verdict::Undecided);
  CHECK(members[3].state == MemberState::Open);
  for (const std::size_t i : {0UL, 1UL, 2UL}) CHECK(members[i].log_ratios.size() == 4);
  CHECK(members[3].log_ratios.size() == 12);
  CHECK(comparison.open() == 1);
}

TEST_CASE("a round holds each open member once, in an order of its own", "[sequential]") {
  SequentialComparison comparison(std::vector<std::vector<double>>(5), {.pairs = 6, .most_pairs = 6});
  std::set<std::vector<std::size_t>> orders;
  for (int round = 0; round < 6; ++round) {
    std::vector<std::size_t> order;
    for (int i = 0; i < 5; ++i) {
      order.push_back(*comparison.next());
      comparison.tell(near(0, static_cast<std::size_t>(round)));
    }
    orders.insert(order);
    std::ranges::sort(order);
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
  }
  CHECK(orders.size() > 3);
  CHECK_FALSE(comparison.next());
}

TEST_CASE("what was stopped is judged by the pairs there are, as if a look had been planned there", "[sequential]") {
  SequentialComparison early(std::vector<std::vector<double>>(2), {.pairs = 10, .most_pairs = 20});
  tell_all(early, [](std::size_t, std::size_t pair) { return near(0.5, pair); }, 7);
  early.stop();
  CHECK_FALSE(early.next());
  for (const ComparisonMember& each : early.members()) {
    CHECK(each.state == MemberState::Decided);
    CHECK(each.comparison->pairs == static_cast<int>(each.log_ratios.size()));
  }
  SequentialComparison once(std::vector<std::vector<double>>(1), {.pairs = 10, .most_pairs = 20});
  tell_all(once, [](std::size_t, std::size_t) { return 0.5; }, 1);
  once.stop();
  CHECK_FALSE(once.members().front().comparison);  // one pair has no interval
}

TEST_CASE("what is shown between looks is what would be judged if it were stopped there", "[sequential]") {
  const std::vector<double> ratios = {0.04, 0.01, -0.02, 0.03, 0.05, -0.01, 0.06, 0.02, 0.01};
  for (int pairs = 1; pairs <= int(ratios.size()); ++pairs) {
    SequentialComparison comparison(std::vector<std::vector<double>>(2), {.pairs = 6, .most_pairs = 20});
    tell_all(comparison, [&](std::size_t, std::size_t pair) { return ratios[pair]; }, 2 * pairs);
    const auto shown = comparison.so_far(0);
    comparison.stop();
    const auto& judged = comparison.members().front().comparison;
    REQUIRE(shown.has_value() == judged.has_value());
    if (!shown) continue;
    CHECK(shown->pairs == pairs);
    CHECK(shown->low_percent == judged->low_percent);
    CHECK(shown->high_percent == judged->high_percent);
    CHECK(shown->low_percent <
          compare(comparison.members().front().log_ratios).low_percent);  // several looks, two members
  }
}

TEST_CASE("a pair that failed is tried again, and a member whose pairs fail again and again leaves", "[sequential]") {
  SequentialComparison comparison(std::vector<std::vector<double>>(2), {.pairs = 4, .most_pairs = 12});
  std::map<std::size_t, int> asked;
  while (const auto member = comparison.next()) {
    ++asked[*member];
    const std::size_t pairs = comparison.members()[*member].log_ratios.size();
    if (*member == 0 && pairs == 2)
      comparison.tell(PairFailure::Side);
    else
      comparison.tell(*member == 0 ? 0.5 * static_cast<double>(pairs) : near(0.5, pairs));
  }
  CHECK(comparison.members()[0].state == MemberState::Failed);
  CHECK(asked[0] == 2 + 3);
  CHECK(comparison.members()[1].state == MemberState::Decided);
  // The share of one that left undecided is not given away: it was not judged wrongly, and could have been.
  CHECK(comparison.members()[1].confidence == plan_looks(4, 12, kComparisonError / 2).front().confidence);
}

TEST_CASE("two failures between looks are forgiven", "[sequential]") {
  SequentialComparison comparison(std::vector<std::vector<double>>(1),
                                  {.pairs = 2, .most_pairs = 12, .margin_percent = 0});
  int failures = 0;
  std::size_t failed_at = 99;
  const std::set<std::size_t> looks = {0, 2, 4, 6};
  while (comparison.next()) {
    const std::size_t pairs = comparison.members()[0].log_ratios.size();
    if (looks.contains(pairs) && pairs != failed_at) {
      failed_at = pairs;
      ++failures;
      comparison.tell(PairFailure::Side);
    } else {
      comparison.tell(pairs % 2 == 0 ? 1.0 : -1.0);
    }
  }
  CHECK(failures == 4);
  CHECK(comparison.members()[0].state == MemberState::Open);
  CHECK(comparison.members()[0].log_ratios.size() == 12);
}

TEST_CASE("what other hands end is no failure of a member, until they never stop", "[sequential]") {
  SequentialComparison comparison(std::vector<std::vector<double>>(1), {.pairs = 4, .most_pairs = 4});
  int lost = 0;
  while (comparison.next() && lost < 9) {
    comparison.tell(PairFailure::Outside);
    ++lost;
  }
  CHECK(lost == 9);
  CHECK(comparison.members()[0].state == MemberState::Open);
  comparison.tell(near(0.5, 0));
  comparison.tell(PairFailure::Outside);
  CHECK(comparison.members()[0].state == MemberState::Lost);
  CHECK_FALSE(comparison.next());
}

TEST_CASE("a comparison that was interrupted goes on, and does not look again at what it went past", "[sequential]") {
  const ComparisonPolicy policy{.pairs = 6, .most_pairs = 12, .margin_percent = 0};
  std::vector<double> known;
  for (std::size_t pair = 0; pair < 7; ++pair) known.push_back(near(0.5, pair));
  SequentialComparison later({known}, policy);
  REQUIRE(later.next());
  CHECK(later.members()[0].log_ratios.size() == 7);
  CHECK_FALSE(later.members()[0].comparison);  // seven are more than the first look was planned for
  known.resize(6);
  const SequentialComparison decided({known}, policy);
  CHECK_FALSE(decided.next());
  CHECK(decided.members()[0].comparison->verdict == Verdict::Faster);
  known.assign(14, 0.0);
  for (std::size_t pair = 0; pair < known.size(); ++pair) known[pair] = near(0.5, pair);
  CHECK_FALSE(SequentialComparison({known}, policy).next());  // another policy had more: judged at the last look
}

TEST_CASE("a family of nobody is over before it begins", "[sequential]") {
  CHECK_FALSE(SequentialComparison({}).next());
  CHECK_FALSE(SequentialComparison(std::vector<std::vector<double>>(1), {.pairs = 0, .most_pairs = 0}).next());
}

TEST_CASE("several pairs at once never go past the next look, and none is told twice", "[sequential]") {
  const ComparisonPolicy policy{.pairs = 4, .most_pairs = 12, .margin_percent = 0};
  SequentialComparison comparison(std::vector<std::vector<double>>(2), policy);
  std::mt19937_64 random(7);
  std::vector<std::size_t> flights;
  std::vector<int> in_flight(2, 0);
  std::size_t most = 0;
  for (;;) {
    while (const auto next = flights.size() < 3 ? comparison.next_beside(in_flight) : std::nullopt) {
      flights.push_back(*next);
      ++in_flight[*next];
      for (const std::size_t i : {0UL, 1UL}) {
        const auto begun = static_cast<int>(comparison.members()[i].log_ratios.size()) + in_flight[i];
        CHECK(begun <= comparison.next_look());
      }
    }
    most = std::max(most, flights.size());
    if (flights.empty()) break;
    // They end in another order than they began in.
    const auto landed = flights.begin() + static_cast<std::ptrdiff_t>(random() % flights.size());
    const std::size_t member = *landed;
    flights.erase(landed);
    --in_flight[member];
    comparison.tell(member, comparison.members()[member].log_ratios.size() % 2 == 0 ? 1.0 : -1.0, "n1");
  }
  CHECK(most == 3);
  for (const ComparisonMember& each : comparison.members()) {
    CHECK(each.log_ratios.size() == 12);
    CHECK(each.nodes == std::vector<std::string>(12, "n1"));
    CHECK(each.confidence == plan_looks(4, 12, kComparisonError / 2).back().confidence);
  }
}

TEST_CASE("one pair after the other, the next beside none is the next", "[sequential]") {
  SequentialComparison comparison(std::vector<std::vector<double>>(3), {.pairs = 4, .most_pairs = 8});
  const std::vector<int> none(3, 0);
  while (const auto next = comparison.next()) {
    CHECK(comparison.next_beside(none) == next);
    comparison.tell(*next, near(0.02, comparison.members()[*next].log_ratios.size()));
  }
  CHECK_FALSE(comparison.next_beside(none));
}

TEST_CASE("a member whose gain depends on the node is judged over nodes", "[sequential]") {
  const ComparisonPolicy policy{.pairs = 6, .most_pairs = 6, .margin_percent = 0};
  const std::vector<double> ratios = {0.1, 0.2, 0.3, 0.1001, 0.2001, 0.3001};
  const std::vector<std::string> nodes = {"n1", "n2", "n3", "n1", "n2", "n3"};
  SequentialComparison told(std::vector<std::vector<double>>(1), policy);
  for (std::size_t i = 0; i < ratios.size(); ++i) told.tell(0, ratios[i], nodes[i]);
  const SequentialComparison known({ratios}, policy, kComparisonError, 1, {nodes}), here({ratios}, policy);
  for (const SequentialComparison* each : {&std::as_const(told), &known}) {
    CHECK(each->members()[0].comparison->over_nodes);
    CHECK(each->members()[0].state == MemberState::Open);
  }
  CHECK(here.members()[0].comparison->verdict == Verdict::Faster);
}

TEST_CASE("what ends after its member has left is kept and judges nothing", "[sequential]") {
  SequentialComparison comparison(std::vector<std::vector<double>>(1), {.pairs = 6, .most_pairs = 6});
  for (int failure = 0; failure < kMostFailures; ++failure) comparison.tell(0, PairFailure::Side);
  CHECK(comparison.members()[0].state == MemberState::Failed);
  comparison.tell(0, 0.5, "n2");
  comparison.tell(0, PairFailure::Outside);
  CHECK(comparison.members()[0].state == MemberState::Failed);
  CHECK(comparison.members()[0].log_ratios.size() == 1);
  CHECK_FALSE(comparison.next_beside(std::vector<int>(1, 0)));
}

}  // namespace nocturne::measure
