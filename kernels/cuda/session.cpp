#include "kernels/cuda/session.hpp"

#include <cudnn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/fused_convolution.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device/device_watch.hpp"
#include "kernels/cuda/plan/network_plan.hpp"
#include "kernels/cuda/training/device_trainer.hpp"
#include "kernels/data/batch_source.hpp"
#include "kernels/worker/refusal.hpp"
#include "kernels/worker/surroundings.hpp"
#include "kernels/worker/training_loop.hpp"
#include "measure/protocol/initial_state.hpp"

namespace nocturne::cuda {
namespace {

// The exact part of the gate on the GPU: losses and norms, step by step.

using Clock = std::chrono::steady_clock;
using Weights = std::vector<std::vector<float>>;

std::vector<protocol::LayerNorm> norms(const ParameterTable& table, const Weights& began, const Weights& now) {
  std::vector<protocol::LayerNorm> all;
  for (std::size_t tensor = 0; tensor < table.tensors.size(); ++tensor) {
    double norm = 0, moved = 0;
    for (std::size_t i = 0; i < now[tensor].size(); ++i) {
      const double value = now[tensor][i], activation_gradient = value - static_cast<double>(began[tensor][i]);
      norm += value * value;
      moved += activation_gradient * activation_gradient;
    }
    all.push_back({.layer = table.tensors[tensor].name, .norm = std::sqrt(norm), .moved = std::sqrt(moved)});
  }
  return all;
}

protocol::InitialState state_of(const DeviceTrainer& trainer, const Weights& weights,
                                const std::vector<std::int32_t>& visits, std::int64_t batch) {
  protocol::InitialState state{.network = std::string(trainer.network().name), .tensors = {}, .batches = {}};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const ParameterTensor& tensor = trainer.table().tensors[i];
    state.tensors.push_back({.name = tensor.name, .shape = tensor.shape, .values = weights[i]});
  }
  const auto count = static_cast<std::int64_t>(visits.size());
  for (std::int64_t first = 0; first < count; first += batch)
    state.batches.emplace_back(visits.begin() + first, visits.begin() + std::min(first + batch, count));
  return state;
}

/// Trains the steps that `request.gate` asks for and reports each as a sample, numbered from 0; norms before the first
/// and after each. Writes what it begins with where the request says so. Throws worker::Diverged.
void run_gate(const protocol::Request& request, DeviceTrainer& trainer, const std::vector<std::int32_t>& visits,
              worker::Reporter& reporter) {
  const Weights began = trainer.weights();
  if (request.gate->write) {
    const std::int64_t batch = read_settings(request.configuration).batch;
    protocol::write_initial_state(*request.gate->write, state_of(trainer, began, visits, batch));
  }
  reporter.norms(0, norms(trainer.table(), began, began));
  for (std::int64_t done = 0; done < request.gate->steps; ++done) {
    const auto cpu = protocol::process_cpu_time();
    const auto begin = Clock::now();
    const worker::StepFacts facts = trainer.step();
    const worker::MeanLoss settled = trainer.settle();
    const std::chrono::nanoseconds wall = Clock::now() - begin;
    reporter.sample({.first_step = done,
                     .steps = 1,
                     .wall_ns = std::max<std::int64_t>(1, wall.count()),
                     .cpu_ns = (protocol::process_cpu_time() - cpu).count(),
                     .data_wait_ns = facts.data_wait_ns,
                     .loss = settled.loss});
    reporter.norms(done + 1, norms(trainer.table(), began, trainer.weights()));
  }
}

using worker::in_phase;
using worker::Reporter;

class Session {
 public:
  Session(const protocol::Request& request, Reporter& reporter) : request_(request), reporter_(reporter) {}

