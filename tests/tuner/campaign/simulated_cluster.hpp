#pragma once

/// A campaign from its first trial to its verdict on a cluster that is simulated: nodes of one class that differ,
/// drift, lose orders and measure with the noise of a real machine (equal_configurations.hpp), on a clock that moves
/// from one answer to the next. All of the campaign is real but for its workers: loop, strategy, database, finals.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace nocturne::test {

struct ClusterTraits {
  std::size_t nodes = 64;
  std::size_t pair_nodes = 64;  ///< of these, that take pairs: the first ones
  double planted = 0;           ///< ln(T_default / T) of every configuration with the lever; of the others 0
  double node_sd = 0.08;        ///< of ln of what everything takes on a node
  double drift = 0.02;          ///< height of the wave, some minutes long, in which that changes
  double interaction_sd = 0;    ///< of ln of what a node does to one configuration and not to the others
  double lost = 0.02;           ///< share of orders that a preemption ends
  double crashing = 0.02;       ///< share of configurations that crash
  /// The fourth node takes 40 % longer, scatters four times as much in pairs, and loses every tenth order. It is one of
  /// those by which the gain is measured, as the first three choose.
  bool bad_node = false;
  std::chrono::nanoseconds trial = std::chrono::seconds(10);  ///< that one takes on an average node
  std::int64_t trials = 96;
  std::string strategy = "auto";
  std::uint64_t seed = 1;
};

struct ClusterCampaign {
  std::string verdict;       ///< of the best: faster, …; empty: the default is the best, or there is none
  double truth = 0;          ///< ln(T_default / T) of it
  double low = 0, high = 0;  ///< ends of its interval of that; 0: there is no verdict
  int nodes = 1;             ///< that the verdict names
  bool differs = false;      ///< the gain is said to differ between them
  std::int64_t trials = 0;   ///< finished
  std::int64_t told_twice = 0;
  int sessions = 0;
  std::size_t pairs = 0, most_trials_at_once = 0, most_pairs_at_once = 0;
  double cpu_seconds = 0;             ///< of this process for the search, the simulation's own taken off
  std::chrono::nanoseconds lasted{};  ///< by the simulated clock
};

/// Runs it to its end, with further sessions where one is interrupted. `folder`: empty, for the database. Throws
/// std::runtime_error where it does not come to an end.
[[nodiscard]] ClusterCampaign simulate_campaign(const ClusterTraits& traits, const std::filesystem::path& folder);

}  // namespace nocturne::test
