#include "measure/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace nocturne::measure {
namespace {

/// Initial weights that differ by more are other weights: they travel as f32 and are only copied.
constexpr double kSameBeginning = 1e-5;

/// A tensor that moved by less than this share of its norm was moved by rounding.
constexpr double kLeastMove = 1e-6;

using NormKey = std::pair<std::int64_t, std::string>;  // steps, layer

std::map<NormKey, space::Norm> norms_by_step(const space::Run& run) {
  std::map<NormKey, space::Norm> norms;
  for (const space::Norm& norm : run.norms) norms.emplace(NormKey(norm.steps, norm.layer), norm);
  return norms;
}

/// Loss after so many steps; the inner optional is empty where it is not finite.
std::map<std::int64_t, std::optional<double>> losses_by_step(const space::Run& run) {
  std::map<std::int64_t, std::optional<double>> losses;
  for (const space::Sample& sample : run.samples) losses.emplace(sample.first_step + sample.steps, sample.loss);
  return losses;
}

double relative_size(std::optional<double> a, std::optional<double> b, double floor) {
  if (!a || !b) return a.has_value() == b.has_value() ? 0 : 1;
  const double scale = std::max({std::abs(*a), std::abs(*b), floor});
  return scale > 0 ? std::abs(*a - *b) / scale : 0;
}

std::string value_text(std::optional<double> value) {
  return value ? fmt::format("{:.4g}", *value) : "not finite";
}

std::string apart_text(double size, double tolerance) {
  return fmt::format("{:.3g} % apart, {:.3g} % is allowed", 100 * size, 100 * tolerance);
}

double share_of_tolerance(const GateDifference& difference) {
  return difference.size / difference.tolerance;
}

GateDifference loss_difference(std::int64_t step, std::optional<double> expected, std::optional<double> found,
                               double tolerance) {
  GateDifference difference{
      .what = "loss", .step = step, .size = relative_size(expected, found, 0), .tolerance = tolerance};
  difference.sentence = fmt::format("the loss of step {} is {}, the reference's {}: {}", step, value_text(found),
                                    value_text(expected), apart_text(difference.size, tolerance));
  return difference;
}

/// Distance that a tensor moved as a share of its norm; 1 for biases, which begin at zero.
double share_moved(const space::Norm& norm) {
  if (!norm.norm || !norm.moved || *norm.norm <= 0) return 0;
  return std::min(1.0, *norm.moved / *norm.norm);
}

/// Relative difference in how far a tensor moved.
double moved_difference(const space::Norm& expected, const space::Norm& found) {
  return relative_size(expected.moved, found.moved, kLeastMove * expected.norm.value_or(0));
}

/// The larger, in multiples of its tolerance, of the two differences of one tensor.
GateDifference tensor_difference(const space::Norm& expected, const space::Norm& found,
                                 const GateTolerance& tolerance) {
  GateDifference moved{.what = found.layer,
                       .step = found.steps,
                       .size = moved_difference(expected, found),
                       .tolerance = tolerance.moved};
  moved.sentence =
      fmt::format("after step {}, {} has moved by {}, in the reference by {}: {}", moved.step, moved.what,
                  value_text(found.moved), value_text(expected.moved), apart_text(moved.size, moved.tolerance));
  GateDifference norm{.what = found.layer,
                      .step = found.steps,
                      .size = relative_size(expected.norm, found.norm, 0),
                      .tolerance = tolerance.norm + tolerance.moved * share_moved(expected)};
  norm.sentence = fmt::format("after step {}, {} has norm {}, in the reference {}: {}", norm.step, norm.what,
                              value_text(found.norm), value_text(expected.norm), apart_text(norm.size, norm.tolerance));
  return share_of_tolerance(norm) > share_of_tolerance(moved) ? norm : moved;
}

/// Median of the differences in `moved`: half of the tensors differ by no more.
GateDifference middle_difference(std::int64_t step, std::vector<double> sizes, double tolerance) {
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  GateDifference difference{.what = "half of the tensors", .step = step, .size = *middle, .tolerance = tolerance};
  difference.sentence = fmt::format(
      "after step {}, half of the tensors have moved by other distances than in the reference: {:.3g} % apart or more, "
      "{:.3g} % is allowed",
      step, 100 * difference.size, 100 * tolerance);
  return difference;
}

std::optional<std::string> why_not_comparable(const space::Run& reference, const space::Run& candidate) {
  if (candidate.norms.empty()) return "the worker reports no norms of its parameters: it does not know the gate";
  if (reference.norms.empty()) return "the reference worker reports no norms of its parameters";
  const auto expected = norms_by_step(reference), found = norms_by_step(candidate);
  for (const auto& [key, norm] : expected) {
    const auto& [steps, layer] = key;
    const auto same = found.find(key);
    if (steps == reference.norms.back().steps && same == found.end())
      return fmt::format("the worker reports no norm of {} after {} steps", layer, steps);
    if (steps == 0 && same != found.end() && relative_size(norm.norm, same->second.norm, 0) > kSameBeginning) {
      return fmt::format("the worker does not begin with the weights it was given: {} has norm {} instead of {}", layer,
                         value_text(same->second.norm), value_text(norm.norm));
    }
  }
  const auto losses = losses_by_step(candidate);
  for (const auto& [step, loss] : losses_by_step(reference))
    if (!losses.contains(step)) return fmt::format("the worker reports no loss of step {}", step);
  return std::nullopt;
}

}  // namespace

