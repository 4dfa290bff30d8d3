#include "kernels/onednn/plan/plan.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "kernels/onednn/layers/elementwise.hpp"
#include "kernels/onednn/layers/softmax_loss.hpp"
#include "kernels/onednn/layers/weighted_layer.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/slices.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;

constexpr std::int64_t kJoinGrain = 1 << 15;  // microseconds of work: less is not worth a second thread

template <typename T>
void add_gate(Builder& builder, const memory& activation_gradient, const memory& output, std::int64_t slice) {
  const std::int64_t count = stored_count(output.get_desc());
  builder.add_loop(
      "ReLU gate", {activation_gradient, output},
      [activation_gradient, output, count](const StepContext&) {
        T* gated = static_cast<T*>(activation_gradient.get_data_handle());
        const T* values = static_cast<const T*>(output.get_data_handle());
        parallel_for(count, kJoinGrain, [=](std::int64_t begin, std::int64_t end) {
          gate_relu(gated + begin, values + begin, end - begin);
        });
      },
      slice);
}

// `gate` may be empty.
template <typename T>
void add_sum(Builder& builder, const memory& sum, const memory& other, const memory& gate) {
  const std::int64_t count = stored_count(sum.get_desc());
  if (!gate) {
    builder.add_loop("sum of activation gradients", {sum, other}, [sum, other, count](const StepContext&) {
      T* values = static_cast<T*>(sum.get_data_handle());
      const T* added = static_cast<const T*>(other.get_data_handle());
      parallel_for(count, kJoinGrain, [=](std::int64_t begin, std::int64_t end) {
        add_values(values + begin, added + begin, false, end - begin);
      });
    });
    return;
  }
  builder.add_loop("sum and ReLU gate", {sum, other, gate}, [sum, other, gate, count](const StepContext&) {
    T* values = static_cast<T*>(sum.get_data_handle());
    const T* added = static_cast<const T*>(other.get_data_handle());
    const T* output = static_cast<const T*>(gate.get_data_handle());
    parallel_for(count, kJoinGrain, [=](std::int64_t begin, std::int64_t end) {
      add_gated(values + begin, added + begin, output + begin, end - begin);
    });
  });
}

template <typename T>
memory join_as(Builder& builder, const memory::desc& layout, const GradientJoin& join) {
  std::vector<ReturnedGradient> parts = join.parts;
  for (ReturnedGradient& part : parts) {
    const memory same = builder.in_layout(part.memory, layout, "reorder activation gradient");
    if (same.get() != part.memory.get()) part = {same, false};
  }
  // The sum goes into the first part that may be written over, else into a copy.
  auto sum = std::ranges::find(parts, false, &ReturnedGradient::shared);
  if (sum == parts.end()) {
    const memory copy = builder.allocate(layout);
    builder.add_reorder("copy activation gradient", parts.front().memory, copy);
    parts.front() = {copy, false};
    sum = parts.begin();
  }
  std::iter_swap(parts.begin(), sum);
  const memory result = parts.front().memory;
  for (std::size_t i = 1; i < parts.size(); ++i)
    add_sum<T>(builder, result, parts[i].memory, i + 1 == parts.size() ? join.gate : memory());
  if (parts.size() > 1) return result;
  const std::int64_t slices = can_slice(layout, join.slices) ? join.slices : 1;
  for (std::int64_t i = 0; i < slices; ++i)
    add_gate<T>(builder, builder.slice(result, slices, i), builder.slice(join.gate, slices, i), slices > 1 ? i : -1);
  return result;
}

using networks::Kind;

// Marks the row's last operation in training, if it has any in this list.
void complete(std::vector<Operation>& list, std::size_t row) {
  const auto last =
      std::find_if(list.rbegin(), list.rend(), [](const Operation& each) { return each.pass != Pass::Evaluation; });
  if (last != list.rend() && last->layer == row) last->completes_row = true;
}

