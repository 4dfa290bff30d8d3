#include "kernels/onednn/trainer.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/networks/mnist_cnn.hpp"
#include "kernels/networks/resnet.hpp"
#include "kernels/onednn/instruction_set.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/worker/refusal.hpp"
#include "tests/kernels/tiny_images.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::onednn {
namespace {

constexpr int kTrain = 200, kTest = 50;

const std::string& data_folder() {
  static const test::TemporaryFolder folder;
  static const std::string path = [] {
    test::write_tiny_images(folder.path(), kTrain, kTest);
    return folder.path().string();
  }();
  return path;
}

data::SourceOptions mnist(std::int64_t batch, std::uint64_t seed = 1) {
  data::SourceOptions options;
  options.folder = data_folder();
  options.image = networks::kMnistCnn.image;
  options.classes = 10;
  options.seed = seed;
  options.batch = batch;
  return options;
}

std::unique_ptr<data::BatchSource> test_images() {
  data::SourceOptions options = mnist(1);
  options.split = data::Split::Test;
  options.shuffle = false;
  return data::open_batches(options);
}

TrainerOptions options_of(std::int64_t batch, std::uint64_t seed = 1) {
  TrainerOptions options;
  options.settings.batch = batch;
  options.seed = seed;
  return options;
}

// A trainer and the batches it is fed with.
struct Training {
  explicit Training(const TrainerOptions& options, bool partial = false)
      : Training(networks::kMnistCnn, options, [&] {
          data::SourceOptions from = mnist(options.settings.batch, options.seed);
          from.partial_batch = partial;
          return from;
        }()) {}
  Training(const networks::Network& network, const TrainerOptions& options, const data::SourceOptions& from)
      : batches(data::open_batches(from)), trainer(network, options, *batches) {}

  Score evaluate() {
    const auto images = test_images();
    return trainer.evaluate(*images);
  }

  std::unique_ptr<data::BatchSource> batches;
  Trainer trainer;
};

std::vector<float> losses(const TrainerOptions& options, int steps) {
  Training training(options);
  std::vector<float> all;
  for (int i = 0; i < steps; ++i) all.push_back(training.trainer.step().loss);
  return all;
}

// Random images of resnet20's shape.
Training residual_training(TrainerOptions options, std::vector<std::int32_t> visits = {}) {
  data::SourceOptions from;
  from.data = "synthetic";
  from.image = networks::kResNet20.image;
  from.classes = networks::kResNet20.classes;
  from.batch = options.settings.batch;
  from.seed = options.seed;
  from.visits = std::move(visits);
  options.rule = Momentum{};
  return Training(networks::kResNet20, options, from);
}

}  // namespace

TEST_CASE("the same seed gives the same losses, another seed others", "[onednn]") {
  const auto first = losses(options_of(16), 6);
  CHECK(first == losses(options_of(16), 6));
  CHECK(first != losses(options_of(16, 2), 6));
}

TEST_CASE("a rule for the learning rate that leaves it alone changes no bit, another one does", "[onednn][thorough]") {
  using Scaling = worker::LearningRateRule::Scaling;
  const auto with = [](std::int64_t batch, worker::LearningRateRule rule) {
    TrainerOptions options = options_of(batch);
    options.learning_rate = rule;
    return losses(options, 4);
  };
  const auto own = losses(options_of(16), 4);
  CHECK(with(16, {}) == own);
  CHECK(with(128, {.scaling = Scaling::Linear}) == losses(options_of(128), 4));
  const auto linear = with(16, {.scaling = Scaling::Linear});
  CHECK(linear[0] == own[0]);  // before the first update
  CHECK(linear[1] != own[1]);
  TrainerOptions eighth = options_of(16);
  eighth.rule = Adadelta{.rate = 0.125F};
  CHECK(linear == losses(eighth, 4));
  // 200 images are 12 steps of 16: the first is still near the optimizer's own rate.
  const auto warm = with(16, {.scaling = Scaling::Linear, .warm_up = true});
  CHECK(warm[1] != linear[1]);
  CHECK(warm[1] != own[1]);
}

