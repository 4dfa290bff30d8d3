#include "kernels/onednn/softmax_loss.hpp"

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

// A few thousand exponentials a step: not worth waking a second thread.
template <typename T>
float loss_and_difference(const float* logits, const std::uint8_t* labels, std::int64_t count, std::int64_t classes,
                          T* difference) {
  double total = 0;
  const float share = 1.0F / static_cast<float>(count);
  for (std::int64_t n = 0; n < count; ++n, logits += classes, difference += classes) {
    const Row row = measure(logits, classes);
    total += static_cast<double>(std::log(row.sum) + row.largest - logits[labels[n]]);
    for (std::int64_t i = 0; i < classes; ++i) {
      const float probability = std::exp(logits[i] - row.largest) / row.sum;
      store((probability - (i == labels[n] ? 1.0F : 0.0F)) * share, difference[i]);
    }
  }
  return static_cast<float>(total / static_cast<double>(count));
}

}  // namespace

float softmax_loss(const float* logits, const std::uint8_t* labels, std::int64_t count, std::int64_t classes,
                   float* difference) {
  return loss_and_difference(logits, labels, count, classes, difference);
}

float softmax_loss(const float* logits, const std::uint8_t* labels, std::int64_t count, std::int64_t classes,
                   Bfloat16* difference) {
  return loss_and_difference(logits, labels, count, classes, difference);
}

Score judge(const float* logits, const std::uint8_t* labels, std::int64_t count, std::int64_t classes) {
  Score score;
  for (std::int64_t n = 0; n < count; ++n, logits += classes) {
    const Row row = measure(logits, classes);
    score.loss += static_cast<double>(std::log(row.sum) + row.largest - logits[labels[n]]);
    if (std::max_element(logits, logits + classes) - logits == labels[n]) ++score.correct;
  }
  return score;
}

}  // namespace nocturne::onednn
