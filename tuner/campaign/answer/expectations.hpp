#pragma once

/// What the model adds to the answer of a stored campaign; it is fitted once for all of it.

#include <optional>

#include "db/store.hpp"
#include "space/facts.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/matters.hpp"
#include "tuner/campaign/learned.hpp"

namespace nocturne::tuner {

/// Each is empty where nothing can be said yet.
struct Expectations {
  std::optional<Matters> matters;
  std::optional<GoingOn> going_on;  ///< for another hour
};

[[nodiscard]] Expectations expectations_of(const db::Store& store, const Answer& answer, const space::Facts& facts);

}  // namespace nocturne::tuner
