#include "kernels/onednn/plan/joined_gradient.hpp"

#include <algorithm>

#include "kernels/onednn/layers/elementwise.hpp"
#include "kernels/onednn/layers/weighted_layer.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/slices.hpp"

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
  for (std::size_t i = 1; i < parts.size(); ++i) {
    add_sum<T>(builder, result, parts[i].memory, i + 1 == parts.size() ? join.gate : memory());
  }
  if (parts.size() > 1) return result;
  const std::int64_t slices = can_slice(layout, join.slices) ? join.slices : 1;
  for (std::int64_t i = 0; i < slices; ++i) {
    add_gate<T>(builder, builder.slice(result, slices, i), builder.slice(join.gate, slices, i), slices > 1 ? i : -1);
  }
  return result;
}

}  // namespace

memory bind_join(Builder& builder, const memory::desc& layout, const GradientJoin& join) {
  if (join.parts.size() == 1 && !join.gate) return join.parts.front().memory;
  if (layout.get_data_type() == memory::data_type::f32) return join_as<float>(builder, layout, join);
  return join_as<Bfloat16>(builder, layout, join);
}

}  // namespace nocturne::onednn
