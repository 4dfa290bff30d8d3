#pragma once

/// Random numbers that are functions of a counter: those of all workers (kernels/data), and faster ones for dropout.

#include <cstdint>

#include "kernels/data/counter_random.hpp"

namespace nocturne::onednn {

using data::key_of;
using data::mix64;
using data::uniform;

/// 32 mixed bits in 32-bit arithmetic, which vector units have: xor-shift and multiply with the constants of the
/// "lowbias32" search (C. Wellons, 2018), the second half of the key put in between the rounds so that two keys do not
/// give shifted copies of one sequence.
[[nodiscard]] inline std::uint32_t mix32(std::uint32_t counter, std::uint32_t key1, std::uint32_t key2) {
  std::uint32_t value = counter + key1;
  value = (value ^ (value >> 16)) * 0x7feb352dU;
  value = ((value ^ (value >> 15)) ^ key2) * 0x846ca68bU;
  return value ^ (value >> 16);
}

}  // namespace nocturne::onednn
