/// The worker's own kernels against what launchers.hpp says they compute, on the simulated GPU.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "kernels/cuda/survey/peak_launchers.hpp"
#include "kernels/data/counter_random.hpp"
#include "tests/kernels/cuda/simulated_gpu/on_device.hpp"
#include "tests/kernels/cuda/simulated_gpu/operations.hpp"

namespace nocturne::cuda {
namespace {

using simulated::Numbers;
using simulated::rounded;
using simulated::Things;
using simulated::Values;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Either sign, a zero among them, few enough digits for 16 bits.
Values some(std::size_t count, int seed) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(static_cast<int>((i * 7 + static_cast<std::size_t>(seed) * 13) % 33) - 16) / 8;
  return values;
}

std::int64_t size(const Values& values) {
  return static_cast<std::int64_t>(values.size());
}

float relative(float a, float b) {
  return std::abs(a - b) / (std::abs(b) + 1e-6F);
}

auto any_type() {
  return GENERATE(DataType::F32, DataType::Bf16, DataType::F16);
}
// Fewer than a load, whole loads, some left over, and more than one round of the largest grid's first block.
auto any_count() {
  return GENERATE(std::size_t{1}, std::size_t{8}, std::size_t{1003});
}

}  // namespace

TEST_CASE("a rectifier keeps what is positive, and what is no number", "[cuda]") {
  const DataType type = any_type();
  Values values = some(any_count(), 1);
  values.back() = kNan;
  const Numbers on(values, type);
  launch_rectify(on.data(), type, size(values), nullptr);
  const Values found = on.values();
  for (std::size_t i = 0; i + 1 < values.size(); ++i) CHECK(found[i] == std::max(values[i], 0.0F));
  CHECK(std::isnan(found.back()));
}

TEST_CASE("a gate lets differences through where the output is positive", "[cuda]") {
  const DataType type = any_type();
  const Values differences = some(any_count(), 1), outputs = some(differences.size(), 2);
  const Numbers on(differences, type), gate(outputs, type);
  launch_gate(on.data(), gate.data(), type, size(differences), nullptr);
  const Values found = on.values();
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == (outputs[i] > 0 ? differences[i] : 0.0F));
}

TEST_CASE("sums are sums, rectified if asked for", "[cuda]") {
  const DataType type = any_type();
  const bool relu = GENERATE(false, true);
  const Values a = some(any_count(), 1), b = some(a.size(), 2);
  const Numbers left(a, type), right(b, type), sum(Values(a.size(), kNan), type), into(a, type);
  launch_add(sum.data(), left.data(), right.data(), type, size(a), relu, nullptr);
  launch_accumulate(into.data(), right.data(), type, size(a), nullptr);
  const Values found = sum.values(), accumulated = into.values();
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(found[i] == (relu ? std::max(a[i] + b[i], 0.0F) : a[i] + b[i]));
    CHECK(accumulated[i] == a[i] + b[i]);
  }
}

TEST_CASE("bytes are scaled by their channel's rule, a bias is its channel's", "[cuda]") {
  const DataType type = any_type();
  const Layout layout = GENERATE(Layout::Nchw, Layout::Nhwc);
  const ChannelOrder order{.channels = 3, .pixels = 5, .layout = layout};
  const std::size_t images = 7, count = images * 15;
  const auto channel = [&](std::size_t i) { return layout == Layout::Nhwc ? i % 3 : i / 5 % 3; };
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 2);
  const std::vector<PixelScaling> rules = {{0.5F, 0}, {0.25F, 1}, {1, -8}};
  const Things<std::uint8_t> raw(bytes);
  const Things<PixelScaling> scaling(rules);
  const Numbers scaled(Values(count, kNan), type), biased(some(count, 1), type), bias({1, -2, 4}, type);
  launch_scale({.bytes = raw.data(), .scaling = scaling.data()}, scaled.data(), type, static_cast<std::int64_t>(count),
               order, nullptr);
  const bool relu = GENERATE(false, true);
  launch_add_bias(biased.data(), bias.data(), type, static_cast<std::int64_t>(count), order, relu, nullptr);
  const Values found = scaled.values(), sums = biased.values(), before = some(count, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const PixelScaling& rule = rules[channel(i)];
    CHECK(found[i] == rounded(static_cast<float>(bytes[i]) * rule.factor + rule.offset, type));
    const float sum = before[i] + Values{1, -2, 4}[channel(i)];
    CHECK(sums[i] == (relu ? std::max(sum, 0.0F) : sum));
  }
}

