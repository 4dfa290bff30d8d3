#include "tuner/campaign/noise/trial_method.hpp"

#include <algorithm>
#include <numbers>

#include <fmt/format.h>

#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {
namespace {

/// Null: it was not measured.
const NoiseRow* row_of(const NoiseFloor& floor, measure::PairMethod method, StepEstimator estimator) {
  const auto found = std::ranges::find_if(
      floor.rows, [&](const NoiseRow& row) { return row.method == method && row.estimator == estimator; });
  return found == floor.rows.end() ? nullptr : &*found;
}

}  // namespace

TrialMethodChoice choose_trial_method(const NoiseFloor& floor, TrialMethod wanted) {
  const NoiseRow* processes = row_of(floor, measure::PairMethod::Sequential, StepEstimator::Median);
  const NoiseRow* turns = row_of(floor, measure::PairMethod::Slices, StepEstimator::Paired);
  TrialMethodChoice choice;
  if (wanted != TrialMethod::Auto) choice.method = wanted;
  if (turns != nullptr) choice.pair_sd = turns->noise.sd;
  if (processes == nullptr || turns == nullptr) return choice;
  choice.process_sd = processes->noise.sd / std::numbers::sqrt2;
  if (wanted != TrialMethod::Auto) return choice;
  const double alone = choice.process_sd * choice.process_sd * processes->seconds_a_pair / 2;
  const double paired = choice.pair_sd * choice.pair_sd * turns->seconds_a_pair;
  if (!(alone > 0) || !(paired > 0)) return choice;
  const double cheaper = alone / paired;
  if (cheaper > kWorthTurns) choice.method = TrialMethod::Paired;
  choice.sentence = fmt::format(
      "trials are measured {}: a process differs from an equal one by {:.1f} % (sd), in turns with the default by "
      "{:.1f} % in {:.1f} times the time, which in the same time tells {:.1f} times as much, and {:g} times is where "
      "it pays",
      choice.method == TrialMethod::Paired ? "in turns with a living process of the default" : "alone",
      100 * choice.process_sd, 100 * choice.pair_sd,
      2 * turns->seconds_a_pair / std::max(1e-9, processes->seconds_a_pair), cheaper, kWorthTurns);
  return choice;
}

void apply_choice(const TrialMethodChoice& choice, CampaignSpec& spec) {
  spec.run.method = choice.method;
  if (choice.pair_sd > 0) spec.run.pair_sd = choice.pair_sd;
  if (choice.method == TrialMethod::Paired) spec.document["run"]["method"] = to_text(choice.method);
}

void keep_trial_method(const nlohmann::json& stored, CampaignSpec& spec) {
  if (spec.run.method != TrialMethod::Auto) return;
  if (sections_of(stored).run.method != TrialMethod::Paired) return;
  apply_choice({.method = TrialMethod::Paired}, spec);
}

}  // namespace nocturne::tuner
