// LinearModel: what it says of itself to people.

#include <algorithm>
#include <cmath>
#include <map>

#include "search/model/linear_model.hpp"
#include "search/model/linear_model_state.hpp"
#include "search/model/student.hpp"

namespace nocturne::search::model {
namespace {

/// Rows of a parameter that its levels use, *inactive* among them.
std::span<const float> row_of(const Design& design, std::size_t row) {
  return {design.table().covariance(row), design.size()};
}

/// Which trials share a level, numbered by first appearance: equal for parameters that change together.
std::vector<std::size_t> pattern(const space::PointList& points, std::size_t parameter) {
  std::map<space::Level, std::size_t> numbers;
  std::vector<std::size_t> result;
  for (std::size_t t = 0; t < points.size(); ++t)
    result.push_back(numbers.try_emplace(points[t][parameter], numbers.size()).first->second);
  return result;
}

}  // namespace

std::vector<LinearModel::LeftOut> LinearModel::leave_one_out() {
  auto& s = *state_;
  release();
  s.update();
  const auto moments = s.posterior.leave_one_out(s.values);
  std::vector<LeftOut> result;
  for (std::size_t t = 0; t < moments.size(); ++t) {
    const double own_noise = s.scales.noise * s.noise_factors[t];
    Posterior::Moments latent{.mean = moments[t].mean, .variance = std::max(moments[t].variance - own_noise, 0.0)};
    result.push_back(
        {.trial = s.carriers[t], .prediction = s.prediction(latent), .log_value = s.log_values[s.carriers[t]]});
  }
  return result;
}

LinearModel::Difference LinearModel::difference(const space::PointList& from, const space::PointList& to) {
  auto& s = *state_;
  release();
  s.update();
  const auto [moments, without] = s.posterior.mean_difference(from, to, s.scales);
  double begin = 0;
  for (std::size_t i = 0; i < from.size(); ++i) begin += s.posterior.mean(from[i], s.scales);
  begin /= static_cast<double>(from.size());
  const auto log_difference = [&](double difference) {
    return s.target.to_log(begin + difference) - s.target.to_log(begin);
  };
  const double sd = std::sqrt(moments.variance) * s.widening();
  const auto [least, most] = std::ranges::minmax(without);
  return {.mean = log_difference(moments.mean),
          .sd = 0.5 * (log_difference(moments.mean + sd) - log_difference(moments.mean - sd)),
          .without_one = {.lower = log_difference(least), .upper = log_difference(most)}};
}

std::vector<Interaction> LinearModel::interactions() {
  auto& s = *state_;
  s.update();
  const auto& kernels = s.design.kernels();
  const auto n = s.posterior.size();
  const auto alpha = s.posterior.alpha();
  std::vector<Interaction> result;
  for (std::size_t i = 0; i < kernels.parameters(); ++i) {
    for (std::size_t j = i + 1; j < kernels.parameters(); ++j) {
      const double scale = s.scales.pairs * s.scales.weights[i] * s.scales.weights[j] * s.target.scale;
      double squares = 0;
      std::vector<double> weighted(n);
      for (std::size_t a = 0; a < kernels.levels(i); ++a) {
        const auto first = row_of(s.design, kernels.first_row(i) + a);
        for (std::size_t t = 0; t < n; ++t) weighted[t] = static_cast<double>(first[t]) * alpha[t];
        for (std::size_t b = 0; b < kernels.levels(j); ++b) {
          const auto second = row_of(s.design, kernels.first_row(j) + b);
          double mean = 0;
          for (std::size_t t = 0; t < n; ++t) mean += weighted[t] * static_cast<double>(second[t]);
          squares += mean * mean * scale * scale;
        }
      }
      const double cells = static_cast<double>(kernels.levels(i) * kernels.levels(j));
      result.push_back({.first = i, .second = j, .strength = std::sqrt(squares / cells)});
    }
  }
  std::ranges::stable_sort(result, std::ranges::greater(), &Interaction::strength);
  return result;
}

std::vector<Alias> LinearModel::aliased() const {
  const auto& s = *state_;
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < s.points.width(); ++i) groups[pattern(s.points, i)].push_back(i);
  std::vector<Alias> result;
  for (auto& [levels, parameters] : groups) {
    const bool constant = std::ranges::all_of(levels, [](std::size_t number) { return number == 0; });
    if (constant)
      for (const auto each : parameters) result.push_back({.parameters = {each}});
    else if (parameters.size() > 1)
      result.push_back({.parameters = std::move(parameters)});
  }
  std::ranges::sort(result, {}, &Alias::parameters);
  return result;
}

double LinearModel::noise_sd() {
  auto& s = *state_;
  s.update();
  return std::sqrt(s.scales.noise) * s.target.scale;
}

}  // namespace nocturne::search::model