TEST_CASE("sums of channels are sums over images and pixels", "[cuda]") {
  const DataType type = any_type();
  const Layout layout = GENERATE(Layout::Nchw, Layout::Nhwc);
  // Fewer channels than lanes, more; one pixel, more than a block has threads; images enough for many parts.
  const auto [channels, pixels, images] = GENERATE(
      table<std::size_t, std::size_t, std::size_t>({{3, 5, 7}, {40, 1, 5000}, {33, 2, 70}, {1, 300, 3}, {1, 1, 1}}));
  const Values values = some(channels * pixels * images, 2);
  std::vector<double> sums(channels);
  for (std::size_t i = 0; i < values.size(); ++i)
    sums[layout == Layout::Nhwc ? i % channels : i / pixels % channels] += static_cast<double>(values[i]);
  const Numbers on(values, type), found(Values(channels, kNan), type);
  const ChannelOrder order{
      .channels = static_cast<std::int64_t>(channels), .pixels = static_cast<std::int64_t>(pixels), .layout = layout};
  const Things<float> parts(Values(static_cast<std::size_t>(channel_sums_bytes(size(values), order)) / 4, kNan));
  launch_sum_channels(on.data(), found.data(), parts.data(), type, size(values), order, nullptr);
  for (std::size_t c = 0; c < channels; ++c) CHECK(found.values()[c] == rounded(static_cast<float>(sums[c]), type));
}

TEST_CASE("dropout drops its share, scales the rest, and draws the same again", "[cuda]") {
  const DataType type = any_type();
  const std::size_t count = 4003;
  const Things<StepState> state({StepState{.seed = 5, .step = 3}});
  launch_begin_step(state.data(), nullptr);
  const Numbers in(Values(count, 1), type), out(Values(count, kNan), type), back(Values(count, 2), type);
  const DropoutRule rule{.row = 4, .dropped = 64, .scale = 2};
  DropoutRule adding = rule;
  adding.accumulate = true;
  launch_dropout(in.data(), out.data(), type, static_cast<std::int64_t>(count), rule, state.data(), nullptr);
  launch_dropout(in.data(), back.data(), type, static_cast<std::int64_t>(count), adding, state.data(), nullptr);
  const Values found = out.values(), again = back.values();
  const std::uint64_t key = data::key_of(state.only().dropout_key, 4);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool keeps = ((data::draw(key, i / 8) >> (i % 8 * 8)) & 255U) >= 64;
    CHECK(found[i] == (keeps ? 2.0F : 0.0F));
    CHECK(again[i] == found[i] + 2);
    kept += keeps ? 1 : 0;
  }
  CHECK(std::abs(static_cast<double>(kept) / static_cast<double>(count) - 0.75) < 0.03);
}

