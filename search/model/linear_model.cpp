#include "search/model/linear_model.hpp"

#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "search/model/linear_model_state.hpp"
#include "search/model/marginal_likelihood.hpp"

namespace nocturne::search::model {
namespace {

constexpr int kFirstEvaluations = 40;      // of the likelihood, by the first fit, which starts from nowhere
constexpr int kTailRounds = 2;             // of weights and scales in turn; more change nothing any more
constexpr std::size_t kCarrierSlack = 32;  // trials over the limit before carriers are chosen again
constexpr std::size_t kRareShare = 8;      // a level that an eighth of the carriers could hold is rare

Scales initial_scales(const Design& design, const LinearModelOptions& options) {
  const ScalePriors priors(design.weights());
  Scales scales{.weights = std::vector<double>(design.weights(), priors.weight.median),
                .pairs = options.pairs ? priors.pairs.median : 1e-6,
                .local = options.local ? priors.local.median : 1e-6,
                .noise = priors.noise.median};
  return scales;
}

constexpr double kOutlier = 4;              // standard deviations from what all others predict: 1 in 16000 by chance
constexpr double kTails = 4;                // degrees of freedom of noise with heavy tails
constexpr double kMostSquare = 30;          // of a residual that counts for the widening: one outlier is not a rule
constexpr double kMostSquareOfEffects = 9;  // likewise of effects, to which one trial matters less
constexpr double kBelief = 2;               // trials' worth of what is expected where no trial is alike
constexpr double kSimilar = 0.7;            // difference of log variances at which a trial counts for 60 %
constexpr double kNear = 0.4;               // likewise of predictions, whose standard deviation over trials is about 1

}  // namespace

LinearModel::State::State(space::Lattice& lattice_used, LinearModelOptions options_used, std::vector<Feature> features)
    : lattice(lattice_used),
      options(options_used),
      design(lattice_used, std::move(features)),
      scales(initial_scales(design, options)),
      points(lattice_used.width()) {}

LinearModel::LinearModel(space::Lattice& lattice, LinearModelOptions options, std::vector<Feature> features)
    : state_(std::make_unique<State>(lattice, options, std::move(features))) {}
LinearModel::~LinearModel() = default;
LinearModel::LinearModel(LinearModel&&) noexcept = default;
LinearModel& LinearModel::operator=(LinearModel&&) noexcept = default;

void LinearModel::tell(space::Point point, double log_value) {
  auto& s = *state_;
  release();
  s.stale_values = true;
  const auto [known, is_new] = s.trial_of.try_emplace(space::hash_of(point), s.points.size());
  if (is_new) {
    s.points.push_back(point);
    s.log_values.push_back(log_value);
    s.past.push_back(false);
    s.sorted.insert(log_value);
  } else {
    s.sorted.replace(s.log_values[known->second], log_value);
    s.log_values[known->second] = log_value;
    // A past trial that is measured again becomes one of this campaign.
    s.past[known->second] = false;
    s.plain_trials = 0;
  }
}

void LinearModel::tell_past(space::Point point, double log_value) {
  auto& s = *state_;
  const auto known = trial_of(point);
  // What this campaign measured is never overwritten by what an earlier one did.
  if (known && !s.past[*known]) return;
  tell(point, log_value);
  s.past[s.trial_of.at(space::hash_of(point))] = true;
}

std::optional<std::size_t> LinearModel::trial_of(space::Point point) const {
  const auto& trials = state_->trial_of;
  const auto known = trials.find(space::hash_of(point));
  return known == trials.end() ? std::nullopt : std::optional(known->second);
}

void LinearModel::forget_past() {
  auto& s = *state_;
  for (std::size_t t = s.points.size(); t-- > 0;) {
    if (!s.past[t]) continue;
    const std::vector<space::Level> point(s.points[t].begin(), s.points[t].end());
    forget(point);
  }
}

void LinearModel::forget(space::Point point) {
  auto& s = *state_;
  const auto known = s.trial_of.find(space::hash_of(point));
  if (known == s.trial_of.end()) return;
  release();
  const auto trial = known->second;
  const auto last = s.points.size() - 1;
  s.sorted.erase(s.log_values[trial]);
  s.trial_of.erase(known);
  if (trial != last) {  // the last one takes its place
    s.trial_of[space::hash_of(s.points[last])] = trial;
    const std::vector<space::Level> moved(s.points[last].begin(), s.points[last].end());
    s.points.set(trial, moved);
    s.log_values[trial] = s.log_values[last];
    s.past[trial] = s.past[last];
  }
  s.points.pop_back();
  s.log_values.pop_back();
  s.past.pop_back();
  s.stale_values = true;
  s.stale_carriers = true;
}

void LinearModel::take_back(std::size_t trials) {
  auto& s = *state_;
  // Carriers that were chosen for just these trials are what forgetting the others would lead back to.
  const bool known = !s.stale_carriers && s.plain_trials == trials;
  const auto carriers = s.plain_carriers;
  while (s.points.size() > trials) {
    const auto last = s.points[s.points.size() - 1];
    forget(std::vector<space::Level>(last.begin(), last.end()));
  }
  if (!known) return;
  s.stale_carriers = false;
  s.carriers.resize(carriers);
  s.noise_factors.resize(carriers);
  s.design.truncate(carriers);
  s.posterior.truncate(std::min(s.posterior.size(), carriers));
  s.seen = trials;
}

std::size_t LinearModel::size() const {
  return state_->points.size();
}

space::Point LinearModel::point(std::size_t trial) const {
  return state_->points[trial];
}

double LinearModel::log_value(std::size_t trial) const {
  return state_->log_values[trial];
}

std::vector<std::size_t> LinearModel::State::rare(std::span<const std::size_t> trials) const {
  std::vector<std::size_t> had_by(points.size(), points.size());  // the fewest trials that have one of its levels
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < points.width(); ++i) {
    const auto& axis = lattice.axis(i);
    if (axis.ordered && axis.levels > 2) continue;  // its neighbours speak for a level
    counts.assign(axis.levels + 1, 0);              // the last one: inactive
    const auto place = [&](std::size_t t) { return std::min<std::size_t>(points[t][i], axis.levels); };
    for (std::size_t t = 0; t < points.size(); ++t) ++counts[place(t)];
    for (std::size_t t = 0; t < points.size(); ++t) had_by[t] = std::min(had_by[t], counts[place(t)]);
  }
  std::vector<std::size_t> found;
  std::ranges::copy_if(trials, std::back_inserter(found),
                       [&](std::size_t t) { return had_by[t] <= options.trials / kRareShare; });
  std::ranges::stable_sort(found, {}, [&](std::size_t t) { return had_by[t]; });
  return found;
}

