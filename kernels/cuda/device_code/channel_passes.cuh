#pragma once

/// Passes over values that have a channel each: sums over every channel, and a function of each value and its channel.
///
/// A thread keeps to its channels (its column of a row, or the plane of its warp), so what belongs to a channel is read
/// once and stays in registers; 16 bytes a load where the channels (or, channels first, the pixels) allow it.
///
/// A rule has `Constants` and of(channel) that gives them. Of a sum, also `kTerms`, the number of its sums;
/// add(sums, first, second, constants) for each value; finish(channel, sums), by one thread a channel: in f32 and in a
/// fixed order, rows in parts, then the parts. Of a function, also value(first, second, constants). `second` is read
/// where the rule says kTwo.

#include <type_traits>

#include "kernels/cuda/device_code/numbers.cuh"
#include "kernels/cuda/device_code/warps.cuh"

namespace nocturne::cuda {

/// Values as rows: `last`, values[row][channel]; else values[row][channel][pixel]. The rows are in `part_count` parts.
struct ChannelRows {
  std::int64_t rows = 0, channels = 0, pixels = 1, part_count = 1;
  bool last = true;
};

/// No more than `most_parts` for a channel; of few rows, few.
inline ChannelRows channel_rows(std::int64_t count, const ChannelOrder& order, std::int64_t most_parts) {
  ChannelRows result{.channels = order.channels};
  result.last = order.pixels == 1 || order.layout == Layout::Nhwc;
  result.pixels = result.last ? 1 : order.pixels;
  result.rows = count / (result.channels * result.pixels);
  result.part_count = std::clamp<std::int64_t>(result.last ? result.rows / 8 : result.rows, 1, most_parts);
  return result;
}

/// Parts for sums: with four loads of 16 bytes under way in each thread, some MiB of 16-bit values; each part is to be
/// added up later, too.
inline ChannelRows rows_for_sums(std::int64_t count, const ChannelOrder& order) {
  return channel_rows(count, order, std::clamp<std::int64_t>((std::int64_t{1} << 18) / order.channels, 32, 4096));
}
/// Parts are added up to so many before those are.
inline constexpr std::int64_t kSegments = 64;
/// Floats of `parts`.
inline std::int64_t floats_for_sums(const ChannelRows& grid, int terms) {
  return terms * (grid.part_count + (grid.part_count > kSegments ? kSegments : 0)) * grid.channels;
}

/// Channels last: the packs of a row among `width` threads, a power of two, so that a warp reads whole lines.
template <int Size>
struct Column {
  std::int64_t packs = 0, part = 0, index = 0, channel = 0;  // of the row; the pack's and its first channel's number
  __device__ explicit Column(const ChannelRows& grid) : packs(grid.channels / Size) {
    const int width = width_of(packs);
    const std::int64_t team = first_item() / width;
    part = team % grid.part_count;
    index = team / grid.part_count * width + first_item() % width;
    channel = index * Size;
  }
  [[nodiscard]] __device__ bool exists() const { return index < packs; }
  /// Calls work(i) for each pack of the column in this thread's part of the rows.
  template <typename Work>
  __device__ void each(const ChannelRows& grid, const Work& work) const {
#pragma unroll 4
    for (std::int64_t row = part; row < grid.rows; row += grid.part_count) work(row * packs + index);
  }
  __host__ __device__ static int width_of(std::int64_t packs) {
    int width = 1;
    while (width < kWarp && width < packs) width *= 2;
    return width;
  }
  static std::int64_t threads(const ChannelRows& grid) {
    const std::int64_t packs = grid.channels / Size, width = width_of(packs);
    return (packs + width - 1) / width * width * grid.part_count;
  }
};

/// Channels first: the plane of a channel in each row of the part.
struct Plane {
  std::int64_t channel, part;
  unsigned lane;
  __device__ explicit Plane(const ChannelRows& grid)
      : channel(warp_index() / grid.part_count), part(warp_index() % grid.part_count), lane(threadIdx.x % kWarp) {}
  /// Calls work(i) for each pack of the plane that is this lane's.
  template <int Size, typename Work>
  __device__ void each(const ChannelRows& grid, const Work& work) const {
    const std::int64_t packs = grid.pixels / Size;
    for (std::int64_t row = part; row < grid.rows; row += grid.part_count) {
      const std::int64_t plane = (row * grid.channels + channel) * packs;
#pragma unroll 4
      for (std::int64_t i = plane + lane; i < plane + packs; i += kWarp) work(i);
    }
  }
};

/// parts[term][part][channel].
__device__ inline float& part_at(float* parts, const ChannelRows& grid, int term, std::int64_t part,
                                 std::int64_t channel) {
  return parts[(term * grid.part_count + part) * grid.channels + channel];
}

template <typename T, int Size, typename Rule>
__device__ void add_pack(float (&sums)[Size][Rule::kTerms], const T* first, const T* second, std::int64_t i,
                         const Rule& rule, const typename Rule::Constants (&constants)[Size]) {
  using P = Pack<T, Size>;
  const P one = reinterpret_cast<const P*>(first)[i];
  P other = one;
  if constexpr (Rule::kTwo) other = reinterpret_cast<const P*>(second)[i];
#pragma unroll
  for (int k = 0; k < Size; ++k) rule.add(sums[k], to_float(one.values[k]), to_float(other.values[k]), constants[k]);
}

template <typename T, int Size, typename Rule>
__global__ void sum_last(const T* __restrict__ first, const T* __restrict__ second, float* parts, ChannelRows grid,
                         Rule rule) {
  const Column<Size> column(grid);
  if (!column.exists()) return;
  typename Rule::Constants constants[Size];
  for (int k = 0; k < Size; ++k) constants[k] = rule.of(column.channel + k);
  float sums[Size][Rule::kTerms] = {};
  column.each(grid, [&](std::int64_t i) { add_pack<T, Size>(sums, first, second, i, rule, constants); });
  for (int term = 0; term < Rule::kTerms; ++term)
    for (int k = 0; k < Size; ++k) part_at(parts, grid, term, column.part, column.channel + k) = sums[k][term];
}

/// Each lane has packs of one channel, so all their values go into one sum.
template <typename T, int Size, typename Rule>
__global__ void sum_first(const T* __restrict__ first, const T* __restrict__ second, float* parts, ChannelRows grid,
                          Rule rule) {
  using P = Pack<T, Size>;
  const Plane plane(grid);
  if (plane.channel >= grid.channels) return;  // whole warps leave together
  const typename Rule::Constants constants = rule.of(plane.channel);
  float sums[Rule::kTerms] = {};
  plane.each<Size>(grid, [&](std::int64_t i) {
    const P one = reinterpret_cast<const P*>(first)[i];
    P other = one;
    if constexpr (Rule::kTwo) other = reinterpret_cast<const P*>(second)[i];
#pragma unroll
    for (int k = 0; k < Size; ++k) rule.add(sums, to_float(one.values[k]), to_float(other.values[k]), constants);
  });
  for (int term = 0; term < Rule::kTerms; ++term) {
    const float sum = warp_sum(sums[term]);
    if (plane.lane == 0) part_at(parts, grid, term, plane.part, plane.channel) = sum;
  }
}

/// into[term][segment][channel] = the sum of each kSegments-th part from `segment` on.
inline __global__ void add_parts_up(float* parts, float* into, ChannelRows grid, std::int64_t terms) {
  const std::int64_t item = first_item(), segment = item / grid.channels % kSegments;
  const std::int64_t term = item / grid.channels / kSegments;
  if (term >= terms) return;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t part = segment; part < grid.part_count; part += kSegments)
    sum += part_at(parts, grid, static_cast<int>(term), part, item % grid.channels);
  into[item] = sum;
}

