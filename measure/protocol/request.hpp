#pragma once

/// What a worker is asked to do: the file named by `--request` (protocol version 1; README.md beside this file).
///
/// C++20, the standard library and nlohmann-json only: workers on machines without our packages include it.

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace nocturne::protocol {

inline constexpr int kVersion = 1;

/// The exact part of the gate: dropout off, so many steps, what they did to the parameters (README: the gate).
struct GateRequest {
  std::int64_t steps = 8;              ///< in all, each a sample of its own; the request's `steps` are ignored
  std::optional<std::string> write{};  ///< file to which the weights and batches it begins with are written
};

/// A learning curve: the test accuracy while the network trains, outside of all samples and epochs (README).
struct CurveRequest {
  std::int64_t points_per_epoch = 4;  ///< evaluations an epoch, at least 1, after equally many steps
  std::optional<double> until{};      ///< training ends where an evaluation is at least this accuracy, 0 to 1
  friend bool operator==(const CurveRequest&, const CurveRequest&) = default;
};

/// What happens to the images that are left when the data set is not a multiple of the batch.
enum class PartialBatch { Drop, Train };

/// Stochastic gradient descent with momentum, v ← μ v + g + λ w, w ← w - rate · v; λ acts on weights only, not on
/// biases and normalisation. Read with optimizer "sgd_momentum" only.
struct MomentumRule {
  double learning_rate = 0.01;
  double momentum = 0.9;
  double weight_decay = 1e-4;
  friend bool operator==(const MomentumRule&, const MomentumRule&) = default;
};

/// As many as come: who takes turns by signals is ended when they are over.
inline constexpr std::int64_t kUntilEnded = std::numeric_limits<std::int32_t>::max();

struct Request {
  std::string run_id;                  ///< also in the environment as NOCTURNE_RUN_ID
  std::string network = "mnist_cnn";   ///< a table of kernels/networks
  std::string data = "mnist";          ///< mnist, synthetic, folder (of images)
  std::string data_folder;             ///< absolute path of its files; empty for synthetic
  bool skip_broken = false;            ///< folder: an image that cannot be decoded is replaced and counted, no error
  std::string optimizer = "adadelta";  ///< adadelta, sgd_momentum
  MomentumRule momentum;               ///< momentum of sgd_momentum
  double label_smoothing = 0;          ///< share of a label given to all classes alike, 0 to below 1
  nlohmann::json configuration = nlohmann::json::object();  ///< parameter name → value, all stages
  std::uint64_t seed = 1;                                   ///< initial weights, order of data, dropout
  std::int64_t steps = 40;                                  ///< training steps after the first; ignored if epochs > 0
  std::int64_t epochs = 0;                                  ///< > 0: train this many whole epochs instead
  std::int64_t steps_per_sample = 1;                        ///< steps between two synchronisations
  PartialBatch partial_batch = PartialBatch::Drop;
  bool accuracy = false;               ///< evaluate on the test set at the end
  std::optional<CurveRequest> curve;   ///< with epochs only
  std::optional<std::string> turns;    ///< FIFO: one line "N" allows N further steps; end of file means finish
  std::optional<GateRequest> gate;     ///< instead of steps, epochs and turns
  std::optional<std::string> initial;  ///< file of initial weights and batches (initial_state.hpp); gate only
};

/// Throws std::runtime_error naming the key where a value has the wrong type or the protocol version is not ours.
/// Unknown keys are ignored, so that a newer tuner can drive an older worker.
[[nodiscard]] Request parse_request(const nlohmann::json& document);
[[nodiscard]] nlohmann::json to_json(const Request& request);

}  // namespace nocturne::protocol
