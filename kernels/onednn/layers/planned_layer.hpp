#pragma once

/// One row of a network's table, made of oneDNN primitives and own loops for one batch size.
///
/// A layer is planned in two stages. Its constructor creates primitive descriptors, which fix the layouts: the row
/// below and the parameters are built on them. bind_… then adds the operations on real buffers, forwards from the image
/// to the logits, backwards from the loss to the first row.

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "kernels/networks/network.hpp"
#include "kernels/onednn/parameters/parameters.hpp"
#include "kernels/onednn/plan/builder.hpp"
#include "kernels/onednn/settings.hpp"

namespace nocturne::onednn {

/// What every layer's constructor is told.
struct LayerPlace {
  networks::LayerFigures figures;
  std::size_t row = 0;  ///< in the network's table
  dnnl::engine engine;
  std::int64_t batch = 0;
  Precision precision = Precision::F32;
  Layout layout = Layout::Blocked;
  dnnl::memory::desc input;   ///< as the row it reads writes it
  dnnl::memory::desc input2;  ///< Add: the other summand
  bool first = false;         ///< reads the image: needs no input activation gradient
  bool last = false;          ///< writes the logits: f32
  /// Dropout: its values come from a ReLU (through max-pools perhaps), whose gate it applies on behalf of that row.
  bool gates_relu = false;
  /// Parts of the batch this row may work on one after the other, 1: the whole at once (slices.hpp).
  std::int64_t slices = 1;
  /// Where a sliced row's gradient of weights goes, so that it does not stand between slices.
  std::vector<Operation>* later = nullptr;
  /// Nobody but this row's forward operations needs the input's values: it may write over them.
  bool input_is_free = false, input2_is_free = false;
  /// Another layer reads the output's gradient too: it must not be written over.
  bool gradient_is_shared = false;

  [[nodiscard]] dnnl::memory::data_type type() const {
    return precision == Precision::F32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  }
  [[nodiscard]] std::string name() const { return std::string(figures.layer->name); }
};

class PlannedLayer {
 public:
  PlannedLayer() = default;
  PlannedLayer(const PlannedLayer&) = delete;
  PlannedLayer& operator=(const PlannedLayer&) = delete;
  virtual ~PlannedLayer() = default;

  [[nodiscard]] virtual dnnl::memory::desc output() const = 0;
  [[nodiscard]] virtual std::vector<ParameterLayout> parameter_layouts() const { return {}; }

  /// Adds what must run before forward whenever the parameters have changed.
  virtual void bind_refresh(Builder&, Parameters&) {}
  /// Adds the forward operations; returns the output's buffer. `input2` is empty but for Add.
  [[nodiscard]] virtual dnnl::memory bind_forward(Builder& builder, const dnnl::memory& input,
                                                  const dnnl::memory& input2) = 0;
  /// Adds the backward operations, given the output's gradient behind its ReLU's gate; returns the input's, empty for
  /// the first row. Add returns the activation gradient itself, for both its inputs. REQUIRES: bind_refresh and
  /// bind_forward.
  [[nodiscard]] virtual dnnl::memory bind_backward(Builder& builder, const dnnl::memory& activation_gradient) = 0;
};

/// One kind each, in a source file of its own name; pooling is maximum and average.
[[nodiscard]] std::unique_ptr<PlannedLayer> plan_add(const LayerPlace& place);
[[nodiscard]] std::unique_ptr<PlannedLayer> plan_batch_normalisation(const LayerPlace& place);
[[nodiscard]] std::unique_ptr<PlannedLayer> plan_convolution(const LayerPlace& place);
[[nodiscard]] std::unique_ptr<PlannedLayer> plan_dense(const LayerPlace& place);
[[nodiscard]] std::unique_ptr<PlannedLayer> plan_dropout(const LayerPlace& place);
[[nodiscard]] std::unique_ptr<PlannedLayer> plan_pool(const LayerPlace& place);

/// Throws worker::Unsupported where oneDNN lacks a primitive.
[[nodiscard]] std::unique_ptr<PlannedLayer> plan_layer(const LayerPlace& place);

}  // namespace nocturne::onednn
