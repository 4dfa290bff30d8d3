#include "kernels/onednn/plan.hpp"

#include <chrono>
#include <utility>

#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/refusal.hpp"
#include "kernels/onednn/slices.hpp"
#include "kernels/onednn/softmax_loss.hpp"

namespace nocturne::onednn {
namespace {

using networks::Kind;

// Which rows apply a ReLU's gate in backward: the dropout below, where nothing but max-pools lie between (the maximum
// of rectified values is the rectified maximum, so the gate may wait until there are fewer values), else the row
// itself.
std::vector<bool> relu_gate_rows(const networks::Network& network) {
  const auto& layers = network.layers;
  std::vector<bool> gates(layers.size(), false);
  for (std::size_t row = 0; row < layers.size(); ++row) {
    if (!layers[row].relu) continue;
    std::size_t below = row + 1;
    while (below < layers.size() && layers[below].kind == Kind::MaxPool) ++below;
    const bool dropout = below < layers.size() && layers[below].kind == Kind::Dropout;
    gates[dropout ? below : row] = true;
  }
  return gates;
}

// A pool may write its input's difference over its input unless the row above still reads it, for its gate. Dropout
// works in place: its output is the input of the row below, and the buffer is that of the row above.
bool pool_input_is_free(const networks::Network& network, std::size_t row, const std::vector<bool>& gates) {
  if (row == 0 || network.layers[row].kind != Kind::MaxPool) return false;
  return network.layers[row - 1].kind == Kind::Convolution && !gates[row - 1];
}

void require_chain(const networks::Network& network) {
  for (const networks::Layer& layer : network.layers) {
    if (layer.input.empty() && layer.input2.empty()) continue;
    throw Unsupported("network " + std::string(network.name) + ": layer " + std::string(layer.name) +
                      " does not read the row above; this worker trains chains only");
  }
}

// Marks the row's last operation, if it has any in this list.
void complete(std::vector<Operation>& list, std::size_t row) {
  if (!list.empty() && list.back().layer == row) list.back().completes_row = true;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::unique_ptr<PlannedLayer> plan_layer(const LayerPlace& place) {
  switch (place.figures.layer->kind) {
    case Kind::Convolution:
      return plan_convolution(place);
    case Kind::Dense:
      return plan_dense(place);
    case Kind::MaxPool:
      return plan_max_pool(place);
    case Kind::Dropout:
      return plan_dropout(place);
    case Kind::BatchNormalisation:
    case Kind::Add:
    case Kind::AveragePool:
      break;
  }
  throw Unsupported("layer " + place.name() + ": this worker has no " +
                    std::string(networks::to_text(place.figures.layer->kind)));
}

Plan::Plan(const networks::Network& network, std::int64_t batch, Precision precision, Layout layout,
           const dnnl::engine& engine)
    : network_(network),
      batch_(batch),
      precision_(precision),
      engine_(engine),
      stream_(engine),
      builder_(engine_, stream_, arena_) {
  require_chain(network);
  const auto type = precision == Precision::F32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  const networks::Shape& image = network.image;
  dnnl::memory::desc input({batch, image.channels, image.height, image.width}, type, dnnl::memory::format_tag::nchw);
  input_ = dnnl::memory(input, engine_, DNNL_MEMORY_NONE);
  const std::vector<networks::LayerFigures> figures = networks::figures(network);
  const std::vector<bool> gates = relu_gate_rows(network);
  const std::int64_t slices = slice_count(figures, batch, precision == Precision::F32 ? 4 : 2, threads());
  for (std::size_t row = 0; row < figures.size(); ++row) {
    layers_.push_back(plan_layer({.figures = figures[row],
                                  .row = row,
                                  .engine = engine_,
                                  .batch = batch,
                                  .precision = precision,
                                  .layout = layout,
                                  .input = input,
                                  .first = row == 0,
                                  .last = row + 1 == figures.size(),
                                  .gates_relu = gates[row],
                                  .slices = is_sliced(figures, row) ? slices : 1,
                                  .later = &later_,
                                  .input_is_free = pool_input_is_free(network, row, gates)}));
    input = layers_.back()->output();
  }
}

std::vector<ParameterLayout> Plan::parameter_layouts() const {
  std::vector<ParameterLayout> all;
  for (const auto& layer : layers_) {
    for (ParameterLayout& layout : layer->parameter_layouts()) all.push_back(std::move(layout));
  }
  return all;
}

void Plan::bind(Parameters& parameters) {
  parameters_ = &parameters;
  const auto name = [this](std::size_t row) { return std::string(network_.layers[row].name); };
  for (std::size_t row = 0; row < layers_.size(); ++row) {
    builder_.begin(refresh_, row, name(row));
    layers_[row]->bind_refresh(builder_, parameters);
  }
  input_.set_data_handle(arena_.allocate(input_.get_desc().get_size()));
  dnnl::memory current = input_;
  for (std::size_t row = 0; row < layers_.size(); ++row) {
    builder_.begin(forward_, row, name(row));
    current = layers_[row]->bind_forward(builder_, current);
    complete(forward_, row);
    outputs_.push_back(current);
  }
  logits_ = current;
  const auto type = input_.get_desc().get_data_type();
  logits_difference_ = builder_.allocate({{batch_, network_.classes}, type, dnnl::memory::format_tag::nc});
  current = logits_difference_;
  input_differences_.resize(layers_.size());
  for (std::size_t row = layers_.size(); row-- > 0;) {
    builder_.begin(backward_, row, name(row));
    current = layers_[row]->bind_backward(builder_, current);
    complete(backward_, row);
    input_differences_[row] = current;
  }
  backward_.insert(backward_.end(), later_.begin(), later_.end());
  interleave_slices(forward_);
  interleave_slices(backward_);
  builder_.finish();
}

void Plan::refresh() {
  if (refreshed_version_ == parameters_->version()) return;
  run(refresh_, {}, {}, {});
  refreshed_version_ = parameters_->version();
}

float Plan::train(const std::uint8_t* labels, std::optional<std::uint64_t> dropout_key) {
  const StepContext step{.dropout_key = dropout_key.value_or(0), .training = true, .dropout = dropout_key.has_value()};
  refresh();
  run(forward_, step, observe_forward_, outputs_);
  const auto* logits = static_cast<const float*>(logits_.get_data_handle());
  void* difference = logits_difference_.get_data_handle();
  const float loss = precision_ == Precision::F32
                         ? softmax_loss(logits, labels, batch_, network_.classes, static_cast<float*>(difference))
                         : softmax_loss(logits, labels, batch_, network_.classes, static_cast<Bfloat16*>(difference));
  run(backward_, step, observe_backward_, input_differences_);
  return loss;
}

const float* Plan::infer() {
  refresh();
  run(forward_, {.dropout_key = 0, .training = false, .dropout = false}, {}, {});
  return static_cast<const float*>(logits_.get_data_handle());
}

void Plan::observe(Observer forward, Observer backward) {
  observe_forward_ = std::move(forward);
  observe_backward_ = std::move(backward);
}

void Plan::run(const std::vector<Operation>& list, const StepContext& step, const Observer& observer,
               const std::vector<dnnl::memory>& observed) {
  if (profile_ != nullptr) {
    run_timed(list, step);
    return;
  }
  for (const Operation& operation : list) {
    operation.run(step);
    if (observer && operation.completes_row) observer(operation.layer, observed[operation.layer]);
  }
  stream_.wait();
}

void Plan::run_timed(const std::vector<Operation>& list, const StepContext& step) {
  std::map<std::string, std::int64_t> spent;  // the slices of an operation are one
  for (const Operation& operation : list) {
    const std::int64_t begin = now_ns();
    operation.run(step);
    spent[operation.name] += now_ns() - begin;
  }
  for (const auto& [name, ns] : spent) (*profile_)[name].add(ns);
}

}  // namespace nocturne::onednn
