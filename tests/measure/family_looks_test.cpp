#include "measure/comparison/family_looks.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "measure/comparison/comparison.hpp"

namespace nocturne::measure {
namespace {

/// Members with true log ratios; how many pairs all of them took, and which were found faster.
struct Judged {
  std::vector<bool> faster;
  int pairs = 0;
};

/// The sequential test on simulated pairs with sd 0.03; found is what its whole interval says.
Judged judge(FamilyLooks& looks, const std::vector<double>& truths, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, 0.03);
  std::vector<std::vector<double>> ratios(truths.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < truths.size(); ++i) open.push_back(i);
  Judged judged{.faster = std::vector<bool>(truths.size(), false)};
  const std::size_t count = looks.plan(truths.size()).size();
  for (std::size_t look = 0; look < count && !open.empty(); ++look) {
    for (const std::size_t i : open) {
      while (std::ssize(ratios[i]) < looks.plan(open.size())[look].pairs) {
        ratios[i].push_back(truths[i] + noise(random));
        ++judged.pairs;
      }
    }
    for (bool again = true; again;) {
      again = false;
      for (const std::size_t i : std::vector(open)) {
        const auto found = compare(ratios[i], {.confidence = looks.plan(open.size())[look].confidence});
        if (found.low_percent <= 0) continue;
        judged.faster[i] = true;
        std::erase(open, i);
        again = !open.empty();
      }
    }
  }
  return judged;
}

}  // namespace

TEST_CASE("each of several members has its share of the error, and all of it when it is alone", "[family_looks]") {
  FamilyLooks looks(6, 20);
  const auto alone = plan_looks(6, 20);
  REQUIRE(std::ranges::equal(looks.plan(1), alone));
  for (std::size_t open = 2; open <= 5; ++open) {
    const auto plan = looks.plan(open), fewer = looks.plan(open - 1);
    REQUIRE(plan.size() == alone.size());
    for (std::size_t i = 0; i < plan.size(); ++i) {
      CHECK(plan[i].pairs == alone[i].pairs);
      CHECK(plan[i].confidence > fewer[i].confidence);
    }
  }
}

TEST_CASE("that any of several equal programs is called faster happens in at most one case of twenty",
          "[family_looks]") {
  FamilyLooks looks(6, 20);
  std::mt19937_64 random(3);
  int wrong = 0;
  constexpr int kFamilies = 2000;
  for (int family = 0; family < kFamilies; ++family) {
    const auto judged = judge(looks, {0, 0, 0, 0, 0}, random);
    wrong += std::ranges::find(judged.faster, true) != judged.faster.end() ? 1 : 0;
  }
  CAPTURE(wrong);
  CHECK(wrong <= kFamilies * 0.05);  // half of it: only one side counts here
  CHECK(wrong > 0);
}

TEST_CASE("members that are decided give their share away, and the rest is still judged rightly", "[family_looks]") {
  FamilyLooks looks(6, 20);
  std::mt19937_64 random(4);
  int wrong = 0, found = 0;
  constexpr int kFamilies = 1000;
  for (int family = 0; family < kFamilies; ++family) {
    const auto judged = judge(looks, {0.2, 0, 0.2, 0.2, 0.2}, random);
    wrong += judged.faster[1] ? 1 : 0;
    found += static_cast<int>(std::ranges::count(judged.faster, true)) - (judged.faster[1] ? 1 : 0);
  }
  CAPTURE(wrong, found);
  CHECK(found >= 4 * kFamilies * 99 / 100);
  CHECK(wrong <= kFamilies * 0.05);
  CHECK(wrong > 0);  // the share of the four is used, not lost: one member alone has all of the error
}

}  // namespace nocturne::measure