template <typename Rule>
__global__ void finish_sums(float* parts, ChannelRows grid, Rule rule) {
  const std::int64_t channel = first_item();
  if (channel >= grid.channels) return;
  float sums[Rule::kTerms] = {};
#pragma unroll 8
  for (std::int64_t part = 0; part < grid.part_count; ++part)
    for (int term = 0; term < Rule::kTerms; ++term) sums[term] += part_at(parts, grid, term, part, channel);
  rule.finish(channel, sums);
}

/// Where a function's values come from and go; `accumulate` adds them to what is there.
template <typename T>
struct FunctionArrays {
  const T *first = nullptr, *second = nullptr;
  T* out = nullptr;
  bool accumulate = false;
};

template <typename T, int Size, typename Rule>
__device__ void apply(const FunctionArrays<T>& arrays, const Rule& rule, std::int64_t i,
                      const typename Rule::Constants* constants, int constants_step) {
  using P = Pack<T, Size>;
  const P one = reinterpret_cast<const P*>(arrays.first)[i];
  P other = one, own = one;
  if constexpr (Rule::kTwo) other = reinterpret_cast<const P*>(arrays.second)[i];
  if (arrays.accumulate) own = reinterpret_cast<const P*>(arrays.out)[i];
#pragma unroll
  for (int k = 0; k < Size; ++k) {
    const float value = rule.value(to_float(one.values[k]), to_float(other.values[k]), constants[k * constants_step]);
    own.values[k] = from_float<T>(arrays.accumulate ? value + to_float(own.values[k]) : value);
  }
  reinterpret_cast<P*>(arrays.out)[i] = own;
}

