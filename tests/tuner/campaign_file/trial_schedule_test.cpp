#include "tuner/campaign_file/trial_schedule.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace nocturne;

TEST_CASE("an epoch of a trial has steps of its batch, and of a user's command the steps that its workload counts",
          "[campaign_file]") {
  space::Workload workload;
  workload.training_examples = 6400;
  space::Configuration with_batch;
  with_batch.set("batch", std::int64_t{64});
  const auto steps = [&](const tuner::WorkerChoice& worker, const space::Configuration& configuration) {
    return measure::steps_per_epoch(tuner::trial_schedule(worker, workload, configuration).value());
  };
  const tuner::WorkerChoice framework;
  CHECK(steps(framework, with_batch) == 100);
  CHECK(steps(framework, {}) == 50);

  tuner::WorkerChoice own;
  own.own.groups = {{"python3"}, {"train.py"}};
  own.own.timing = measure::Timing::Steps;
  CHECK(steps(own, with_batch) == 100);
  CHECK(steps(own, {}) == 6400);

  own.own.timing = measure::Timing::Process;
  workload.training_examples = 1;
  CHECK(steps(own, with_batch) == 1);
  CHECK(steps(own, {}) == 1);
}
