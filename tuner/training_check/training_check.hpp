#pragma once

/// Does a framework train the MNIST network as our own worker does? What `nocturne env check --thorough` asks.
///
/// Three questions, from the sharpest and cheapest to the one that the user understands at once:
///   1. the exact steps of the gate, from the same weights without dropout (measure/gate/gate.hpp): they name a layer
///      that stands still, a rate that is another;
///   2. the losses of the first 50 steps with dropout, in the band over seeds of the reference
///      (measure/gate/first_losses.hpp): they see a training that is another one, a missing dropout half of the time;
///   3. the test accuracy after one epoch, at least 97 %.
/// 2 and 3 come from the same run. What deviates ends the check; nothing is stored as a trial.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "measure/gate/first_losses.hpp"
#include "measure/gate/gate.hpp"
#include "space/configuration.hpp"
#include "space/run.hpp"
#include "tuner/training_check/reference_training.hpp"

namespace nocturne::tuner {

/// Share of the test images that the MNIST network knows after one epoch in any framework; the reference reaches 98 %.
inline constexpr double kLeastAccuracy = 0.97;

enum class TrainingVerdict {
  Right,
  Wrong,        ///< it deviates by more than rounding and seeds do, or learns too little
  Unsupported,  ///< the worker, or this machine, cannot do what is asked, and says why
  Failed,       ///< it did not end well, or there is no reference
  Interrupted,
};
[[nodiscard]] std::string_view to_text(TrainingVerdict verdict);  ///< right, wrong, unsupported, failed, interrupted

/// What was found, as far as the check came.
struct CheckedTraining {
  TrainingVerdict verdict = TrainingVerdict::Failed;
  std::string reason;  ///< a sentence; empty where it is right
  std::optional<measure::GateComparison> exact;
  std::string no_exact;  ///< why there is no exact comparison though the check went on; else empty
  std::optional<double> first_loss;
  std::optional<measure::FirstLossJudgement> band;
  std::optional<space::Accuracy> accuracy;
  nlohmann::json ready;  ///< what the worker said of versions and threads in the epoch's run, or null
};

/// Not thread-safe.
class TrainingCheck {
 public:
  /// Both must outlive it.
  TrainingCheck(Executor& executor, Interruption& interruption, ReferenceTraining::Options options)
      : runs_(executor, interruption), reference_(runs_, std::move(options)) {}

  [[nodiscard]] CheckedTraining check(const space::Configuration& configuration);

 private:
  /// False: the check is over, and `found` says why.
  [[nodiscard]] bool exact_steps(const space::Configuration& configuration, const PreparedWorker& prepared,
                                 CheckedTraining& found);
  void epoch(const space::Configuration& configuration, const PreparedWorker& prepared, CheckedTraining& found);

  CheckRuns runs_;
  ReferenceTraining reference_;
};

}  // namespace nocturne::tuner
