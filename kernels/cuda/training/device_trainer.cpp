#include "kernels/cuda/training/device_trainer.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>

#include "kernels/cuda/device/check.hpp"
#include "kernels/cuda/settings.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

std::size_t slots_of(const Settings& settings) {
  return static_cast<std::size_t>(settings.streams);
}

// Images of the smaller batch at an epoch's end, where the source gives one and it will be reached; else 0.
std::int64_t rest_of(const data::BatchSource& source, const TrainerOptions& options) {
  const std::int64_t batch = options.settings.batch, full = source.examples() / batch;
  const bool given = source.steps_per_epoch() > full;
  const bool reached = options.steps < 0 || options.steps > full;
  return given && reached ? source.examples() % batch : 0;
}

NetworkPlan plan_rest(const networks::Network& network, const Settings& settings, std::int64_t rest) {
  return rest > 0 ? plan_network(network, rest, bytes_per_value(settings.precision)) : NetworkPlan{};
}

}  // namespace

BatchFeed::BatchFeed(data::BatchSource& source, std::int64_t batch, std::size_t slots, const Stream& computing)
    : source_(source),
      computing_(computing),
      scaling_(source.image().channels * static_cast<std::int64_t>(sizeof(PixelScaling)), "the images' scaling") {
  std::vector<PixelScaling> scaling;
  for (const data::Scaling& each : source.scaling()) scaling.push_back({each.factor, each.offset});
  check(cudaMemcpy(scaling_.data(), scaling.data(), scaling.size() * sizeof(PixelScaling), cudaMemcpyHostToDevice),
        "the images' scaling");
  const std::int64_t image_bytes = batch * source.image().elements();
  const std::int64_t label_bytes = batch * static_cast<std::int64_t>(sizeof(std::int32_t));
  for (std::size_t i = 0; i < slots; ++i) {
    auto slot = std::make_unique<Slot>();
    slot->host_images = PinnedMemory(image_bytes, "pinned memory for images");
    slot->host_labels = PinnedMemory(label_bytes, "pinned memory for labels");
    slot->images = DeviceMemory(image_bytes, "images");
    slot->labels = DeviceMemory(label_bytes, "labels");
    slots_.push_back(std::move(slot));
  }
}

void BatchFeed::fetch(Slot& slot) {
  const bool own_stream = slots_.size() > 1;
  // The copy before this one may still read the pinned memory. It waits for the GPU, which computes: that is no lack of
  // data.
  slot.copied.wait_on_host();
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t size = source_.next_size(), values = size * source_.image().elements();
  const bool ends_epoch = source_.next_ends_epoch();
  source_.next_bytes({slot.host_images.as<std::uint8_t>(), static_cast<std::size_t>(values)},
                     {slot.host_labels.as<std::int32_t>(), static_cast<std::size_t>(size)});
  const Stream& stream = own_stream ? copying_ : computing_;
  if (own_stream) slot.read.wait_on(copying_);
  check(cudaMemcpyAsync(slot.images.data(), slot.host_images.as<void>(), static_cast<std::size_t>(values),
                        cudaMemcpyHostToDevice, stream.get()),
        "images");
  check(cudaMemcpyAsync(slot.labels.data(), slot.host_labels.as<void>(),
                        static_cast<std::size_t>(size) * sizeof(std::int32_t), cudaMemcpyHostToDevice, stream.get()),
        "labels");
  slot.copied.record(stream);
  slot.batch = place_of(turn_, size);
  slot.batch.ends_epoch = ends_epoch;
  slot.batch.wait_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  slot.filled = true;
}

FedBatch BatchFeed::next() {
  Slot& slot = *slots_[turn_];
  if (!slot.filled) fetch(slot);
  slot.filled = false;
  if (slots_.size() > 1) slot.copied.wait_on(computing_);
  return slot.batch;
}

void BatchFeed::done(const FedBatch& batch) {
  slots_[batch.slot]->read.record(computing_);
  turn_ = (turn_ + 1) % slots_.size();
  if (slots_.size() > 1) fetch(*slots_[turn_]);
}

std::int64_t BatchFeed::next_size() const {
  const Slot& slot = *slots_[turn_];
  return slot.filled ? slot.batch.size : source_.next_size();
}

FedBatch BatchFeed::place_of(std::size_t slot, std::int64_t size) const {
  return {.slot = slot,
          .images = {.bytes = slots_[slot]->images.as<std::uint8_t>(), .scaling = scaling_.as<PixelScaling>()},
          .labels = slots_[slot]->labels.as<std::int32_t>(),
          .size = size};
}

