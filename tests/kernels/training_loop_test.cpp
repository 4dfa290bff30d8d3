#include "kernels/worker/training_loop.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/worker/learning_rate.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::worker {
namespace {

/// What is reported and done, in order.
using Log = std::vector<std::string>;

class LoggingReporter final : public Reporter {
 public:
  explicit LoggingReporter(Log& log) : log_(log) {}
  std::vector<protocol::SampleEvent> samples;
  std::vector<double> epochs;
  std::vector<std::chrono::nanoseconds> epoch_walls;
  std::vector<std::pair<std::int64_t, double>> curve;

  void hello() override {}
  void phase_begin(const std::string& name) override { log_.push_back("begin " + name); }
  void phase_end(const std::string& name) override { log_.push_back("end " + name); }
  void ready(const nlohmann::json&) override {}
  void sample(const protocol::SampleEvent& sample) override {
    log_.emplace_back("sample");
    samples.push_back(sample);
  }
  void epoch(std::int64_t, std::chrono::nanoseconds wall, double loss) override {
    epochs.push_back(loss);
    epoch_walls.push_back(wall);
  }
  void accuracy(double, double, std::int64_t) override {}
  void accuracy_after(std::int64_t steps, double accuracy, double, std::int64_t) override {
    log_.emplace_back("accuracy");
    curve.emplace_back(steps, accuracy);
  }
  void norms(std::int64_t, const std::vector<protocol::LayerNorm>&) override {}
  void memory(std::int64_t, std::int64_t) override {}
  void end(const std::string&, const std::string&) override {}

 private:
  Log& log_;
};

/// An accelerator: steps return at once, their losses (1, 2, 3, …) are known when somebody waits. Epochs of three
/// batches of 4 images and one of 2.
class Ahead final : public Training {
 public:
  explicit Ahead(Log& log) : log_(log) {}

  StepFacts step() override {
    log_.emplace_back("step");
    const bool partial = partial_is_next();
    const std::int64_t images = partial ? 2 : 4;
    ++steps_;
    sum_ += static_cast<double>(steps_ * images);
    return {.images = images, .data_wait_ns = 10, .partial = partial, .epoch_ended = partial};
  }
  MeanLoss settle() override {
    log_.emplace_back("settle");
    const double sum = sum_;
    sum_ = 0;
    return {.loss = static_cast<double>(steps_), .loss_sum = sum};
  }
  [[nodiscard]] bool partial_is_next() const override { return steps_ % 4 == 3; }
  [[nodiscard]] std::int64_t steps_per_epoch() const override { return 4; }
  void between_samples() override { log_.emplace_back("between"); }
  /// A tenth more of the images are right after each step; it takes a while.
  [[nodiscard]] TestScore evaluate() override {
    std::this_thread::sleep_for(kTesting);
    return {.loss = 5, .correct = steps_, .images = 10};
  }
  static constexpr std::chrono::milliseconds kTesting{20};

 private:
  Log& log_;
  std::int64_t steps_ = 0;
  double sum_ = 0;
};

}  // namespace

TEST_CASE("an accelerator is waited for once a sample, and looked at when the sample is told", "[worker]") {
  Log log;
  LoggingReporter reporter(log);
  Ahead training(log);
  protocol::Request request;
  request.steps = 2;
  request.steps_per_sample = 2;
  run_training(request, training, reporter);
  CHECK(log ==
        Log{"begin first_step", "step", "settle", "end first_step", "step", "step", "settle", "sample", "between"});
  REQUIRE(reporter.samples.size() == 1);
  CHECK(reporter.samples[0].first_step == 1);
  CHECK(reporter.samples[0].steps == 2);
  CHECK(reporter.samples[0].loss == 3);
  CHECK(reporter.samples[0].data_wait_ns == 20);
}

TEST_CASE("an epoch's smaller batch is a sample of its own, and the epoch's loss is that of all its images",
          "[worker]") {
  Log log;
  LoggingReporter reporter(log);
  Ahead training(log);
  protocol::Request request;
  request.epochs = 2;
  request.steps_per_sample = 10;
  run_training(request, training, reporter);
  std::vector<std::int64_t> steps;
  for (const auto& sample : reporter.samples) steps.push_back(sample.steps);
  CHECK(steps == std::vector<std::int64_t>{2, 1, 3, 1});
  REQUIRE(reporter.epochs.size() == 2);
  CHECK(reporter.epochs[0] == Catch::Approx((4.0 * (1 + 2 + 3) + 2 * 4) / 14));
  CHECK(reporter.epochs[1] == Catch::Approx((4.0 * (5 + 6 + 7) + 2 * 8) / 14));
}

