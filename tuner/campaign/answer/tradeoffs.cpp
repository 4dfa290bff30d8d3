#include "tuner/campaign/answer/tradeoffs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "space/objective.hpp"
#include "space/parse_number.hpp"
#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"

namespace nocturne::tuner {
namespace {

constexpr std::string_view kAllowedWishes =
    "allowed: time:EPOCHS, throughput, memory, accuracy:SHARE (as accuracy:0.97), comma-separated";

std::optional<double> value_of(const db::StoredTrial& trial, const Wish& wish, std::span<const ReachedAccuracy> reached,
                               const space::Workload& workload) {
  const space::Parts& parts = *trial.trial.parts;
  switch (wish.kind) {
    case Wish::Kind::Time:
      return space::total_time(parts, wish.number);
    case Wish::Kind::Throughput: {
      const double epoch = parts.steps_per_epoch * parts.steady_step;
      if (epoch <= 0) return std::nullopt;
      return static_cast<double>(workload.training_examples) / epoch;
    }
    case Wish::Kind::Memory:
      if (!trial.trial.peak_bytes) return std::nullopt;
      return static_cast<double>(*trial.trial.peak_bytes);
    case Wish::Kind::Accuracy: {
      std::optional<double> seconds;
      for (const ReachedAccuracy& each : reached) {
        if (each.trial != trial.id || each.accuracy < wish.number) continue;
        const double needed = space::total_time(parts, each.epochs);
        seconds = std::min(seconds.value_or(needed), needed);
      }
      return seconds;
    }
  }
  return std::nullopt;
}

/// A value of a trial with the noise that its estimate has, in proportion.
space::Estimate estimate_of(const space::Trial& trial, double value) {
  space::Estimate estimate{.value = value, .standard_error = 0, .runs = 1};
  if (!trial.estimate || trial.estimate->value <= 0) return estimate;
  estimate.standard_error = value * trial.estimate->standard_error / trial.estimate->value;
  estimate.runs = trial.estimate->runs;
  return estimate;
}

/// Smaller is better.
double cost(const Wish& wish, double value) {
  return wish.kind == Wish::Kind::Throughput ? -value : value;
}

bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better = better || a[i] < b[i];
  }
  return better;
}

/// Epochs to two or three digits: 0.34, 2.1, 37, 1,200 need no more.
std::string epochs_number(double epochs) {
  return epochs < 10 ? fmt::format("{:.2g}", epochs) : fmt::format("{:.0f}", epochs);
}

}  // namespace

std::expected<Wish, std::string> parse_wish(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const auto number =
      colon == std::string_view::npos ? std::nullopt : space::parse_number<double>(text.substr(colon + 1));
  Wish wish{.text = std::string(text)};
  if (kind == "energy") {
    return std::unexpected(
        "'energy': no run of a campaign is measured with an energy sensor, and a guess from power "
        "ratings is none");
  }
  if (text == "throughput" || text == "memory") {
    wish.kind = text == "memory" ? Wish::Kind::Memory : Wish::Kind::Throughput;
    return wish;
  }
  if (kind == "time" && number && *number > 0 && *number <= 1e9) {
    wish.number = *number;
    return wish;
  }
  if (kind == "accuracy" && number && *number > 0 && *number <= 1) {
    wish.kind = Wish::Kind::Accuracy;
    wish.number = *number;
    return wish;
  }
  return std::unexpected(fmt::format("'{}' is nothing that can be wanted; {}", text, kAllowedWishes));
}

std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points) {
  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // In lexicographic order nothing that comes later dominates what came before.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool beaten = std::ranges::any_of(
        front, [&](std::size_t other) { return dominates(points[other], points[i]) || points[other] == points[i]; });
    if (!beaten) front.push_back(i);
  }
  std::ranges::sort(front);
  return front;
}

