#include "search/pruned_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/history/prior.hpp"

namespace nocturne::search {
namespace {

// Draws of this class, apart from those of the search inside: a bit that no number of an ask reaches.
constexpr std::uint64_t kOwnStream = std::uint64_t{1} << 63;
// If none of so many uniform draws is pruned and new, too little is pruned to be audited.
constexpr int kAuditDraws = 256;
// Good trials from which the most hopeful configuration of a level is looked for.
constexpr std::size_t kGood = 8;
// Pruned levels are looked for again when there is a tenth more to judge them by.
constexpr std::size_t kLookAgain = 10;

}  // namespace

PrunedSearch::PrunedSearch(const space::Space& space, const Options& options)
    : options_(options),
      inner_(space, options),
      expensive_(std::ranges::any_of(space.parameters(), [](const space::Parameter& each) {
        return each.stage < space::Stage::Compile && (each.is_real() || each.size() > 1);
      })) {
  inner_.defer([this](space::Point point) { return pruned_level(point) != nullptr; },
               [this](space::Point point) { return pruning_ && pruning_->pruned(point); });
}

void PrunedSearch::settle() {
  if (inner_.times().size() == 0) return;
  inner_.times().release();
  inner_.times().fit();
  parts_due_ = true;
  looked_ = 0;
  stale_ = true;
}

std::vector<double> PrunedSearch::horizons() const {
  return parts_ && !worked_.empty() ? options_.objective.epochs : std::vector<double>();
}

std::size_t PrunedSearch::primary() const {
  if (!parts_) return 0;
  const auto& epochs = options_.objective.epochs;
  const auto found = std::ranges::find(epochs, options_.objective.primary);
  return found == epochs.end() ? 0 : static_cast<std::size_t>(found - epochs.begin());
}

bool PrunedSearch::worked(const space::Trial& trial) {
  return trial.estimate && std::isfinite(trial.estimate->value) && trial.estimate->value > 0;
}

std::vector<double> PrunedSearch::logs_of(const space::Trial& trial) const {
  if (!parts_) return {std::log(trial.estimate->value)};
  std::vector<double> logs;
  for (const double epochs : options_.objective.epochs)
    logs.push_back(std::log(std::max(space::total_time(*trial.parts, epochs), model::PartsForecast::kLeast)));
  return logs;
}

void PrunedSearch::learn(const space::Trial& trial) {
  const auto identity = trial.configuration.identity();
  if (asked_.insert(trial.configuration)) ++trials_;
  const auto point = inner_.lattice().point_of(trial.configuration);
  if (!point) return;
  stale_ = true;
  own_.insert(space::hash_of(*point));
  if (!worked(trial)) {
    // It worked once and does not now: the incumbent must not be one that fails.
    worked_.erase(identity);
    if (parts_forecast_) parts_forecast_->forget(*point);
    return;
  }
  // Trials with and without parts cannot be compared at other horizons; one without is enough to give them up.
  if (parts_ && (!trial.parts || options_.objective.epochs.empty())) {
    parts_ = false;  // from now on by the objective alone
    parts_forecast_.reset();
    pruning_.reset();
    for (auto& [other, each] : worked_) each.logs = {each.log_objective};
  }
  if (parts_) {
    if (!parts_forecast_)
      parts_forecast_.emplace(inner_.lattice(), options_.objective.epochs, options_.roles, options_.bound);
    parts_forecast_->tell(*point, *trial.parts);
    take_over_history();
  }
  worked_.insert_or_assign(identity,
                           PastTime{.log_objective = std::log(trial.estimate->value), .logs = logs_of(trial)});
}

void PrunedSearch::take_over_history() {
  const auto& prior = inner_.prior();
  if (prior.past().empty() || revision_ == prior.revision()) return;
  revision_ = prior.revision();
  for (const auto& each : prior.believed())
    if (each.parts && !own_.contains(space::hash_of(each.point))) parts_forecast_->tell(each.point, *each.parts);
  if (prior.holds()) return;
  for (const auto& each : prior.past())
    if (!own_.contains(space::hash_of(each.point))) parts_forecast_->forget(each.point);
}

void PrunedSearch::judge(const space::Trial& trial) {
  const auto open = open_audits_.find(trial.configuration.identity());
  if (open == open_audits_.end()) return;
  auto& record = records_[open->second];
  open_audits_.erase(open);
  record.told = true;
  if (worked(trial)) {
    const auto logs = logs_of(trial);
    record.log_value = logs[primary()];
    record.beat_its_bound = *record.log_value < record.prediction.log_bound;
    const auto identity = trial.configuration.identity();
    for (std::size_t i = 0; i < logs.size() && !record.beat_the_incumbent; ++i) {
      record.beat_the_incumbent = std::ranges::all_of(
          worked_, [&](const auto& other) { return other.first == identity || logs[i] < other.second.logs[i]; });
    }
  }
  audit_.tell(record.beat_its_bound, record.beat_the_incumbent);
}

void PrunedSearch::tell(std::span<const space::Trial> finished) {
  inner_.tell(finished);
  for (const auto& trial : finished) {
    if (trial.outcome == space::Outcome::Killed) continue;
    learn(trial);
    judge(trial);
  }
}

void PrunedSearch::mark_pending(std::span<const space::Configuration> in_flight) {
  inner_.mark_pending(in_flight);
  for (const auto& each : in_flight)
    if (asked_.insert(each)) ++trials_;
}

void PrunedSearch::refresh() {
  if (!stale_) return;
  stale_ = false;
  pruning_.reset();
  if (worked_.empty() || (worked_.size() < kFirst && !inner_.prior().holds())) return;
  const auto known = parts_forecast_ ? parts_forecast_->size() : inner_.times().size();
  // Pruning on a few trials would rule out what nobody has looked at.
  if (std::min(known, inner_.times().size()) < kFirst) return;
  std::vector<double> best(worked_.begin()->second.logs.size(), std::numeric_limits<double>::infinity());
  for (const auto& [identity, each] : worked_)
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], each.logs[i]);
  model::Forecast* forecast = nullptr;
  if (parts_) {
    if (std::exchange(parts_due_, false))
      parts_forecast_->fit();
    else
      parts_forecast_->fit_if_due();
    forecast = &*parts_forecast_;
  } else {
    objective_forecast_.emplace(inner_.times());
    forecast = &*objective_forecast_;
  }
  pruning_.emplace(*forecast, std::move(best), audit_.widening());
  // Levels are looked for only where a level costs a preparation, which leaving it out would save.
  if (!expensive_) return;
  if (worked_.size() < looked_ + looked_ / kLookAgain && worked_.size() >= looked_) return;
  looked_ = worked_.size();
  auto& times = inner_.times();
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < times.size(); ++i) order.emplace_back(times.log_value(i), i);
  std::ranges::sort(order);
  space::PointList good(inner_.lattice().width());
  for (std::size_t i = 0; i < std::min(kGood, order.size()); ++i) good.push_back(times.point(order[i].second));
  space::Random random(options_.seed, kOwnStream | (kOwnStream >> 1) | worked_.size());
  levels_ = pruning_->levels(inner_.lattice(), good, random);
}