TEST_CASE("the number of threads changes losses by rounding only", "[onednn]") {
  const int before = threads();
  set_threads(1);
  const auto one = losses(options_of(32), 4);
  set_threads(2);
  const auto two = losses(options_of(32), 4);
  set_threads(before);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i] == Catch::Approx(two[i]).epsilon(1e-3));
}

TEST_CASE("layouts compute the same first loss", "[onednn]") {
  TrainerOptions plain = options_of(16);
  plain.settings.layout = Layout::Plain;
  Training blocked(options_of(16)), last(plain);
  // Without dropout, whose draws follow the layout.
  CHECK(blocked.evaluate().loss == Catch::Approx(last.evaluate().loss).epsilon(1e-4));
}

TEST_CASE("an easy data set is learnt, f32 and bf16", "[onednn][thorough]") {
  for (const Precision precision : {Precision::F32, Precision::Bf16}) {
    if (precision == Precision::Bf16 && bf16_support() == "none") continue;
    TrainerOptions options = options_of(20);
    options.settings.precision = precision;
    Training training(options);
    const Score before = training.evaluate();
    for (int i = 0; i < 40; ++i) training.trainer.step();
    const Score after = training.evaluate();
    CHECK(after.loss < before.loss / 2);
    CHECK(after.correct >= 45);
  }
}

TEST_CASE("an epoch's smaller batch is dropped or trained as asked", "[onednn]") {
  const TrainerOptions options = options_of(64);  // 200 = 3 · 64 + 8
  Training dropping(options), training(options, true);
  CHECK(dropping.trainer.steps_per_epoch() == 3);
  CHECK(training.trainer.steps_per_epoch() == 4);
  for (int i = 0; i < 3; ++i) {
    CHECK(training.trainer.step().images == 64);
    CHECK(dropping.trainer.step().epoch_ended == (i == 2));
  }
  CHECK(training.trainer.partial_is_next());
  const StepResult last = training.trainer.step();
  CHECK(last.images == 8);
  CHECK(last.partial);
  CHECK(last.epoch_ended);
  CHECK(training.trainer.step().images == 64);
}

TEST_CASE("the smaller batch moves the parameters that the full batch's plan reads", "[onednn]") {
  Training training(options_of(150), true);
  training.trainer.step();
  const double before = training.evaluate().loss;
  CHECK(training.trainer.step().images == 50);
  CHECK(training.evaluate().loss != before);
}

TEST_CASE("judging a set does not depend on the batch", "[onednn]") {
  Training small(options_of(7)), whole(options_of(50)), larger(options_of(64));
  const Score left = small.evaluate(), right = whole.evaluate();
  CHECK(left.correct == right.correct);
  CHECK(left.loss == Catch::Approx(right.loss).epsilon(1e-4));
  CHECK(larger.evaluate().loss == Catch::Approx(right.loss).epsilon(1e-4));
}

TEST_CASE("a training that runs away is told from one that fails", "[onednn]") {
  TrainerOptions options = options_of(16);
  options.rule = Adadelta{.rate = std::numeric_limits<float>::infinity()};
  Training training(options);
  const auto run = [&] {
    for (int i = 0; i < 10; ++i) training.trainer.step();
  };
  CHECK_THROWS_AS(run(), worker::Diverged);
}

TEST_CASE("a residual network overfits one batch, f32 and bf16", "[onednn][thorough]") {
  for (const Precision precision : {Precision::F32, Precision::Bf16}) {
    if (precision == Precision::Bf16 && bf16_support() == "none") continue;
    TrainerOptions options = options_of(8);
    options.settings.precision = precision;
    Training training = residual_training(options, {0, 1, 2, 3, 4, 5, 6, 7});
    const float first = training.trainer.step().loss;
    float last = first;
    for (int i = 0; i < 60; ++i) last = training.trainer.step().loss;
    CHECK(first > 1.5F);  // ln 10 = 2.3 where nothing is known
    CHECK(last < 0.1F);
  }
}

