#pragma once

/// What the loop of steps, samples and epochs needs of a training, whatever it runs on.

#include <cstdint>

namespace nocturne::worker {

struct StepFacts {
  std::int64_t images = 0;
  std::int64_t data_wait_ns = 0;  ///< time until the batch stood ready
  bool partial = false;           ///< an epoch's last, smaller batch
  bool epoch_ended = false;       ///< this was the epoch's last step
};

struct Settled {
  double loss = 0;      ///< mean over the batch of the last step
  double loss_sum = 0;  ///< over all images since the last settle()
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
  virtual Settled settle() = 0;
  /// True where the next step() is an epoch's smaller batch.
  [[nodiscard]] virtual bool partial_is_next() const = 0;
  [[nodiscard]] virtual std::int64_t steps_per_epoch() const = 0;
  /// Called when a sample is reported and the next has not begun: what is done here is not in any sample.
  virtual void between_samples() {}
};

}  // namespace nocturne::worker
