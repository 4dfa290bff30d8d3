#include "tuner/campaign/noise/noise_plan.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <variant>

#include <fmt/format.h>

#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {
namespace {

constexpr int kUsualPairs = 6;       // of the first look
constexpr int kMostFirstPairs = 20;  // beyond this the looks are worth more than one long wait
constexpr int kUnboundedPairs = 60;  // where no time is given
constexpr int kMostPairsEver = 200;
constexpr double kWorthChanging = 0.5;  // of the usual way's cost

/// What a plan writes under /verify.
constexpr std::array kPlanned = {"method", "estimator", "pairs", "most_pairs", "margin_percent"};

double cost_of(const NoiseRow& row) {
  return row.noise.sd * row.noise.sd * row.seconds_a_pair;
}

/// The row by which the campaign will compare; null: none was measured that it may.
const NoiseRow* chosen_row(const NoiseFloor& floor, const VerifySettings& verify, const NoiseWishes& wishes) {
  const NoiseRow* usual = nullptr;
  const NoiseRow* best = nullptr;
  for (const NoiseRow& row : floor.rows) {
    if (row.method == measure::PairMethod::Duet && !wishes.default_fits_half) continue;
    if (wishes.fixed.contains("method") && row.method != verify.method) continue;
    if (wishes.fixed.contains("estimator") && row.estimator != verify.estimator) continue;
    if (row.estimator == StepEstimator::Paired) usual = &row;
    if (best == nullptr || cost_of(row) < cost_of(*best)) best = &row;
  }
  if (best == nullptr || usual == nullptr) return best;
  return cost_of(*best) >= kWorthChanging * cost_of(*usual) ? usual : best;
}

/// Between-process sd, for processes that run one after the other.
double process_sd_of(const NoiseFloor& floor) {
  double process_sd = 0;
  for (const NoiseRow& row : floor.rows)
    if (row.method == measure::PairMethod::Sequential && row.estimator == StepEstimator::Median)
      process_sd = row.noise.sd / std::numbers::sqrt2;
  return process_sd;
}

std::string_view judge_words(StepEstimator estimator) {
  switch (estimator) {
    case StepEstimator::Median:
      return "the median";
    case StepEstimator::Minimum:
      return "the minimum";
    case StepEstimator::Paired:
      break;
  }
  return "neighbouring slices";
}

int affordable_pairs(const NoiseRow& row, const NoiseWishes& wishes) {
  if (!wishes.length) return kUnboundedPairs;
  const double seconds = kMostShareOfPairs * std::chrono::duration<double>(*wishes.length).count();
  const double pairs = seconds / std::max(1e-3, row.seconds_a_pair);
  return static_cast<int>(std::clamp(pairs, double{kUsualPairs}, double{kMostPairsEver}));
}

}  // namespace

