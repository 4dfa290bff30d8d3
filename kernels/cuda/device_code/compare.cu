/// How far two arrays differ.

#include "kernels/cuda/device_code/numbers.cuh"

namespace nocturne::cuda {
namespace {

template <typename T>
__global__ void compare(const T* __restrict__ a, const T* __restrict__ b, std::int64_t count, Comparison* into) {
  float difference = 0, value = 0;
  bool finite = true;
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    const float one = to_float(a[i]), other = to_float(b[i]);
    finite = finite && isfinite(one) && isfinite(other);
    difference = fmaxf(difference, fabsf(one - other));  // of a number and a NaN it is the number
    value = fmaxf(value, fabsf(one));
  }
  atomicMax(&into->largest_difference, __float_as_uint(difference));
  atomicMax(&into->largest_value, __float_as_uint(value));
  if (!finite) atomicMax(&into->not_finite, 1U);
}

}  // namespace

void launch_compare(const void* a, const void* b, DataType type, std::int64_t count, Comparison* into,
                    cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    compare<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const T*>(a), static_cast<const T*>(b), count,
                                                        into);
  });
  check_launch("compare");
}

}  // namespace nocturne::cuda
