#pragma once

/// One training on the GPU: parameters, data, and the step that joins them.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/cudnn_objects.hpp"
#include "kernels/cuda/training/batch_feed.hpp"
#include "kernels/cuda/training/network_pass.hpp"
#include "kernels/worker/training.hpp"

namespace nocturne::cuda {

struct TrainerOptions {
  Settings settings;
  std::uint64_t seed = 1;   ///< initial weights, dropout
  std::int64_t steps = -1;  ///< how many will be asked for, -1: not known; says whether an epoch's end will be reached
  Optimizer optimizer;
  double label_smoothing = 0;
  bool dropout = true;                              ///< false: nothing is dropped
  float loss_scale = kFirstScale;                   ///< loss scale that f16 begins with
  const protocol::InitialState* initial = nullptr;  ///< begins with these weights instead of the seed's
};

struct Score {
  double loss = 0;  ///< sum over the images
  std::int64_t correct = 0, images = 0;
};

/// Not thread-safe. Steps run ahead of the host until settle().
class DeviceTrainer final : public worker::Training {
 public:
  /// Plans and allocates everything: no step allocates. `network` and `source`, whose batch size is that of the
  /// settings, outlive the trainer. Throws worker::Unsupported, worker::OutOfDeviceMemory, and std::runtime_error where
  /// the initial weights do not fit.
  DeviceTrainer(const networks::Network& network, const TrainerOptions& options, data::BatchSource& source,
                const DeviceFacts& facts);

  worker::StepFacts step() override;
  worker::Settled settle() override;
  [[nodiscard]] bool partial_is_next() const override { return feed_->next_size() < options_.settings.batch; }
  [[nodiscard]] std::int64_t steps_per_epoch() const override { return source_.steps_per_epoch(); }
  void between_samples() override {
    if (watch_) watch_();
  }

  /// Runs the network without dropout, with running averages, over a whole set, whose batches are no larger than the
  /// training's.
  [[nodiscard]] Score evaluate(data::BatchSource& set);

  [[nodiscard]] const networks::Network& network() const { return network_; }
  [[nodiscard]] const ParameterTable& table() const { return parameters_.table(); }
  /// Master weights, row-major, one array a tensor of the table.
  [[nodiscard]] std::vector<std::vector<float>> weights() const { return parameters_.read(); }
  [[nodiscard]] std::vector<Implementation> implementations() const { return main_->implementations(); }
  [[nodiscard]] const std::vector<SettledFusion>& fusions() const { return main_->fusions(); }
  [[nodiscard]] std::int64_t device_bytes() const;
  /// Called between samples.
  void watch(std::function<void()> watch) { watch_ = std::move(watch); }

 private:
  void begin_with(const protocol::InitialState* initial);
  void choose_algorithms(const DeviceFacts& facts);
  void run_step(NetworkPass& network, const FedBatch& batch);
  [[nodiscard]] Pass pass_of(bool training) const;

  const networks::Network& network_;
  TrainerOptions options_;
  data::BatchSource& source_;
  NetworkPlan plan_, partial_plan_;  ///< the latter without rows: no smaller batch will come
  Stream stream_;
  CudnnHandle cudnn_;
  DeviceParameters parameters_;
  DeviceMemory arena_, statistics_, losses_, correct_, state_, workspace_;
  PinnedMemory read_state_;
  std::unique_ptr<NetworkPass> main_, partial_;
  std::unique_ptr<BatchFeed> feed_;
  std::vector<Graph> graphs_;  ///< by slot
  std::int64_t steps_run_ = 0;
  StepState settled_;
  std::function<void()> watch_;
};

}  // namespace nocturne::cuda