  void run() {
    reporter_.hello();
    const networks::Network& network = worker::known_network(request_.network);
    const Settings settings = read_settings(request_.configuration);
    if (settings.fusion == Fusion::Auto && !can_fuse())
      throw worker::Unsupported("fusion = auto: this nocturne-cudnn was built where there was no cudnn-frontend");
    options_ = {.settings = settings,
                .seed = request_.seed,
                .steps = request_.gate ? request_.gate->steps : worker::steps_asked_for(request_),
                .optimizer = read_optimizer(request_, settings.batch),
                .label_smoothing = request_.label_smoothing,
                .dropout = !request_.gate,
                .loss_scale = request_.gate ? kGateScale : kFirstScale};
    if ((request_.accuracy || request_.curve) && request_.data == "synthetic")
      throw worker::Unsupported("the data set synthetic has no test images: accuracy cannot be told");
    facts_ = in_phase(reporter_, "import", [&] { return open_device(); });
    const std::unique_ptr<data::BatchSource> source = in_phase(reporter_, "data", [&] { return open_data(network); });
    options_.initial = initial_ ? &*initial_ : nullptr;
    trainer_ = in_phase(reporter_, "compile",
                        [&] { return std::make_unique<DeviceTrainer>(network, options_, *source, facts_); });
    reporter_.ready(ready_fields());
    if (request_.gate)
      run_gate(request_, *trainer_, visits_, reporter_);
    else
      train();
    device_bytes_ = trainer_->device_bytes();
    trainer_.reset();  // before the data it reads
  }

  /// What was held on the GPU when it ended, however it did.
  [[nodiscard]] std::int64_t device_bytes() const { return trainer_ ? trainer_->device_bytes() : device_bytes_; }

 private:
  [[nodiscard]] DeviceFacts open_device() const {
    DeviceFacts facts = probe_device();
    if (const auto reason = obstacle(facts, options_.settings.precision)) throw worker::Unsupported(*reason);
    return facts;
  }

  [[nodiscard]] data::SourceOptions source_options(const networks::Network& network, data::Split split) const {
    return {.data = request_.data,
            .folder = request_.data_folder,
            .image = network.image,
            .classes = network.classes,
            .split = split,
            .seed = request_.seed,
            .batch = options_.settings.batch,
            .partial_batch = request_.partial_batch == protocol::PartialBatch::Train,
            .visits = visits_,
            .threads = options_.settings.data_threads,
            .prefetch = options_.settings.prefetch,
            .skip_broken = request_.skip_broken,
            .channels_last = options_.settings.layout == Layout::Nhwc};
  }

  std::unique_ptr<data::BatchSource> open_data(const networks::Network& network) {
    auto source = data::open_batches(source_options(network, data::Split::Train));
    const std::int64_t batch = options_.settings.batch;
    if (const auto reason = too_large(facts_, memory_need(network, options_.settings, 0).total()))
      throw worker::OutOfDeviceMemory(*reason);
    if (!request_.gate) return source;
    if (request_.initial) initial_ = protocol::read_initial_state(*request_.initial);
    visits_ = worker::gate_visits(request_, batch, source->count(), initial_ ? &*initial_ : nullptr);
    data::SourceOptions again = source_options(network, data::Split::Train);
    again.partial_batch = true;  // the visits say whether there is one
    return data::open_batches(std::move(again));
  }

  void train() {
    const std::unique_ptr<Nvml> nvml = Nvml::open(facts_.pci_bus);
    std::optional<DeviceWatch> watch;
    if (nvml) {
      watch.emplace(facts_.name, [&] { return nvml->read(); });
      trainer_->watch([&] { watch->look(); });
    }
    trainer_->test_with([&] { return test(); });
    worker::run_training(request_, *trainer_, reporter_, [&] {
      if (watch) watch->look();
    });
    trainer_->watch({});
    if (request_.accuracy) report_accuracy();
    if (!watch) return;
    if (const nlohmann::json fields = watch->summary(); !fields.is_null()) reporter_.device(fields);
  }

