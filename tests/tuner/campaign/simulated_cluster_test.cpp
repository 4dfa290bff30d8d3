// Campaigns on a simulated cluster, a few of them; by the thousand: nocturne-cluster-survey.

#include "tests/tuner/campaign/simulated_cluster.hpp"

#include <cmath>
#include <cstdint>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/temporary_folder.hpp"

namespace nocturne::test {
namespace {

ClusterCampaign simulate(const ClusterTraits& traits) {
  const TemporaryFolder folder;
  return simulate_campaign(traits, folder.path());
}

}  // namespace

TEST_CASE("a gain of ten percent is found on three of 64 nodes, by pairs at the same time", "[campaign][cluster]") {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const auto campaign = simulate({.planted = std::log1p(0.1), .seed = seed});
    CAPTURE(seed, campaign.verdict, campaign.low, campaign.high, campaign.nodes, campaign.pairs);
    CHECK(campaign.trials >= 96);
    CHECK(campaign.told_twice == 0);
    CHECK(campaign.most_trials_at_once > 32);
    CHECK(campaign.most_pairs_at_once == 3);
    if (!campaign.verdict.empty()) CHECK(campaign.nodes == 3);
    found += campaign.verdict == "faster" && campaign.truth > 0 ? 1 : 0;
  }
  CHECK(found >= 1);
}

TEST_CASE("among equal configurations on 64 nodes, one of them bad, nothing wins", "[campaign][cluster]") {
  int winners = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const auto campaign = simulate({.bad_node = seed % 2 == 0, .seed = seed});
    CHECK(campaign.trials >= 96);
    CHECK(campaign.told_twice == 0);
    winners += campaign.verdict == "faster" ? 1 : 0;
  }
  CHECK(winners <= 1);
}

TEST_CASE("a campaign on many nodes is over sooner by about as many times", "[campaign][cluster]") {
  const auto few = simulate({.nodes = 4, .trials = 64}), many = simulate({.nodes = 32, .trials = 64});
  CHECK(many.most_trials_at_once == 32);
  CHECK(few.most_trials_at_once == 4);
  CHECK(few.lasted > many.lasted);
}

TEST_CASE("a thousand nodes do not break a campaign", "[campaign][cluster]") {
  const auto campaign = simulate({.nodes = 1000, .trials = 200, .strategy = "random"});
  CHECK(campaign.trials >= 200);
  CHECK(campaign.told_twice == 0);
  CHECK(campaign.most_trials_at_once > 190);
}

}  // namespace nocturne::test