Tradeoffs weigh(std::span<const db::StoredTrial> trials, std::span<const Wish> wishes,
                std::span<const ReachedAccuracy> reached, const space::Workload& workload) {
  Tradeoffs result;
  std::vector<TradeoffRow> rows;
  std::vector<std::vector<double>> costs;
  for (const db::StoredTrial& trial : trials) {
    if (trial.trial.outcome != space::Outcome::Ok || !trial.trial.parts) continue;
    TradeoffRow row{.trial = trial, .values = {}};
    std::vector<double> point;
    for (const Wish& wish : wishes) {
      row.values.push_back(value_of(trial, wish, reached, workload));
      if (row.values.back()) point.push_back(cost(wish, *row.values.back()));
    }
    if (point.size() < wishes.size()) {
      ++result.incomplete;
      continue;
    }
    rows.push_back(std::move(row));
    costs.push_back(std::move(point));
  }
  result.considered = rows.size();
  std::vector<std::size_t> front = pareto_front(costs);
  std::ranges::stable_sort(front, [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
  for (const std::size_t i : front) result.front.push_back(rows[i]);
  for (std::size_t wish = 0; wish < wishes.size(); ++wish) {
    const auto smallest = std::ranges::min_element(front, {}, [&](std::size_t i) { return costs[i][wish]; });
    result.best.push_back(smallest == front.end() ? std::nullopt
                                                  : std::optional(static_cast<std::size_t>(smallest - front.begin())));
  }
  return result;
}

bool alike(const TradeoffRow& a, const TradeoffRow& b, std::span<const Wish> wishes, std::size_t wish) {
  constexpr double kAlikeMemory = 0.02;  // a peak differs by some pages from run to run
  const double x = *a.values[wish], y = *b.values[wish];
  if (wishes[wish].kind == Wish::Kind::Memory) return std::abs(x - y) <= kAlikeMemory * std::min(x, y);
  return within_noise(estimate_of(a.trial.trial, x), estimate_of(b.trial.trial, y));
}

bool alike(const TradeoffRow& a, const TradeoffRow& b, std::span<const Wish> wishes) {
  for (std::size_t wish = 0; wish < wishes.size(); ++wish)
    if (!alike(a, b, wishes, wish)) return false;
  return true;
}

std::vector<std::vector<std::size_t>> groups_of(std::span<const TradeoffRow> front, std::span<const Wish> wishes) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t row = 0; row < front.size(); ++row) {
    const auto group =
        std::ranges::find_if(groups, [&](const auto& each) { return alike(front[each.front()], front[row], wishes); });
    if (group == groups.end())
      groups.push_back({row});
    else
      group->push_back(row);
  }
  return groups;
}

std::vector<Reign> reigns(std::span<const db::StoredTrial> trials) {
  struct Line {
    double start, epoch;
    std::size_t trial;
  };
  std::vector<Line> lines;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const space::Trial& trial = trials[i].trial;
    if (trial.outcome != space::Outcome::Ok || !trial.parts) continue;
    const double start = space::total_time(*trial.parts, 0);
    lines.push_back({.start = start, .epoch = space::total_time(*trial.parts, 1) - start, .trial = i});
  }
  std::vector<Reign> result;
  if (lines.empty()) return result;
  auto now = std::ranges::min_element(
      lines, [](const Line& a, const Line& b) { return std::pair(a.start, a.epoch) < std::pair(b.start, b.epoch); });
  result.push_back({.from = 0, .trial = now->trial});
  for (;;) {  // whoever has shorter epochs overtakes; the first to do so reigns next
    auto next = lines.end();
    double soonest = std::numeric_limits<double>::infinity();
    for (auto line = lines.begin(); line != lines.end(); ++line) {
      if (line->epoch >= now->epoch) continue;
      const double epochs = (line->start - now->start) / (now->epoch - line->epoch);
      if (epochs < soonest || (epochs == soonest && next != lines.end() && line->epoch < next->epoch)) {
        soonest = epochs;
        next = line;
      }
    }
    if (next == lines.end()) return result;
    now = next;
    result.push_back({.from = soonest, .trial = now->trial});
  }
}