  [[nodiscard]] worker::TestScore test() const {
    data::SourceOptions options = source_options(trainer_->network(), data::Split::Test);
    options.shuffle = false;
    options.partial_batch = true;
    const std::int64_t most = std::exchange(options.batch, 1);  // a test set may be smaller than a batch
    options.batch = std::min(most, data::open_batches(options)->count());
    const auto set = data::open_batches(std::move(options));
    const Score score = trainer_->evaluate(*set);
    return {.loss = score.loss, .correct = score.correct, .images = score.images};
  }

  void report_accuracy() {
    const auto score = in_phase(reporter_, "accuracy", [&] { return test(); });
    const auto images = static_cast<double>(score.images);
    reporter_.accuracy(static_cast<double>(score.correct) / images, score.loss / images, score.images);
  }

  [[nodiscard]] nlohmann::json ready_fields() const {
    const Settings& settings = options_.settings;
    nlohmann::json implementations = nlohmann::json::array();
    for (const Implementation& each : trainer_->implementations()) {
      implementations.push_back({{"layer", each.layer},
                                 {"primitive", each.primitive},
                                 {"implementation", each.name},
                                 {"workspace_bytes", each.workspace_bytes},
                                 {"reference", false}});
    }
    nlohmann::json fields = worker::surroundings();
    fields["versions"] = {{"worker", kWorkerVersion},
                          {"cuda", version_text(facts_.runtime)},
                          {"driver", version_text(facts_.driver)},
                          {"cudnn", std::to_string(cudnnGetVersion())},
                          {"compiler", __VERSION__}};
    fields["device"] = facts_.name;
    fields["compute_capability"] = std::to_string(facts_.major) + "." + std::to_string(facts_.minor);
    fields["device_memory_bytes"] = facts_.memory_bytes;
    fields["threads"] = 1;
    fields["precision"] = to_text(settings.precision);
    if (settings.precision == Precision::F16) fields["loss_scale"] = options_.loss_scale;
    fields["layout"] = to_text(settings.layout);
    fields["algorithm"] = to_text(settings.algorithm);
    fields["workspace_mib"] = settings.workspace_mib;
    fields["fusion"] = to_text(settings.fusion);
    for (const SettledFusion& each : trainer_->fusions()) {
      fields["fusions"].push_back(
          {{"layer", each.layer}, {"fused", each.choice.fused}, {"reason", each.choice.reason}});
    }
    fields["cuda_graphs"] = settings.cuda_graphs;
    fields["streams"] = settings.streams;
    fields["batch"] = settings.batch;
    fields["gate"] = true;
    fields["parameters"] = trainer_->network().parameters;
    fields["buffer_bytes"] = trainer_->device_bytes();
    fields["implementations"] = std::move(implementations);
    return fields;
  }

  const protocol::Request& request_;
  Reporter& reporter_;
  TrainerOptions options_;
  DeviceFacts facts_;
  std::optional<protocol::InitialState> initial_;
  std::vector<std::int32_t> visits_;
  std::unique_ptr<DeviceTrainer> trainer_;
  std::int64_t device_bytes_ = 0;
};

}  // namespace

int run_request(const protocol::Request& request, Reporter& reporter) {
  std::string status = "ok", reason;
  std::int64_t device_bytes = 0;
  const auto ended = [&](const char* how, const char* why) { status = how, reason = why; };
  {
    Session session(request, reporter);
    try {
      session.run();
    } catch (const worker::Unsupported& error) {
      ended("unsupported", error.what());
    } catch (const data::UnsupportedData& error) {
      ended("unsupported", error.what());
    } catch (const worker::Diverged& error) {
      ended("diverged", error.what());
    } catch (const worker::OutOfDeviceMemory& error) {
      ended("out_of_memory", error.what());
    } catch (const std::bad_alloc&) {
      ended("failed", "out of memory");
    } catch (const std::exception& error) {
      ended("failed", error.what());
    }
    device_bytes = session.device_bytes();
  }
  reporter.memory(worker::peak_resident_bytes(), device_bytes);
  reporter.end(status, reason);
  return status == "failed" ? 1 : 0;
}

}  // namespace nocturne::cuda