TEST_CASE("a normalisation from sums is the normalisation of the values", "[cuda]") {
  const DataType type = any_type();
  const Layout layout = GENERATE(Layout::Nchw, Layout::Nhwc);
  const bool relu = GENERATE(false, true);
  const std::size_t channels = 3, pixels = 5, images = 4, count = channels * pixels * images;
  const Values values = some(count, 3);
  const auto channel = [&](std::size_t i) { return layout == Layout::Nhwc ? i % 3 : i / 5 % 3; };
  std::vector<double> sums(channels), squares(channels);
  for (std::size_t i = 0; i < count; ++i) {
    sums[channel(i)] += static_cast<double>(values[i]);
    squares[channel(i)] += std::pow(static_cast<double>(values[i]), 2);
  }
  const DataType f = DataType::F32;
  const Numbers sum({sums.begin(), sums.end()}, f), square({squares.begin(), squares.end()}, f);
  const Numbers running_mean({1, 1, 1}, f), running_variance({2, 2, 2}, f), mean({0, 0, 0}, f), inverse({0, 0, 0}, f);
  const Numbers scale({1, 2, 0.5F}, f), shift({0, 1, -1}, f), in(values, type), out(Values(count, kNan), type);
  const NormalisationArrays arrays{.sums = sum.floats(),
                                   .squares = square.floats(),
                                   .running_mean = running_mean.floats(),
                                   .running_variance = running_variance.floats(),
                                   .mean = mean.floats(),
                                   .inverse_deviation = inverse.floats(),
                                   .scale = scale.floats(),
                                   .shift = shift.floats(),
                                   .channels = 3,
                                   .per_channel = static_cast<std::int64_t>(pixels * images)};
  launch_finish_statistics(arrays, {.epsilon = 1e-5F, .momentum = 0.1F}, nullptr);
  launch_normalise(in.data(), out.data(), arrays, type, static_cast<std::int64_t>(count),
                   {.channels = 3, .pixels = 5, .layout = layout}, relu, nullptr);
  const Values normalised = out.values(), means = running_mean.values(), variances = running_variance.values();
  const double n = static_cast<double>(pixels * images);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t c = channel(i);
    const double m = sums[c] / n, variance = squares[c] / n - m * m;
    const double factors[] = {1, 2, 0.5}, shifts[] = {0, 1, -1};
    const double wanted = (static_cast<double>(values[i]) - m) / std::sqrt(variance + 1e-5) * factors[c] + shifts[c];
    CHECK(std::abs(static_cast<double>(normalised[i]) - (relu ? std::max(wanted, 0.0) : wanted)) < 0.02);
    CHECK(relative(means[c], static_cast<float>(0.9 + 0.1 * m)) < 1e-5F);
    CHECK(relative(variances[c], static_cast<float>(1.8 + 0.1 * variance * n / (n - 1))) < 1e-5F);
  }
}

namespace {

// A batch whose channels lie far from zero, each elsewhere, in one layout, and the formulas' answers beside it.
struct NormalisedBatch {
  simulated::Sizes sizes;
  Layout layout;
  DataType type;
  Values values, above, scale, shift;

  NormalisedBatch(const simulated::Sizes& shape, Layout order, DataType stored)
      : sizes(shape), layout(order), type(stored), values(some(count(), 1)), above(some(count(), 2)) {
    for (std::size_t c = 0; c < channels(); ++c) {
      scale.push_back(c % 3 == 0 ? -0.5F : 1.5F);
      shift.push_back(c % 2 == 0 ? 0.25F : -0.125F);
    }
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<float>(i / pixels() % channels() % 4) * 4;
  }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(sizes.count()); }
  [[nodiscard]] std::size_t channels() const { return static_cast<std::size_t>(sizes.c); }
  [[nodiscard]] std::size_t pixels() const { return static_cast<std::size_t>(sizes.h * sizes.w); }
  [[nodiscard]] ChannelOrder order() const {
    return {.channels = sizes.c, .pixels = sizes.h * sizes.w, .layout = layout};
  }
  // (n, c, h, w) as the layout has it, and back.
  [[nodiscard]] Values laid_out(const Values& plain, bool back = false) const {
    if (layout == Layout::Nchw) return plain;
    Values result(plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const std::size_t image = i / (channels() * pixels()), c = i / pixels() % channels(), pixel = i % pixels();
      const std::size_t last = (image * pixels() + pixel) * channels() + c;
      (back ? result[i] : result[last]) = back ? plain[last] : plain[i];
    }
    return result;
  }
};

// Rows of few and many channels that are and are not whole loads and whole warps; planes likewise; one value a channel.
auto any_batch() {
  return GENERATE(simulated::Sizes{4, 3, 1, 5}, simulated::Sizes{3, 16, 2, 2}, simulated::Sizes{70, 64, 1, 1},
                  simulated::Sizes{2, 264, 1, 3}, simulated::Sizes{2, 512, 1, 1}, simulated::Sizes{5, 2, 7, 8},
                  simulated::Sizes{1, 5, 1, 1});
}

// With epsilon 1e-3 and momentum 0.1; the running averages began at 1 and 2.
struct FormulasOfBatch {
  simulated::Statistics statistics;
  Values inverse, running_mean, running_variance, normalised;
  simulated::NormalisationGradients gradients;

