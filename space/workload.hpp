#pragma once

/// What is trained. Values of these are part of a campaign's identity.

#include <cstdint>
#include <string>

namespace nocturne::space {

struct Workload {
  std::string network = "mnist_cnn";
  std::string data = "mnist";
  std::string optimizer = "adadelta";
  std::int64_t training_examples = 60000;  ///< examples of one epoch
  friend bool operator==(const Workload&, const Workload&) = default;
};

}  // namespace nocturne::space
