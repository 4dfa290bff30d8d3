#include "search/model/target.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nocturne::search::model {

Target Target::fit(std::span<const double> log_values, double knee_quantile) {
  std::vector<double> sorted(log_values.begin(), log_values.end());
  Target target;
  const auto place = static_cast<std::size_t>(static_cast<double>(sorted.size()) * knee_quantile);
  target.knee = sorted[std::min(std::max<std::size_t>(place, 1), sorted.size() - 1)];
  target.softness = std::max(target.knee - sorted.front(), 1e-3);  // equal times: a thousandth is noise
  double sum = 0;
  for (auto& each : sorted) sum += each = target.to_model(each);
  target.centre = sum / static_cast<double>(sorted.size());
  double squares = 0;
  for (const auto each : sorted) squares += (each - target.centre) * (each - target.centre);
  const double spread = std::sqrt(squares / static_cast<double>(sorted.size()));
  target.scale = spread > 1e-9 ? spread : 1;
  return target;
}

double Target::to_model(double log_value) const {
  const double above = log_value - knee;
  const double bent = above > 0 ? knee + softness * std::log1p(above / softness) : log_value;
  return (bent - centre) / scale;
}

double Target::to_log(double model_value) const {
  const double bent = centre + scale * model_value;
  const double above = bent - knee;
  // e^30 times the spread is beyond any measurement; keeps the result finite.
  return above > 0 ? knee + softness * std::expm1(std::min(above / softness, 30.0)) : bent;
}

}  // namespace nocturne::search::model
