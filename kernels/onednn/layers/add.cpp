/// Sum of two rows with a ReLU perhaps, in place where an input's buffer is free. Its activation gradient is the same
/// for both.

#include <utility>

#include "kernels/onednn/layers/elementwise.hpp"
#include "kernels/onednn/layers/planned_layer.hpp"
#include "kernels/onednn/layers/weighted_layer.hpp"
#include "kernels/onednn/parallel.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;

class AddLayer final : public PlannedLayer {
 public:
  explicit AddLayer(LayerPlace place) : place_(std::move(place)) {}

  [[nodiscard]] memory::desc output() const override { return takes_second() ? place_.input2 : place_.input; }

  [[nodiscard]] memory bind_forward(Builder& builder, const memory& input, const memory& input2) override {
    memory sum = takes_second() ? input2 : input;
    const memory other = builder.in_layout(takes_second() ? input : input2, output(), "reorder summand");
    if (!place_.input_is_free && !place_.input2_is_free) {
      const memory copy = builder.allocate(output());
      builder.add_reorder("copy summand", sum, copy);
      sum = copy;
    }
    if (place_.precision == Precision::F32)
      add_sum<float>(builder, sum, other);
    else
      add_sum<Bfloat16>(builder, sum, other);
    return sum;
  }

  [[nodiscard]] memory bind_backward(Builder&, const memory& activation_gradient) override {
    return activation_gradient;
  }

 private:
  [[nodiscard]] bool takes_second() const { return !place_.input_is_free && place_.input2_is_free; }

  template <typename T>
  void add_sum(Builder& builder, const memory& sum, const memory& other) {
    const bool relu = place_.figures.layer->relu;
    const std::int64_t count = stored_count(output());
    builder.add_loop("forward", {sum, other}, [sum, other, relu, count](const StepContext&) {
      T* values = static_cast<T*>(sum.get_data_handle());
      const T* added = static_cast<const T*>(other.get_data_handle());
      parallel_for(count, 1 << 15, [=](std::int64_t begin, std::int64_t end) {
        add_values(values + begin, added + begin, relu, end - begin);
      });
    });
  }

  LayerPlace place_;
};

}  // namespace

std::unique_ptr<PlannedLayer> plan_add(const LayerPlace& place) {
  return std::make_unique<AddLayer>(place);
}

}  // namespace nocturne::onednn
