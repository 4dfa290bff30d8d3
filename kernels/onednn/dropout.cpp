/// Dropout, in place, with own loops: one byte a value remembers what may flow back. Where the values come from a ReLU
/// (directly, or through a max-pool, with which a ReLU can change places), its gate goes into the same byte, which
/// saves a pass over the larger tensor above.

#include <utility>

#include "kernels/onednn/elementwise.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/planned_layer.hpp"
#include "kernels/onednn/random.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;

constexpr std::int64_t kGrain = 32 * kDropoutGrain;  // microseconds of work: less is not worth a second thread

class DropoutLayer final : public PlannedLayer {
 public:
  explicit DropoutLayer(LayerPlace place) : place_(std::move(place)) {}

  [[nodiscard]] memory::desc output() const override { return place_.input; }

  [[nodiscard]] memory bind_forward(Builder& builder, const memory& input) override {
    count_ = static_cast<std::int64_t>(input.get_desc().get_size()) / (place_.precision == Precision::F32 ? 4 : 2);
    passed_ = builder.arena().allocate_array<std::uint8_t>(static_cast<std::size_t>(count_));
    if (place_.precision == Precision::F32) {
      add_forward(builder, static_cast<float*>(input.get_data_handle()));
    } else {
      add_forward(builder, static_cast<Bfloat16*>(input.get_data_handle()));
    }
    return input;
  }

  [[nodiscard]] memory bind_backward(Builder& builder, const memory& difference) override {
    const memory result = builder.in_layout(difference, place_.input, "reorder difference");
    if (place_.precision == Precision::F32) {
      add_backward(builder, static_cast<float*>(result.get_data_handle()));
    } else {
      add_backward(builder, static_cast<Bfloat16*>(result.get_data_handle()));
    }
    return result;
  }

 private:
  template <typename T>
  void add_forward(Builder& builder, T* values) {
    const double rate = place_.figures.layer->rate;
    const bool gate = place_.gates_relu;
    const std::uint64_t layer = place_.row;
    builder.add_loop("forward", [=, passed = passed_, count = count_](const StepContext& step) {
      if (!step.training) return;
      const DropoutDraw draw = dropout_draw(step.dropout ? rate : 0, key_of(step.dropout_key, layer), gate);
      parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        dropout_forward(values + begin, passed + begin, begin, end - begin, draw);
      });
    });
  }

  template <typename T>
  void add_backward(Builder& builder, T* difference) {
    const float scale = dropout_draw(place_.figures.layer->rate, 0, false).scale;
    builder.add_loop("backward", [=, passed = passed_, count = count_](const StepContext& step) {
      const float factor = step.dropout ? scale : 1.0F;
      parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        dropout_backward(difference + begin, passed + begin, end - begin, factor);
      });
    });
  }

  LayerPlace place_;
  std::int64_t count_ = 0;
  std::uint8_t* passed_ = nullptr;
};

}  // namespace

std::unique_ptr<PlannedLayer> plan_dropout(const LayerPlace& place) {
  return std::make_unique<DropoutLayer>(place);
}

}  // namespace nocturne::onednn
