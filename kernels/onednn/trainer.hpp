#pragma once

/// One training: plans, parameters, data and the step that joins them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/data/batch_source.hpp"
#include "kernels/onednn/layers/softmax_loss.hpp"
#include "kernels/onednn/plan/plan.hpp"
#include "kernels/worker/learning_rate.hpp"
#include "measure/protocol/initial_state.hpp"

namespace nocturne::onednn {

// Takes batches from their source into a plan's input, scaled, in its precision; on oneDNN's threads, without
// allocating after the first.

class BatchReader {
 public:
  /// Writes the source's next batch from the plan's image `first` on, and its labels. Returns its images. REQUIRES:
  /// room for them.
  std::int64_t read(data::BatchSource& source, Plan& plan, std::int64_t first, std::span<std::int32_t> labels);

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Lets a source gather and decode on oneDNN's threads.
[[nodiscard]] data::ForEachPart on_our_threads();

/// Where tests plant errors, to see that the gate finds them. Empty in the worker: nothing on its command line, in a
/// request or in the environment leads here.
struct Tampering {
  std::function<void(std::span<std::int32_t> labels, bool last_of_epoch)>
      labels;                                  ///< gives the labels of a batch, before its step
  std::function<void(Parameters&)> gradients;  ///< between backward and update
  std::function<void(Parameters&)> values;     ///< after the update
};

struct TrainerOptions {
  Settings settings;
  std::uint64_t seed = 1;   ///< initial weights, dropout
  std::int64_t steps = -1;  ///< how many will be asked for, -1: not known; says whether an epoch's end will be reached
  UpdateRule rule = Adadelta{};
  worker::LearningRateRule learning_rate{};         ///< how its rate follows the batch size
  float label_smoothing = 0;                        ///< softmax_loss.hpp
  bool dropout = true;                              ///< false: nothing is dropped
  const protocol::InitialState* initial = nullptr;  ///< begins with these weights instead of the seed's
  Tampering tampering;
};

struct StepResult {
  float loss = 0;                 ///< mean over the batch
  std::int64_t data_wait_ns = 0;  ///< time until the batch stood ready
  std::int64_t images = 0;
  bool partial = false;      ///< an epoch's last, smaller batch
  bool epoch_ended = false;  ///< this was the epoch's last step
};

/// Not thread-safe. The same options and number of threads give the same losses, bit by bit.
class Trainer {
 public:
  /// Plans and allocates everything: no step allocates but an epoch's smaller batch beyond `options.steps`. `batches`
  /// must outlive the trainer. Throws worker::Unsupported, and std::runtime_error where initial weights do not fit.
  Trainer(const networks::Network& network, const TrainerOptions& options, data::BatchSource& batches);

  /// Trains one batch. Throws worker::Diverged where the loss is not finite, and what the source throws.
  StepResult step();
  /// True where the next step() is an epoch's smaller batch.
  [[nodiscard]] bool partial_is_next() const { return batches_.next_size() < main_.batch(); }
  [[nodiscard]] std::int64_t steps_per_epoch() const { return batches_.steps_per_epoch(); }

  /// Runs the network as it is in evaluations over one epoch of a set. REQUIRES: batches no larger than the trainer's.
  [[nodiscard]] Score evaluate(data::BatchSource& set);

  [[nodiscard]] const Plan& plan() const { return main_; }
  [[nodiscard]] const Parameters& parameters() const { return *parameters_; }
  /// Implementations of the full batch; a smaller batch adds its reference implementations alone.
  [[nodiscard]] std::vector<Implementation> implementations() const;
  /// Profiles full batches alone: a smaller one's times are not theirs. Null: no more.
  void profile(Profile* into);

 private:
  void begin_with(const protocol::InitialState& initial);
  void plan_partial();
  /// The rule of the next step.
  [[nodiscard]] UpdateRule rule_now() const;

  data::BatchSource& batches_;
  TrainerOptions options_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  Plan main_;
  std::optional<Parameters> parameters_;
  std::unique_ptr<Plan> partial_;  ///< null: partial batches are dropped, or none was foreseen: it takes memory, too
  BatchReader reader_;
  std::vector<std::int32_t> labels_;
  Profile* profile_ = nullptr;
  std::int64_t steps_done_ = 0;
};

}  // namespace nocturne::onednn
