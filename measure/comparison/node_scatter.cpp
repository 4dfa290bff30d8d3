#include "measure/comparison/node_scatter.hpp"

#include <boost/math/distributions/fisher_f.hpp>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "space/moments.hpp"

namespace nocturne::measure {
namespace {

/// Of an F this large or larger. REQUIRES: degrees of freedom above 0.
double probability_of(double between, double between_degrees, double within, double within_degrees) {
  if (!(between > 0)) return 1;
  if (!(within > 0)) return 0;
  const boost::math::fisher_f_distribution<double> fisher(between_degrees, within_degrees);
  return boost::math::cdf(boost::math::complement(fisher, (between / between_degrees) / (within / within_degrees)));
}

}  // namespace

NodeScatter scatter_of_nodes(std::span<const double> log_ratios, std::span<const std::string> nodes) {
  assert(nodes.empty() || nodes.size() == log_ratios.size());
  if (log_ratios.empty()) return {};
  std::map<std::string_view, std::vector<double>> by_node;
  for (std::size_t i = 0; i < log_ratios.size(); ++i)
    by_node[nodes.empty() ? std::string_view() : std::string_view(nodes[i])].push_back(log_ratios[i]);

  NodeScatter scatter{.nodes = static_cast<int>(by_node.size())};
  const double all = space::moments_of(log_ratios).mean;
  std::vector<double> means;
  double between = 0, within = 0;
  for (const auto& [name, ratios] : by_node) {
    const space::Moments moments = space::moments_of(ratios);
    means.push_back(moments.mean);
    between += static_cast<double>(ratios.size()) * (means.back() - all) * (means.back() - all);
    within += moments.squares;
  }
  const space::Moments over_nodes = space::moments_of(means);
  scatter.mean = over_nodes.mean;
  if (means.size() < 2) return scatter;
  const auto count = static_cast<double>(means.size());
  scatter.error = over_nodes.standard_error();
  const double within_degrees = static_cast<double>(log_ratios.size()) - count;
  if (within_degrees > 0) scatter.probability = probability_of(between, count - 1, within, within_degrees);
  return scatter;
}

}  // namespace nocturne::measure
