/// Dropout, in place, with own loops: one byte a value remembers what may flow back. Where the values come from a ReLU
/// (directly, or through a max-pool, with which a ReLU can change places), its gate goes into the same byte, which
/// saves a pass over the larger tensor above.

#include <utility>

#include "kernels/onednn/layers/elementwise.hpp"
#include "kernels/onednn/layers/planned_layer.hpp"
#include "kernels/onednn/layers/weighted_layer.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/random.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;

constexpr std::int64_t kGrain = 32 * kDropoutGrain;  // microseconds of work: less is not worth a second thread

class DropoutLayer final : public PlannedLayer {
 public:
  explicit DropoutLayer(LayerPlace place) : place_(std::move(place)) {}

  [[nodiscard]] memory::desc output() const override { return place_.input; }

  [[nodiscard]] memory bind_forward(Builder& builder, const memory& input, const memory&) override {
    memory values = input;
    if (!place_.input_is_free) {
      values = builder.allocate(input.get_desc());
      builder.add_reorder("copy input", input, values);
    }
    const std::int64_t count = stored_count(input.get_desc());
    passed_ = builder.allocate({{count}, memory::data_type::u8, memory::format_tag::a});
    if (place_.precision == Precision::F32)
      add_forward<float>(builder, values, count);
    else
      add_forward<Bfloat16>(builder, values, count);
    return values;
  }

  [[nodiscard]] memory bind_backward(Builder& builder, const memory& activation_gradient) override {
    memory result = builder.in_layout(activation_gradient, place_.input, "reorder activation gradient");
    if (place_.gradient_is_shared && result.get() == activation_gradient.get()) {
      result = builder.allocate(place_.input);
      builder.add_reorder("copy activation gradient", activation_gradient, result);
    }
    if (place_.precision == Precision::F32)
      add_backward<float>(builder, result);
    else
      add_backward<Bfloat16>(builder, result);
    return result;
  }

 private:
  template <typename T>
  void add_forward(Builder& builder, const memory& buffer, std::int64_t count) {
    const double rate = place_.figures.layer->rate;
    const bool gate = place_.gates_relu;
    const std::uint64_t layer = place_.row;
    builder.add_loop(
        "forward", {buffer, passed_},
        [buffer, kept = passed_, rate, gate, layer, count](const StepContext& step) {
          const DropoutDraw draw = dropout_draw(step.dropout ? rate : 0, key_of(step.dropout_key, layer), gate);
          T* values = static_cast<T*>(buffer.get_data_handle());
          auto* passed = static_cast<std::uint8_t*>(kept.get_data_handle());
          parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
            dropout_forward(values + begin, passed + begin, begin, end - begin, draw);
          });
        },
        -1, Pass::Training);
  }

  template <typename T>
  void add_backward(Builder& builder, const memory& buffer) {
    const float scale = dropout_draw(place_.figures.layer->rate, 0, false).scale;
    const std::int64_t count = stored_count(buffer.get_desc());
    builder.add_loop("backward", {buffer, passed_}, [buffer, kept = passed_, scale, count](const StepContext& step) {
      const float factor = step.dropout ? scale : 1.0F;
      T* activation_gradient = static_cast<T*>(buffer.get_data_handle());
      const auto* passed = static_cast<const std::uint8_t*>(kept.get_data_handle());
      parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        dropout_backward(activation_gradient + begin, passed + begin, end - begin, factor);
      });
    });
  }

  LayerPlace place_;
  memory passed_;
};

}  // namespace

std::unique_ptr<PlannedLayer> plan_dropout(const LayerPlace& place) {
  return std::make_unique<DropoutLayer>(place);
}

}  // namespace nocturne::onednn
