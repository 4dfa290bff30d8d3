// Peak loop in AMX tiles. A product takes several times as long as the wait until the next may begin (52 and 16 cycles
// in Intel's optimization manual): with six accumulators none waits for itself, and two tiles are left for the factors.

#include "kernels/machine/tiles.hpp"

// The one header is GCC's (11 and newer), the other clang's.
#if defined(__x86_64__) && defined(__linux__) && (__has_include(<amxbf16intrin.h>) || __has_include(<amxintrin.h>))
#define NOCTURNE_COMPILES_TILES 1
#else
#define NOCTURNE_COMPILES_TILES 0
#endif

#if NOCTURNE_COMPILES_TILES

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nocturne::machine {
namespace {

constexpr int kTileAccumulators = 6;
constexpr std::size_t kTileRows = 16, kRowBytes = 64;
constexpr double kTileFlops = 2.0 * 16 * 16 * 32;  // of one instruction
// So many of the 32 products that are summed for a number are +1, the others -1: each number grows by 2 an iteration,
// which f32 counts exactly up to kMostIterations.
constexpr std::size_t kPositive = 17;

/// What LDTILECFG reads.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{};  // of each tile; there are eight
  std::array<std::uint8_t, 16> rows{};
};
static_assert(sizeof(TileConfiguration) == 64);

struct alignas(64) Factor {
  std::array<std::uint16_t, kTileRows * kRowBytes / 2> numbers{};  // bf16
};

struct alignas(64) Sums {
  std::array<float, kTileRows * kRowBytes / 4> numbers{};
  [[nodiscard]] double total() const {
    double total = 0;
    for (const float number : numbers) total += static_cast<double>(number);
    return total;
  }
};

TileConfiguration eight_full_tiles() {
  TileConfiguration configuration;
  for (std::size_t tile = 0; tile < 8; ++tile) {
    configuration.row_bytes[tile] = kRowBytes;
    configuration.rows[tile] = kTileRows;
  }
  return configuration;
}

std::uint16_t bf16_of(float number) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16U);  // exact for powers of two
}

// 32 × 16, laid out as the instruction wants it: in row r, for each column, its numbers 2r and 2r + 1.
Factor right_factor(float one) {
  Factor factor;
  for (std::size_t i = 0; i < factor.numbers.size(); ++i) {
    const std::size_t row = i / (kRowBytes / 2), inner = 2 * row + i % 2;
    factor.numbers[i] = bf16_of(inner < kPositive ? one : -one);
  }
  return factor;
}

// The numbers of tiles are part of the instructions, so nothing here can be a loop over them. The intrinsics do not say
// what memory they read: the first statement makes sure that all of it is written.
__attribute__((target("amx-tile,amx-bf16"))) double run_tiles(std::int64_t iterations, float one) {
  const TileConfiguration configuration = eight_full_tiles();
  Factor left;
  left.numbers.fill(bf16_of(one));
  const Factor right = right_factor(one);
  asm volatile("" : : "r"(&configuration), "r"(&left), "r"(&right) : "memory");
  _tile_loadconfig(&configuration);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_loadd(6, left.numbers.data(), 64);
  _tile_loadd(7, right.numbers.data(), 64);
  for (std::int64_t i = 0; i < iterations; ++i) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  std::array<Sums, kTileAccumulators> sums;
  _tile_stored(0, sums[0].numbers.data(), 64);
  _tile_stored(1, sums[1].numbers.data(), 64);
  _tile_stored(2, sums[2].numbers.data(), 64);
  _tile_stored(3, sums[3].numbers.data(), 64);
  _tile_stored(4, sums[4].numbers.data(), 64);
  _tile_stored(5, sums[5].numbers.data(), 64);
  _tile_release();
  asm volatile("" : : "r"(&sums) : "memory");
  double sum = 0;
  for (const Sums& each : sums) sum += each.total();
  return sum;
}

double counted_in_tiles(std::int64_t iterations) {
  return 2.0 * 16 * 16 * kTileAccumulators * static_cast<double>(iterations);
}

bool processor_has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return ((d >> 24U) & 1U) != 0 && ((d >> 22U) & 1U) != 0;
}

bool system_saves_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kOsxsave = 1U << 27U;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsxsave) == 0) return false;
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr std::uint32_t kTileState = 3U << 17U;
  return (low & kTileState) == kTileState;
}

bool system_permits_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // asm/prctl.h of Linux 5.16
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

TileFacts ask_for_tiles() {
  TileFacts facts{.compiled = true};
  facts.processor = processor_has_tiles();
  facts.saved = facts.processor && system_saves_tiles();
  facts.permitted = facts.saved && system_permits_tiles();
  return facts;
}

}  // namespace

TileFacts tile_facts() {
  static const TileFacts facts = ask_for_tiles();
  return facts;
}

std::vector<ArithmeticKernel> tile_kernels() {
  if (!tile_obstacle(tile_facts()).empty()) return {};
  return {{"amx_bf16", kTileFlops * kTileAccumulators, run_tiles, counted_in_tiles}};
}

}  // namespace nocturne::machine

#else

namespace nocturne::machine {

TileFacts tile_facts() {
  return {};
}
std::vector<ArithmeticKernel> tile_kernels() {
  return {};
}

}  // namespace nocturne::machine

#endif

namespace nocturne::machine {

std::string tile_obstacle(const TileFacts& facts) {
  if (!facts.compiled) return "this program was built without AMX: another processor, or a compiler that knows none";
  if (!facts.processor) return "this processor has no AMX for bf16";
  if (!facts.saved) return "the system does not keep AMX tiles for threads: too old a kernel, or switched off";
  if (!facts.permitted) return "the system does not let this process use AMX tiles (arch_prctl refused)";
  return {};
}

}  // namespace nocturne::machine
