#include "tuner/campaign/answer/expectations.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

#include "search/model/pruning.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/campaign/kept/expectations_members.hpp"

namespace nocturne::tuner {
namespace {

std::vector<LeftOutTrial> each_left_out(LearnedCampaign& learned) {
  std::vector<LeftOutTrial> result;
  for (const auto& each : learned.times().leave_one_out()) {
    const space::Trial* trial = learned.trial_of(learned.times().point(each.trial));
    if (trial == nullptr) continue;
    const auto interval = each.prediction.log_interval(0.9);
    result.push_back({.trial = trial->number,
                      .predicted = std::exp(each.prediction.log_mean()),
                      .low = std::exp(interval.lower),
                      .high = std::exp(interval.upper),
                      .measured = std::exp(each.log_value)});
  }
  std::ranges::sort(result, {}, &LeftOutTrial::trial);
  return result;
}

std::expected<Expectations, std::string> work_out(const db::Store& store, const Answer& answer) {
  const auto learned = learn_from(store, answer.campaign);
  if (!learned) return std::unexpected(learned.error());
  Expectations result{
      .matters = {}, .continuing = {}, .left_out = each_left_out(**learned), .without = (*learned)->without};
  if (answer.best) result.matters = matters(**learned, answer.best->trial.configuration);
  result.continuing = continuing(**learned, std::chrono::hours(1));
  return result;
}

/// Configurations drawn to see which share of them is ruled out: it is known to within 0.025.
constexpr std::size_t kRuledOutDraws = 400;
/// Good trials from which the most hopeful configuration of a value is looked for.
constexpr std::size_t kGoodTrials = 8;

/// Surely slower or faster by more than is worth a look.
bool is_much(const OtherValue& other) {
  const auto& interval = other.change.interval;
  return interval.lower > kHardly || interval.upper < -kHardly;
}

bool is_hardly(const OtherValue& other) {
  const auto& interval = other.change.interval;
  return interval.lower > -kHardly && interval.upper < kHardly;
}

double most(const Matter& matter) {
  double result = 0;
  for (const OtherValue& other : matter.others)
    if (is_much(other)) result = std::max(result, std::abs(other.change.mean));
  return result;
}

/// What a trial took, log seconds; empty: it was not measured, or pairs contradict it beyond the noise of processes.
std::optional<double> log_time(LearnedCampaign& learned, space::Point point) {
  const auto trial = learned.times().trial_of(point);
  const space::Trial* told = learned.trial_of(point);
  if (!trial || told == nullptr || !told->estimate) return std::nullopt;
  const double measured = std::log(told->estimate->value);
  const bool contradicted = std::abs(learned.times().log_value(*trial) - measured) > learned.times().noise_sd();
  return contradicted ? std::nullopt : std::optional<double>(measured);
}

/// What a change takes along; not what merely begins or ceases to be active.
std::vector<NamedValue> taken_along(const space::Lattice& lattice, space::Point best,
                                    const search::model::LevelChange& change) {
  std::vector<NamedValue> result;
  for (std::size_t i = 0; i < lattice.width(); ++i) {
    const space::Level level = change.changed[i];
    if (i == change.parameter || level == best[i] || level == space::kNoLevel || best[i] == space::kNoLevel) continue;
    result.push_back({lattice.parameter(i).name, space::to_text(lattice.axis(i).values[level])});
  }
  return result;
}

std::vector<Matter> all_matters(LearnedCampaign& learned, const std::vector<space::Level>& best) {
  const space::Lattice& lattice = learned.lattice();
  std::vector<Matter> result;
  const auto here = log_time(learned, best);
  const search::model::ChangeOptions options{.confidence = kPageConfidence, .process_sd = learned.process_sd};
  for (const auto& change : search::model::changes_from(learned.times(), learned.lattice(), best, options)) {
    const auto& axis = lattice.axis(change.parameter);
    const std::string& name = lattice.parameter(change.parameter).name;
    if (result.empty() || result.back().parameter != name)
      result.push_back({.parameter = name, .value = space::to_text(axis.values[best[change.parameter]]), .others = {}});
    OtherValue other{.value = space::to_text(axis.values[change.level]),
                     .change = change,
                     .along = taken_along(lattice, best, change)};
    const auto there = log_time(learned, change.changed);
    const auto pairs = stored_gain(learned.comparisons, lattice.configuration(best),
                                   lattice.configuration(change.changed), learned.objective.primary);
    if (pairs) {
      other.measured = -std::log1p(pairs->gain_percent / 100);
      other.pairs = pairs->pairs;
    } else if (here && there) {
      other.measured = *there - *here;
    }
    result.back().others.push_back(std::move(other));
  }
  const auto mean = [](const OtherValue& other) { return other.change.mean; };
  for (Matter& matter : result) std::ranges::stable_sort(matter.others, {}, mean);
  return result;
}

/// By the model, and with the spread between processes, that the lines above rest on.
void add_ruled_out(LearnedCampaign& learned, const std::vector<space::Level>& best, Matters& result) {
  auto& model = learned.times();
  if (model.size() < search::PrunedSearch::kFirst) return;
  space::Lattice& lattice = learned.lattice();
  search::model::ChangeForecast forecast(model, lattice, best,
                                         {.confidence = kPageConfidence, .process_sd = learned.process_sd});
  search::model::Pruning pruning(forecast, {0}, 1);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < model.size(); ++i) order.emplace_back(model.log_value(i), i);
  std::ranges::sort(order);
  space::PointList starts(lattice.width());
  starts.push_back(best);
  for (std::size_t i = 0; i < std::min(kGoodTrials, order.size()); ++i) starts.push_back(model.point(order[i].second));
  space::Random random(model.size());
  const auto levels = pruning.levels(lattice, starts, random);
  for (const auto& level : levels) {
    const space::Value& value = lattice.axis(level.parameter).values[level.level];
    result.ruled_out.push_back({lattice.parameter(level.parameter).name, space::to_text(value)});
  }
  std::vector<space::Level> point(lattice.width());
  const auto has = [&point](const search::model::PrunedLevel& each) { return point[each.parameter] == each.level; };
  std::size_t ruled_out = 0, drawn = 0;
  for (; drawn < kRuledOutDraws && lattice.sample(random, point); ++drawn)
    ruled_out += std::ranges::any_of(levels, has) || pruning.pruned(point) ? 1U : 0U;
  if (drawn > 0) result.ruled_out_share = static_cast<double>(ruled_out) / static_cast<double>(drawn);
}

}  // namespace

NOCTURNE_MEMBERS(LeftOutTrial, trial, predicted, low, high, measured);
NOCTURNE_MEMBERS(Expectations, matters, continuing, left_out, without);

Expectations expectations_of(const db::Store& store, const Answer& answer) {
  const std::string best = answer.best ? answer.best->trial.configuration.identity() : std::string();
  return kept_result<Expectations>(store, answer.campaign, "expectations", best,
                                   [&] { return work_out(store, answer); })
      .value_or(Expectations{});
}

Matters matters(LearnedCampaign& learned, const space::Configuration& best) {
  Matters result;
  const space::Lattice& lattice = learned.lattice();
  if (const auto point = lattice.point_of(best)) {
    for (Matter& matter : all_matters(learned, *point)) {
      auto& list = std::ranges::any_of(matter.others, is_much)     ? result.much
                   : std::ranges::all_of(matter.others, is_hardly) ? result.hardly
                                                                   : result.unsure;
      list.push_back(std::move(matter));
    }
    add_ruled_out(learned, *point, result);
  }
  std::ranges::stable_sort(result.much, std::ranges::greater(), most);
  return result;
}

}  // namespace nocturne::tuner
