#include "tests/kernels/cuda/simulated_gpu/tensors.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>

#include "tests/kernels/cuda/simulated_gpu/simulated_memory.hpp"

namespace nocturne::simulated {
namespace {

// Calls visit(place in order (n, c, h, w), place in memory).
template <typename Visit>
void each_place(const Tensor& tensor, const Visit& visit) {
  const Sizes& s = tensor.sizes;
  const std::int64_t pixels = s.h * s.w;
  if (!tensor.channels_last) {
    for (std::int64_t i = 0; i < s.count(); ++i) visit(i, i);
    return;
  }
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t c = 0; c < s.c; ++c)
      for (std::int64_t p = 0; p < pixels; ++p) visit((n * s.c + c) * pixels + p, (n * pixels + p) * s.c + c);
  }
}

template <typename T>
void read_as(const Tensor& tensor, const void* data, Values& values) {
  const T* from = static_cast<const T*>(data);
  each_place(tensor, [&](std::int64_t i, std::int64_t at) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(from[at]);
  });
}

template <typename T>
void write_as(const Tensor& tensor, void* data, const Values& values, float before) {
  T* to = static_cast<T*>(data);
  each_place(tensor, [&](std::int64_t i, std::int64_t at) {
    float value = values[static_cast<std::size_t>(i)];
    if (before != 0) value += before * static_cast<float>(to[at]);
    to[at] = static_cast<T>(value);
  });
}

}  // namespace

void check_place(const Tensor& tensor, const void* data) {
  if (std::bit_cast<std::uintptr_t>(data) % 16 != 0) fail("a tensor that is not aligned to sixteen bytes");
  if (!is_on_device(data, static_cast<std::size_t>(tensor.bytes()))) fail("a tensor that is not on the device whole");
}

Values read(const Tensor& tensor, const void* data) {
  Values values(static_cast<std::size_t>(tensor.sizes.count()));
  if (tensor.type == CUDNN_DATA_FLOAT) read_as<float>(tensor, data, values);
  if (tensor.type == CUDNN_DATA_HALF) read_as<__half>(tensor, data, values);
  if (tensor.type == CUDNN_DATA_BFLOAT16) read_as<__nv_bfloat16>(tensor, data, values);
  return values;
}

void write(const Tensor& tensor, void* data, const Values& values, float before) {
  if (tensor.type == CUDNN_DATA_FLOAT) write_as<float>(tensor, data, values, before);
  if (tensor.type == CUDNN_DATA_HALF) write_as<__half>(tensor, data, values, before);
  if (tensor.type == CUDNN_DATA_BFLOAT16) write_as<__nv_bfloat16>(tensor, data, values, before);
}

void round_to_tf32(Values& values) {
  for (float& each : values) {
    const auto bits = std::bit_cast<std::uint32_t>(each);
    if ((bits & 0x7f800000U) != 0x7f800000U) each = std::bit_cast<float>((bits + 0x1000U) & 0xffffe000U);
  }
}

}  // namespace nocturne::simulated
