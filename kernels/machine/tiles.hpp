#pragma once

/// The peak of AMX: processors that multiply whole tiles of bf16, many times faster than their vectors.
///
/// An instruction adds the product of two tiles, 16 × 32 and 32 × 16 numbers in bf16, to a tile of 16 × 16 in f32:
/// 16384 flop (Intel, Architecture Instruction Set Extensions Programming Reference, TDPBF16PS). Whether it may be used
/// is asked when the program runs: of the processor (CPUID leaf 7: EDX bits 24, tiles, and 22, bf16), of the system's
/// readiness to keep tiles when it switches threads (XCR0 bits 17 and 18), and of Linux, which gives a process that
/// much state only when it asks (arch_prctl, ARCH_REQ_XCOMP_PERM; 5.16 and newer).

#include <string>
#include <vector>

#include "kernels/machine/arithmetic.hpp"

namespace nocturne::machine {

/// In the order in which they are asked; each is false where one before it is.
struct TileFacts {
  bool compiled = false;  ///< this program was built with tile instructions: 64-bit x86, and a compiler that knows them
  bool processor = false;  ///< has tiles, and multiplies bf16 in them
  bool saved = false;      ///< the system keeps them for each thread
  bool permitted = false;  ///< and lets this process use them
};

/// Asks once; the process has its permission afterwards.
[[nodiscard]] TileFacts tile_facts();

/// Why tiles cannot be measured, a clause; empty: they can.
[[nodiscard]] std::string tile_obstacle(const TileFacts& facts);

/// "amx_bf16"; empty where tile_obstacle(tile_facts()) is not.
[[nodiscard]] std::vector<ArithmeticKernel> tile_kernels();

}  // namespace nocturne::machine
