#pragma once

/// A network for one batch size and one precision, planned once: forward, loss, backward as flat lists of operations.

#include <cstdint>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/networks/network.hpp"
#include "kernels/onednn/bf16.hpp"
#include "kernels/onednn/layers/planned_layer.hpp"
#include "kernels/onednn/parameters/parameters.hpp"
#include "kernels/onednn/plan/arena.hpp"
#include "kernels/onednn/plan/builder.hpp"
#include "kernels/onednn/plan/graph.hpp"
#include "kernels/onednn/profile.hpp"
#include "kernels/onednn/settings.hpp"

namespace nocturne::onednn {

// The activation gradient of a row's output as its backward operations want it: what comes back from all who read the
// output, summed, and through the gate of the row's ReLU.

/// What one reader's backward operations gave back.
struct ReturnedGradient {
  dnnl::memory memory;
  bool shared = false;  ///< somebody else reads it too: it must not be written over
};

struct GradientJoin {
  std::vector<ReturnedGradient> parts;  ///< at least one
  dnnl::memory gate;                    ///< the ReLU's output; empty: no gate
  std::int64_t slices = 1;              ///< the loop of one part and a gate is cut into so many (slices.hpp)
};

/// Adds the loops, in place where a part may be written over. `layout` is that of the row's output; a single part
/// without a gate is returned as it is, in whatever layout.
[[nodiscard]] dnnl::memory bind_join(Builder& builder, const dnnl::memory::desc& layout, const GradientJoin& join);

/// Called as soon as each row's output (forward) or its input's gradient (backward; empty for rows that read the
/// image) is whole. For checks; buffers are reused, so look at once. The row above may have begun with its slices: a
/// activation gradient may be zero already where that row's ReLU is closed.
using Observer = std::function<void(std::size_t row, const dnnl::memory& memory)>;

/// Not thread-safe; runs on oneDNN's threads.
class Plan {
 public:
  /// Chooses primitives and layouts. Throws worker::Unsupported where oneDNN lacks one, or the table has an unknown
  /// kind.
  Plan(const networks::Network& network, std::int64_t batch, Precision precision, Layout layout,
       const dnnl::engine& engine);

  [[nodiscard]] std::vector<ParameterLayout> parameter_layouts() const;
  /// Allocates all buffers and creates the primitives. `parameters` must outlive the plan; several plans may share it.
  void bind(Parameters& parameters);

  /// The batch to work on, row-major (N, C, H, W), of the plan's precision. REQUIRES of the rest: bind().
  [[nodiscard]] float* input_f32() { return static_cast<float*>(input_.get_data_handle()); }
  [[nodiscard]] Bfloat16* input_bf16() { return static_cast<Bfloat16*>(input_.get_data_handle()); }

  /// Forward and backward: returns the mean loss, leaves the gradients in the parameters. `dropout_key` is the draw;
  /// empty: nothing is dropped. `smoothing`: softmax_loss.hpp.
  float train(const std::int32_t* labels, std::optional<std::uint64_t> dropout_key, float smoothing = 0);
  /// Forward as evaluations do it: no dropout, normalisation by the running averages. Logits in f32, row-major.
  const float* infer();

  [[nodiscard]] std::int64_t batch() const { return batch_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] const networks::Network& network() const { return network_; }
  [[nodiscard]] const std::vector<Implementation>& implementations() const { return builder_.implementations(); }
  [[nodiscard]] std::size_t bytes() const { return arena_.bytes(); }
  /// What bytes() would be if no two buffers shared memory.
  [[nodiscard]] std::size_t unshared_bytes() const;

  void observe(Observer forward, Observer backward);
  /// Null: no more. Evaluations are no part of it.
  void profile(Profile* into) { profile_ = into; }

 private:
  void plan_layers(Layout layout);
  void bind_forward();
  void bind_backward();
  [[nodiscard]] dnnl::memory joined_gradient(std::size_t row);
  void run(const std::vector<Operation>& list, const StepContext& step, const Observer& observer,
           const std::vector<dnnl::memory>& observed);
  void run_timed(const std::vector<Operation>& list, const StepContext& step);
  void refresh(bool training);
  [[nodiscard]] std::string name_of(std::size_t row) const { return std::string(network_.layers[row].name); }

  const networks::Network& network_;
  std::int64_t batch_;
  Precision precision_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  Arena arena_;
  Builder builder_;
  Graph graph_;
  std::int64_t slices_ = 1;
  std::vector<std::unique_ptr<PlannedLayer>> layers_;
  std::vector<Operation> refresh_, arrival_, forward_, loss_, backward_;
  std::vector<Operation> later_;  ///< goes to the end of backward_: sums over the batch, between sliced rows
  dnnl::memory input_, logits_, logits_gradient_;
  std::vector<dnnl::memory> outputs_, input_gradients_;  ///< by row
  std::vector<std::vector<ReturnedGradient>> returned_;  ///< by row: to its output, while backward_ is made
  Parameters* parameters_ = nullptr;
  std::uint64_t refreshed_version_ = 0;
  Observer observe_forward_, observe_backward_;
  Profile* profile_ = nullptr;
};

}  // namespace nocturne::onednn
