#include "tuner/campaign/answer/expectations.hpp"

#include <chrono>

namespace nocturne::tuner {

Expectations expectations_of(const db::Store& store, const Answer& answer, const space::Facts& facts) {
  const auto learned = learn_from(store, answer.campaign, facts);
  if (!learned) return {};
  Expectations result;
  if (answer.best) result.matters = matters(**learned, answer.best->trial.configuration);
  result.going_on = going_on(**learned, std::chrono::hours(1));
  return result;
}

}  // namespace nocturne::tuner
