#pragma once

/// What the model adds to the answer of a stored campaign; it is fitted once for all of it, and kept
/// (kept/kept_document.hpp) for whoever asks the same again.

#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/matters.hpp"
#include "tuner/campaign/learned.hpp"

namespace nocturne::tuner {

/// Each is empty where nothing can be said yet.
struct Expectations {
  std::optional<Matters> matters;
  std::optional<ValueOfContinuing> continuing;  ///< for another hour
  std::vector<std::string> without;             ///< sentences: constraints that are not in force (stored_space.hpp)
};

[[nodiscard]] Expectations expectations_of(const db::Store& store, const Answer& answer);

}  // namespace nocturne::tuner
