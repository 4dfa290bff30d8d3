#pragma once

/// Tensors of the simulated GPU: how they lie in memory, and their values as floats, in the order (n, c, h, w).

#include <cudnn.h>

#include <cstdint>
#include <vector>

namespace nocturne::simulated {

using Values = std::vector<float>;

struct Sizes {
  std::int64_t n = 0, c = 0, h = 0, w = 0;
  [[nodiscard]] std::int64_t count() const { return n * c * h * w; }
  [[nodiscard]] std::int64_t per_channel() const { return n * h * w; }
  [[nodiscard]] bool operator==(const Sizes&) const = default;
};

struct Tensor {
  Sizes sizes;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool channels_last = false;
  [[nodiscard]] std::int64_t bytes() const { return sizes.count() * (type == CUDNN_DATA_FLOAT ? 4 : 2); }
};

/// Fails where the tensor does not lie on the device whole, sixteen bytes aligned, as cuDNN wants it.
void check_place(const Tensor& tensor, const void* data);

[[nodiscard]] Values read(const Tensor& tensor, const void* data);
/// data = values + before · data; before is 0 or 1. With 0 what was there is not read.
void write(const Tensor& tensor, void* data, const Values& values, float before);

/// As tensor cores see a float: ten bits behind the point.
void round_to_tf32(Values& values);

}  // namespace nocturne::simulated
