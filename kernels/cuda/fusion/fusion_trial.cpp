#include "kernels/cuda/fusion/fusion_trial.hpp"

#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "kernels/cuda/device/check.hpp"
#include "kernels/cuda/device/device.hpp"

namespace nocturne::cuda {
namespace {

constexpr int kPassesTimed = 10;  // together long against what a launch takes

// What a forward pass leaves: the activations, and the statistics that later passes read.
class ForwardResult {
 public:
  ForwardResult(void* data, DataType type, std::int64_t count)
      : data_(data), type_(type), count_(count), kept_(count * size(), "a trial of fusion") {}

  void keep_and_spoil(cudaStream_t stream) {
    check(cudaMemcpyAsync(kept_.data(), data_, bytes(), cudaMemcpyDeviceToDevice, stream), "a trial of fusion");
    check(cudaMemsetAsync(data_, 0xff, bytes(), stream), "a trial of fusion");  // no number, in any type
  }

  [[nodiscard]] Agreement compare(cudaStream_t stream) const {
    const DeviceMemory into(sizeof(Comparison), "a trial of fusion");
    launch_compare(kept_.data(), data_, type_, count_, into.as<Comparison>(), stream);
    Comparison found;
    check(cudaStreamSynchronize(stream), "waiting for the GPU");
    check(cudaMemcpy(&found, into.data(), sizeof found, cudaMemcpyDeviceToHost), "a trial of fusion");
    return {.largest_difference = static_cast<double>(std::bit_cast<float>(found.largest_difference)),
            .largest_value = static_cast<double>(std::bit_cast<float>(found.largest_value)),
            .finite = found.not_finite == 0};
  }

 private:
  [[nodiscard]] std::int64_t size() const { return type_ == DataType::F32 ? 4 : 2; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(count_ * size()); }

  void* data_;
  DataType type_;
  std::int64_t count_;
  DeviceMemory kept_;
};

// Values as in a training: inputs of either sign around a half, weights that keep their size, channels that differ.
void fill(const FusedRows& rows, cudaStream_t stream) {
  const LayerPlace& place = *rows.weighted_place;
  const DataType type = place.type();
  const networks::LayerFigures& figures = place.plan.figures;
  const std::int64_t inputs = figures.weights / place.layer().outputs;
  const auto fan_in = static_cast<float>(inputs);
  launch_fill(place.input, type, place.input_count(), {.centre = 0.5F, .spread = 1, .seed = 1}, stream);
  launch_fill(place.weights, type, figures.weights, {.spread = std::sqrt(3 / fan_in), .seed = 2}, stream);
  if (place.biases != nullptr) launch_fill(place.biases, type, figures.biases, {.spread = 1, .seed = 3}, stream);
  if (rows.normalisation == nullptr) return;
  const LayerPlace& norm = *rows.normalisation_place;
  const std::int64_t channels = norm.plan.figures.input.channels;
  launch_fill(norm.weights, DataType::F32, channels, {.centre = 1, .spread = 0.5F, .seed = 4}, stream);
  launch_fill(norm.biases, DataType::F32, channels, {.centre = 0.25F, .spread = 0.5F, .seed = 5}, stream);
}

void use(const FusedRows& rows, bool fused) {
  rows.weighted->use_fusion(fused);
  if (rows.normalisation != nullptr) rows.normalisation->use_fusion(fused);
}

FusionTrial run_trial(const FusedRows& rows, const Pass& pass) {
  const LayerPlace& last = rows.normalisation != nullptr ? *rows.normalisation_place : *rows.weighted_place;
  std::vector<ForwardResult> left;
  left.emplace_back(last.output, last.type(), last.output_count());
  // Running averages, and what the backward pass reads.
  const std::int64_t kept_parts = static_cast<std::int64_t>(StatisticsPart::Sums) * last.plan.figures.input.channels;
  if (rows.normalisation != nullptr) left.emplace_back(last.statistics, DataType::F32, kept_parts);
  Stopwatch watch;
  const auto forward = [&](bool fused) {
    use(rows, fused);
    rows.weighted->forward(pass);
    if (rows.normalisation != nullptr) rows.normalisation->forward(pass);
  };
  return try_fusion({.prepare =
                         [&] {
                           fill(rows, pass.stream);
                           if (rows.normalisation == nullptr) return;  // running averages follow what was there
                           check(cudaMemsetAsync(last.statistics, 0,
                                                 static_cast<std::size_t>(kept_parts) * sizeof(float), pass.stream),
                                 "a trial of fusion");
                         },
                     .poison =
                         [&] {
                           const LayerPlace& first = *rows.weighted_place;
                           const std::int64_t bytes = first.input_count() * bytes_per_value(first.settings.precision);
                           check(cudaMemsetAsync(first.input, 0xff, static_cast<std::size_t>(bytes), pass.stream),
                                 "a trial of fusion");
                         },
                     .apart = [&] { forward(false); },
                     .fused = [&] { forward(true); },
                     .keep =
                         [&] {
                           for (ForwardResult& each : left) each.keep_and_spoil(pass.stream);
                         },
                     .compare =
                         [&] {
                           std::vector<Agreement> agreements;
                           for (const ForwardResult& each : left) agreements.push_back(each.compare(pass.stream));
                           return agreements;
                         },
                     .time =
                         [&](const std::function<void()>& work) {
                           const auto took = watch.time(pass.stream, [&] {
                             for (int i = 0; i < kPassesTimed; ++i) work();
                           });
                           return std::chrono::duration<double, std::milli>(took).count() / kPassesTimed;
                         }},
                    last.settings.precision);
}

}  // namespace

FusionChoice settle_fusion(const FusedRows& rows, const Pass& pass) {
  FusionTrial trial;
  try {
    trial = run_trial(rows, pass);
  } catch (const std::exception& error) {  // most likely no memory for a copy to compare with
    trial.obstacle = error.what();
  }
  const FusionChoice choice = choose_fusion(trial, rows.weighted_place->settings.precision);
  use(rows, choice.fused);
  if (!choice.fused) rows.weighted->drop_fusion();
  return choice;
}

}  // namespace nocturne::cuda
