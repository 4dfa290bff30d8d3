#pragma once

/// Whether a gain is the same on every node, from pairs that were measured on several: a pair never leaves its node, so
/// that what nodes differ by cancels in it, but for what a node does to one configuration and not to the other. Pure.
///
/// One-way analysis of variance of the log ratios: squares between the means of nodes against squares within nodes.
/// Where nodes are alike all pairs tell of one gain, as on one machine. Where they are not, pairs of one node are no
/// repetition: the mean over nodes counts, with Student's t and one degree of freedom fewer than nodes.

#include <span>
#include <string>

namespace nocturne::measure {

/// Fewer nodes say too little of their scatter: t with one degree of freedom is 12.7 wide at 95 %.
inline constexpr int kFewestNodes = 3;
/// Nodes are taken as alike where they scatter like this or more in one of ten cases by chance (a preliminary test;
/// Bozivich, Bancroft & Hartley, Ann. Math. Statist. 27, 1956, have 0.25). With the noise of real pairs, a gain of 5 %
/// is then found in 98.8 of 100 comparisons, against 100 on one machine and 95.7 at 0.25; and where nodes favour a side
/// by 1 % (sd), a gain of nothing is called FASTER in 5.5 of 100, against 4.6 at 0.25 and 8 if all pairs counted
/// (nocturne-cluster-survey).
inline constexpr double kAlikeLevel = 0.10;
/// What is said to be more than noise happens by chance in one of a hundred cases.
inline constexpr double kBeyondNoiseLevel = 0.01;

struct NodeScatter {
  int nodes = 0;
  double mean = 0;         ///< of the means of nodes
  double error = 0;        ///< standard error of that, by their scatter; with one node: 0
  double probability = 1;  ///< of so much scatter between nodes by chance; 1: not known, as with one pair a node

  /// Whether the mean over nodes is to be judged, rather than all pairs.
  [[nodiscard]] bool over_nodes() const { return nodes >= kFewestNodes && probability < kAlikeLevel; }
  /// Whether the gain differs between nodes beyond doubt.
  [[nodiscard]] bool differs() const { return probability < kBeyondNoiseLevel; }
};

/// `nodes`: the name of the node of each log ratio; empty: one machine. REQUIRES: empty, or as many as log ratios.
[[nodiscard]] NodeScatter scatter_of_nodes(std::span<const double> log_ratios, std::span<const std::string> nodes);

}  // namespace nocturne::measure