void LinearModel::State::choose_carriers() {
  std::vector<double> factors(points.size(), 1);  // what is known of outliers stays known until the next fit
  for (std::size_t i = 0; i < carriers.size() && !stale_carriers; ++i) factors[carriers[i]] = noise_factors[i];
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Earlier campaigns make room first.
  for (auto t = order.size(); t-- > 0 && order.size() > options.trials;)
    if (past[t]) order.erase(order.begin() + static_cast<std::ptrdiff_t>(t));
  carriers = order;
  if (order.size() > options.trials) {
    // Half of them the best, where the optimum is sought. A quarter for what few trials say anything of (a framework
    // that is slow was measured seldom), or it would be known by one or two of them, or none. The others evenly from
    // the rest, first to last, so that the spread ones of the start stay.
    const auto best = static_cast<std::ptrdiff_t>(options.trials / 2);
    std::ranges::nth_element(order, order.begin() + best, {}, [&](std::size_t t) { return log_values[t]; });
    std::sort(order.begin() + best, order.end());
    carriers.assign(order.begin(), order.begin() + best);
    order.erase(order.begin(), order.begin() + best);
    auto seldom = rare(order);
    seldom.resize(std::min(seldom.size(), options.trials / 4));
    std::erase_if(order, [&](std::size_t t) { return std::ranges::find(seldom, t) != seldom.end(); });
    carriers.insert(carriers.end(), seldom.begin(), seldom.end());
    const auto wanted = options.trials - carriers.size();
    for (std::size_t i = 0; i < wanted; ++i) carriers.push_back(order[i * order.size() / wanted]);
    std::ranges::sort(carriers);
  }
  design.truncate(0);
  posterior.clear();
  noise_factors.clear();
  for (const auto trial : carriers) {
    design.append(points[trial]);
    noise_factors.push_back(factors[trial]);
  }
  seen = points.size();
  plain_trials = stale_carriers ? points.size() : 0;
  plain_carriers = carriers.size();
  stale_carriers = false;
  stale_values = true;
}

