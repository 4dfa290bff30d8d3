#pragma once

/// The least time that a training step can take on a machine: the roofline of S. Williams, A. Waterman, D. Patterson,
/// "Roofline: an insightful visual performance model for multicore architectures", CACM 52(4), 2009, page 67, layer by
/// layer:
///
///   bound = Σ_layers max(operations / peak, bytes / bandwidth) + optimizer's bytes / bandwidth
///
/// operations, bytes: those of the batch. peak: of the precision, by as many threads (bf16 on
/// a CPU: of its vectors or of its AMX tiles, whichever is faster). bandwidth: the
/// triad's, of the nearest cache that holds all of the layer's bytes, else of memory. The optimizer reads and writes
/// its f32 parameters and averages, and reads the gradient.
///
/// What it assumes: each multiplication is made (Winograd's and Fourier's convolutions make fewer), and layers that
/// compute are not fused with each other. A step that does otherwise may beat it; so may one on a machine that was
/// busy when its figures were measured.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/roofline/machine_figures.hpp"

namespace nocturne::tuner {

// What training a network takes, from the description that our worker gives of it (nocturne-onednn --describe):
// operations and bytes by layer, of one image. Values.

/// A layer that computes. Those that do not (pooling, dropout, normalisation, addition, rectifiers) can be done where a
/// neighbour's values pass by, and count as nothing.
struct LayerWork {
  std::string name;
  double operations = 0;  ///< forward and backward, of one image
  /// Values that are read or written at least, of one image: forward the input and the output; backward the output's
  /// difference, the input again for the weights' gradient, and the input's difference where there is a layer below.
  double values = 0;
  /// Parameters that are read or written at least, once a step: weights forward and (where there is a layer below)
  /// backward, their gradient.
  double parameters = 0;
};

struct NetworkWork {
  std::string network;
  double parameters = 0;  ///< weights of the whole network, counted once
  std::vector<LayerWork> layers;
  /// Forward and backward, of one image.
  [[nodiscard]] double operations() const;
};

/// The error is a sentence: it is no such description.
[[nodiscard]] std::expected<NetworkWork, std::string> network_work(const nlohmann::json& description);

/// What of a configuration decides its bound.
struct TrainingStep {
  std::string precision = "f32";  ///< f32, bf16, f16, tf32
  std::int64_t batch = 1;         ///< REQUIRES: at least 1
  int threads = 0;                ///< 0: all
  std::string optimizer{};        ///< adadelta, adam: two averages a parameter; momentum, rmsprop: one; others: none
};

struct LayerBound {
  std::string name;  ///< the layer's name, or "optimizer"
  double arithmetic_s = 0, bytes_s = 0;
  std::string resource{};  ///< what it waits for: arithmetic, memory, L3, …
  [[nodiscard]] double seconds() const { return arithmetic_s > bytes_s ? arithmetic_s : bytes_s; }
};

struct StepBound {
  double seconds = 0;
  std::string resource;       ///< that most of it waits for
  double resource_share = 0;  ///< how much of it
  std::vector<LayerBound> layers;
};

/// The error is a sentence: there is no peak of that precision.
[[nodiscard]] std::expected<StepBound, std::string> step_bound(const NetworkWork& network,
                                                               const MachineFigures& machine, const TrainingStep& step);

}  // namespace nocturne::tuner
