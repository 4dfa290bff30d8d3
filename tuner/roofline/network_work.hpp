#pragma once

/// What training a network takes, from the description that our worker gives of it (nocturne-onednn --describe):
/// operations and bytes by layer, of one image. Values.

#include <expected>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::tuner {

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

}  // namespace nocturne::tuner
