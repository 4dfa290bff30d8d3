#pragma once

/// A campaign is often started on a machine that is still being used, and its first trial is the default, by which
/// everything is judged. Where all runs of that trial were disturbed, the default is measured again as soon as another
/// trial found the machine quiet: one run, and the trial rests on it from then on (measure::summarise). Else everything
/// would look like a gain until the pairs of the finals, and be searched accordingly.

#include <optional>
#include <vector>

#include "space/trial.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

class DisturbedDefault {
 public:
  /// The session outlives it. `is_local`: this process measures; nodes of a cluster measure the default on their own.
  DisturbedDefault(const Session& session, bool is_local);

  /// The answer was stored and told. Measures the default again where that is due: its trial as it is judged from then
  /// on, and stored so; empty: as before.
  [[nodiscard]] std::vector<space::Trial> learn(const TrialAnswer& answer);

 private:
  /// Whether all good runs of the default's trial were disturbed.
  [[nodiscard]] bool is_disturbed() const;
  [[nodiscard]] std::vector<space::Trial> measure_again();

  const Session& session_;
  bool never_ = false;               ///< it is not for this campaign
  std::optional<bool> disturbed_{};  ///< empty: not known in this session yet
  int measured_ = 0;                 ///< in this session
};

}  // namespace nocturne::tuner