TEST_CASE("a learning curve has its points after equal parts of an epoch, outside of samples and epochs", "[worker]") {
  Log log;
  LoggingReporter reporter(log);
  Ahead training(log);
  protocol::Request request;
  request.epochs = 2;
  request.steps_per_sample = 10;
  request.curve = protocol::CurveRequest{.points_per_epoch = 2};
  run_training(request, training, reporter);
  using Curve = std::vector<std::pair<std::int64_t, double>>;
  CHECK(reporter.curve == Curve{{2, 0.2}, {4, 0.4}, {6, 0.6}, {8, 0.8}});
  std::vector<std::int64_t> steps;
  for (const auto& sample : reporter.samples) steps.push_back(sample.steps);
  CHECK(steps == std::vector<std::int64_t>{1, 1, 1, 2, 1, 1});
  REQUIRE(reporter.epoch_walls.size() == 2);
  for (const auto wall : reporter.epoch_walls) CHECK(wall < Ahead::kTesting);
  for (const auto& sample : reporter.samples) CHECK(std::chrono::nanoseconds(sample.wall_ns) < Ahead::kTesting);
}

TEST_CASE("a learning curve ends where its accuracy is reached, and at its epochs otherwise", "[worker]") {
  for (const auto& [until, last] : {std::pair{0.35, 4}, std::pair{0.4, 4}, std::pair{0.95, 8}}) {
    Log log;
    LoggingReporter reporter(log);
    Ahead training(log);
    protocol::Request request;
    request.epochs = 2;
    request.curve = protocol::CurveRequest{.points_per_epoch = 4, .until = until};
    run_training(request, training, reporter);
    CHECK(reporter.curve.back().first == last);
    CHECK(reporter.curve.size() == static_cast<std::size_t>(last));
  }
}

TEST_CASE("more points than steps are one point a step", "[worker]") {
  Log log;
  LoggingReporter reporter(log);
  Ahead training(log);
  protocol::Request request;
  request.epochs = 1;
  request.curve = protocol::CurveRequest{.points_per_epoch = 9};
  run_training(request, training, reporter);
  REQUIRE(reporter.curve.size() == 4);
  CHECK(reporter.curve.front().first == 1);
}

TEST_CASE("the rate follows the batch size by its rule, and reaches it in the first epoch where it warms up",
          "[worker]") {
  const auto rule = [](const char* word) { return read_learning_rate_rule({{"learning_rate_rule", word}}); };
  const std::int64_t epoch = 10;
  CHECK(read_learning_rate_rule(nlohmann::json::object()).factor(512, 3, epoch) == 1);
  CHECK(rule("none").factor(512, 3, epoch) == 1);
  CHECK(rule("linear").factor(512, 0, epoch) == 4);
  CHECK(rule("linear").factor(64, 0, epoch) == 0.5);
  CHECK(rule("square_root").factor(512, 0, epoch) == 2);
  CHECK(rule("linear").factor(128, 0, epoch) == 1);
  CHECK(rule("linear_warm_up").factor(512, 0, epoch) == Catch::Approx(1.3));
  CHECK(rule("linear_warm_up").factor(512, 9, epoch) == 4);
  CHECK(rule("linear_warm_up").factor(512, 25, epoch) == 4);
  CHECK(rule("square_root_warm_up").factor(512, 4, epoch) == Catch::Approx(1.5));
  CHECK_THROWS_AS(rule("cubic"), Unsupported);
  CHECK_THROWS_AS(read_learning_rate_rule({{"learning_rate_rule", 2}}), Unsupported);
}

TEST_CASE("the gate trains an epoch's last images, the smaller batch included where it is trained", "[worker]") {
  protocol::Request request;
  request.gate.emplace().steps = 2;
  request.partial_batch = protocol::PartialBatch::Drop;
  const auto dropped = gate_visits(request, 4, 10, nullptr);
  CHECK(dropped.size() == 8);
  request.partial_batch = protocol::PartialBatch::Train;
  const auto trained = gate_visits(request, 4, 10, nullptr);
  CHECK(trained.size() == 6);
  CHECK(std::vector(dropped.begin() + 4, dropped.end()) == std::vector(trained.begin(), trained.begin() + 4));
  request.gate->steps = 4;
  CHECK_THROWS_AS(gate_visits(request, 4, 10, nullptr), Unsupported);
}

TEST_CASE("a file's batches are taken as they are, and refused where they do not fit", "[worker]") {
  protocol::Request request;
  request.gate.emplace().steps = 2;
  protocol::InitialState state{.network = "x", .tensors = {}, .batches = {{3, 1}, {2}}};
  CHECK(gate_visits(request, 2, 10, &state) == std::vector<std::int32_t>{3, 1, 2});
  state.batches = {{3}, {2, 1}};
  CHECK_THROWS(gate_visits(request, 2, 10, &state));
  state.batches = {{3, 1}};
  CHECK_THROWS(gate_visits(request, 2, 10, &state));
}

}  // namespace nocturne::worker