  FormulasOfBatch(const NormalisedBatch& batch, bool relu)
      : statistics(simulated::statistics(batch.sizes, batch.values)) {
    const auto n = static_cast<float>(batch.sizes.per_channel());
    for (std::size_t c = 0; c < batch.channels(); ++c) {
      const float variance = statistics.variance[c], unbiased = n > 1 ? variance * n / (n - 1) : variance;
      inverse.push_back(1 / std::sqrt(variance + 1e-3F));
      running_mean.push_back(0.9F + 0.1F * statistics.mean[c]);
      running_variance.push_back(1.8F + 0.1F * unbiased);
    }
    normalised = simulated::normalise(batch.sizes, batch.values, statistics.mean, inverse, batch.scale, batch.shift);
    Values passed = batch.above;
    for (std::size_t i = 0; relu && i < normalised.size(); ++i) {
      if (normalised[i] <= 0) passed[i] = 0;
      normalised[i] = std::max(normalised[i], 0.0F);
    }
    gradients = simulated::normalise_back(batch.sizes, batch.values, passed, statistics.mean, inverse, batch.scale);
  }
};

void check_near(const Values& found, const Values& wanted, double share) {
  REQUIRE(found.size() == wanted.size());
  double largest = 1, apart = 0;  // what is taken from each other is of the order of 1
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(wanted[i])));
    apart = std::max(apart, std::abs(static_cast<double>(found[i]) - static_cast<double>(wanted[i])));
  }
  CHECK(apart <= share * largest);
}

}  // namespace

TEST_CASE("a batch's statistics, what they normalise, and the gradients are those of the formulas", "[cuda]") {
  const NormalisedBatch batch(any_batch(), GENERATE(Layout::Nchw, Layout::Nhwc), any_type());
  const bool relu = GENERATE(false, true), accumulate = GENERATE(false, true);
  const DataType f = DataType::F32;
  const Numbers running_mean(Values(batch.channels(), 1), f), running_variance(Values(batch.channels(), 2), f),
      mean(Values(batch.channels(), kNan), f), inverse(Values(batch.channels(), kNan), f), scale(batch.scale, f),
      shift(batch.shift, f), scale_gradient(Values(batch.channels(), kNan), f),
      shift_gradient(Values(batch.channels(), kNan), f);
  const Numbers in(batch.laid_out(batch.values), batch.type), above(batch.laid_out(batch.above), batch.type),
      out(Values(batch.count(), kNan), batch.type), dx(Values(batch.count(), accumulate ? 2 : kNan), batch.type);
  const NormalisationArrays arrays{.running_mean = running_mean.floats(),
                                   .running_variance = running_variance.floats(),
                                   .mean = mean.floats(),
                                   .inverse_deviation = inverse.floats(),
                                   .scale = scale.floats(),
                                   .shift = shift.floats(),
                                   .channels = batch.sizes.c,
                                   .per_channel = batch.sizes.per_channel()};
  const std::int64_t count = batch.sizes.count();
  const Things<float> parts(Values(static_cast<std::size_t>(channel_sums_bytes(count, batch.order())) / 4, kNan));
  launch_batch_statistics(in.data(), parts.data(), batch.type, count, batch.order(), arrays,
                          {.epsilon = 1e-3F, .momentum = 0.1F}, nullptr);
  launch_normalise(in.data(), out.data(), arrays, batch.type, count, batch.order(), relu, nullptr);
  launch_normalise_backward({.in = in.data(),
                             .dy = above.data(),
                             .dx = dx.data(),
                             .relu = relu,
                             .accumulate = accumulate,
                             .scale = scale_gradient.floats(),
                             .shift = shift_gradient.floats()},
                            parts.data(), arrays, batch.type, count, batch.order(), nullptr);

  const FormulasOfBatch wanted(batch, relu);
  Values gradient = wanted.gradients.input;
  for (float& each : gradient) each += accumulate ? 2.0F : 0.0F;
  const double rounding = batch.type == f ? 1e-5 : batch.type == DataType::F16 ? 1e-3 : 8e-3;
  check_near(mean.values(), wanted.statistics.mean, 1e-5);
  check_near(inverse.values(), wanted.inverse, 1e-5);
  check_near(running_mean.values(), wanted.running_mean, 1e-5);
  check_near(running_variance.values(), wanted.running_variance, 1e-5);
  check_near(batch.laid_out(out.values(), true), wanted.normalised, rounding);
  check_near(scale_gradient.values(), wanted.gradients.scale, 1e-4);
  check_near(shift_gradient.values(), wanted.gradients.shift, 1e-4);
  check_near(batch.laid_out(dx.values(), true), gradient, rounding);
}