void LinearModel::State::set_values() {
  if (sorted.empty()) sorted = SortedValues(log_values);
  target = Target::fit(sorted.values(), options.knee);
  values.clear();
  for (const auto trial : carriers) values.push_back(target.to_model(log_values[trial]));
  posterior.set_values(values);
  stale_values = false;
}

void LinearModel::State::update() {
  if (stale_carriers || carriers.size() + points.size() - seen > options.trials + kCarrierSlack) choose_carriers();
  for (; seen < points.size(); ++seen) {
    carriers.push_back(seen);
    design.append(points[seen]);
    noise_factors.push_back(1);
  }
  if (posterior.size() < design.size()) {
    posterior.extend(scales, noise_factors);
    stale_values = true;
  }
  if (stale_values) set_values();
}

void LinearModel::fit() {
  auto& s = *state_;
  release();
  if (s.points.empty()) return;
  s.plain_trials = 0;
  const bool first = s.posterior.size() == 0;
  s.update();
  s.choose_scales(first ? kFirstEvaluations : s.options.evaluations);
  if (s.options.heavy_tails) {
    // Weights and scales depend on each other: the rounds are those of an expectation-maximisation.
    for (int round = 0; round < kTailRounds; ++round) {
      s.weigh_by_tails();
      s.choose_scales(s.options.evaluations);
    }
  } else {
    s.weigh_outliers();
  }
  s.learn_widening();
}

void LinearModel::State::choose_scales(int evaluations) {
  MarginalLikelihood likelihood(design, values, noise_factors, ScalePriors(design.weights()));
  scales = fit_scales(likelihood, scales, evaluations);
  // Not 0: its logarithm is what the scales are fitted by.
  if (!options.pairs) scales.pairs = 1e-6;
  if (!options.local) scales.local = 1e-6;
  posterior.clear();
  posterior.extend(scales, noise_factors);
  set_values();
}

const Scales& LinearModel::scales() {
  return state_->scales;
}

void LinearModel::assume(space::Point point) {
  auto& s = *state_;
  s.update();
  // Its own prediction stands for the result that is not there yet ("kriging believer"): uncertainty falls around it,
  // so the next proposal goes elsewhere.
  const auto mean = s.posterior.at(point, s.scales).mean;
  s.design.append(point);
  s.noise_factors.push_back(1);
  s.values.push_back(mean);
  s.posterior.extend(s.scales, s.noise_factors);
  s.posterior.set_values(s.values);
  ++s.assumed;
}

void LinearModel::release() {
  auto& s = *state_;
  if (s.assumed == 0) return;
  const auto measured = s.design.size() - s.assumed;
  s.design.truncate(measured);
  s.posterior.truncate(measured);
  s.noise_factors.resize(measured);
  s.values.resize(measured);
  s.posterior.set_values(s.values);
  s.assumed = 0;
}

Prediction LinearModel::State::prediction(Posterior::Moments moments) const {
  return {.mean = moments.mean,
          .latent_sd = std::sqrt(moments.variance),
          .observed_sd = std::sqrt(moments.variance + scales.noise),
          .degrees = kDegrees,
          .widening = widening_at(moments.mean, moments.variance + scales.noise),
          .target = target};
}

Prediction LinearModel::predict(space::Point point) {
  state_->update();
  return state_->prediction(state_->posterior.at(point, state_->scales));
}

double LinearModel::mean(space::Point point) {
  state_->update();
  return state_->posterior.mean(point, state_->scales);
}

void LinearModel::predict(const space::PointList& points, std::vector<float>& means, std::vector<float>& latent_sds) {
  state_->update();
  state_->posterior.at(points, state_->scales, means, latent_sds);
}

