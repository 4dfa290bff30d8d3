#include "kernels/onednn/layers/softmax_loss.hpp"

#include <algorithm>
#include <cmath>

namespace nocturne::onednn {
namespace {

// The largest logit is taken out first, so that no exponential overflows.
struct Row {
  float largest, sum;
};

Row measure(const float* logits, std::int64_t classes) {
  Row row{logits[0], 0};
  for (std::int64_t i = 1; i < classes; ++i) row.largest = std::max(row.largest, logits[i]);
  for (std::int64_t i = 0; i < classes; ++i) row.sum += std::exp(logits[i] - row.largest);
  return row;
}

void store(float value, float& out) {
  out = value;
}
void store(float value, Bfloat16& out) {
  out = to_bf16(value);
}

// Two exponentials a logit: a few thousand a step for ten classes, for a thousand classes still little beside the
// network's convolutions. Not worth waking a second thread.
template <typename T>
float loss_and_gradient(const float* logits, const std::int32_t* labels, const LossOptions& options,
                        T* activation_gradient) {
  double total = 0;
  const std::int64_t classes = options.classes;
  const float share = 1.0F / static_cast<float>(options.count);
  const float everywhere = options.smoothing / static_cast<float>(classes), own = 1.0F - options.smoothing;
  for (std::int64_t n = 0; n < options.count; ++n, logits += classes, activation_gradient += classes) {
    const Row row = measure(logits, classes);
    double target = static_cast<double>(own * logits[labels[n]]);
    if (options.smoothing > 0)
      for (std::int64_t i = 0; i < classes; ++i) target += static_cast<double>(everywhere * logits[i]);
    total += static_cast<double>(std::log(row.sum) + row.largest) - target;
    for (std::int64_t i = 0; i < classes; ++i) {
      const float probability = std::exp(logits[i] - row.largest) / row.sum;
      store((probability - everywhere - (i == labels[n] ? own : 0.0F)) * share, activation_gradient[i]);
    }
  }
  return static_cast<float>(total / static_cast<double>(options.count));
}

}  // namespace

float softmax_loss(const float* logits, const std::int32_t* labels, const LossOptions& options,
                   float* activation_gradient) {
  return loss_and_gradient(logits, labels, options, activation_gradient);
}

float softmax_loss(const float* logits, const std::int32_t* labels, const LossOptions& options,
                   Bfloat16* activation_gradient) {
  return loss_and_gradient(logits, labels, options, activation_gradient);
}

Score judge(const float* logits, const std::int32_t* labels, std::int64_t count, std::int64_t classes) {
  Score score;
  for (std::int64_t n = 0; n < count; ++n, logits += classes) {
    const Row row = measure(logits, classes);
    score.loss += static_cast<double>(std::log(row.sum) + row.largest - logits[labels[n]]);
    if (std::max_element(logits, logits + classes) - logits == labels[n]) ++score.correct;
  }
  return score;
}

}  // namespace nocturne::onednn
