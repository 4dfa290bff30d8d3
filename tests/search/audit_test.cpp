#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "search/model/audit.hpp"
#include "space/random.hpp"

namespace nocturne::search::model {

TEST_CASE("the evidence against the nominal rate is the mixture computed by hand", "[model]") {
  Audit audit;
  CHECK(audit.evidence() == Catch::Approx(1));
  audit.tell(true, false);
  // The integral of p over (0.05, 0.5], divided by 0.45 · 0.05.
  CHECK(audit.evidence() == Catch::Approx((0.25 - 0.0025) / 2 / (0.45 * 0.05)));
  Audit other;
  other.tell(false, false);
  CHECK(other.evidence() == Catch::Approx((0.95 * 0.95 - 0.25) / 2 / (0.45 * 0.95)));
}

TEST_CASE("the evidence does not drown in rounding of many audits with few failures", "[model]") {
  Audit none;
  for (int i = 0; i < 2000; ++i) none.tell(false, false);
  // As above; 0.5 to the power of 2001 is nothing.
  CHECK(none.evidence() == Catch::Approx(0.95 / (0.45 * 2001)).epsilon(1e-9));
}

TEST_CASE("a calibrated model seldom raises an alarm, however long it is audited", "[model]") {
  int alarmed = 0;
  constexpr int kCampaigns = 1500;
  for (std::uint64_t campaign = 0; campaign < kCampaigns; ++campaign) {
    space::Random random(17, campaign);
    Audit audit;
    for (int i = 0; i < 300; ++i) audit.tell(random.unit() < Audit::kNominal, false);
    alarmed += audit.alarms() > 0;
  }
  // At most alpha; three standard errors of the share above it.
  CHECK(alarmed <= (Audit::kAlpha + 3 * std::sqrt(Audit::kAlpha / kCampaigns)) * kCampaigns);
}

TEST_CASE("a model whose bounds fail one time in five is found out, and widened", "[model]") {
  int early = 0;
  int late = 0;
  constexpr int kCampaigns = 300;
  for (std::uint64_t campaign = 0; campaign < kCampaigns; ++campaign) {
    space::Random random(18, campaign);
    Audit audit;
    for (int i = 0; i < 300; ++i) {
      audit.tell(random.unit() < 0.2, false);
      if (i == 49) early += audit.alarms() > 0;
    }
    late += audit.alarms() > 0;
    CHECK((audit.alarms() > 0) == (audit.widening() > 1));
  }
  CHECK(early > 0.5 * kCampaigns);
  CHECK(late > 0.98 * kCampaigns);
}

TEST_CASE("intervals are widened until the audits hold", "[model]") {
  // Normal errors, intervals half as wide as they should be: the bound at 5 % then fails 20.5 % of the time.
  const auto failure_rate = [](double widening) { return 0.5 * std::erfc(1.6449 * 0.5 * widening / std::sqrt(2)); };
  REQUIRE(failure_rate(1) == Catch::Approx(0.205).margin(0.001));
  space::Random random(19);
  Audit audit;
  for (int i = 0; i < 3000; ++i) audit.tell(random.unit() < failure_rate(audit.widening()), false);
  CHECK(audit.widening() > 1.7);
  CHECK(audit.widening() < 2.0 * Audit::kWider);
}

TEST_CASE("Clopper and Pearson's limits are those of their tables", "[model]") {
  const auto none = clopper_pearson(0, 20, 0.9);
  CHECK(none.lower == 0);
  CHECK(none.upper == Catch::Approx(1 - std::pow(0.05, 1.0 / 20)));
  const auto some = clopper_pearson(2, 10, 0.95);
  CHECK(some.lower == Catch::Approx(0.0252).margin(1e-4));
  CHECK(some.upper == Catch::Approx(0.5561).margin(1e-4));
  CHECK(clopper_pearson(0, 0).upper == 1);
}

TEST_CASE("one trial in twenty is an audit", "[model]") {
  Audit audit;
  int audits = 0;
  for (std::size_t trials = 0; trials < 200; ++trials) {
    if (!audit.due(trials)) continue;
    ++audits;
    audit.drew();
  }
  CHECK(audits == 9);  // of 200 trials: the first when 35 are known
  CHECK_FALSE(Audit().due(34));
  CHECK(Audit().due(35));
  audit.tell(false, true);
  CHECK(audit.misses() == 1);
  CHECK(audit.miss_rate().upper == 1);
}

}  // namespace nocturne::search::model