std::int64_t BatchFeed::device_bytes() const {
  std::int64_t bytes = scaling_.bytes();
  for (const auto& slot : slots_) bytes += slot->images.bytes() + slot->labels.bytes();
  return bytes;
}

DeviceTrainer::DeviceTrainer(const networks::Network& network, const TrainerOptions& options, data::BatchSource& source,
                             const DeviceFacts& facts)
    : network_(network),
      options_(options),
      source_(source),
      plan_(plan_network(network, options.settings.batch, bytes_per_value(options.settings.precision))),
      partial_plan_(plan_rest(network, options.settings, rest_of(source, options))),
      parameters_(parameter_table(network), options.settings.precision, options.settings.layout),
      arena_(std::max(plan_.bytes, partial_plan_.bytes), "activations and their activation gradients"),
      statistics_(plan_.statistics_count * kFloatBytes, "statistics"),
      losses_(options.settings.batch * kFloatBytes, "losses"),
      correct_(options.settings.batch * kFloatBytes, "losses"),
      state_(sizeof(StepState), "the step's state"),
      read_state_(sizeof(StepState), "the step's state"),
      graphs_(slots_of(options.settings)) {
  check(cudnnSetStream(cudnn_.get(), stream_.get()), "stream");
  main_ = std::make_unique<NetworkPass>(plan_, options_.settings, arena_.data(), statistics_.as<float>(), parameters_);
  if (!partial_plan_.rows.empty()) {
    partial_ = std::make_unique<NetworkPass>(partial_plan_, options_.settings, arena_.data(), statistics_.as<float>(),
                                             parameters_);
  }
  feed_ = std::make_unique<BatchFeed>(source_, options_.settings.batch, slots_of(options_.settings), stream_);
  choose_algorithms(facts);
  begin_with(options_.initial);
  StepState state{.seed = options_.seed};
  if (options_.settings.precision == Precision::F16) state.loss_scale.scale = options_.loss_scale;
  check(cudaMemcpy(state_.data(), &state, sizeof state, cudaMemcpyHostToDevice), "the step's state");
  check(cudaDeviceSynchronize(), "the step's state");
  options_.initial = nullptr;  // the caller's, and no longer needed
}

void DeviceTrainer::choose_algorithms(const DeviceFacts& facts) {
  Pass pass = pass_of(true);
  DeviceMemory scratch;
  if (options_.settings.algorithm == Algorithm::Find) {
    // What is tried may use what it likes within the limit; what is kept needs less.
    const std::int64_t room = std::max<std::int64_t>(facts.free_bytes - device_bytes(), 0) / 10 * 9;
    scratch = DeviceMemory(std::min(options_.settings.workspace_mib << 20, room), "workspace");
    pass.workspace = scratch.data();
    pass.workspace_bytes = scratch.bytes();
  }
  std::vector<NetworkPass*> passes = {main_.get()};
  if (partial_) passes.push_back(partial_.get());
  const bool fuse = options_.settings.fusion == Fusion::Auto;
  std::int64_t most = 0;
  for (NetworkPass* each : passes) {
    each->choose(pass);
    if (fuse) each->prepare_fusions(pass);
    most = std::max(most, each->workspace_bytes());
  }
  scratch = DeviceMemory();
  workspace_ = DeviceMemory(most, "workspace");
  if (!fuse) return;
  for (NetworkPass* each : passes) each->settle_fusions(pass_of(true));
  check(cudaStreamSynchronize(stream_.get()), "waiting for the GPU");
}

void DeviceTrainer::begin_with(const protocol::InitialState* initial) {
  const ParameterTable& table = parameters_.table();
  if (initial != nullptr) check_state(*initial, network_, table);
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < table.tensors.size(); ++i) {
    values.push_back(initial != nullptr ? values_of(*initial, table.tensors[i])
                                        : initial_values(table, i, options_.seed));
  }
  parameters_.assign(values);
  std::vector<float> statistics(static_cast<std::size_t>(plan_.statistics_count), 0.0F);
  for (const RowPlan& row : plan_.rows) {
    if (row.statistics < 0) continue;
    const auto variance = statistics.begin() + row.statistics + row.figures.input.channels;
    std::fill_n(variance, row.figures.input.channels, 1.0F);
  }
  if (statistics.empty()) return;
  check(cudaMemcpy(statistics_.data(), statistics.data(), statistics.size() * sizeof(float), cudaMemcpyHostToDevice),
        "statistics");
}