TEST_CASE("buffers of a residual network share memory, and its first loss does not depend on the layout", "[onednn]") {
  TrainerOptions plain = options_of(8);
  plain.settings.layout = Layout::Plain;
  Training blocked = residual_training(options_of(8)), last = residual_training(plain);
  CHECK(blocked.trainer.plan().bytes() < blocked.trainer.plan().unshared_bytes() * 3 / 4);
  for (int i = 0; i < 3; ++i)
    CHECK(blocked.trainer.step().loss == Catch::Approx(last.trainer.step().loss).epsilon(1e-3));
}

TEST_CASE("evaluations use the running averages, not the batch they happen to be in", "[onednn]") {
  Training training = residual_training(options_of(8));
  for (int i = 0; i < 3; ++i) training.trainer.step();
  const auto loss_with = [&](std::int64_t batch) {
    data::SourceOptions from;
    from.data = "synthetic";
    from.image = networks::kResNet20.image;
    from.classes = 10;
    from.batch = batch;
    from.visits = {3, 1, 4, 15, 9, 2, 6, 5};
    const auto images = data::open_batches(from);
    return training.trainer.evaluate(*images).loss;
  };
  CHECK(loss_with(8) == Catch::Approx(loss_with(1)).epsilon(1e-5));
  const double before = loss_with(8);
  training.trainer.step();
  CHECK(loss_with(8) != before);
}

TEST_CASE("label smoothing changes the loss that is trained", "[onednn]") {
  TrainerOptions smooth = options_of(8);
  smooth.label_smoothing = 0.1F;
  Training plain = residual_training(options_of(8)), smoothed = residual_training(smooth);
  CHECK(plain.trainer.step().loss != smoothed.trainer.step().loss);
}

TEST_CASE("a profile has each layer's work, forward and backward, and no more time than the steps took", "[onednn]") {
  constexpr std::int64_t kBatch = 4, kSteps = 3;
  Training training = residual_training(options_of(kBatch));
  Profile profile;
  training.trainer.step();
  training.trainer.profile(&profile);
  for (std::int64_t i = 0; i < kSteps; ++i) training.trainer.step();
  training.trainer.profile(nullptr);
  training.trainer.step();

  CHECK(profile.steps() == kSteps);
  std::int64_t spent = 0;
  const auto rows = networks::figures(networks::kResNet20);
  std::vector<std::int64_t> forward(rows.size()), backward(rows.size()), spent_backward(rows.size());
  for (const OperationTime& operation : profile.operations()) {
    INFO(operation.name);
    CHECK(operation.calls == kSteps);
    spent += operation.total_ns;
    if (operation.row < 0) continue;
    const auto row = static_cast<std::size_t>(operation.row);
    CHECK(operation.layer == rows[row].layer->name);
    (operation.part == Part::Backward ? backward : forward)[row] += operation.flops;
    if (operation.part == Part::Backward) spent_backward[row] += operation.total_ns;
  }
  CHECK(spent <= profile.steps_ns());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    INFO(rows[row].layer->name);
    CHECK(forward[row] == kBatch * rows[row].forward_flops);
    CHECK(backward[row] == kBatch * rows[row].backward_flops);
    if (rows[row].weights > 0) CHECK(spent_backward[row] > 0);
  }
}

TEST_CASE("evaluations and smaller batches are no part of a profile", "[onednn]") {
  Training training(options_of(128), true);  // 200 images: 128 and 72
  Profile profile;
  training.trainer.profile(&profile);
  REQUIRE_FALSE(training.trainer.step().partial);
  const std::size_t operations = profile.operations().size();
  REQUIRE(training.trainer.step().partial);
  static_cast<void>(training.evaluate());
  CHECK(profile.steps() == 1);
  CHECK(profile.operations().size() == operations);
  for (const OperationTime& operation : profile.operations()) CHECK(operation.calls == 1);
}

TEST_CASE("a smaller batch that was not foreseen is trained as one that was", "[onednn]") {
  const auto losses_of = [](std::int64_t foreseen) {
    TrainerOptions options = options_of(128);
    options.steps = foreseen;
    Training training(options, true);
    std::vector<float> all;
    for (int i = 0; i < 4; ++i) all.push_back(training.trainer.step().loss);
    return all;
  };
  CHECK(losses_of(1) == losses_of(-1));
}

}  // namespace nocturne::onednn