bool is_normalised(const space::Run& run) {
  return std::ranges::any_of(run.norms, [](const space::Norm& norm) { return norm.layer.ends_with(".scale"); });
}

// The figures they were derived from stand in README.md, "The gate".
GateTolerances gate_tolerances(std::string_view precision, bool normalised) {
  if (normalised && precision == "f32") {
    return {.first = {.loss = 1e-4, .moved = 1e-1, .norm = 1e-5, .middle = 5e-3},
            .later = {.loss = 1e-2, .moved = 5e-1, .norm = 1e-5, .middle = 5e-2},
            .steps = kMostNormalisedGateSteps};
  }
  if (normalised) {
    return {.first = {.loss = 3e-2, .moved = 7e-1, .norm = 1e-4, .middle = 1e-1},
            .later = {.loss = 5e-2, .moved = 8e-1, .norm = 1e-4, .middle = 1e-1},
            .steps = kMostNormalisedGateSteps};
  }
  if (precision == "f32")
    return {.first = {.loss = 1e-5, .moved = 5e-3, .norm = 1e-5}, .later = {.loss = 1e-3, .moved = 3e-2, .norm = 1e-5}};
  return {.first = {.loss = 1e-3, .moved = 1e-1, .norm = 1e-4}, .later = {.loss = 4e-2, .moved = 5e-1, .norm = 1e-4}};
}

std::expected<GateComparison, std::string> compare_gate(const space::Run& reference, const space::Run& candidate,
                                                        const GateTolerances& tolerances) {
  if (auto why = why_not_comparable(reference, candidate)) return std::unexpected(std::move(*why));
  // By step, tensors before the loss: where both deviate, the tensor says more.
  std::map<std::int64_t, std::vector<GateDifference>> differences;
  std::map<std::int64_t, std::vector<double>> moved;
  const auto expected = norms_by_step(reference);
  for (const space::Norm& norm : candidate.norms) {
    const auto same = expected.find(NormKey(norm.steps, norm.layer));
    if (norm.steps == 0 || norm.steps > tolerances.steps || same == expected.end()) continue;
    differences[norm.steps].push_back(tensor_difference(same->second, norm, tolerances.of_step(norm.steps)));
    moved[norm.steps].push_back(moved_difference(same->second, norm));
  }
  for (auto& [step, sizes] : moved) {
    const double tolerance = tolerances.of_step(step).middle;
    if (tolerance > 0) differences[step].push_back(middle_difference(step, std::move(sizes), tolerance));
  }
  const auto losses = losses_by_step(candidate);
  for (const auto& [step, loss] : losses_by_step(reference)) {
    if (step > tolerances.steps) continue;
    differences[step].push_back(loss_difference(step, loss, losses.at(step), tolerances.of_step(step).loss));
  }

  GateComparison result;
  for (const auto& [step, list] : differences) {
    const GateDifference* worst = nullptr;
    for (const GateDifference& each : list) {
      if (each.what == "loss" && worst != nullptr && share_of_tolerance(*worst) > 1) continue;
      if (worst == nullptr || share_of_tolerance(each) > share_of_tolerance(*worst)) worst = &each;
    }
    if (share_of_tolerance(*worst) > 1) return GateComparison{.agrees = false, .difference = *worst};
    if (result.difference.tolerance == 0 || share_of_tolerance(*worst) > share_of_tolerance(result.difference))
      result.difference = *worst;
  }
  return result;
}

}  // namespace nocturne::measure
