#include "kernels/worker/learning_rate.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/worker/configuration_values.hpp"

namespace nocturne::worker {

double LearningRateRule::factor(std::int64_t batch, std::int64_t step, std::int64_t steps_per_epoch) const {
  if (scaling == Scaling::None) return 1;
  const double larger = static_cast<double>(batch) / kUsualBatch;
  const double full = scaling == Scaling::Linear ? larger : std::sqrt(larger);
  if (!warm_up) return full;
  const double way = static_cast<double>(step + 1) / static_cast<double>(std::max<std::int64_t>(steps_per_epoch, 1));
  return 1 + (full - 1) * std::min(way, 1.0);
}

LearningRateRule read_learning_rate_rule(const nlohmann::json& configuration) {
  using Scaling = LearningRateRule::Scaling;
  constexpr LearningRateRule kRules[] = {{Scaling::None, false},
                                         {Scaling::Linear, false},
                                         {Scaling::SquareRoot, false},
                                         {Scaling::Linear, true},
                                         {Scaling::SquareRoot, true}};
  return kRules[read_choice(configuration, "learning_rate_rule",
                            {"none", "linear", "square_root", "linear_warm_up", "square_root_warm_up"}, 0)];
}

}  // namespace nocturne::worker
