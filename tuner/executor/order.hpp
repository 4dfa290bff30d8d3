#pragma once

/// The seam between the loop of a campaign and whatever carries out its trials: this process, or nodes of a cluster.
///
/// An order is one thing to do on one machine, its answer what came of it. Both are plain values without references
/// into the process, so that they can be written as JSON, carried out elsewhere and read again. Trials are the only
/// orders so far; preflights, pairs and the gate still call the Executor of this machine.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/error.hpp"
#include "db/records.hpp"
#include "space/configuration.hpp"
#include "space/outcome.hpp"
#include "space/trial.hpp"

namespace nocturne::tuner {

/// Run a trial: prepare its configuration, and measure it as often as the stopping rule wants.
struct TrialOrder {
  std::int64_t number = 0;  ///< the trial's number; no two orders in flight have the same
  space::Configuration configuration{};
  space::Purpose purpose = space::Purpose::Search;
  std::optional<space::Estimate> incumbent{};  ///< when the order was given; spares the hopeless their repeats
};

struct TrialAnswer {
  enum class End {
    Finished,     ///< there is a result; a failure is one
    Suspended,    ///< cut short by a suspension of the session: to be run again
    Lost,         ///< its process or its node is gone: to be run again
    Interrupted,  ///< the session ends; the next one runs it again
  };
  std::int64_t number = 0;  ///< number of the order that is answered
  End end = End::Finished;
  // The rest is set where it finished.
  space::Trial trial{};
  db::TrialReservation reservation{};
  std::optional<db::TrialId> reserved{};  ///< empty: it was not reserved in the database yet
  std::optional<db::TrialId> equal_to{};  ///< an equal trial was known: nothing was run, its result is taken over
  std::string log_tail{};                 ///< the installer's or compiler's last words, where it could not be prepared
  std::vector<db::RunRecord> runs{};      ///< that are not stored yet
};

/// Works on several orders at once. Not thread-safe: the loop alone calls it.
class OrderExecutor {
 public:
  virtual ~OrderExecutor() = default;
  /// How many orders it takes at once, at least 1; may change while the campaign lasts.
  [[nodiscard]] virtual std::size_t slots() const = 0;
  /// REQUIRES: fewer than slots() are in flight.
  virtual void submit(TrialOrder order) = 0;
  /// Blocks until one of the orders in flight has ended, in whichever order they end. After an interruption of the
  /// session all of them end soon. The error ends the session (a full disk). REQUIRES: one is in flight.
  [[nodiscard]] virtual TrialAnswer next() = 0;
};

}  // namespace nocturne::tuner