std::string cost_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} seconds", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} minutes", seconds / 60);
  if (seconds < 48.0 * 3600) return fmt::format("{:.1f} hours", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

bool default_fits_half(const CampaignSpec& spec, std::size_t cpus) {
  const auto threads = spec.space.default_configuration().integer_of("threads");
  return threads && *threads <= static_cast<std::int64_t>(cpus / 2);
}

NoisePlan plan_by_noise(const NoiseFloor& floor, const VerifySettings& verify, const NoiseWishes& wishes) {
  assert(!floor.rows.empty());
  NoisePlan plan{.verify = verify, .process_sd = process_sd_of(floor)};
  plan.verify.known_costs.clear();
  for (const NoiseRow& each : floor.rows)
    plan.verify.known_costs.push_back({.method = each.method, .estimator = each.estimator, .cost = cost_of(each)});
  const NoiseRow* chosen = chosen_row(floor, verify, wishes);
  if (chosen == nullptr) {
    plan.sentence =
        fmt::format("not known of this machine where pairs are measured by {}", measure::to_text(verify.method));
    return plan;
  }
  const NoiseRow& row = *chosen;
  const double sd = row.noise.sd;
  plan.verify.method = row.method;
  plan.verify.estimator = row.estimator;
  plan.seconds_a_pair = row.seconds_a_pair;
  plan.wanted = measure::pairs_to_resolve(sd, 1);

  const auto is_open = [&](std::string_view key) { return !wishes.fixed.contains(key); };
  const int affordable = affordable_pairs(row, wishes);
  const auto needed = [&](double percent) {
    return std::min(measure::pairs_to_resolve(sd, percent).value_or(kMostPairsEver), kMostPairsEver);
  };
  // The first look is there for what is twice as large as what counts; it is also what the reserve is made for.
  if (is_open("pairs")) {
    plan.verify.pairs = std::clamp(needed(2 * std::max(verify.margin_percent, 0.1)), kUsualPairs,
                                   std::max(kUsualPairs, std::min(affordable, kMostFirstPairs)));
  }
  if (is_open("most_pairs")) {
    plan.verify.most_pairs = std::max(
        {verify.most_pairs, plan.verify.pairs, std::min(needed(std::max(verify.margin_percent, 0.1)), affordable)});
  }
  plan.verify.most_pairs = std::max(plan.verify.most_pairs, plan.verify.pairs);
  plan.verify.most_pairs_given = true;
  const double least = measure::resolution_percent(sd, plan.verify.most_pairs);
  if (is_open("margin_percent") && least > verify.margin_percent)
    plan.verify.margin_percent = std::min(50.0, std::ceil(least * 10) / 10);
  plan.resolution_percent = measure::resolution_percent(sd, plan.verify.pairs);

  plan.sentence =
      fmt::format("this machine resolves {:.1f} % in {} pairs ({}, judged by {}); ", plan.resolution_percent,
                  plan.verify.pairs, measure::to_text(row.method), judge_words(row.estimator));
  plan.sentence += plan.wanted ? fmt::format("1 % would cost {}", cost_text(*plan.wanted * row.seconds_a_pair))
                               : "1 % cannot be resolved here";
  plan.sentence += fmt::format(". So: up to {} pairs, and closer than {:g} % is the same", plan.verify.most_pairs,
                               plan.verify.margin_percent);
  return plan;
}

void keep_plan(const nlohmann::json& stored, CampaignSpec& spec) {
  const auto written = fixed_by_file(stored);
  const bool planned = std::ranges::all_of(kPlanned, [&](const char* key) { return written.contains(key); });
  if (!planned) return;  // it began without a plan, and goes on so
  const CampaignSections then = sections_of(stored);
  const auto fixed = fixed_by_file(spec.document);
  NoisePlan plan{.verify = spec.verify};
  const auto keep = [&](const char* key, const auto& began_with, auto& target) {
    if (!fixed.contains(key)) target = began_with;
  };
  keep("pairs", then.verify.pairs, plan.verify.pairs);
  keep("most_pairs", then.verify.most_pairs, plan.verify.most_pairs);
  plan.verify.most_pairs = std::max(plan.verify.most_pairs, plan.verify.pairs);
  plan.verify.most_pairs_given = true;
  keep("margin_percent", then.verify.margin_percent, plan.verify.margin_percent);
  keep("method", then.verify.method, plan.verify.method);
  keep("estimator", then.verify.estimator, plan.verify.estimator);
  apply_plan(plan, spec);
}

void apply_plan(const NoisePlan& plan, CampaignSpec& spec) {
  spec.verify = plan.verify;
  if (plan.process_sd > 0) spec.run.process_sd = plan.process_sd;
  nlohmann::json& verify = spec.document["verify"];
  if (!verify.is_object()) verify = nlohmann::json::object();
  verify["method"] = measure::to_text(plan.verify.method);
  verify["estimator"] = measure::to_text(plan.verify.estimator);
  verify["pairs"] = plan.verify.pairs;
  verify["most_pairs"] = plan.verify.most_pairs;
  verify["margin_percent"] = plan.verify.margin_percent;
}

std::set<std::string, std::less<>> fixed_by_file(const nlohmann::json& document) {
  std::set<std::string, std::less<>> fixed;
  if (const auto verify = document.find("verify"); verify != document.end() && verify->is_object())
    for (const auto& [key, value] : verify->items()) fixed.insert(key);
  return fixed;
}

}  // namespace nocturne::tuner
