#pragma once

/// The instruction sets oneDNN distinguishes, by the names of its variable ONEDNN_MAX_CPU_ISA.

#include <string>
#include <string_view>

namespace nocturne::onednn {

/// "auto" or a name of oneDNN's, upper or lower case.
[[nodiscard]] bool is_instruction_set(std::string_view name);
/// "auto, SSE41, …" for messages.
[[nodiscard]] std::string known_instruction_sets();

/// Keeps oneDNN from using more than the named set; "auto" leaves the choice to it and to the environment. A cap above
/// what the CPU has caps nothing. Throws worker::Unsupported where oneDNN no longer accepts a cap.
void cap_instruction_set(std::string_view name);

/// What oneDNN uses now, under the cap and on this CPU.
[[nodiscard]] std::string effective_instruction_set();

/// How bf16 is computed under it: "native", "emulated" (converted to f32 in each kernel, several times slower) or
/// "none".
[[nodiscard]] std::string_view bf16_support();

}  // namespace nocturne::onednn
