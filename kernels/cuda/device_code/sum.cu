/// Sums of each channel, in a fixed order: parts of the rows by warps of their own, then the parts. cuDNN's own sums for a bias
/// refuse bf16 (CUDNN_STATUS_NOT_SUPPORTED, cuDNN 9 on an H200).

#include "kernels/cuda/device_code/numbers.cuh"
#include "kernels/cuda/device_code/warps.cuh"

namespace nocturne::cuda {
namespace {

/// Which warp of all this thread belongs to.
__device__ std::int64_t warp_index() {
  return first_item() / kWarp;
}

// values[row][channel]: a lane's channel is its own, so nothing is exchanged.
template <typename T>
__global__ void sum_last(const T* __restrict__ values, float* __restrict__ parts, std::int64_t part_count,
                         std::int64_t rows, std::int64_t channels) {
  const std::int64_t part = warp_index() % part_count;
  const std::int64_t channel = warp_index() / part_count * kWarp + threadIdx.x % kWarp;
  if (channel >= channels) return;
  float own = 0;
  for (std::int64_t row = part; row < rows; row += part_count) own += to_float(values[row * channels + channel]);
  parts[channel * part_count + part] = own;
}

// values[image][channel][pixel]: a warp has one channel.
template <typename T>
__global__ void sum_first(const T* __restrict__ values, float* __restrict__ parts, std::int64_t part_count,
                          std::int64_t images, std::int64_t channels, std::int64_t pixels) {
  const std::int64_t part = warp_index() % part_count, channel = warp_index() / part_count;
  if (channel >= channels) return;  // whole warps leave together
  const unsigned lane = threadIdx.x % kWarp;
  float own = 0;
  for (std::int64_t image = part; image < images; image += part_count) {
    const T* plane = values + (image * channels + channel) * pixels;
    for (std::int64_t pixel = lane; pixel < pixels; pixel += kWarp) own += to_float(plane[pixel]);
  }
  own = warp_sum(own);
  if (lane == 0) parts[channel * part_count + part] = own;
}

template <typename T>
__global__ void add_parts(const float* __restrict__ parts, std::int64_t part_count, T* __restrict__ sums,
                          std::int64_t channels) {
  const std::int64_t channel = warp_index();
  if (channel >= channels) return;
  const unsigned lane = threadIdx.x % kWarp;
  float own = 0;
  for (std::int64_t part = lane; part < part_count; part += kWarp) own += parts[channel * part_count + part];
  own = warp_sum(own);
  if (lane == 0) sums[channel] = from_float<T>(own);
}

unsigned blocks_of_warps(std::int64_t warps) {
  return static_cast<unsigned>((warps * kWarp + kThreads - 1) / kThreads);
}

bool is_last(const ChannelOrder& order) {
  return order.pixels == 1 || order.layout == Layout::Nhwc;
}
std::int64_t rows_of(std::int64_t count, const ChannelOrder& order) {
  return count / (is_last(order) ? order.channels : order.channels * order.pixels);
}
// Enough warps for a large GPU; of few rows, few.
std::int64_t parts_of(std::int64_t count, const ChannelOrder& order) {
  return std::clamp<std::int64_t>(rows_of(count, order) / 8, 1, 512);
}

}  // namespace

std::int64_t channel_sum_bytes(std::int64_t count, const ChannelOrder& order) {
  return parts_of(count, order) * order.channels * static_cast<std::int64_t>(sizeof(float));
}

void launch_sum_channels(const void* values, void* sums, float* parts, DataType type, std::int64_t count,
                         const ChannelOrder& order, cudaStream_t stream) {
  const std::int64_t channels = order.channels, rows = rows_of(count, order), part_count = parts_of(count, order);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto* in = static_cast<const T*>(values);
    if (is_last(order)) {
      const std::int64_t groups = (channels + kWarp - 1) / kWarp;
      sum_last<<<blocks_of_warps(groups * part_count), kThreads, 0, stream>>>(in, parts, part_count, rows, channels);
    } else {
      sum_first<<<blocks_of_warps(channels * part_count), kThreads, 0, stream>>>(in, parts, part_count, rows, channels,
                                                                                 order.pixels);
    }
    add_parts<<<blocks_of_warps(channels), kThreads, 0, stream>>>(parts, part_count, static_cast<T*>(sums), channels);
  });
  check_launch("sum_channels");
}

}  // namespace nocturne::cuda
