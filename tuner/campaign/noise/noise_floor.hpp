#pragma once

/// The noise floor of a machine: a campaign's default against itself, in fresh processes, by each way of measuring a
/// pair. Says what this machine resolves and what that costs, before anything is compared.

#include <chrono>
#include <expected>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "measure/comparison/noise.hpp"
#include "measure/run/slot.hpp"
#include "tuner/campaign/clock.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/executor/interruption.hpp"

namespace nocturne::tuner {

using StepEstimator = measure::StepEstimator;

struct NoiseRow {
  measure::PairMethod method = measure::PairMethod::Sequential;
  StepEstimator estimator = StepEstimator::Median;
  measure::Noise noise;
  double seconds_a_pair = 0;
};

struct NoiseFloor {
  std::vector<NoiseRow> rows;
  std::vector<std::string> left_out;  ///< ways that cannot be measured here, and why
};

struct NoiseWork {
  const CampaignSpec& spec;
  Executor& executor;
  const Clock& clock;
  Interruption& interruption;
  std::chrono::nanoseconds time;  ///< for all of it; three rounds are made all the same
  std::vector<int> cpus;          ///< that workers may use; a duet gives each side half of them
  int most_rounds = 1000;         ///< for fast workers; no fewer than three
  std::function<void(int round)> progress = {};
  std::function<void(const measure::SlotHolder&)> waiting = {};  ///< for the machine's CPUs, that this one has
  std::filesystem::path slot_folder = {};  ///< where the lock files lie; empty: the machine's folder
};

/// Rounds of one pair by each method, in turn, so that no method has a quieter hour than the others. Each process
/// trains spec.verify.slices · slice_steps steps. Takes the machine's CPUs for a round at a time. The error is a
/// sentence: the default cannot be prepared, or does not train; no slot; interrupted before there were two rounds.
[[nodiscard]] std::expected<NoiseFloor, std::string> measure_noise(const NoiseWork& work);

}  // namespace nocturne::tuner