bool runs_in(const Operation& operation, const StepContext& step) {
  return operation.pass == Pass::Any || (operation.pass == Pass::Training) == step.training;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

memory bind_join(Builder& builder, const memory::desc& layout, const GradientJoin& join) {
  if (join.parts.size() == 1 && !join.gate) return join.parts.front().memory;
  if (layout.get_data_type() == memory::data_type::f32) return join_as<float>(builder, layout, join);
  return join_as<Bfloat16>(builder, layout, join);
}

std::unique_ptr<PlannedLayer> plan_layer(const LayerPlace& place) {
  switch (place.figures.layer->kind) {
    case Kind::Convolution:
      return plan_convolution(place);
    case Kind::Dense:
      return plan_dense(place);
    case Kind::MaxPool:
    case Kind::AveragePool:
      return plan_pool(place);
    case Kind::Dropout:
      return plan_dropout(place);
    case Kind::BatchNormalisation:
      return plan_batch_normalisation(place);
    case Kind::Add:
      return plan_add(place);
  }
  throw worker::Unsupported("layer " + place.name() + ": this worker has no " +
                            std::string(networks::to_text(place.figures.layer->kind)));
}

Plan::Plan(const networks::Network& network, std::int64_t batch, Precision precision, Layout layout,
           const dnnl::engine& engine)
    : network_(network),
      batch_(batch),
      precision_(precision),
      engine_(engine),
      stream_(engine),
      builder_(engine_, stream_, arena_),
      graph_(network) {
  if (network.layers.back().kind != Kind::Dense)
    throw worker::Unsupported("network " + std::string(network.name) + ": this worker ends networks in a dense layer");
  plan_layers(layout);
}

void Plan::plan_layers(Layout layout) {
  const auto type = precision_ == Precision::F32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  const networks::Shape& image = network_.image;
  input_ =
      builder_.allocate({{batch_, image.channels, image.height, image.width}, type, dnnl::memory::format_tag::nchw});
  const std::vector<networks::LayerFigures>& rows = graph_.rows();
  const auto layout_of = [this](std::int64_t source) {
    return source < 0 ? input_.get_desc() : layers_[static_cast<std::size_t>(source)]->output();
  };
  if (graph_.is_chain()) slices_ = slice_count(rows, batch_, precision_ == Precision::F32 ? 4 : 2, threads());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool add = rows[row].layer->kind == Kind::Add;
    layers_.push_back(plan_layer({.figures = rows[row],
                                  .row = row,
                                  .engine = engine_,
                                  .batch = batch_,
                                  .precision = precision_,
                                  .layout = layout,
                                  .input = layout_of(rows[row].source),
                                  .input2 = add ? layout_of(rows[row].source2) : dnnl::memory::desc(),
                                  .first = rows[row].source < 0,
                                  .last = row + 1 == rows.size(),
                                  .gates_relu = graph_.gates_for_above(row),
                                  .slices = graph_.is_chain() && is_sliced(rows, row) ? slices_ : 1,
                                  .later = &later_,
                                  .input_is_free = graph_.is_free(rows[row].source),
                                  .input2_is_free = add && graph_.is_free(rows[row].source2),
                                  .gradient_is_shared = graph_.gradient_is_shared(row)}));
  }
}

std::vector<ParameterLayout> Plan::parameter_layouts() const {
  std::vector<ParameterLayout> all;
  for (const auto& layer : layers_)
    for (ParameterLayout& layout : layer->parameter_layouts()) all.push_back(std::move(layout));
  return all;
}

void Plan::bind(Parameters& parameters) {
  parameters_ = &parameters;
  for (std::size_t row = 0; row < layers_.size(); ++row) {
    builder_.begin(refresh_, row, name_of(row), true);
    layers_[row]->bind_refresh(builder_, parameters);
  }
  bind_forward();
  bind_backward();
  interleave_slices(forward_);
  interleave_slices(backward_);
  builder_.plan_memory({&arrival_, &forward_, &loss_, &backward_});
}

void Plan::bind_forward() {
  builder_.begin(arrival_, 0, "(batch)");
  builder_.add_loop("arrives", {input_}, {});  // never run: the input lives from here on
  const auto output_of = [this](std::int64_t source) {
    return source < 0 ? input_ : outputs_[static_cast<std::size_t>(source)];
  };
  for (std::size_t row = 0; row < layers_.size(); ++row) {
    const networks::LayerFigures& figures = graph_.rows()[row];
    const bool add = figures.layer->kind == Kind::Add;
    builder_.begin(forward_, row, name_of(row));
    outputs_.push_back(layers_[row]->bind_forward(builder_, output_of(figures.source),
                                                  add ? output_of(figures.source2) : dnnl::memory()));
    complete(forward_, row);
  }
  logits_ = outputs_.back();
}