void LinearModel::predict(FollowedPoints& points, std::vector<float>& means, std::vector<float>& latent_sds) {
  state_->update();
  state_->posterior.at(points, state_->scales, means, latent_sds);
}

const Target& LinearModel::target() {
  state_->update();
  return state_->target;
}

double LinearModel::best() {
  auto& s = *state_;
  s.update();
  double best = std::numeric_limits<double>::infinity();
  double best_of_past = best;
  for (std::size_t t = 0; t < s.carriers.size(); ++t) {
    // An outlier downwards is likelier a faulty measurement than a record: it counts with what its neighbours make of
    // it. Otherwise nothing would ever improve on it.
    const bool outlier = s.noise_factors[t] > 1;
    auto& least = s.past[s.carriers[t]] ? best_of_past : best;
    least = std::min(least,
                     outlier ? std::max(s.values[t], s.posterior.at(s.design.point(t), s.scales).mean) : s.values[t]);
  }
  return std::isfinite(best) ? best : best_of_past;
}

// LinearModel: which trials are noise, and how far intervals are to be widened.

std::vector<LinearModel::State::LeftOutTrial> LinearModel::State::left_out() const {
  const auto moments = posterior.leave_one_out(values);
  std::vector<LeftOutTrial> result;
  for (std::size_t t = 0; t < moments.size(); ++t) {
    // An earlier weighing must not excuse the trial from the next one: its own extra noise is taken out again.
    result.push_back({.mean = moments[t].mean,
                      .residual = values[t] - moments[t].mean,
                      .variance = moments[t].variance - scales.noise * (noise_factors[t] - 1)});
  }
  return result;
}

void LinearModel::State::weigh_outliers() {
  std::vector<double> factors;
  for (const auto& [mean, residual, variance] : left_out()) {
    // As if its noise had been as large as its surprise: the deviation becomes kOutlier standard deviations.
    const double excess = residual * residual / (kOutlier * kOutlier) - variance;
    factors.push_back(1 + std::max(0.0, excess) / scales.noise);
  }
  // The usual case. The factorisation, which is cubic in the trials, stays as it is.
  if (factors == noise_factors) return;
  noise_factors = std::move(factors);
  posterior.clear();
  posterior.extend(scales, noise_factors);
  posterior.set_values(values);
}

void LinearModel::State::learn_widening() {
  left_out_means.clear();
  left_out_log_variances.clear();
  left_out_squares.clear();
  for (const auto& [mean, residual, variance] : left_out()) {
    left_out_means.push_back(mean);
    left_out_log_variances.push_back(std::log(variance));
    left_out_squares.push_back(std::min(residual * residual / variance, kMostSquare));
  }
}

double LinearModel::State::widening_at(double mean, double variance) const {
  // A search measures mostly near the best, where it predicts well, and most configurations are far from it. The trials
  // that were expected to be about as good, and of which the model was about as unsure, say how wrong it is there.
  double sum = kBelief * options.doubt;
  double weight = kBelief;
  const double log_variance = std::log(variance);
  for (std::size_t t = 0; t < left_out_squares.size(); ++t) {
    const double apart = (log_variance - left_out_log_variances[t]) / kSimilar;
    const double away = (mean - left_out_means[t]) / kNear;
    const double alike = std::exp(-0.5 * (apart * apart + away * away));
    sum += alike * left_out_squares[t];
    weight += alike;
  }
  return std::sqrt(sum / weight);
}

double LinearModel::State::widening() const {
  double sum = kBelief;
  for (const double each : left_out_squares) sum += std::min(each, kMostSquareOfEffects);
  return std::sqrt(sum / (kBelief + static_cast<double>(left_out_squares.size())));
}

void LinearModel::State::weigh_by_tails() {
  const auto trials = left_out();
  for (std::size_t t = 0; t < trials.size(); ++t) {
    const double square = trials[t].residual * trials[t].residual / trials[t].variance;
    noise_factors[t] = std::max(1.0, (kTails + square) / (kTails + 1));
  }
}

}  // namespace nocturne::search::model