template <typename T, int Size, typename Rule>
__global__ void function_last(FunctionArrays<T> arrays, ChannelRows grid, Rule rule) {
  const Column<Size> column(grid);
  if (!column.exists()) return;
  typename Rule::Constants constants[Size];
  for (int k = 0; k < Size; ++k) constants[k] = rule.of(column.channel + k);
  column.each(grid, [&](std::int64_t i) { apply<T, Size>(arrays, rule, i, constants, 1); });
}

template <typename T, int Size, typename Rule>
__global__ void function_first(FunctionArrays<T> arrays, ChannelRows grid, Rule rule) {
  const Plane plane(grid);
  if (plane.channel >= grid.channels) return;
  const typename Rule::Constants constants = rule.of(plane.channel);
  plane.each<Size>(grid, [&](std::int64_t i) { apply<T, Size>(arrays, rule, i, &constants, 0); });
}

inline unsigned blocks_of(std::int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

/// Calls `work` with the number of values of a pack, as a constant: all that a load takes where rows (or planes) are
/// whole packs, else one.
template <typename T, typename Work>
void with_pack(const ChannelRows& grid, const Work& work) {
  constexpr int kWhole = Pack<T>::kSize;
  if ((grid.last ? grid.channels : grid.pixels) % kWhole == 0)
    work(std::integral_constant<int, kWhole>{});
  else
    work(std::integral_constant<int, 1>{});
}

/// `parts`: floats_for_sums().
template <typename T, typename Rule>
void launch_sums(const T* first, const T* second, float* parts, std::int64_t count, const ChannelOrder& order,
                 const Rule& rule, cudaStream_t stream) {
  ChannelRows grid = rows_for_sums(count, order);
  with_pack<T>(grid, [&](auto size) {
    constexpr int kSize = decltype(size)::value;
    if (grid.last) {
      const unsigned blocks = blocks_of(Column<kSize>::threads(grid));
      sum_last<T, kSize><<<blocks, kThreads, 0, stream>>>(first, second, parts, grid, rule);
    } else {
      const unsigned blocks = blocks_of(grid.channels * grid.part_count * kWarp);
      sum_first<T, kSize><<<blocks, kThreads, 0, stream>>>(first, second, parts, grid, rule);
    }
  });
  if (grid.part_count > kSegments) {
    constexpr std::int64_t kTerms = Rule::kTerms;
    float* const segments = parts + kTerms * grid.part_count * grid.channels;
    const unsigned blocks = blocks_of(kTerms * kSegments * grid.channels);
    add_parts_up<<<blocks, kThreads, 0, stream>>>(parts, segments, grid, kTerms);
    parts = segments;
    grid.part_count = kSegments;
  }
  finish_sums<<<blocks_of(grid.channels), kThreads, 0, stream>>>(parts, grid, rule);
}

template <typename T, typename Rule>
void launch_function(const FunctionArrays<T>& arrays, std::int64_t count, const ChannelOrder& order, const Rule& rule,
                     cudaStream_t stream) {
  constexpr std::int64_t kMostParts = 16384;
  const ChannelRows grid = channel_rows(count, order, kMostParts);
  with_pack<T>(grid, [&](auto size) {
    constexpr int kSize = decltype(size)::value;
    if (grid.last) {
      const unsigned blocks = blocks_of(Column<kSize>::threads(grid));
      function_last<T, kSize><<<blocks, kThreads, 0, stream>>>(arrays, grid, rule);
    } else {
      const unsigned blocks = blocks_of(grid.channels * grid.part_count * kWarp);
      function_first<T, kSize><<<blocks, kThreads, 0, stream>>>(arrays, grid, rule);
    }
  });
}

}  // namespace nocturne::cuda
