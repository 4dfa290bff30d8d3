#include "kernels/onednn/parameters/parameters.hpp"

#include <algorithm>
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

Parameters::Parameters(const std::vector<ParameterLayout>& layouts, dnnl::engine engine, int averages)
    : engine_(std::move(engine)) {
  for (const ParameterLayout& layout : layouts) count_ += layout.trained ? padded_count(layout.desc) : 0;
  const auto count = static_cast<std::size_t>(count_);
  values_ = arena_.allocate_array<float>(count);
  gradients_ = arena_.allocate_array<float>(count);
  first_average_ = arena_.allocate_array<float>(count);
  if (averages > 1) second_average_ = arena_.allocate_array<float>(count);
  std::int64_t offset = 0;
  for (const ParameterLayout& layout : layouts) {
    if (!layout.trained) {
      running_.push_back({layout, arena_.allocate_memory(layout.desc, engine_), dnnl::memory()});
      continue;
    }
    tensors_.push_back({layout, dnnl::memory(layout.desc, engine_, values_ + offset),
                        dnnl::memory(layout.desc, engine_, gradients_ + offset)});
    const std::int64_t end = offset + padded_count(layout.desc);
    if (stretches_.empty() || stretches_.back().decays != layout.decays)
      stretches_.push_back({offset, offset, layout.decays});
    stretches_.back().end = offset = end;
  }
}

void Parameters::initialise(std::uint64_t seed, dnnl::stream& stream) {
  std::uint64_t index = 0;
  for (ParameterTensor& tensor : tensors_) {
    const std::uint64_t key = key_of(seed, 0x1417, index++);
    const ParameterLayout& layout = tensor.layout;
    std::vector<float> values(static_cast<std::size_t>(element_count(layout.desc)), layout.constant);
    if (layout.fan_in + layout.fan_out > 0) {
      const float limit = std::sqrt(6.0F / static_cast<float>(layout.fan_in + layout.fan_out));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = (2.0F * uniform(key, i) - 1.0F) * limit;
    }
    write_plain(values, tensor.value, stream);
  }
  for (ParameterTensor& tensor : running_) {
    write_plain(std::vector<float>(static_cast<std::size_t>(element_count(tensor.layout.desc)), tensor.layout.constant),
                tensor.value, stream);
  }
  ++version_;
}

void Parameters::assign(const std::string& name, const std::vector<float>& values, dnnl::stream& stream) {
  write_plain(values, tensor(name).value, stream);
  ++version_;
}

void Parameters::update(const UpdateRule& rule) {
  std::visit(
      [this](const auto& chosen) {
        parallel_for(count_, 4096, [&](std::int64_t begin, std::int64_t end) { update_range(chosen, begin, end); });
      },
      rule);
  ++version_;
}

void Parameters::update_range(const Adadelta& rule, std::int64_t begin, std::int64_t end) {
  adadelta_update(rule, values_ + begin, gradients_ + begin, first_average_ + begin, second_average_ + begin,
                  end - begin);
}

void Parameters::update_range(const Momentum& rule, std::int64_t begin, std::int64_t end) {
  for (const Stretch& stretch : stretches_) {
    const std::int64_t from = std::max(begin, stretch.begin), to = std::min(end, stretch.end);
    if (from >= to) continue;
    momentum_update(rule, stretch.decays ? rule.decay : 0.0F, values_ + from, gradients_ + from, first_average_ + from,
                    to - from);
  }
}

ParameterTensor& Parameters::tensor(const std::string& name) {
  for (std::vector<ParameterTensor>* all : {&tensors_, &running_}) {
    for (ParameterTensor& tensor : *all)
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
