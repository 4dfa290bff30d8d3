#include "measure/comparison/node_scatter.hpp"

#include <boost/math/distributions/fisher_f.hpp>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

namespace nocturne::measure {
namespace {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_about(std::span<const double> values, double middle) {
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return squares;
}

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
  const double all = mean_of(log_ratios);
  std::vector<double> means;
  double between = 0, within = 0;
  for (const auto& [name, ratios] : by_node) {
    means.push_back(mean_of(ratios));
    between += static_cast<double>(ratios.size()) * (means.back() - all) * (means.back() - all);
    within += squares_about(ratios, means.back());
  }
  scatter.mean = mean_of(means);
  if (means.size() < 2) return scatter;
  const auto count = static_cast<double>(means.size());
  scatter.error = std::sqrt(squares_about(means, scatter.mean) / (count - 1) / count);
  const double within_degrees = static_cast<double>(log_ratios.size()) - count;
  if (within_degrees > 0) scatter.probability = probability_of(between, count - 1, within, within_degrees);
  return scatter;
}

}  // namespace nocturne::measure
