#include "tuner/campaign/answer/expectations.hpp"

#include <chrono>

namespace nocturne::tuner {

Expectations expectations_of(const db::Store& store, const Answer& answer) {
  const auto learned = learn_from(store, answer.campaign);
  if (!learned) return {};
  Expectations result{.matters = {}, .going_on = {}, .without = (*learned)->without};
  if (answer.best) result.matters = matters(**learned, answer.best->trial.configuration);
  result.going_on = going_on(**learned, std::chrono::hours(1), kPageConfidence);
  return result;
}

}  // namespace nocturne::tuner
