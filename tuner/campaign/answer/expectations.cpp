#include "tuner/campaign/answer/expectations.hpp"

#include <chrono>

namespace nocturne::tuner {

Expectations expectations_of(const db::Store& store, const Answer& answer) {
  const auto learned = learn_from(store, answer.campaign);
  if (!learned) return {};
  Expectations result{.matters = {}, .continuing = {}, .without = (*learned)->without};
  if (answer.best) result.matters = matters(**learned, answer.best->trial.configuration);
  result.continuing = continuing(**learned, std::chrono::hours(1), kPageConfidence);
  return result;
}

}  // namespace nocturne::tuner
