#pragma once

/// Arrays on the simulated GPU, for tests of device code: written and read as floats, followed by values that nobody
/// may touch.

#include <cstring>
#include <vector>

#include "kernels/cuda/device/check.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device_code/launchers.hpp"
#include "tests/kernels/cuda/simulated_gpu/simulated_memory.hpp"
#include "tests/kernels/cuda/simulated_gpu/tensors.hpp"

namespace nocturne::simulated {

inline cudnnDataType_t stored_as(cuda::DataType type) {
  if (type == cuda::DataType::F32) return CUDNN_DATA_FLOAT;
  return type == cuda::DataType::Bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

/// A value as the type holds it.
inline float rounded(float value, cuda::DataType type) {
  const Tensor one{.sizes = {1, 1, 1, 1}, .type = stored_as(type)};
  float place = 0;
  write(one, &place, {value}, 0);
  return read(one, &place).front();
}

/// Values of one type; `data()` goes to a launcher.
class Numbers {
 public:
  Numbers(const Values& values, cuda::DataType type)
      : count_(values.size()),
        tensor_{.sizes = {1, 1, 1, static_cast<std::int64_t>(values.size() + kGuards)}, .type = stored_as(type)},
        memory_(tensor_.bytes(), "a test") {
    Values all = values;
    all.resize(values.size() + kGuards, kGuard);
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor_.bytes()));
    write(tensor_, bytes.data(), all, 0);
    cuda::check(cudaMemcpy(memory_.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "a test");
  }
  [[nodiscard]] void* data() const { return memory_.data(); }
  [[nodiscard]] float* floats() const { return memory_.as<float>(); }
  /// After all work. Fails where somebody wrote behind the end.
  [[nodiscard]] Values values() const {
    cuda::check(cudaDeviceSynchronize(), "a test");
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor_.bytes()));
    cuda::check(cudaMemcpy(bytes.data(), memory_.data(), bytes.size(), cudaMemcpyDeviceToHost), "a test");
    Values all = read(tensor_, bytes.data());
    for (std::size_t i = count_; i < all.size(); ++i)
      if (all[i] != kGuard) fail("something was written behind an array's end");
    all.resize(count_);
    return all;
  }

 private:
  static constexpr std::size_t kGuards = 16;
  static constexpr float kGuard = 77;
  std::size_t count_;
  Tensor tensor_;
  cuda::DeviceMemory memory_;
};

/// One plain struct, or several.
template <typename T>
class Things {
 public:
  explicit Things(const std::vector<T>& things)
      : count_(things.size()), memory_(static_cast<std::int64_t>(sizeof(T) * things.size()), "a test") {
    cuda::check(cudaMemcpy(memory_.data(), things.data(), sizeof(T) * count_, cudaMemcpyHostToDevice), "a test");
  }
  [[nodiscard]] T* data() const { return memory_.as<T>(); }
  [[nodiscard]] std::vector<T> all() const {
    cuda::check(cudaDeviceSynchronize(), "a test");
    std::vector<T> things(count_);
    cuda::check(cudaMemcpy(things.data(), memory_.data(), sizeof(T) * count_, cudaMemcpyDeviceToHost), "a test");
    return things;
  }
  [[nodiscard]] T only() const { return all().front(); }

 private:
  std::size_t count_;
  cuda::DeviceMemory memory_;
};

}  // namespace nocturne::simulated
