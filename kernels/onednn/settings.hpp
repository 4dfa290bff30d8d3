#pragma once

/// The parameters that this worker acts upon itself. Affinity, wait policy, huge pages and allocator are the
/// launcher's: they are in the environment already.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace nocturne::onednn {

/// f32, or bf16 with f32 master weights, gradients of weights, and optimizer state; activations and their activation
/// gradients are then bf16.
enum class Precision { F32, Bf16 };

/// Blocked: each primitive chooses the layout of its tensors, reorders stand where neighbours differ.
/// Plain: activations stay channels-last (NHWC) throughout; weights are still each primitive's choice.
enum class Layout { Blocked, Plain };

[[nodiscard]] std::string_view to_text(Precision precision);
[[nodiscard]] std::string_view to_text(Layout layout);

struct Settings {
  Precision precision = Precision::F32;
  std::int64_t batch = 128;
  Layout layout = Layout::Blocked;
  int threads = 0;           ///< 0: as the environment has it (OMP_NUM_THREADS, else the CPUs allowed)
  int data_threads = 0;      ///< that read ahead; 0: batches are made between steps
  int prefetch = 2;          ///< batches made ahead
  std::string isa = "auto";  ///< cap, a value of ONEDNN_MAX_CPU_ISA; "auto": none of ours
};

/// Caps oneDNN's instruction set and sets the number of threads. To be called before anything else of oneDNN; throws
/// worker::Unsupported where the cap's name is unknown or oneDNN refuses.
void apply(const Settings& settings);

// From a request's configuration (parameter name → value) to this worker's settings: precision, batch, layout,
// threads, data_threads, prefetch, isa (or isa_cap). Parameters of other stages and of the launcher are passed over.

/// Throws worker::Unsupported with a sentence that names key, value and what is allowed.
[[nodiscard]] Settings read_settings(const nlohmann::json& configuration);

}  // namespace nocturne::onednn