std::vector<Reign> reigns_beyond_noise(std::span<const db::StoredTrial> trials) {
  constexpr double kManyEpochs = 1e6;  // the end of the last stretch
  const std::vector<Reign> all = reigns(trials);
  std::vector<Reign> shown;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double end = i + 1 < all.size() ? all[i + 1].from : kManyEpochs;
    if (end <= 1) continue;  // nobody trains less
    const Reign reign{.from = std::max(1.0, std::ceil(all[i].from)), .trial = all[i].trial};
    const auto time_of = [&](std::size_t trial) {
      return estimate_of(trials[trial].trial, space::total_time(*trials[trial].trial.parts, end));
    };
    if (!shown.empty() && within_noise(time_of(shown.back().trial), time_of(reign.trial))) continue;
    shown.push_back(reign);
  }
  return shown;
}

std::vector<TrialBreakEven> stored_break_evens(const db::Store& store, const db::CampaignSummary& campaign,
                                               std::span<const db::StoredTrial> trials) {
  const auto comparisons = store.comparisons(campaign.id);
  const CampaignSections sections = sections_of(campaign.spec);
  const auto number_of = [&](const space::Configuration& configuration) -> std::int64_t {
    const auto found = std::ranges::find_if(
        trials, [&](const db::StoredTrial& each) { return each.trial.configuration == configuration; });
    return found == trials.end() ? -1 : found->trial.number;
  };
  std::vector<TrialBreakEven> result;
  for (const db::StoredComparison& comparison : comparisons) {
    TrialBreakEven found{.baseline = number_of(comparison.record.baseline),
                         .candidate = number_of(comparison.record.candidate)};
    if (found.baseline < 0 || found.candidate < 0) continue;
    const auto baseline = trial_schedule(sections.worker, sections.workload, comparison.record.baseline);
    const auto candidate = trial_schedule(sections.worker, sections.workload, comparison.record.candidate);
    if (!baseline || !candidate) continue;
    const auto stored = stored_pairs(store, comparison, *baseline, *candidate);
    if (stored.pairs.size() < 2) continue;
    found.pairs = std::ssize(stored.pairs);
    found.confidence = kStatedConfidence;
    found.result = measure::break_even(stored.pairs, look_confidence(found.pairs, sections.verify));
    result.push_back(found);
  }
  return result;
}

std::string to_text(const TrialBreakEven& each) {
  const measure::BreakEven& found = each.result;
  const auto number_of = [&](measure::Lead lead) {
    return lead == measure::Lead::Candidate ? each.candidate : each.baseline;
  };
  const std::string basis = fmt::format("{:g} %, {} pairs", 100 * each.confidence, each.pairs);
  if ((found.at_first == measure::Lead::Open || found.low < 1) && found.at_last == measure::Lead::Open) {
    return fmt::format("trials {} and {} cannot be distinguished for few epochs nor for many ({})", each.baseline,
                       each.candidate, basis);
  }
  if (found.at_first == found.at_last && found.low >= measure::kMostEpochs) {
    return fmt::format("trial {} is faster than trial {} for any number of epochs ({})", number_of(found.at_first),
                       found.at_first == measure::Lead::Candidate ? each.baseline : each.candidate, basis);
  }
  if (found.at_last != measure::Lead::Open && found.high <= 1) {
    return fmt::format("trial {} is faster than trial {} from the first epoch on ({})", number_of(found.at_last),
                       found.at_last == measure::Lead::Candidate ? each.baseline : each.candidate, basis);
  }
  std::string text;
  if (found.at_first != measure::Lead::Open && found.low >= 1)
    text = fmt::format("trial {} is faster up to {} epochs", number_of(found.at_first), epochs_number(found.low));
  if (found.at_last != measure::Lead::Open) {
    text += fmt::format("{}trial {} {}faster from {} epochs on", text.empty() ? "" : ", ", number_of(found.at_last),
                        text.empty() ? "is " : "", epochs_number(found.high));
  }
  if (found.epochs) text += fmt::format("; break-even at {}", epochs_number(*found.epochs));
  return fmt::format("{} ({})", text, basis);
}

}  // namespace nocturne::tuner