TEST_CASE("an evaluation normalises with the running averages", "[cuda]") {
  const Numbers running_mean({1, -2}, DataType::F32), running_variance({3, 0}, DataType::F32),
      mean({kNan, kNan}, DataType::F32), inverse({kNan, kNan}, DataType::F32);
  const NormalisationArrays arrays{.running_mean = running_mean.floats(),
                                   .running_variance = running_variance.floats(),
                                   .mean = mean.floats(),
                                   .inverse_deviation = inverse.floats(),
                                   .channels = 2,
                                   .per_channel = 9};
  launch_running_statistics(arrays, 1, nullptr);
  CHECK(mean.values() == Values{1, -2});
  CHECK(inverse.values() == Values{0.5F, 1});
  CHECK(running_mean.values() == Values{1, -2});
}

TEST_CASE("filled values are uniform within their bounds", "[cuda]") {
  const Numbers on(Values(5003, kNan), DataType::F32);
  launch_fill(on.data(), DataType::F32, 5003, {.centre = 1, .spread = 0.5F, .seed = 9}, nullptr);
  const Values found = on.values();
  double sum = 0;
  for (const float each : found) {
    CHECK(each >= 0.5F);
    CHECK(each < 1.5F);
    sum += static_cast<double>(each);
  }
  CHECK(std::abs(sum / 5003 - 1) < 0.02);
  CHECK(found[0] != found[1]);
}

TEST_CASE("a comparison finds the largest difference, the largest value and what is no number", "[cuda]") {
  const DataType type = any_type();
  Values a = some(1003, 1), b = a;
  b[700] += 4;
  a[1002] = b[1002] = -32;
  const Things<Comparison> into({Comparison{}, Comparison{}});
  launch_compare(Numbers(a, type).data(), Numbers(b, type).data(), type, 1003, into.data(), nullptr);
  const Comparison found = into.only();
  CHECK(std::bit_cast<float>(found.largest_difference) == 4);
  CHECK(std::bit_cast<float>(found.largest_value) == 32);
  CHECK(found.not_finite == 0);
  b[3] = kNan;
  launch_compare(Numbers(a, type).data(), Numbers(b, type).data(), type, 1003, into.data() + 1, nullptr);
  CHECK(into.all()[1].not_finite == 1);
}

TEST_CASE("the loss and its derivative are those of softmax cross-entropy", "[cuda]") {
  const DataType type = any_type();
  const auto classes = GENERATE(std::size_t{3}, std::size_t{10}, std::size_t{100});
  const std::size_t images = 301;
  const float smoothing = GENERATE(0.0F, 0.1F);
  const Values logits = some(images * classes, 1);
  std::vector<std::int32_t> labels(images);
  for (std::size_t i = 0; i < images; ++i) labels[i] = static_cast<std::int32_t>(i % classes);
  StepState begin;
  begin.loss_scale.scale = 1024;
  begin.loss_sum = 5;
  const Things<StepState> state({begin});
  const Things<std::int32_t> wanted(labels);
  const Numbers scores(logits, type), slope(Values(logits.size(), kNan), type),
      losses(Values(images, kNan), DataType::F32);
  launch_softmax_loss(scores.data(), wanted.data(), 301, static_cast<std::int64_t>(classes), smoothing, slope.data(),
                      losses.floats(), type, state.data(), nullptr);
  launch_reduce_loss(losses.floats(), 301, state.data(), nullptr);
  const Values slopes = slope.values(), each_loss = losses.values();
  double sum = 0, worst = 0;
  for (std::size_t n = 0; n < images; ++n) {
    double exponentials = 0;
    for (std::size_t k = 0; k < classes; ++k) exponentials += std::exp(static_cast<double>(logits[n * classes + k]));
    double loss = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const double share = static_cast<double>(smoothing) / static_cast<double>(classes) +
                           (k == static_cast<std::size_t>(labels[n]) ? 1 - static_cast<double>(smoothing) : 0.0);
      const double probability = std::exp(static_cast<double>(logits[n * classes + k])) / exponentials;
      loss -= share * std::log(probability);
      const double derivative = (probability - share) * 1024 / 301;
      worst = std::max(worst, std::abs(static_cast<double>(slopes[n * classes + k]) - derivative));
    }
    CHECK(std::abs(static_cast<double>(each_loss[n]) - loss) < 1e-4);
    sum += loss;
  }
  CHECK(worst < (type == DataType::F32 ? 1e-5 : type == DataType::F16 ? 4e-3 : 3e-2));
  const StepState after = state.only();
  CHECK(std::abs(static_cast<double>(after.loss) - sum / 301) < 1e-4);
  CHECK(std::abs(after.loss_sum - 5 - sum) < 1e-2);
  CHECK(after.not_finite_at == -1);
}

