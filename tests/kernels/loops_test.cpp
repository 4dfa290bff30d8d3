/// The worker's own loops: threads, pixels, gates, dropout, loss, optimizer.

#include <algorithm>
#include <atomic>
#include <bit>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/data/counter_random.hpp"
#include "kernels/onednn/layers/elementwise.hpp"
#include "kernels/onednn/layers/softmax_loss.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/parameters/optimizers.hpp"
#include "kernels/onednn/random.hpp"

namespace nocturne::onednn {

using Catch::Approx;

TEST_CASE("a parallel loop visits every index once, in ranges cut at the grain", "[onednn]") {
  for (const int count : {1, 2, 3, 5}) {
    set_threads(count);
    CHECK(threads() == count);
    std::vector<std::atomic<int>> visits(10'007);
    std::atomic<bool> aligned = true;
    parallel_for(std::ssize(visits), 64, [&](std::int64_t begin, std::int64_t end) {
      if (begin % 64 != 0) aligned = false;
      for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    CHECK(aligned);
    CHECK(std::all_of(visits.begin(), visits.end(), [](const std::atomic<int>& each) { return each == 1; }));
  }
  set_threads(1);
}

TEST_CASE("bf16 rounds to nearest, ties to even", "[onednn]") {
  CHECK(to_float(to_bf16(1.0F)) == 1.0F);
  CHECK(to_bf16(std::bit_cast<float>(0x3f808000U)) == 0x3f80);  // a tie: down to even
  CHECK(to_bf16(std::bit_cast<float>(0x3f818000U)) == 0x3f82);  // a tie: up to even
  CHECK(to_bf16(std::bit_cast<float>(0x3f808001U)) == 0x3f81);
  CHECK(to_bf16(-2.5F) == 0xc020);
}

TEST_CASE("finiteness is read from the bits", "[onednn]") {
  CHECK(is_finite(0.0F));
  CHECK(is_finite(std::numeric_limits<float>::max()));
  CHECK_FALSE(is_finite(std::numeric_limits<float>::infinity()));
  CHECK_FALSE(is_finite(-std::numeric_limits<float>::infinity()));
  CHECK_FALSE(is_finite(std::numeric_limits<float>::quiet_NaN()));
}

TEST_CASE("a closed ReLU lets no activation gradient through", "[onednn]") {
  std::vector<float> activation_gradient = {1, 2, 3, -4};
  const std::vector<float> output = {0, 1, -0.0F, 5};
  gate_relu(activation_gradient.data(), output.data(), 4);
  CHECK(activation_gradient == std::vector<float>{0, 2, 0, -4});
  std::vector<Bfloat16> small = {to_bf16(1), to_bf16(2), to_bf16(3), to_bf16(-4)};
  const std::vector<Bfloat16> small_output = {0, to_bf16(1), 0x8000, to_bf16(5)};
  gate_relu(small.data(), small_output.data(), 4);
  CHECK(small == std::vector<Bfloat16>{0, to_bf16(2), 0, to_bf16(-4)});
}

TEST_CASE("dropout keeps its share and scales what it keeps", "[onednn]") {
  constexpr std::size_t kCount = 400'000;
  for (const double rate : {0.25, 0.5}) {
    std::vector<float> values(kCount, 3.0F);
    std::vector<std::uint8_t> passed(kCount);
    dropout_forward(values.data(), passed.data(), 0, kCount, dropout_draw(rate, key_of(7, 1), false));
    const double kept = std::accumulate(passed.begin(), passed.end(), 0.0);
    const double deviation = std::sqrt(rate * (1 - rate) * kCount);
    CHECK(std::abs(kept - (1 - rate) * kCount) < 4 * deviation);
    std::size_t equal_neighbours = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      REQUIRE(values[i] == (passed[i] != 0 ? 3.0F * static_cast<float>(1 / (1 - rate)) : 0.0F));
      if (i > 0 && passed[i] == passed[i - 1]) ++equal_neighbours;
    }
    const double share = 1 - 2 * rate * (1 - rate);  // of equal neighbours, if they are independent
    CHECK(std::abs(static_cast<double>(equal_neighbours) - share * kCount) <
          4 * std::sqrt(share * (1 - share) * kCount));
  }
}

TEST_CASE("a rate that rounds to one still keeps a value in 256", "[onednn]") {
  const DropoutDraw draw = dropout_draw(0.999, key_of(1, 1), false);
  CHECK(draw.dropped == 255);
  CHECK(draw.scale == 256);
}

TEST_CASE("dropout does not depend on how the range is split", "[onednn]") {
  constexpr std::int64_t kCount = 10 * kDropoutGrain + 77;
  const DropoutDraw draw = dropout_draw(0.5, key_of(3, 2, 1), false);
  std::vector<float> whole(kCount, 1.0F), pieces(kCount, 1.0F);
  std::vector<std::uint8_t> passed(kCount), passed_pieces(kCount);
  dropout_forward(whole.data(), passed.data(), 0, kCount, draw);
  for (std::int64_t first = 0; first < kCount; first += 3 * kDropoutGrain) {
    const std::int64_t count = std::min(3 * kDropoutGrain, kCount - first);
    dropout_forward(pieces.data() + first, passed_pieces.data() + first, first, count, draw);
  }
  CHECK(whole == pieces);
  CHECK(passed == passed_pieces);
  std::vector<float> again(kCount, 1.0F);
  dropout_forward(again.data(), passed.data(), 0, kCount, dropout_draw(0.5, key_of(3, 2, 2), false));
  CHECK(whole != again);
}

TEST_CASE("dropout remembers the ReLU's gate where it is asked to", "[onednn]") {
  std::vector<float> values(4096, 1.0F), activation_gradient(4096, 1.0F);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] = 0;
  std::vector<std::uint8_t> passed(4096);
  const DropoutDraw draw = dropout_draw(0.25, key_of(1, 1), true);
  dropout_forward(values.data(), passed.data(), 0, 4096, draw);
  dropout_backward(activation_gradient.data(), passed.data(), 4096, draw.scale);
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(activation_gradient[i] == values[i]);
}

TEST_CASE("softmax cross-entropy of hand-computed logits", "[onednn]") {
  // Row 1: probabilities 1/4, 1/2, 1/4. Row 2: equal, with logits that would overflow an exponential.
  const std::vector<float> logits = {0, std::log(2.0F), 0, 1000, 1000, 1000};
  const std::vector<std::int32_t> labels = {1, 2};
  std::vector<float> activation_gradient(6);
  const float loss = softmax_loss(logits.data(), labels.data(), {.count = 2, .classes = 3}, activation_gradient.data());
  CHECK(loss == Approx((std::log(2.0) + std::log(3.0)) / 2));
  const std::vector<float> expected = {0.125F, -0.25F, 0.125F, 1 / 6.0F, 1 / 6.0F, -2 / 6.0F};
  for (std::size_t i = 0; i < 6; ++i) CHECK(activation_gradient[i] == Approx(expected[i]).margin(1e-7));
  const Score score = judge(logits.data(), labels.data(), 2, 3);
  CHECK(score.correct == 1);
  CHECK(score.loss == Approx(std::log(2.0) + std::log(3.0)));
}

TEST_CASE("a smoothed label is one for every class", "[onednn]") {
  const std::vector<float> logits = {0, std::log(2.0F), 0};  // probabilities 1/4, 1/2, 1/4
  const std::int32_t label = 1;
  std::vector<float> activation_gradient(3);
  const LossOptions options{.count = 1, .classes = 3, .smoothing = 0.3F};  // 0.1, 0.8, 0.1
  const float loss = softmax_loss(logits.data(), &label, options, activation_gradient.data());
  CHECK(loss == Approx(0.2 * std::log(4.0) + 0.8 * std::log(2.0)));
  CHECK(activation_gradient[0] == Approx(0.15));
  CHECK(activation_gradient[1] == Approx(-0.3));
  CHECK(activation_gradient[2] == Approx(0.15));
}

TEST_CASE("sums of values are rectified where asked, and keep what is not a number", "[onednn]") {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> other = {1, -3, 0.5F, 1};
  std::vector<float> sum = {1, 2, 0.25F, none}, plain = {1, 2, 0.25F, 0};
  add_values(sum.data(), other.data(), true, 4);
  CHECK(sum[0] == 2);
  CHECK(sum[1] == 0);
  CHECK(sum[2] == 0.75F);
  CHECK_FALSE(is_finite(sum[3]));
  add_values(plain.data(), other.data(), false, 4);
  CHECK(plain == std::vector<float>{2, -1, 0.75F, 1});
  std::vector<Bfloat16> small = {to_bf16(1), to_bf16(2)};
  const std::vector<Bfloat16> small_other = {to_bf16(0.5F), to_bf16(-3)};
  add_values(small.data(), small_other.data(), true, 2);
  CHECK(small == std::vector<Bfloat16>{to_bf16(1.5F), to_bf16(0)});
}

TEST_CASE("sums of activation gradients pass where the ReLU was open", "[onednn]") {
  std::vector<float> sum = {1, 2, 3};
  const std::vector<float> other = {10, 20, 30}, output = {0, 5, -0.0F};
  add_gated(sum.data(), other.data(), output.data(), 3);
  CHECK(sum == std::vector<float>{0, 22, 0});
  std::vector<Bfloat16> small = {to_bf16(1), to_bf16(2)};
  const std::vector<Bfloat16> small_other = {to_bf16(2), to_bf16(4)}, small_output = {0x8000, to_bf16(1)};
  add_gated(small.data(), small_other.data(), small_output.data(), 2);
  CHECK(small == std::vector<Bfloat16>{0, to_bf16(6)});
}

TEST_CASE("pixels are scaled by factor and offset", "[onednn]") {
  const std::vector<std::uint8_t> pixels = {0, 255, 51};
  std::vector<float> values(3);
  scale_pixels(pixels.data(), values.data(), 1.0F / 255.0F, -0.5F, 3);
  CHECK(values[0] == Approx(-0.5));
  CHECK(values[1] == Approx(0.5));
  CHECK(values[2] == Approx(-0.3));
}

TEST_CASE("momentum follows its formula, two steps by hand, and decays where it should", "[onednn]") {
  const Momentum rule{.rate = 0.1F, .momentum = 0.5F, .decay = 0.2F};
  float weight = 1, velocity = 0, gradient = 0.5F;
  momentum_update(rule, rule.decay, &weight, &gradient, &velocity, 1);
  CHECK(velocity == Approx(0.7));
  CHECK(weight == Approx(0.93));
  gradient = -0.1F;
  momentum_update(rule, rule.decay, &weight, &gradient, &velocity, 1);
  CHECK(velocity == Approx(0.436));
  CHECK(weight == Approx(0.8864));
  float bias = 1, still = 0;
  gradient = 0;
  momentum_update(rule, 0, &bias, &gradient, &still, 1);
  CHECK(bias == 1);
}

TEST_CASE("a loss of logits that are no numbers is not finite", "[onednn]") {
  const std::vector<float> logits = {0, std::numeric_limits<float>::quiet_NaN(), 0};
  std::vector<float> activation_gradient(3);
  const std::int32_t label = 0;
  CHECK_FALSE(is_finite(softmax_loss(logits.data(), &label, {.count = 1, .classes = 3}, activation_gradient.data())));
}

TEST_CASE("Adadelta follows its formula, two steps by hand", "[onednn]") {
  float weight = 1, mean_square_gradient = 0, mean_square_update = 0;
  float gradient = 0.5F;
  adadelta_update({}, &weight, &gradient, &mean_square_gradient, &mean_square_update, 1);
  CHECK(mean_square_gradient == Approx(0.0125));
  CHECK(weight == Approx(0.99858579));
  CHECK(mean_square_update == Approx(9.99992e-8).epsilon(1e-5));
  gradient = -0.2F;
  adadelta_update({}, &weight, &gradient, &mean_square_gradient, &mean_square_update, 1);
  CHECK(mean_square_gradient == Approx(0.013875));
  CHECK(weight == Approx(0.99934511));
}

TEST_CASE("an epoch's order is a permutation that seed and epoch decide", "[onednn]") {
  const auto order = data::epoch_order(1000, 1, 0);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == static_cast<std::int32_t>(i));
  CHECK(order == data::epoch_order(1000, 1, 0));
  CHECK(order != data::epoch_order(1000, 1, 1));
  CHECK(order != data::epoch_order(1000, 2, 0));
}

}  // namespace nocturne::onednn
