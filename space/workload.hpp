#pragma once

/// What is trained. Values of these are part of a campaign's identity.

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace nocturne::space {

struct Workload {
  std::string network = "mnist_cnn";
  std::string data = "mnist";  ///< mnist, synthetic, folder (of images), or what a user's own worker knows
  std::string optimizer = "adadelta";
  std::int64_t training_examples = 60000;  ///< examples of one epoch
  std::string data_folder = {};            ///< absolute path if data is `folder`, else empty
  bool skip_broken = false;                ///< if data is `folder`: replaces an image that cannot be decoded
  double learning_rate = 0.01, momentum = 0.9, weight_decay = 1e-4;  ///< used by optimizer sgd_momentum only
  double label_smoothing = 0;
  /// Random images teach nothing and are no test set: neither accuracy nor an epoch's losses mean anything.
  [[nodiscard]] bool is_synthetic() const { return data.starts_with("synthetic"); }
  friend bool operator==(const Workload&, const Workload&) = default;
};

/// The keys of a campaign file's `workload`. Network, data, optimizer and training_examples always; the others where
/// they say something: so the text of a workload that has none of them, which is hashed, stays what it was.
[[nodiscard]] nlohmann::json to_json(const Workload& workload);

}  // namespace nocturne::space
