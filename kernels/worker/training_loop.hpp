#pragma once

/// Steps, samples, epochs and turns: when a training steps, and what is reported of it.
///
/// A sample ends with one settle(): an accelerator is waited for once a sample, not once a step.

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/worker/reporter.hpp"
#include "measure/protocol/initial_state.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::worker {

// What the loop of steps, samples and epochs needs of a training, whatever it runs on.

struct StepFacts {
  std::int64_t images = 0;
  std::int64_t data_wait_ns = 0;  ///< time until the batch stood ready
  bool partial = false;           ///< an epoch's last, smaller batch
  bool epoch_ended = false;       ///< this was the epoch's last step
};

struct MeanLoss {
  double loss = 0;      ///< mean over the batch of the last step
  double loss_sum = 0;  ///< over all images since the last settle()
};

/// How the network does on the test set.
struct TestScore {
  double loss = 0;  ///< sum over the images
  std::int64_t correct = 0, images = 0;
};

/// One training. Not thread-safe.
class Training {
 public:
  Training() = default;
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  virtual ~Training() = default;

  /// Trains one batch, epoch after epoch; an accelerator may still be at it when this returns.
  virtual StepFacts step() = 0;
  /// Waits until all steps are done. Throws Diverged where a loss is not finite.
  virtual MeanLoss settle() = 0;
  /// True where the next step() is an epoch's smaller batch.
  [[nodiscard]] virtual bool partial_is_next() const = 0;
  [[nodiscard]] virtual std::int64_t steps_per_epoch() const = 0;
  /// Called when a sample is reported and the next has not begun: what is done here is not in any sample.
  virtual void between_samples() {}
  /// Runs the network as it is over the test set, without dropout; training goes on afterwards as if it had not been.
  /// Called between samples, of a request with a curve only.
  [[nodiscard]] virtual TestScore evaluate() = 0;
};

/// All training steps of the run, the first included; -1 where that is not known before (whole epochs, turns).
[[nodiscard]] std::int64_t steps_asked_for(const protocol::Request& request);

/// Runs the first step and then what the request says: epochs, steps, or slices allowed by its FIFO of turns.
/// `after_first_step` is called once. Throws Diverged, and std::runtime_error where the FIFO cannot be read.
void run_training(
    const protocol::Request& request, Training& training, Reporter& reporter,
    const std::function<void()>& after_first_step = [] {});

// Which images the exact part of the gate trains: the last steps of the first epoch (measure/protocol/README.md).

/// In order. They end with the epoch's smaller batch where that is trained, so that its plan is compared too. `count`:
/// images of the data set; `initial`: its batches are taken instead; null: the seed decides. Throws Unsupported where
/// an epoch has fewer steps, std::runtime_error where the file's batches do not fit. REQUIRES: request.gate.
[[nodiscard]] std::vector<std::int32_t> gate_visits(const protocol::Request& request, std::int64_t batch,
                                                    std::int64_t count, const protocol::InitialState* initial);

}  // namespace nocturne::worker
