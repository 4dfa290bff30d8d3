#include "kernels/worker/training_loop.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include "kernels/data/counter_random.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::worker {
namespace {

using Clock = std::chrono::steady_clock;

class Loop {
 public:
  Loop(const protocol::Request& request, Training& training, Reporter& reporter)
      : request_(request), training_(training), reporter_(reporter) {}

  // Trains `epochs` epochs with the curve's evaluations between samples, or fewer where its accuracy is reached.
  void run_curve(std::int64_t epochs) {
    const protocol::CurveRequest& curve = *request_.curve;
    const std::int64_t an_epoch = training_.steps_per_epoch();
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      for (std::int64_t point = 1; point <= curve.points_per_epoch; ++point) {
        const std::int64_t end = epoch * an_epoch + an_epoch * point / curve.points_per_epoch;
        if (end < 1 || end <= evaluated_) continue;  // an epoch has fewer steps than points
        run(end - steps_done_);
        if (evaluate() >= curve.until.value_or(2)) return;
      }
    }
  }

  void first_step() {
    reporter_.phase_begin("first_step");
    const StepFacts facts = step();
    settle();
    reporter_.phase_end("first_step");
    if (facts.epoch_ended) end_epoch();
  }

  // Trains `count` steps and reports their samples.
  void run(std::int64_t count) {
    while (count > 0) count -= run_sample(std::min(count, request_.steps_per_sample));
  }

 private:
  StepFacts step() {
    const StepFacts facts = training_.step();
    ++steps_done_;
    epoch_images_ += facts.images;
    return facts;
  }

  double settle() {
    const MeanLoss settled = training_.settle();
    epoch_loss_ += settled.loss_sum;
    return settled.loss;
  }

  // Returns the steps it took: fewer than asked for at an epoch's end and before its smaller batch.
  std::int64_t run_sample(std::int64_t most) {
    protocol::SampleEvent sample{.first_step = steps_done_, .steps = 0};
    StepFacts last;
    const auto begin = Clock::now();
    const auto cpu = protocol::process_cpu_time();
    do {
      last = step();
      ++sample.steps;
      sample.data_wait_ns += last.data_wait_ns;
    } while (sample.steps < most && !last.epoch_ended && !last.partial && !training_.partial_is_next());
    sample.loss = settle();
    // The processor's time first: on a busy machine Linux lets others run while it is read, and that time is the
    // sample's.
    sample.cpu_ns = (protocol::process_cpu_time() - cpu).count();
    sample.wall_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    reporter_.sample(sample);
    if (last.epoch_ended) end_epoch();
    training_.between_samples();
    return sample.steps;
  }

  // Its time is no sample's and no epoch's.
  double evaluate() {
    const auto begin = Clock::now();
    const TestScore score = training_.evaluate();
    const auto images = static_cast<double>(score.images);
    const double accuracy = static_cast<double>(score.correct) / images;
    evaluated_ = steps_done_;
    reporter_.accuracy_after(steps_done_, accuracy, score.loss / images, score.images);
    epoch_begin_ += Clock::now() - begin;
    return accuracy;
  }

  void end_epoch() {
    const auto now = Clock::now();
    reporter_.epoch(epoch_++, now - epoch_begin_, epoch_loss_ / static_cast<double>(epoch_images_));
    epoch_begin_ = now;
    epoch_loss_ = 0, epoch_images_ = 0;
  }

  const protocol::Request& request_;
  Training& training_;
  Reporter& reporter_;
  std::int64_t steps_done_ = 0, evaluated_ = 0, epoch_ = 0, epoch_images_ = 0;
  double epoch_loss_ = 0;
  Clock::time_point epoch_begin_ = Clock::now();
};

void take_turns(const std::string& path, Loop& loop) {
  std::ifstream turns(path);  // waits until somebody opens the other end
  if (!turns) throw std::runtime_error("turns: " + path + ": " + std::strerror(errno));
  std::string line;
  while (std::getline(turns, line)) {
    std::int64_t steps = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), steps);
    if (error != std::errc() || end != line.data() + line.size() || steps < 0)
      throw std::runtime_error("turns: '" + line + "' is not a number of steps");
    loop.run(steps);
  }
}

std::vector<std::int32_t> last_of_epoch(const protocol::Request& request, std::int64_t batch, std::int64_t count) {
  const bool partial = request.partial_batch == protocol::PartialBatch::Train && count % batch > 0;
  const std::int64_t full = count / batch, steps = full + (partial ? 1 : 0), wanted = request.gate->steps;
  if (wanted > steps) {
    throw Unsupported("gate: an epoch has " + std::to_string(steps) + " steps, " + std::to_string(wanted) +
                      " are asked for");
  }
  const std::vector<std::int32_t> order = data::epoch_order(count, request.seed, 0);
  const std::int64_t end = partial ? count : full * batch;
  return {order.begin() + (steps - wanted) * batch, order.begin() + end};
}

std::vector<std::int32_t> images_of(const protocol::InitialState& initial, std::int64_t batch, std::int64_t steps) {
  if (static_cast<std::int64_t>(initial.batches.size()) != steps) {
    throw std::runtime_error("initial state: it has " + std::to_string(initial.batches.size()) + " batches, " +
                             std::to_string(steps) + " steps are asked for");
  }
  std::vector<std::int32_t> images;
  for (const auto& each : initial.batches) {
    const auto size = static_cast<std::int64_t>(each.size());
    const bool smaller = &each == &initial.batches.back() && size < batch;
    if (size != batch && !smaller) {
      throw std::runtime_error("initial state: a batch has " + std::to_string(size) +
                               " images, the configuration's have " + std::to_string(batch));
    }
    images.insert(images.end(), each.begin(), each.end());
  }
  return images;
}

}  // namespace

std::int64_t steps_asked_for(const protocol::Request& request) {
  return request.epochs > 0 || request.turns ? -1 : request.steps + 1;
}

void run_training(const protocol::Request& request, Training& training, Reporter& reporter,
                  const std::function<void()>& after_first_step) {
  Loop loop(request, training, reporter);
  loop.first_step();
  after_first_step();
  if (request.turns)
    take_turns(*request.turns, loop);
  else if (request.epochs > 0 && request.curve)
    loop.run_curve(request.epochs);
  else if (request.epochs > 0)
    loop.run(request.epochs * training.steps_per_epoch() - 1);
  else
    loop.run(request.steps);
}

std::vector<std::int32_t> gate_visits(const protocol::Request& request, std::int64_t batch, std::int64_t count,
                                      const protocol::InitialState* initial) {
  return initial != nullptr ? images_of(*initial, batch, request.gate->steps) : last_of_epoch(request, batch, count);
}

}  // namespace nocturne::worker