TEST_CASE("a loss that is no number is noticed once, with its step", "[cuda]") {
  StepState begin;
  begin.step = 7;
  const Things<StepState> state({begin});
  const Numbers losses({1, kNan, 2}, DataType::F32);
  launch_reduce_loss(losses.floats(), 3, state.data(), nullptr);
  launch_end_step(state.data(), false, nullptr);
  launch_reduce_loss(losses.floats(), 3, state.data(), nullptr);
  CHECK(state.only().not_finite_at == 7);
  CHECK(state.only().step == 8);
}

TEST_CASE("an image is judged right where its label's logit is the first of the largest", "[cuda]") {
  const DataType type = any_type();
  const Numbers logits({0, 2, 1, /**/ 3, 3, 1, /**/ 3, 3, 1}, type), losses({0, 0, 0}, DataType::F32);
  const Things<std::int32_t> labels({1, 0, 1}), correct({9, 9, 9});
  launch_judge(logits.data(), labels.data(), 3, 3, losses.floats(), correct.data(), type, nullptr);
  CHECK(correct.all() == std::vector<std::int32_t>{1, 1, 0});
  CHECK(std::abs(losses.values()[0] - std::log(std::exp(-2.0F) + 1 + std::exp(-1.0F))) < 1e-5F);
}

TEST_CASE("gradients that overflow are seen, and a step with them changes nothing but the loss scale", "[cuda]") {
  StepState begin;
  begin.loss_scale.scale = 8;
  const Things<StepState> state({begin});
  Values gradient = some(1003, 1);
  const Numbers fine(gradient, DataType::F16);
  gradient.back() = std::numeric_limits<float>::infinity();
  const Numbers bad(gradient, DataType::F16), weights({1}, DataType::F32), velocity({0}, DataType::F32);
  launch_check_finite(fine.data(), DataType::F16, 1003, state.data(), nullptr);
  CHECK(state.only().overflow == 0);
  launch_check_finite(bad.data(), DataType::F16, 1003, state.data(), nullptr);
  CHECK(state.only().overflow == 1);
  const UpdateArrays arrays{.weights = weights.floats(),
                            .gradient = fine.data(),
                            .gradient_type = DataType::F16,
                            .first = velocity.floats(),
                            .second = velocity.floats(),
                            .count = 1};
  launch_momentum(arrays, {.rate = 1}, state.data(), nullptr);
  launch_adadelta(arrays, {}, state.data(), nullptr);
  CHECK(weights.values() == Values{1});
  launch_end_step(state.data(), true, nullptr);
  CHECK(state.only().loss_scale.scale == 4);
  CHECK(state.only().skipped == 1);
  launch_begin_step(state.data(), nullptr);
  CHECK(state.only().overflow == 0);
}

