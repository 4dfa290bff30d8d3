#pragma once

/// One training on the GPU: parameters, data, and the step that joins them.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/cudnn_objects.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device_code/launchers.hpp"
#include "kernels/cuda/training/network_pass.hpp"
#include "kernels/data/batch_source.hpp"
#include "kernels/worker/training_loop.hpp"

namespace nocturne::cuda {

// Batches on their way to the device: gathered into pinned memory as bytes, copied, handed to a step, which scales
// them.
//
// With one slot everything happens on the computing stream, one after the other. With two, the next batch is gathered
// and copied on a stream of its own while the device computes; a slot is used again when its step has read it.

/// A batch on the device, valid for work put on the computing stream until done() is called for it.
struct FedBatch {
  std::size_t slot = 0;
  RawImages images;
  const std::int32_t* labels = nullptr;
  std::int64_t size = 0;
  bool ends_epoch = false;
  std::int64_t wait_ns = 0;  ///< how long the host was busy with it
};

class BatchFeed {
 public:
  /// `source` and `computing` outlive the feed. `slots`: 1 or 2.
  BatchFeed(data::BatchSource& source, std::int64_t batch, std::size_t slots, const Stream& computing);

  /// The next batch; work put on the computing stream from now on sees it.
  [[nodiscard]] FedBatch next();
  /// The work that reads it is on the computing stream. With two slots the batch after it is fetched now.
  void done(const FedBatch& batch);
  /// Images of the batch that next() will give.
  [[nodiscard]] std::int64_t next_size() const;

  /// Where a slot lies, for a capture before its first batch.
  [[nodiscard]] FedBatch place_of(std::size_t slot, std::int64_t size) const;
  [[nodiscard]] std::int64_t device_bytes() const;

 private:
  struct Slot {
    PinnedMemory host_images, host_labels;
    DeviceMemory images, labels;
    Event copied, read;
    FedBatch batch;
    bool filled = false;  ///< gathered, not yet handed out
  };
  void fetch(Slot& slot);

  data::BatchSource& source_;
  const Stream& computing_;
  Stream copying_;
  DeviceMemory scaling_;  ///< one PixelScaling a channel
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t turn_ = 0;  ///< the slot that next() gives
};

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
  worker::MeanLoss settle() override;
  [[nodiscard]] bool partial_is_next() const override { return feed_->next_size() < options_.settings.batch; }
  [[nodiscard]] std::int64_t steps_per_epoch() const override { return source_.steps_per_epoch(); }
  void between_samples() override {
    if (watch_) watch_();
  }

  /// Runs the network without dropout, with running averages, over a whole set, whose batches are no larger than the
  /// training's.
  [[nodiscard]] Score evaluate(data::BatchSource& set);
  /// By what test_with() was given last. REQUIRES: it was.
  [[nodiscard]] worker::TestScore evaluate() override { return test_(); }
  void test_with(std::function<worker::TestScore()> test) { test_ = std::move(test); }

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
  std::function<worker::TestScore()> test_;
};

}  // namespace nocturne::cuda
