#include "tuner/deploy/family_verification.hpp"

#include <map>
#include <random>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using deploy::Finding;

namespace {

/// A profile whose pairs say that it is `gain` faster, in logarithms, with that scatter.
class PretendedProfile final : public deploy::FamilyMember {
 public:
  PretendedProfile(double gain, std::uint64_t seed, double scatter = 0.01)
      : gain_(gain), random_(seed), noise_(0, scatter) {}

  std::expected<bool, std::string> measure_up_to(std::int64_t pairs) override {
    if (fails_after && std::ssize(ratios_) >= *fails_after) return false;
    while (std::ssize(ratios_) < pairs) ratios_.push_back(gain_ + noise_(random_));
    return true;
  }
  [[nodiscard]] std::int64_t pairs() const override { return std::ssize(ratios_); }
  [[nodiscard]] std::chrono::nanoseconds pair_time() const override { return std::chrono::seconds(10); }
  std::expected<std::vector<double>, std::string> log_ratios() override { return ratios_; }

  std::optional<std::int64_t> fails_after;

 private:
  double gain_;
  std::mt19937_64 random_;
  std::normal_distribution<double> noise_;
  std::vector<double> ratios_;
};

}  // namespace

TEST_CASE("each profile of a machine is judged, and the decided are measured no further", "[family]") {
  PretendedProfile good(0.5, 1), gone(0.0, 2), lost(-0.3, 3), close(0.004, 4, 0.05);
  const auto findings = deploy::verify_family({&good, &gone, nullptr, &lost, &close}, {.pairs = 4, .most_pairs = 12});
  REQUIRE(findings.size() == 5);
  CHECK(findings[0].finding == Finding::Holds);
  CHECK(good.pairs() == 4);
  CHECK(findings[2].finding == Finding::NotMeasured);
  CHECK(findings[2].because.empty());  // who could not open it knows why
  CHECK(findings[3].finding == Finding::DoesNotHold);
  CHECK_THAT(findings[3].because, ContainsSubstring("slower than the default"));
  CHECK(lost.pairs() == 4);
  CHECK(findings[4].finding == Finding::NotMeasured);
  CHECK_THAT(findings[4].because, ContainsSubstring("12 pairs do not tell"));
  CHECK(findings[1].finding != Finding::Holds);
}

TEST_CASE("profiles are measured in rounds, so that an interrupted test says something of each", "[family]") {
  PretendedProfile a(0.5, 1), b(0.5, 2), c(0.5, 3);
  std::map<std::size_t, int> begun;
  int pairs = 0;
  const auto findings = deploy::verify_family({&a, &b, &c}, {.pairs = 10,
                                                             .most_pairs = 20,
                                                             .interrupted = [&] { return pairs >= 9; },
                                                             .measuring =
                                                                 [&](std::size_t index, std::int64_t, std::size_t) {
                                                                   ++begun[index];
                                                                   ++pairs;
                                                                 }});
  CHECK(begun == std::map<std::size_t, int>{{0, 3}, {1, 3}, {2, 3}});
  for (const auto& each : findings) {
    REQUIRE(each.comparison);
    CHECK(each.comparison->pairs == 3);
    CHECK(each.finding == Finding::Holds);  // 65 % with a scatter of 1 %: three pairs tell
  }
}

TEST_CASE("no pair is begun for which there is no time", "[family]") {
  PretendedProfile a(0.5, 1), b(0.0, 2);
  std::chrono::nanoseconds left = std::chrono::seconds(25);
  const auto findings =
      deploy::verify_family({&a, &b}, {.pairs = 6,
                                       .most_pairs = 20,
                                       .time_for = [&](auto work) { return work <= left; },
                                       .measuring = [&](auto...) { left -= std::chrono::seconds(10); }});
  CHECK(a.pairs() + b.pairs() == 2);
  CHECK(findings[0].finding == Finding::NotMeasured);
  CHECK_THAT(findings[0].because, ContainsSubstring("the time is over before there were two pairs"));
}

TEST_CASE("a profile that fails again and again is no finding, and holds up nobody", "[family]") {
  PretendedProfile broken(0.5, 1), good(0.5, 2);
  broken.fails_after = 2;
  const auto findings = deploy::verify_family({&broken, &good}, {.pairs = 6, .most_pairs = 12});
  CHECK(findings[0].finding == Finding::NotMeasured);
  CHECK_THAT(findings[0].because, ContainsSubstring("pair after pair failed"));
  CHECK(findings[1].finding == Finding::Holds);
}
