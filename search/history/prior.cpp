#include "search/history/prior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/distributions/students_t.hpp>

#include "search/model/linear_model.hpp"
#include "space/word_list.hpp"

namespace nocturne::search::history {
namespace {

constexpr double kEqual = 1e-12;         // log units: a stored result that was taken over is not measured again
constexpr double kLeastSd = 0.005;       // of a residual between then and now; clocks are not better
constexpr double kOffsetStep = 0.002;    // less of a change of the offset is not told to the models
constexpr double kMarginalDegrees = 4;   // of "a configuration like any other": tails of unknown weight
constexpr double kStray = 0.05;          // share of configurations about which no model of this kind knows anything
constexpr std::size_t kTell = 20;        // past trials from which on they must say something of each other
constexpr double kLeastExplained = 0.1;  // share of the past's variance that left-out trials must find explained

constexpr int kRounds = 4;            // of looking around the best
constexpr std::size_t kClimbers = 3;  // points looked around, a round
constexpr std::size_t kApart = 2;     // parameters in which suggestions differ at least: neighbours say the same twice

std::size_t differences(space::Point a, space::Point b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

}  // namespace

Prior::Prior(space::Lattice& lattice, const Options& options, double knee, std::vector<model::Feature> covariates)
    : lattice_(lattice),
      note_(options.note),
      past_(same_trials(lattice, options, kMostSame)),
      knee_(knee),
      covariates_(std::move(covariates)),
      then_(lattice, {.knee = knee}, covariates_),
      alone_(lattice, {.knee = knee}, covariates_),
      promising_(lattice.width()) {
  for (const auto& campaign : options.history) {
    if (campaign.same_machine_and_workload || rankings_.size() == kMostRanks) continue;
    if (auto ranking = Ranking::of(lattice, campaign, options.objective)) rankings_.push_back(std::move(ranking));
  }
  learn_from_the_past();
}

void Prior::learn_from_the_past() {
  std::vector<double> values;
  for (std::size_t i = 0; i < past_.size(); ++i) {
    past_of_.emplace(space::hash_of(past_[i].point), i);
    if (!past_[i].log_value) continue;
    then_.tell(past_[i].point, *past_[i].log_value);
    values.push_back(*past_[i].log_value);
  }
  if (values.empty()) return;
  holds_ = true;
  then_.fit();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  centre_ = *middle;
  double squares = 0;
  for (const double each : values) squares += (each - centre_) * (each - centre_);
  spread_ = std::max(std::sqrt(squares / static_cast<double>(values.size())), 0.05);

  const auto left_out = then_.leave_one_out();
  double unexplained = 0, mean = 0, all = 0;
  std::vector<double> model_values;
  for (const auto& each : left_out) model_values.push_back(each.prediction.target.to_model(each.log_value));
  for (const double each : model_values) mean += each / static_cast<double>(model_values.size());
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    unexplained += std::pow(model_values[i] - left_out[i].prediction.mean, 2);
    all += std::pow(model_values[i] - mean, 2);
  }
  // Trials that do not predict each other predict nothing here either: another machine, or noise alone.
  if (left_out.size() >= kTell && unexplained > (1 - kLeastExplained) * all)
    return give_up("history: its own trials do not explain each other, so it is not believed");
  auto best = past_;
  std::erase_if(best, [](const PastTrial& each) { return !each.log_value; });
  std::ranges::stable_sort(best, {}, [](const PastTrial& each) { return *each.log_value; });
  for (std::size_t i = 0; i < std::min(best.size(), kPromising); ++i) promising_.push_back(best[i].point);
}

std::vector<model::Feature> Prior::features() const {
  std::vector<model::Feature> features;
  for (const auto& ranking : rankings_) {
    features.push_back(
        {.name = ranking->name(), .value = [order = ranking.get()](space::Point point) { return order->mean(point); }});
  }
  return features;
}

void Prior::teach(model::LinearModel& times, model::Feasibility& feasibility) const {
  if (!holds_) return;
  for (const auto& each : past_) {
    feasibility.tell(each.point, each.log_value.has_value());
    if (each.log_value) times.tell_past(each.point, *each.log_value);
  }
}

double Prior::density_like_any(double log_value) const {
  const double scale = std::sqrt(spread_ * spread_ + offset_.sd * offset_.sd);
  const boost::math::students_t_distribution<double> t(kMarginalDegrees);
  return boost::math::pdf(t, (log_value - centre_ - offset_.mean) / scale) / scale;
}

double Prior::density_alone(space::Point point, double log_value) {
  if (model::fit_is_due(alone_.size(), fitted_)) {
    alone_.fit();
    fitted_ = alone_.size();
  }
  return std::exp(log_density(alone_.predict(point), log_value));
}

void Prior::compare(space::Point point, double log_value, model::LinearModel& times) {
  if (!holds_) {
    if (!ranks()) return;
    if (now_.insert_or_assign(space::hash_of(point), log_value).second && alone_.size() >= kAlone) {
      const auto prediction = times.predict(point);
      rank_agreement_.tell(log_density(prediction, log_value), std::log(density_alone(point, log_value)),
                           prediction.log_interval(0.9).contains(log_value));
    }
    return alone_.tell(point, log_value);
  }
  const auto hash = space::hash_of(point);
  // A prediction can be tested only once, by the first measurement: from then on the model knows the answer.
  const auto [known, is_new] = now_.insert_or_assign(hash, log_value);
  const auto past = past_of_.find(hash);
  const bool taken_over = past != past_of_.end() && past_[past->second].log_value &&
                          std::abs(*past_[past->second].log_value - log_value) < kEqual;
  if (is_new && !taken_over) {
    const auto prediction = times.predict(point);
    const bool inside = prediction.log_interval(0.9).contains(log_value);
    const double like_any = density_like_any(log_value);
    // The share of strays bounds what one surprising trial can say against the past: its density never falls to zero.
    const double with = (1 - kStray) * std::exp(log_density(prediction, log_value, offset_.sd)) + kStray * like_any;
    const double without = alone_.size() < kAlone ? like_any : 0.5 * like_any + 0.5 * density_alone(point, log_value);
    agreement_.tell(std::log(with), std::log(without), inside);
  }
  // A machine that became slower as a whole still ranks alike: what both measured says by how much, and the past is
  // moved by that.
  if (past != past_of_.end() && !taken_over) renew_offset();
  alone_.tell(point, log_value);
}

void Prior::failed(space::Point point) {
  if (!speaks()) return;
  now_.insert_or_assign(space::hash_of(point), std::numeric_limits<double>::quiet_NaN());
  // It worked once and fails now: the model of this campaign shall not believe the old time.
  alone_.forget(point);
}

void Prior::renew_offset() {
  std::vector<double> differences;
  for (const auto& each : past_) {
    const auto now = now_.find(space::hash_of(each.point));
    if (now == now_.end() || std::isnan(now->second) || !each.log_value) continue;
    if (std::abs(*each.log_value - now->second) >= kEqual) differences.push_back(now->second - *each.log_value);
  }
  offset_ = offset_of(differences);
}

void Prior::give_up_ranks(model::LinearModel& times) {
  model::LinearModel without(lattice_, {.knee = knee_}, covariates_);
  for (std::size_t t = 0; t < times.size(); ++t)
    if (holds_ && !now_.contains(space::hash_of(times.point(t))))
      without.tell_past(times.point(t), times.log_value(t));
    else
      without.tell(times.point(t), times.log_value(t));
  times = std::move(without);
  ranks_given_up_ =
      rank_agreement_.rejected()
          ? fmt::format(
                "history: the order of other campaigns is given up: after {} trials, this campaign predicts better "
                "without",
                times.size())
          : fmt::format("history: the order of other campaigns showed where to begin; {} trials say more",
                        times.size());
  if (note_) note_(ranks_given_up_);
}

void Prior::settle(model::LinearModel& times) {
  if (ranks() && (rank_agreement_.rejected() || times.size() >= kRankFor)) give_up_ranks(times);
  if (!holds_) return;
  if (agreement_.rejected()) {
    times.forget_past();
    return give_up(
        fmt::format("history does not hold any more: after {} new measurements, {} of them within the 90 % intervals "
                    "predicted with it, they are predicted better without; it is forgotten",
                    agreement_.measured(), agreement_.inside()));
  }
  if (alone_.size() >= kOutgrown) {
    times.forget_past();
    return give_up(fmt::format("history has said what it can: {} trials of this campaign say more", alone_.size()));
  }
  // Each move tells the model all past trials anew; a change below the noise is not worth that.
  if (std::abs(offset_.mean - applied_) < kOffsetStep) return;
  applied_ = offset_.mean;
  ++revision_;
  for (const auto& each : believed())
    if (each.log_value) times.tell_past(each.point, *each.log_value);
}

void Prior::give_up(std::string sentence) {
  holds_ = false;
  ++revision_;
  // What is not believed suggests nothing either.
  promising_.clear();
  given_up_ = std::move(sentence);
  if (note_) note_(given_up_);
}

std::vector<PastTrial> Prior::believed() const {
  std::vector<PastTrial> trials;
  if (!holds_) return trials;
  for (const auto& each : past_) {
    if (now_.contains(space::hash_of(each.point))) continue;
    auto moved = each;
    if (moved.log_value) *moved.log_value += applied_;
    if (moved.parts) {
      const double factor = std::exp(applied_);
      auto& parts = *moved.parts;
      for (double* seconds : {&parts.import, &parts.data, &parts.compile, &parts.first_step_excess,
                              &parts.epoch_overhead, &parts.steady_step})
        *seconds *= factor;
    }
    trials.push_back(std::move(moved));
  }
  return trials;
}

// Prior: where a search begins that knows something already.

std::optional<Suggestion> Prior::suggest(std::size_t number, const space::PointList& pool, const PointSet& taken) {
  if (holds_) {
    if (number % 2 == 1) return std::nullopt;  // every other one is spread: what the past says is to be tested, too
    for (std::size_t i = 0; i < promising_.size(); ++i) {
      if (taken.contains(space::hash_of(promising_[i]))) continue;
      return Suggestion{
          .point = {promising_[i].begin(), promising_[i].end()},
          .reason = i == 0 ? "the best of earlier campaigns here" : "among the best of earlier campaigns here"};
    }
  }
  if (!ranks() || (number > 0 && !suggestions_lead())) return std::nullopt;
  return suggest_ranked(pool, taken);
}

/// Whether the best of what other campaigns suggested is the best so far: one that misleads is not followed further.
bool Prior::suggestions_lead() const {
  double suggested = std::numeric_limits<double>::infinity();
  double best = suggested;
  bool measured = false;
  for (const auto& [hash, log_value] : now_) {
    const double value = std::isnan(log_value) ? std::numeric_limits<double>::infinity() : log_value;
    best = std::min(best, value);
    if (std::ranges::none_of(suggested_, [&](const auto& each) { return space::hash_of(each) == hash; })) continue;
    measured = true;
    suggested = std::min(suggested, value);
  }
  return !measured || (std::isfinite(suggested) && suggested <= best);
}

double Prior::mean_rank(space::Point point) {
  double sum = 0;
  for (const auto& ranking : rankings_) sum += ranking->mean(point);
  return sum / static_cast<double>(rankings_.size());
}

std::optional<Suggestion> Prior::suggest_ranked(const space::PointList& pool, const PointSet& taken) {
  Candidates candidates(lattice_, taken);
  candidates.add(pool);
  std::vector<double> means;
  std::vector<bool> climbed;
  const auto rate = [&] {
    while (means.size() < candidates.points().size()) means.push_back(mean_rank(candidates.points()[means.size()]));
    climbed.resize(means.size());
  };
  const auto by_rank = [&](std::size_t i) { return std::pair(means[i], i); };
  rate();
  std::vector<std::size_t> order;
  for (int round = 0; round < kRounds; ++round) {
    const auto before = means.size();
    order.resize(before);
    for (std::size_t i = 0; i < before; ++i) order[i] = i;
    const auto top = static_cast<std::ptrdiff_t>(std::min(kClimbers, before));
    std::ranges::partial_sort(order, order.begin() + top, {}, by_rank);
    for (std::ptrdiff_t i = 0; i < top; ++i) {
      const auto climber = order[static_cast<std::size_t>(i)];
      if (climbed[climber]) continue;
      climbed[climber] = true;
      candidates.add_neighbours(candidates.points()[climber]);
    }
    if (candidates.points().size() == before) break;
    rate();
  }
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const auto is_near = [&](const auto& each) { return differences(each, candidates.points()[i]) < kApart; };
    if (chosen && means[i] >= means[*chosen]) continue;
    if (std::ranges::none_of(suggested_, is_near)) chosen = i;
  }
  if (!chosen) return std::nullopt;
  const auto point = candidates.points()[*chosen];
  suggested_.emplace_back(point.begin(), point.end());
  std::vector<std::string> names;
  for (const auto& ranking : rankings_) names.push_back(ranking->name());
  return Suggestion{
      .point = suggested_.back(),
      .reason = fmt::format("among the best as {} {}", space::word_list(names), names.size() == 1 ? "ranks" : "rank")};
}

}  // namespace nocturne::search::history