Pass DeviceTrainer::pass_of(bool training) const {
  return {.cudnn = cudnn_.get(),
          .stream = stream_.get(),
          .workspace = workspace_.data(),
          .workspace_bytes = workspace_.bytes(),
          .state = state_.as<StepState>(),
          .training = training,
          .dropout = options_.dropout};
}

void DeviceTrainer::run_step(NetworkPass& network, const FedBatch& batch) {
  const Pass pass = pass_of(true);
  const DataType type = data_type(options_.settings.precision);
  launch_begin_step(pass.state, pass.stream);
  network.forward(batch.images, pass);
  launch_softmax_loss(network.logits(), batch.labels, network.batch(), network_.classes,
                      static_cast<float>(options_.label_smoothing), network.logits_gradient(), losses_.as<float>(),
                      type, pass.state, pass.stream);
  launch_reduce_loss(losses_.as<float>(), network.batch(), pass.state, pass.stream);
  network.backward(pass);
  parameters_.update(options_.optimizer, pass.state, pass.stream);
  launch_end_step(pass.state, options_.settings.precision == Precision::F16, pass.stream);
}

worker::StepFacts DeviceTrainer::step() {
  const FedBatch batch = feed_->next();
  const bool partial = batch.size < options_.settings.batch;
  if (partial && !partial_) throw std::logic_error("a smaller batch came that was not planned");
  if (!partial && graphs_[batch.slot].is_captured()) {
    graphs_[batch.slot].launch(stream_);
  } else {
    run_step(partial ? *partial_ : *main_, batch);
    if (!partial) ++steps_run_;
    if (capture_now(options_.settings, partial, steps_run_))
      for (std::size_t slot = 0; slot < graphs_.size(); ++slot)
        graphs_[slot].capture(stream_, [&] { run_step(*main_, feed_->place_of(slot, options_.settings.batch)); });
  }
  feed_->done(batch);
  return {.images = batch.size, .data_wait_ns = batch.wait_ns, .partial = partial, .epoch_ended = batch.ends_epoch};
}

worker::MeanLoss DeviceTrainer::settle() {
  const double before = settled_.loss_sum;
  check(
      cudaMemcpyAsync(read_state_.as<void>(), state_.data(), sizeof(StepState), cudaMemcpyDeviceToHost, stream_.get()),
      "the step's state");
  check(cudaStreamSynchronize(stream_.get()), "waiting for the GPU");
  settled_ = *read_state_.as<StepState>();
  if (settled_.not_finite_at >= 0)
    throw worker::Diverged("the loss of step " + std::to_string(settled_.not_finite_at) + " is not a finite number");
  if (settled_.overflow != 0 && settled_.loss_scale.scale <= 1.0F) {
    throw worker::Diverged("gradients overflow in f16 at step " + std::to_string(settled_.step - 1) +
                           " although the loss is no longer scaled");
  }
  return {.loss = static_cast<double>(settled_.loss), .loss_sum = settled_.loss_sum - before};
}

Score DeviceTrainer::evaluate(data::BatchSource& set) {
  BatchFeed feed(set, options_.settings.batch, 1, stream_);
  const DataType type = data_type(options_.settings.precision);
  std::vector<float> losses(static_cast<std::size_t>(options_.settings.batch));
  std::vector<std::int32_t> correct(losses.size());
  Score score;
  bool ended = false;
  while (!ended) {
    const FedBatch batch = feed.next();
    main_->forward(batch.images, pass_of(false));
    launch_judge(main_->logits(), batch.labels, batch.size, network_.classes, losses_.as<float>(),
                 correct_.as<std::int32_t>(), type, stream_.get());
    feed.done(batch);
    const auto count = static_cast<std::size_t>(batch.size);
    check(cudaStreamSynchronize(stream_.get()), "waiting for the GPU");
    check(cudaMemcpy(losses.data(), losses_.data(), count * sizeof(float), cudaMemcpyDeviceToHost), "losses");
    check(cudaMemcpy(correct.data(), correct_.data(), count * sizeof(float), cudaMemcpyDeviceToHost), "losses");
    for (std::size_t i = 0; i < count; ++i) {
      score.loss += static_cast<double>(losses[i]);
      score.correct += correct[i];
    }
    score.images += batch.size;
    ended = batch.ends_epoch;
  }
  return score;
}

std::int64_t DeviceTrainer::device_bytes() const {
  return parameters_.bytes() + arena_.bytes() + statistics_.bytes() + losses_.bytes() + correct_.bytes() +
         state_.bytes() + workspace_.bytes() + feed_->device_bytes();
}

}  // namespace nocturne::cuda
