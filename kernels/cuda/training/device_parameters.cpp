#include "kernels/cuda/training/device_parameters.hpp"

#include <string>
#include <utility>

#include "kernels/cuda/device/check.hpp"
#include "kernels/worker/learning_rate.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr Section kSections[] = {Section::Weights, Section::Biases, Section::Normalisation};

}  // namespace

Optimizer read_optimizer(const protocol::Request& request, std::int64_t batch) {
  Optimizer optimizer;
  optimizer.adadelta = request.optimizer == "adadelta";
  optimizer.momentum_rule = request.momentum;
  if (!optimizer.adadelta && request.optimizer != "sgd_momentum")
    throw worker::Unsupported("unknown optimizer '" + request.optimizer + "', known: adadelta, sgd_momentum");
  const worker::LearningRateRule rule = worker::read_learning_rate_rule(request.configuration);
  if (rule.warm_up)
    throw worker::Unsupported("learning_rate_rule: this worker has one rate for all steps: none, linear, square_root");
  const double factor = rule.factor(batch, 0, 1);
  optimizer.adadelta_rule.rate = static_cast<float>(optimizer.adadelta_rule.rate * factor);
  optimizer.momentum_rule.learning_rate *= factor;
  return optimizer;
}

DeviceParameters::DeviceParameters(ParameterTable table, Precision precision, Layout layout)
    : table_(std::move(table)),
      precision_(precision),
      layout_(layout),
      masters_(table_.count * kFloat, "weights"),
      gradients_(gradient_offset(Section::Normalisation, table_.count), "gradients"),
      first_(table_.count * kFloat, "the optimizer's averages"),
      second_(table_.count * kFloat, "the optimizer's averages") {
  if (has_copies())
    copies_ = DeviceMemory(table_.section(Section::Normalisation).begin * bytes_per_value(precision), "weights");
}

std::int64_t DeviceParameters::bytes() const {
  return masters_.bytes() + gradients_.bytes() + first_.bytes() + second_.bytes() + copies_.bytes();
}

std::int64_t DeviceParameters::gradient_offset(Section section, std::int64_t value) const {
  const std::int64_t size = bytes_per_value(precision_);
  if (section != Section::Normalisation) return value * size;
  const std::int64_t weighted = table_.section(Section::Normalisation).begin;
  return weighted * size + (value - weighted) * kFloat;
}

DataType DeviceParameters::gradient_type(Section section) const {
  return section == Section::Normalisation ? DataType::F32 : data_type(precision_);
}

void* DeviceParameters::values(const ParameterTensor& tensor) const {
  if (has_copies() && tensor.section != Section::Normalisation)
    return copies_.data() + tensor.offset * bytes_per_value(precision_);
  return masters_.data() + tensor.offset * kFloat;
}

void* DeviceParameters::gradient(const ParameterTensor& tensor) const {
  return gradients_.data() + gradient_offset(tensor.section, tensor.offset);
}

void DeviceParameters::assign(const std::vector<std::vector<float>>& values) {
  for (std::size_t i = 0; i < table_.tensors.size(); ++i) {
    const ParameterTensor& tensor = table_.tensors[i];
    const std::vector<float> ordered = to_device_order(tensor, layout_, values[i]);
    check(cudaMemcpy(masters_.as<float>() + tensor.offset, ordered.data(), ordered.size() * sizeof(float),
                     cudaMemcpyHostToDevice),
          "weights");
  }
  if (has_copies()) {
    const std::int64_t weighted = table_.section(Section::Normalisation).begin;
    launch_convert(masters_.as<float>(), copies_.data(), data_type(precision_), weighted, nullptr);
  }
  check(cudaDeviceSynchronize(), "weights");
}

std::vector<std::vector<float>> DeviceParameters::read() const {
  check(cudaDeviceSynchronize(), "weights");
  std::vector<std::vector<float>> all;
  for (const ParameterTensor& tensor : table_.tensors) {
    std::vector<float> values(static_cast<std::size_t>(tensor.count));
    check(cudaMemcpy(values.data(), masters_.as<float>() + tensor.offset, values.size() * sizeof(float),
                     cudaMemcpyDeviceToHost),
          "weights");
    all.push_back(from_device_order(tensor, layout_, values));
  }
  return all;
}

void DeviceParameters::update(const Optimizer& optimizer, StepState* state, cudaStream_t stream) {
  if (precision_ == Precision::F16) {
    for (const Section section : kSections) {
      const ParameterRange& range = table_.section(section);
      launch_check_finite(gradients_.data() + gradient_offset(section, range.begin), gradient_type(section),
                          range.count(), state, stream);
    }
  }
  for (const Section section : kSections) {
    const ParameterRange& range = table_.section(section);
    UpdateArrays arrays{.weights = masters_.as<float>() + range.begin,
                        .gradient = gradients_.data() + gradient_offset(section, range.begin),
                        .gradient_type = gradient_type(section),
                        .first = first_.as<float>() + range.begin,
                        .second = second_.as<float>() + range.begin,
                        .count = range.count()};
    if (has_copies() && section != Section::Normalisation) {
      arrays.copy = copies_.data() + range.begin * bytes_per_value(precision_);
      arrays.copy_type = data_type(precision_);
    }
    if (optimizer.adadelta) {
      launch_adadelta(arrays, optimizer.adadelta_rule, state, stream);
    } else {
      const protocol::MomentumRule& rule = optimizer.momentum_rule;
      launch_momentum(arrays,
                      {.rate = static_cast<float>(rule.learning_rate),
                       .momentum = static_cast<float>(rule.momentum),
                       .decay = section == Section::Weights ? static_cast<float>(rule.weight_decay) : 0.0F},
                      state, stream);
    }
  }
}

}  // namespace nocturne::cuda
