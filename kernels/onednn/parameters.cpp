#include "kernels/onednn/parameters.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/random.hpp"

namespace nocturne::onednn {
namespace {

// Tensors start at cache lines.
std::int64_t padded_count(const dnnl::memory::desc& desc) {
  constexpr std::int64_t kFloatsALine = 16;
  const auto floats = static_cast<std::int64_t>(desc.get_size() / sizeof(float));
  return (floats + kFloatsALine - 1) / kFloatsALine * kFloatsALine;
}

}  // namespace

Parameters::Parameters(const std::vector<ParameterLayout>& layouts, dnnl::engine engine) : engine_(std::move(engine)) {
  for (const ParameterLayout& layout : layouts) count_ += padded_count(layout.desc);
  const auto count = static_cast<std::size_t>(count_);
  values_ = arena_.allocate_array<float>(count);
  gradients_ = arena_.allocate_array<float>(count);
  mean_square_gradients_ = arena_.allocate_array<float>(count);
  mean_square_updates_ = arena_.allocate_array<float>(count);
  std::int64_t offset = 0;
  for (const ParameterLayout& layout : layouts) {
    tensors_.push_back({layout, dnnl::memory(layout.desc, engine_, values_ + offset),
                        dnnl::memory(layout.desc, engine_, gradients_ + offset)});
    offset += padded_count(layout.desc);
  }
}

void Parameters::initialise(std::uint64_t seed, dnnl::stream& stream) {
  std::uint64_t index = 0;
  for (ParameterTensor& tensor : tensors_) {
    const std::uint64_t key = key_of(seed, 0x1417, index++);
    const ParameterLayout& layout = tensor.layout;
    std::vector<float> values(static_cast<std::size_t>(element_count(layout.desc)), 0.0F);
    if (layout.fan_in + layout.fan_out > 0) {
      const float limit = std::sqrt(6.0F / static_cast<float>(layout.fan_in + layout.fan_out));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = (2.0F * uniform(key, i) - 1.0F) * limit;
    }
    write_plain(values, tensor.value, stream);
  }
  ++version_;
}

void Parameters::assign(const std::string& name, const std::vector<float>& values, dnnl::stream& stream) {
  write_plain(values, tensor(name).value, stream);
  ++version_;
}

void Parameters::update(const Adadelta& rule) {
  parallel_for(count_, 4096, [&](std::int64_t begin, std::int64_t end) {
    adadelta_update(rule, values_ + begin, gradients_ + begin, mean_square_gradients_ + begin,
                    mean_square_updates_ + begin, end - begin);
  });
  ++version_;
}

ParameterTensor& Parameters::tensor(const std::string& name) {
  for (ParameterTensor& tensor : tensors_) {
    if (tensor.layout.name == name) return tensor;
  }
  throw std::out_of_range("no parameters named " + name);
}

dnnl::memory::desc plain_f32(const dnnl::memory::desc& desc) {
  const dnnl::memory::dims dims = desc.get_dims();
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return {dims, dnnl::memory::data_type::f32, strides};
}

std::int64_t element_count(const dnnl::memory::desc& desc) {
  std::int64_t count = 1;
  for (const auto dim : desc.get_dims()) count *= dim;
  return count;
}

std::vector<float> read_plain(const dnnl::memory& memory, dnnl::stream& stream) {
  std::vector<float> values(static_cast<std::size_t>(element_count(memory.get_desc())));
  dnnl::memory from = memory, to(plain_f32(memory.get_desc()), memory.get_engine(), values.data());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return values;
}

void write_plain(const std::vector<float>& values, dnnl::memory& memory, dnnl::stream& stream) {
  dnnl::memory from(plain_f32(memory.get_desc()), memory.get_engine(), const_cast<float*>(values.data()));
  dnnl::reorder(from, memory).execute(stream, from, memory);
  stream.wait();
}

}  // namespace nocturne::onednn
