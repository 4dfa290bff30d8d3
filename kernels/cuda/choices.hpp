#pragma once

/// The words of this worker's configuration as types, without anything that a device compiler would have to read.

#include <cstdint>
#include <string_view>

namespace nocturne::cuda {

/// F32: no tensor cores. Tf32: f32 in memory, products rounded to 10 bits of mantissa. Bf16, F16: activations, their
/// activation gradients and gradients of convolutions' and dense layers' weights in 16 bits; f32 master weights, sums,
/// statistics and optimizer. F16 scales the loss (step_state.hpp).
enum class Precision { F32, Tf32, Bf16, F16 };
enum class Layout { Nchw, Nhwc };
enum class Algorithm { Heuristic, Find, Fixed };
/// Fuses forward passes into one of cuDNN's graphs: never, or where it is right and faster (fusion_choice.hpp).
enum class Fusion { Off, Auto };

[[nodiscard]] std::string_view to_text(Precision precision);
[[nodiscard]] std::string_view to_text(Layout layout);
[[nodiscard]] std::string_view to_text(Algorithm algorithm);
[[nodiscard]] std::string_view to_text(Fusion fusion);

/// Size of one value of an activation.
[[nodiscard]] std::int64_t bytes_per_value(Precision precision);

}  // namespace nocturne::cuda
