#include "kernels/onednn/trainer.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "kernels/networks/mnist_cnn.hpp"
#include "kernels/onednn/instruction_set.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/refusal.hpp"
#include "tests/kernels/tiny_images.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::onednn {
namespace {

constexpr int kTrain = 200, kTest = 50;

struct Images {
  Images() {
    test::write_tiny_images(folder.path(), kTrain, kTest);
    train = load_images("mnist", folder.path().string(), Split::Train, networks::kMnistCnn);
    test = load_images("mnist", folder.path().string(), Split::Test, networks::kMnistCnn);
  }
  test::TemporaryFolder folder;
  ImageSet train, test;
};

const Images& images() {
  static const Images all;
  return all;
}

TrainerOptions options_of(std::int64_t batch, std::uint64_t seed = 1) {
  TrainerOptions options;
  options.settings.batch = batch;
  options.seed = seed;
  return options;
}

std::vector<float> losses(const TrainerOptions& options, int steps) {
  Trainer trainer(networks::kMnistCnn, options, images().train);
  std::vector<float> all;
  for (int i = 0; i < steps; ++i) {
    const StepResult result = trainer.step();
    all.push_back(result.loss);
    if (result.epoch_ended) trainer.begin_epoch();
  }
  return all;
}

}  // namespace

TEST_CASE("the same seed gives the same losses, another seed others", "[onednn]") {
  const auto first = losses(options_of(16), 6);
  CHECK(first == losses(options_of(16), 6));
  CHECK(first != losses(options_of(16, 2), 6));
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
  Trainer blocked(networks::kMnistCnn, options_of(16), images().train),
      last(networks::kMnistCnn, plain, images().train);
  // Without dropout, whose draws follow the layout.
  CHECK(blocked.evaluate(images().test).loss == Catch::Approx(last.evaluate(images().test).loss).epsilon(1e-4));
}

TEST_CASE("an easy data set is learnt, f32 and bf16", "[onednn]") {
  for (const Precision precision : {Precision::F32, Precision::Bf16}) {
    if (precision == Precision::Bf16 && bf16_support() == "none") continue;
    TrainerOptions options = options_of(20);
    options.settings.precision = precision;
    Trainer trainer(networks::kMnistCnn, options, images().train);
    const Score before = trainer.evaluate(images().test);
    for (int i = 0; i < 40; ++i) {
      if (trainer.step().epoch_ended) trainer.begin_epoch();
    }
    const Score after = trainer.evaluate(images().test);
    CHECK(after.loss < before.loss / 2);
    CHECK(after.correct >= 45);
  }
}

TEST_CASE("an epoch's smaller batch is dropped or trained as asked", "[onednn]") {
  TrainerOptions options = options_of(64);  // 200 = 3 · 64 + 8
  Trainer dropping(networks::kMnistCnn, options, images().train);
  CHECK(dropping.steps_per_epoch() == 3);
  options.train_partial_batch = true;
  Trainer training(networks::kMnistCnn, options, images().train);
  CHECK(training.steps_per_epoch() == 4);
  for (int i = 0; i < 3; ++i) {
    CHECK(training.step().images == 64);
    CHECK(dropping.step().epoch_ended == (i == 2));
  }
  CHECK(training.partial_is_next());
  const StepResult last = training.step();
  CHECK(last.images == 8);
  CHECK(last.partial);
  CHECK(last.epoch_ended);
  training.begin_epoch();
  CHECK(training.step().images == 64);
}

TEST_CASE("the smaller batch moves the parameters that the full batch's plan reads", "[onednn]") {
  TrainerOptions options = options_of(150);
  options.train_partial_batch = true;
  Trainer trainer(networks::kMnistCnn, options, images().train);
  trainer.step();
  const double before = trainer.evaluate(images().test).loss;
  CHECK(trainer.step().images == 50);
  CHECK(trainer.evaluate(images().test).loss != before);
}

TEST_CASE("judging a set does not depend on the batch", "[onednn]") {
  Trainer small(networks::kMnistCnn, options_of(7), images().train),
      whole(networks::kMnistCnn, options_of(50), images().train);
  const Score left = small.evaluate(images().test), right = whole.evaluate(images().test);
  CHECK(left.correct == right.correct);
  CHECK(left.loss == Catch::Approx(right.loss).epsilon(1e-4));
}

TEST_CASE("a training that runs away is told from one that fails", "[onednn]") {
  TrainerOptions options = options_of(16);
  options.rule.rate = std::numeric_limits<float>::infinity();
  Trainer trainer(networks::kMnistCnn, options, images().train);
  const auto run = [&] {
    for (int i = 0; i < 10; ++i) trainer.step();
  };
  CHECK_THROWS_AS(run(), Diverged);
}

TEST_CASE("a batch larger than the data set is refused", "[onednn]") {
  CHECK_THROWS_AS(Trainer(networks::kMnistCnn, options_of(kTrain + 1), images().train), Unsupported);
}

TEST_CASE("a layer this worker does not know is refused by name", "[onednn]") {
  constexpr networks::Layer layers[] = {{.name = "norm", .kind = networks::Kind::BatchNormalisation},
                                        {.name = "dense", .kind = networks::Kind::Dense, .outputs = 10}};
  const networks::Network network{
      .name = "strange", .image = {1, 28, 28}, .classes = 10, .parameters = 0, .layers = layers};
  CHECK_THROWS_AS(Trainer(network, options_of(16), images().train), Unsupported);
}

}  // namespace nocturne::onednn
