#include "kernels/onednn/training_loop.hpp"

#include <utility>

namespace nocturne::onednn {
namespace {

// A step on the CPU is over when step() returns.
class TrainerSteps final : public worker::Training {
 public:
  explicit TrainerSteps(Trainer& trainer) : trainer_(trainer) {}

  worker::StepFacts step() override {
    const StepResult result = trainer_.step();
    const auto loss = static_cast<double>(result.loss);
    settled_.loss = loss;
    settled_.loss_sum += loss * static_cast<double>(result.images);
    return {.images = result.images,
            .data_wait_ns = result.data_wait_ns,
            .partial = result.partial,
            .epoch_ended = result.epoch_ended};
  }
  worker::Settled settle() override { return std::exchange(settled_, {}); }
  [[nodiscard]] bool partial_is_next() const override { return trainer_.partial_is_next(); }
  [[nodiscard]] std::int64_t steps_per_epoch() const override { return trainer_.steps_per_epoch(); }

 private:
  Trainer& trainer_;
  worker::Settled settled_;
};

}  // namespace

void run_training(const protocol::Request& request, Trainer& trainer, worker::Reporter& reporter,
                  const std::function<void()>& after_first_step) {
  TrainerSteps steps(trainer);
  worker::run_training(request, steps, reporter, after_first_step);
}

}  // namespace nocturne::onednn