void Plan::bind_backward() {
  builder_.begin(loss_, layers_.size() - 1, "(loss)");
  logits_gradient_ =
      builder_.allocate({{batch_, network_.classes}, input_.get_desc().get_data_type(), dnnl::memory::format_tag::nc});
  builder_.add_loop("softmax", {logits_, logits_gradient_}, {});  // never run: train() computes it
  input_gradients_.resize(layers_.size());
  returned_.assign(layers_.size(), {});
  returned_.back().push_back({.memory = logits_gradient_, .shared = false});
  for (std::size_t row = layers_.size(); row-- > 0;) {
    const networks::LayerFigures& figures = graph_.rows()[row];
    const bool add = figures.layer->kind == Kind::Add;
    builder_.begin(backward_, row, name_of(row));
    input_gradients_[row] = layers_[row]->bind_backward(builder_, joined_gradient(row));
    complete(backward_, row);
    for (const std::int64_t source : {figures.source, figures.source2}) {
      if (source < 0) continue;
      returned_[static_cast<std::size_t>(source)].push_back({.memory = input_gradients_[row], .shared = add});
    }
  }
  backward_.insert(backward_.end(), later_.begin(), later_.end());
  returned_.clear();
}

dnnl::memory Plan::joined_gradient(std::size_t row) {
  GradientJoin join{.parts = std::move(returned_[row]), .gate = {}, .slices = 1};
  if (graph_.gates(row)) join.gate = outputs_[row];
  if (graph_.is_chain() && is_sliced(graph_.rows(), row)) join.slices = slices_;
  return bind_join(builder_, layers_[row]->output(), join);
}

std::size_t Plan::unshared_bytes() const {
  return bytes() - builder_.shared_bytes() + builder_.unshared_bytes();
}

void Plan::refresh(bool training) {
  if (refreshed_version_ == parameters_->version()) return;
  run(refresh_, {.dropout_key = 0, .training = training, .dropout = false}, {}, {});
  refreshed_version_ = parameters_->version();
}

float Plan::train(const std::int32_t* labels, std::optional<std::uint64_t> dropout_key, float smoothing) {
  const StepContext step{.dropout_key = dropout_key.value_or(0), .training = true, .dropout = dropout_key.has_value()};
  refresh(true);
  run(forward_, step, observe_forward_, outputs_);
  const std::int64_t begin = now_ns();
  const LossOptions options{.count = batch_, .classes = network_.classes, .smoothing = smoothing};
  const auto* logits = static_cast<const float*>(logits_.get_data_handle());
  void* activation_gradient = logits_gradient_.get_data_handle();
  const float loss = precision_ == Precision::F32
                         ? softmax_loss(logits, labels, options, static_cast<float*>(activation_gradient))
                         : softmax_loss(logits, labels, options, static_cast<Bfloat16*>(activation_gradient));
  if (profile_ != nullptr) profile_->add_own("(loss)", now_ns() - begin);
  run(backward_, step, observe_backward_, input_gradients_);
  return loss;
}

const float* Plan::infer() {
  refresh(false);
  run(forward_, {.dropout_key = 0, .training = false, .dropout = false}, {}, {});
  return static_cast<const float*>(logits_.get_data_handle());
}

void Plan::observe(Observer forward, Observer backward) {
  observe_forward_ = std::move(forward);
  observe_backward_ = std::move(backward);
}

void Plan::run(const std::vector<Operation>& list, const StepContext& step, const Observer& observer,
               const std::vector<dnnl::memory>& observed) {
  if (profile_ != nullptr && step.training) {
    run_timed(list, step);
    return;
  }
  for (const Operation& operation : list) {
    if (!runs_in(operation, step)) continue;
    operation.run(step);
    if (observer && operation.completes_row) observer(operation.layer, observed[operation.layer]);
  }
  stream_.wait();
}

void Plan::run_timed(const std::vector<Operation>& list, const StepContext& step) {
  // The slices of an operation are one, and reorders of one name.
  std::vector<std::pair<OperationTime, std::int64_t>> spent;
  for (const Operation& operation : list) {
    if (!runs_in(operation, step)) continue;
    const std::int64_t begin = now_ns();
    operation.run(step);
    const std::int64_t ns = now_ns() - begin;
    auto found =
        std::find_if(spent.begin(), spent.end(), [&](const auto& each) { return each.first.name == operation.name; });
    if (found == spent.end()) {
      const networks::Layer& layer = network_.layers[operation.layer];
      OperationTime entry;
      entry.name = operation.name;
      entry.layer = std::string(layer.name);
      entry.row = static_cast<std::int64_t>(operation.layer);
      entry.part = &list == &forward_ ? Part::Forward : &list == &backward_ ? Part::Backward : Part::Rest;
      entry.group = std::string(networks::to_text(layer.kind)) + operation.name.substr(layer.name.size());
      entry.implementation = operation.implementation;
      spent.emplace_back(std::move(entry), 0);
      found = std::prev(spent.end());
    }
    found->first.flops += operation.flops;
    found->second += ns;
  }
  for (const auto& [operation, ns] : spent) profile_->add(operation, ns);
}

}  // namespace nocturne::onednn