const std::vector<model::PrunedLevel>& PrunedSearch::pruned_levels() {
  refresh();
  return levels_;
}

const model::PrunedLevel* PrunedSearch::pruned_level(space::Point point) const {
  const auto found =
      std::ranges::find_if(levels_, [&](const auto& each) { return point[each.parameter] == each.level; });
  return found == levels_.end() ? nullptr : &*found;
}

double PrunedSearch::margin(space::Point point) {
  const auto* level = pruned_level(point);
  return level != nullptr ? level->margin : pruning_->margin(point);
}

std::optional<double> PrunedSearch::margin(const space::Configuration& configuration) {
  refresh();
  const auto point = inner_.lattice().point_of(configuration);
  if (!pruning_ || !point) return std::nullopt;
  return margin(*point);
}

std::vector<model::HorizonPrediction> PrunedSearch::predict_horizons(const space::Configuration& configuration) {
  refresh();
  const auto point = inner_.lattice().point_of(configuration);
  if (!pruning_ || !point) return {};
  model::Forecast& forecast = parts_ ? static_cast<model::Forecast&>(*parts_forecast_) : *objective_forecast_;
  std::vector<model::HorizonPrediction> result(forecast.horizons());
  forecast.predict_horizons(*point, audit_.widening(), result);
  return result;
}

std::pair<std::size_t, std::size_t> PrunedSearch::pruned_share(std::size_t draws) {
  refresh();
  if (!pruning_) return {0, 0};
  space::Random random(options_.seed, kOwnStream | asks_);
  std::vector<space::Level> point(inner_.lattice().width());
  std::size_t pruned = 0, drawn = 0;
  for (; drawn < draws && inner_.lattice().sample(random, point); ++drawn) pruned += margin(point) > 0;
  return {pruned, drawn};
}

void PrunedSearch::adopt_audit(const space::Configuration& configuration, std::optional<AuditPrediction> prediction) {
  if (!prediction) {
    settle();
    const auto now = margin(configuration);
    if (!now) return;
    prediction = {.log_bound = predict_horizons(configuration)[primary()].log_optimistic, .margin = *now};
  }
  open_audits_.insert_or_assign(configuration.identity(), records_.size());
  records_.push_back({.configuration = configuration, .prediction = *prediction});
}

std::optional<Proposal> PrunedSearch::draw_audit(space::Random& random) {
  refresh();
  if (!pruning_) return std::nullopt;
  std::vector<space::Level> point(inner_.lattice().width());
  for (int i = 0; i < kAuditDraws && inner_.lattice().sample(random, point); ++i) {
    const double margin = this->margin(point);
    // What surely runs out of memory would tell nothing about its time.
    if (margin <= 0 || inner_.memory().fits(point) == 0) continue;
    auto configuration = inner_.lattice().configuration(point);
    if (asked_.contains(configuration)) continue;
    const AuditPrediction prediction{.log_bound = predict_horizons(configuration)[primary()].log_optimistic,
                                     .margin = margin};
    open_audits_.emplace(configuration.identity(), records_.size());
    records_.push_back({.configuration = configuration, .prediction = prediction});
    return Proposal{.configuration = std::move(configuration),
                    .purpose = space::Purpose::Audit,
                    .reason = fmt::format("audit: drawn from the pruned, at best {:.3g} % slower than the incumbent",
                                          100 * std::expm1(margin)),
                    .prediction = prediction};
  }
  return std::nullopt;
}

std::optional<Proposal> PrunedSearch::propose() {
  for (;;) {
    auto proposals = inner_.ask(1);
    if (proposals.empty()) return std::nullopt;
    if (asked_.insert(proposals.front().configuration)) return std::move(proposals.front());
    // else audited meanwhile
  }
}

std::vector<Proposal> PrunedSearch::ask(std::size_t count) {
  // Streams of its own: drawing an audit must not change what the search inside draws.
  space::Random random(options_.seed, kOwnStream | asks_++);
  std::vector<Proposal> proposals;
  while (proposals.size() < count) {
    std::optional<Proposal> next;
    if (audit_.due(trials_)) {
      next = draw_audit(random);
      audit_.drew();
      if (next) asked_.insert(next->configuration);
    }
    refresh();
    if (!next) next = propose();
    if (!next) break;
    ++trials_;
    proposals.push_back(std::move(*next));
  }
  return proposals;
}

}  // namespace nocturne::search