TEST_CASE("momentum and adadelta follow their formulas, and round their copies", "[cuda]") {
  const DataType type = any_type();
  const std::size_t count = 1003;
  StepState begin;
  begin.loss_scale.scale = 4;
  const Things<StepState> state({begin});
  const Values w = some(count, 1), g = some(count, 2);
  Values v = some(count, 3), squares(count, 0.25F), updates(count, 0.5F);
  const Numbers slope(g, type);
  const auto step = [&](const Numbers& weights, const Numbers& first, const Numbers& second, const Numbers& copy) {
    return UpdateArrays{.weights = weights.floats(),
                        .gradient = slope.data(),
                        .gradient_type = type,
                        .first = first.floats(),
                        .second = second.floats(),
                        .copy = copy.data(),
                        .copy_type = DataType::Bf16,
                        .count = static_cast<std::int64_t>(count)};
  };
  const Numbers mw(w, DataType::F32), mv(v, DataType::F32), none({}, DataType::F32), mc(w, DataType::Bf16);
  launch_momentum(step(mw, mv, none, mc), {.rate = 0.5F, .momentum = 0.9F, .decay = 0.25F}, state.data(), nullptr);
  const Numbers aw(w, DataType::F32), aa(squares, DataType::F32), ad(updates, DataType::F32), ac(w, DataType::Bf16);
  launch_adadelta(step(aw, aa, ad, ac), {.rate = 0.5F, .rho = 0.75F, .epsilon = 1e-3F}, state.data(), nullptr);
  const Values momentum = mw.values(), velocity = mv.values(), adadelta = aw.values(), a = aa.values(), d = ad.values();
  const Values copied = mc.values(), adadelta_copied = ac.values();
  for (std::size_t i = 0; i < count; ++i) {
    const float gradient = g[i] / 4, moved = 0.9F * v[i] + gradient + 0.25F * w[i];
    CHECK(std::abs(velocity[i] - moved) < 1e-5F);
    CHECK(std::abs(momentum[i] - (w[i] - 0.5F * moved)) < 1e-5F);
    CHECK(copied[i] == rounded(momentum[i], DataType::Bf16));
    const float square = 0.75F * 0.25F + 0.25F * gradient * gradient;
    const float update = gradient * std::sqrt((0.5F + 1e-3F) / (square + 1e-3F));
    CHECK(std::abs(a[i] - square) < 1e-5F);
    CHECK(std::abs(d[i] - (0.75F * 0.5F + 0.25F * update * update)) < 1e-5F);
    CHECK(std::abs(adadelta[i] - (w[i] - 0.5F * update)) < 1e-5F);
    CHECK(adadelta_copied[i] == rounded(adadelta[i], DataType::Bf16));
  }
}

TEST_CASE("the loops that show what a GPU can do are right, and tell when they are not", "[cuda]") {
  const Things<unsigned> wrong({0U});
  launch_fma(64, 0.5F, 1, {.blocks = 2}, wrong.data(), nullptr);
  for (const MmaType type : {MmaType::Tf32, MmaType::Bf16, MmaType::F16})
    launch_mma(type, 64, {.blocks = 2}, wrong.data(), nullptr);
  const Numbers a(Values(4096), DataType::F32), b(Values(4096), DataType::F32), c(Values(4096), DataType::F32);
  const TriadArrays arrays{.a = a.floats(), .b = b.floats(), .c = c.floats(), .count = 4096};
  launch_fill_triad(arrays, nullptr);
  launch_triad(arrays, 3, nullptr);
  launch_check_triad(arrays, 3, wrong.data(), nullptr);
  CHECK(a.values()[20] == 7 + 3 * 6);
  const Numbers equal(Values(1003, 4), DataType::F16);
  launch_check_equal(equal.data(), 4, DataType::F16, 1003, wrong.data(), nullptr);
  CHECK(wrong.only() == 0);
  launch_check_triad(arrays, 4, wrong.data(), nullptr);
  CHECK(wrong.only() > 3000);
  const unsigned before = wrong.only();
  launch_check_equal(equal.data(), 5, DataType::F16, 1003, wrong.data(), nullptr);
  CHECK(wrong.only() == before + 1003);
  launch_fma(1, 0.5F, 1, {.blocks = 2}, wrong.data(), nullptr);
  CHECK(wrong.only() == before + 1003 + 512);
}

}  // namespace nocturne::cuda
