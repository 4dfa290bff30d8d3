#pragma once

/// Finished trials that are judged otherwise since something more is known of them, as all who learn are told.

#include <vector>

#include "space/trial.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

struct JudgedAgain {
  std::vector<space::Trial> changed{};  ///< by number; empty: all are judged as they were
  std::vector<space::Trial> all{};      ///< every finished trial of the campaign, likewise
};

/// These as changed, and all as they are stored by now. Empty where nothing changed.
[[nodiscard]] JudgedAgain judged_again(const Session& session, std::vector<space::Trial> changed);

}  // namespace nocturne::tuner
