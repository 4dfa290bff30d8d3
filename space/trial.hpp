#pragma once

/// A configuration at a fidelity, and what is known of it so far. What strategies learn from.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "space/configuration.hpp"
#include "space/objective.hpp"
#include "space/outcome.hpp"

namespace nocturne::space {

// How much of a training a trial runs.

struct Fidelity {
  std::int64_t steps = 40;  ///< timed steps
  friend auto operator<=>(const Fidelity&, const Fidelity&) = default;
};

/// The value of the objective with its uncertainty.
struct Estimate {
  double value = 0;           ///< seconds at the primary horizon
  double standard_error = 0;  ///< standard error of `value`: between processes if runs > 1, else within the one
  int runs = 0;
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

struct Trial {
  std::int64_t number = 0;  ///< 0, 1, … in the order in which the campaign asked; 0 is the default configuration
  Configuration configuration;
  Fidelity fidelity;
  Outcome outcome = Outcome::Killed;
  std::string reason;
  std::optional<Estimate> estimate;  ///< present exactly if outcome is Ok
  std::optional<Parts> parts;        ///< present exactly if outcome is Ok
  /// Largest memory that the processes of one run held together, as far as it was seen. If the trial ran out of memory,
  /// this is what it held when it was ended: it needs more.
  std::optional<std::int64_t> peak_bytes{};
  /// The most memory of a device (GPU) that one of its runs held, as its worker said. Empty: it used none.
  std::optional<std::int64_t> device_bytes{};
  std::optional<std::int64_t> device_memory_bytes{};  ///< what that device has; empty: its worker did not say
};

/// Makes everything that is known of the trial's time so many times as long. REQUIRES: factor > 0.
void scale_times(double factor, Trial& trial);

}  // namespace nocturne::space
