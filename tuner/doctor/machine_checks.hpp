#pragma once

/// What the processor, the memory, the compilers and the libraries allow. Pure: all from what was probed.

#include <string>
#include <vector>

#include "measure/machine/machine.hpp"
#include "space/run.hpp"
#include "tuner/doctor/finding.hpp"

namespace nocturne::tuner {

[[nodiscard]] Diagnosis check_processor(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_instructions(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_memory(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_compilers(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_onednn(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_allocators(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_gpu(const measure::MachineFacts& facts);
/// Governor, boost, hypervisor: what makes the same program take different times.
[[nodiscard]] Diagnosis check_steadiness(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_huge_pages(const measure::MachineFacts& facts);
/// `load`: what happened on the machine during a moment of looking.
[[nodiscard]] Diagnosis check_quiet(const measure::MachineFacts& facts, const space::Load& load);

}  // namespace nocturne::tuner
