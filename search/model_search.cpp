#include "search/model_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "search/asked_configurations.hpp"
#include "search/candidates.hpp"
#include "search/history/prior.hpp"
#include "search/model/level_kernel.hpp"
#include "search/model/physics.hpp"
#include "search/model/prediction.hpp"
#include "space/normal_distribution.hpp"
#include "space/random.hpp"

namespace nocturne::search {
namespace {

constexpr double kKnee = 0.25;  // only the fastest quarter is resolved in full: that is where the best is
static_assert(history::Prior::kAlone == ModelSearch::kStart);
constexpr std::size_t kMostPending = 32;  // proposals under way that the model takes into account

/// What history says, and what physics says.
std::vector<model::Feature> features_of(const space::Lattice& lattice, const Options& options,
                                        const history::Prior& prior) {
  auto features = prior.features();
  std::ranges::move(model::step_features(lattice, options.roles, options.bound), std::back_inserter(features));
  return features;
}

/// What a trial lasts: its start and its steps.
std::optional<double> seconds_of(const space::Trial& trial) {
  if (!trial.parts) return std::nullopt;
  return space::startup_time(*trial.parts) + static_cast<double>(trial.fidelity.steps) * trial.parts->steady_step;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

constexpr std::size_t kOrdinary = 3;     // points of a start, after the first, before corners follow
constexpr std::size_t kSpreadFrom = 30;  // candidates, of which the farthest is no corner
constexpr std::size_t kCentres = 4;      // best trials whose neighbours are candidates
constexpr std::size_t kParents = 6;      // best trials that are crossed
constexpr std::size_t kChildren = 200;   // of them
constexpr std::size_t kRounds = 4;       // of looking around the best candidates
constexpr std::size_t kClimbers = 3;     // candidates looked around, a round
constexpr std::size_t kPriced = 256;     // builds whose preparation is asked for: that may be slow
constexpr std::size_t kExpectFrom = 20;  // trials that worked: a model of fewer is surprised by everything
constexpr float kNever = -1;             // value of a candidate that cannot work
constexpr float kLast = -0.5F;           // value of one that is deferred

}  // namespace

/// What it remembers.
struct ModelSearch::State {
  State(const space::Space& space_used, const Options& options_used);

  struct Choice {
    std::vector<space::Level> point;
    std::string reason;
    std::optional<Expectation> expected{};
  };
  std::optional<Choice> choose(space::Random& random);
  std::optional<Choice> choose_spread();
  /// Once, where no history speaks: what could be fastest by the machine's bound alone.
  std::optional<Choice> choose_least_bound();
  /// Whether it may fit into memory, and no rule of failure forbids it.
  [[nodiscard]] bool is_possible(space::Point point) { return memory.fits(point) > 0 && !feasibility.forbids(point); }
  [[nodiscard]] space::PointList told_or_pending() const;
  /// What a start may choose from: prepared like the first trial, where preparation costs.
  [[nodiscard]] Candidates start_candidates();
  std::optional<Choice> choose_by_model(space::Random& random);
  [[nodiscard]] space::PointList prepared_like_the_first(const space::PointList& points);
  /// Uniform over what was not asked; of that which fits into memory.
  [[nodiscard]] std::optional<space::Configuration> sample_other(space::Random& random);
  void score(const space::PointList& points);
  [[nodiscard]] std::vector<std::size_t> best_trials(std::size_t count) const;
  [[nodiscard]] std::size_t most_worthwhile(const space::PointList& points);
  [[nodiscard]] std::size_t cheapest(const space::PointList& points);
  /// Key of the levels of the stages before `end`.
  [[nodiscard]] std::uint64_t key_before(space::Stage end, space::Point point) const;
  /// What a trial of the point lasts: the median of those with the same values of the compile stage, for each process
  /// pays for them; where there is none, of all.
  [[nodiscard]] double trial_duration(space::Point point);
  [[nodiscard]] std::string explain(std::size_t candidate);
  [[nodiscard]] std::optional<Expectation> expected(space::Point point);
  void fit();
  void learn(space::Point point, double log_value);

  const space::Space& space;
  Options options;
  space::Lattice lattice;
  model::LevelKernels kernels;
  history::Prior prior;
  std::vector<model::Feature> bound;  // one, or none
  model::LinearModel times;
  model::Feasibility feasibility;
  MemoryGuard memory;

  AskedConfigurations asked;  // configurations
  PointSet taken;             // points asked or told
  PointSet told_points;       // of them, told
  space::PointList told;      // in order, failed ones too
  space::PointList pending;
  Pool pool;
  bool compiles = false;          // whether there are parameters of the compile stage
  std::vector<double> durations;  // of trials, s
  std::unordered_map<std::uint64_t, std::vector<double>> compiled_durations;  // the same, by what is compiled
  std::uint64_t asks = 0;
  std::size_t suggested = 0;  // times that history was asked where to begin
  bool bound_asked = false;   // the bound was, likewise
  std::size_t fitted = 0;     // trials in the model when its scales were last chosen

  std::function<bool(space::Point)> deferred_whole, deferred;

  double best = 0;                               // what is to be improved on, model units
  std::vector<float> means, sds, works, values;  // of the candidates; values: expected improvement times P(works)
};

ModelSearch::State::State(const space::Space& space_used, const Options& options_used)
    : space(space_used),
      options(options_used),
      lattice(space_used),
      kernels(lattice),
      prior(lattice, options, kKnee, model::step_features(lattice, options.roles, options.bound)),
      bound(model::bound_feature(lattice, options.bound)),
      times(lattice, {.knee = kKnee}, features_of(lattice, options, prior)),
      feasibility(lattice),
      memory(lattice, options_used.roles.batch, options_used.memory_limit_bytes),
      told(lattice.width()),
      pending(lattice.width()),
      pool(lattice.width()) {
  prior.teach(times, feasibility);
  for (std::size_t i = 0; i < lattice.width(); ++i) compiles |= lattice.parameter(i).stage == space::Stage::Compile;
}

ModelSearch::ModelSearch(const space::Space& space, const Options& options)
    : state_(std::make_unique<State>(space, options)) {}
ModelSearch::~ModelSearch() = default;

space::Lattice& ModelSearch::lattice() {
  return state_->lattice;
}
model::LinearModel& ModelSearch::times() {
  return state_->times;
}
const history::Prior& ModelSearch::prior() const {
  return state_->prior;
}
model::Feasibility& ModelSearch::feasibility() {
  return state_->feasibility;
}
MemoryGuard& ModelSearch::memory() {
  return state_->memory;
}

void ModelSearch::tell(std::span<const space::Trial> finished) {
  auto& s = *state_;
  for (const auto& trial : finished) {
    if (trial.outcome == space::Outcome::Killed) continue;  // says nothing about the configuration
    s.asked.insert(trial.configuration);
    const auto point = s.lattice.point_of(trial.configuration);
    if (!point) continue;  // of another space
    const auto hash = space::hash_of(*point);
    s.taken.insert(hash);
    if (s.told_points.insert(hash)) s.told.push_back(*point);
    const bool worked = trial.estimate && std::isfinite(trial.estimate->value) && trial.estimate->value > 0;
    s.memory.tell(trial);
    // What the batch size explains says nothing about parameters.
    const bool by_memory = trial.outcome == space::Outcome::OutOfMemory && s.memory.guards();
    if (!by_memory) s.feasibility.tell(*point, worked);
    if (worked) {
      s.learn(*point, std::log(trial.estimate->value));
      if (const auto seconds = seconds_of(trial)) {
        s.durations.push_back(*seconds);
        s.compiled_durations[s.key_before(space::Stage::Run, *point)].push_back(*seconds);
      }
    } else {
      s.prior.failed(*point);
      s.times.forget(*point);
    }
  }
  for (const auto& configuration : s.memory.take_unexplained())
    if (const auto point = s.lattice.point_of(configuration)) s.feasibility.tell(*point, false);
  space::PointList rest(s.pending.width());
  for (std::size_t i = 0; i < s.pending.size(); ++i)
    if (!s.told_points.contains(space::hash_of(s.pending[i]))) rest.push_back(s.pending[i]);
  s.pending = std::move(rest);
}

void ModelSearch::mark_pending(std::span<const space::Configuration> in_flight) {
  auto& s = *state_;
  for (const auto& configuration : in_flight) {
    s.asked.insert(configuration);
    const auto point = s.lattice.point_of(configuration);
    if (point && s.taken.insert(space::hash_of(*point))) s.pending.push_back(*point);
  }
}

void ModelSearch::defer(std::function<bool(space::Point)> whole, std::function<bool(space::Point)> single) {
  state_->deferred_whole = std::move(whole);
  state_->deferred = std::move(single);
}

std::vector<Proposal> ModelSearch::ask(std::size_t count) {
  auto& s = *state_;
  space::Random random(s.options.seed, s.asks++);
  std::vector<Proposal> proposals;
  while (proposals.size() < count) {
    if (auto choice = s.choose(random)) {
      s.taken.insert(space::hash_of(choice->point));
      s.pending.push_back(choice->point);
      auto configuration = s.lattice.configuration(choice->point);
      if (!s.asked.insert(configuration)) continue;
      proposals.push_back({.configuration = std::move(configuration),
                           .reason = std::move(choice->reason),
                           .expected = choice->expected});
    } else if (auto other = s.sample_other(random)) {
      s.asked.insert(*other);
      proposals.push_back({.configuration = std::move(*other), .reason = "one of the last not measured"});
    } else {
      break;
    }
  }
  return proposals;
}

void ModelSearch::State::learn(space::Point point, double log_value) {
  if (!prior.speaks()) return times.tell(point, log_value);
  const bool held = prior.holds();
  const bool ranked = prior.ranks();
  fit();  // now, whether or not it was asked before: what is compared must not depend on that
  times.release();
  prior.compare(point, log_value, times);
  times.tell(point, log_value);
  prior.settle(times);
  if (prior.holds() != held || prior.ranks() != ranked) fitted = 0;
  if (prior.holds() == held || !prior.agreement().rejected()) return;
  PointSet worked;
  for (std::size_t i = 0; i < times.size(); ++i) worked.insert(space::hash_of(times.point(i)));
  feasibility = model::Feasibility(lattice);
  for (std::size_t i = 0; i < told.size(); ++i) feasibility.tell(told[i], worked.contains(space::hash_of(told[i])));
}

void ModelSearch::State::fit() {
  if (times.size() == 0) return;
  if (model::fit_is_due(times.size(), fitted)) {
    times.fit();
    fitted = times.size();
  }
  best = times.best();
  // The latest ones: each costs an update of the posterior.
  const auto count = std::min(pending.size(), kMostPending);
  times.release();
  for (auto i = pending.size() - count; i < pending.size(); ++i) times.assume(pending[i]);
}

// Which point is proposed next.

std::optional<ModelSearch::State::Choice> ModelSearch::State::choose(space::Random& random) {
  pool.renew(lattice, random);
  const bool begins = told.size() + pending.size() < kStart;
  const bool knows = prior.speaks() && suggested >= history::Prior::kStart && times.size() > 0;
  if (!begins || knows) return choose_by_model(random);
  auto suggestion = prior.suggest(suggested++, pool.points(), taken);
  if (suggestion && is_possible(suggestion->point))
    return Choice{.point = std::move(suggestion->point), .reason = std::move(suggestion->reason)};
  if (auto least = choose_least_bound()) return least;
  return choose_spread();
}

/// The points with the environment, the build and the compiler of the first trial; those that are then forbidden are
/// left out.
space::PointList ModelSearch::State::prepared_like_the_first(const space::PointList& points) {
  space::PointList result(lattice.width());
  const std::vector<space::Level> first(told[0].begin(), told[0].end());
  for (std::size_t p = 0; p < points.size(); ++p) {
    std::vector<space::Level> point(points[p].begin(), points[p].end());
    for (std::size_t i = 0; i < point.size(); ++i)
      if (lattice.parameter(i).stage < space::Stage::Run) point[i] = first[i];
    if (lattice.settle(point)) result.push_back(point);
  }
  return result;
}

std::optional<space::Configuration> ModelSearch::State::sample_other(space::Random& random) {
  if (!memory.guards()) return asked.sample_other(space, random);
  return asked.sample_other(space, random, [&](const space::Configuration& configuration) {
    const auto point = lattice.point_of(configuration);
    return !point || memory.fits(*point) > 0;
  });
}

Candidates ModelSearch::State::start_candidates() {
  Candidates candidates(lattice, taken);
  // A start that is spread over builds and compilers too would spend a short campaign on preparing what is measured
  // once. What else matters is learnt first; from then on they are weighed against their price.
  if ((options.preparation_seconds || compiles) && !told.empty())
    candidates.add(prepared_like_the_first(pool.points()));
  if (candidates.points().empty()) candidates.add(pool.points());
  return candidates;
}

space::PointList ModelSearch::State::told_or_pending() const {
  auto points = told;
  for (std::size_t i = 0; i < pending.size(); ++i) points.push_back(pending[i]);
  return points;
}

std::optional<ModelSearch::State::Choice> ModelSearch::State::choose_least_bound() {
  if (bound.empty() || bound_asked || prior.speaks()) return std::nullopt;
  bound_asked = true;
  const Candidates candidates = start_candidates();
  space::PointList least(lattice.width());
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < candidates.points().size(); ++i) {
    const auto point = candidates.points()[i];
    if (!is_possible(point)) continue;
    const double value = bound.front().value(point);
    if (value < lowest) least.clear();
    lowest = std::min(lowest, value);
    if (value == lowest) least.push_back(point);
  }
  if (least.empty()) return std::nullopt;
  const auto point = least[next_spread(kernels, told_or_pending(), least)];
  return Choice{.point = {point.begin(), point.end()}, .reason = "the least that the machine's peaks allow"};
}

std::optional<ModelSearch::State::Choice> ModelSearch::State::choose_spread() {
  const Candidates candidates = start_candidates();
  if (candidates.points().empty()) return std::nullopt;
  const auto chosen = told_or_pending();
  // The farthest of a few are ordinary points, among which a good one is soon found; those of all that may be measured
  // are corners, where what matters shows most.
  const bool ordinary = !chosen.empty() && chosen.size() <= kOrdinary;
  const std::size_t most = ordinary ? kSpreadFrom : candidates.points().size();
  space::PointList wanted(lattice.width());
  for (const bool all : {false, true}) {
    for (std::size_t i = 0; i < candidates.points().size() && wanted.size() < most; ++i) {
      const auto point = candidates.points()[i];
      if (is_possible(point) && (all || !deferred || !deferred_whole(point))) wanted.push_back(point);
    }
    if (!wanted.empty()) break;
  }
  if (wanted.empty()) return std::nullopt;
  auto next = next_spread(kernels, chosen, wanted);
  std::vector<space::Level> point(wanted[next].begin(), wanted[next].end());
  for (std::size_t tries = 0; deferred && tries < kTries && wanted.size() > 1; ++tries) {
    if (!deferred(wanted[next])) {
      point.assign(wanted[next].begin(), wanted[next].end());
      break;
    }
    wanted.set(next, wanted[wanted.size() - 1]);
    wanted.pop_back();
    next = next_spread(kernels, chosen, wanted);
  }
  return Choice{.point = std::move(point), .reason = "spread over the space"};
}

std::vector<std::size_t> ModelSearch::State::best_trials(std::size_t count) const {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::ranges::partial_sort(order, end, {}, [&](std::size_t t) { return std::pair(times.log_value(t), t); });
  order.erase(end, order.end());
  return order;
}

void ModelSearch::State::score(const space::PointList& points) {
  space::PointList fresh(points.width());
  for (auto i = values.size(); i < points.size(); ++i) fresh.push_back(points[i]);
  std::vector<float> mean, sd, work;
  feasibility.probabilities(fresh, work);
  // Nothing worked yet: all candidates are equal but for their chance to work.
  if (times.size() == 0) {
    mean.assign(fresh.size(), 0);
    sd.assign(fresh.size(), 1);
  } else {
    times.predict(fresh, mean, sd);
  }
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    const double gain = model::bold_improvement(static_cast<double>(mean[i]), static_cast<double>(sd[i]), best);
    const double fits = memory.fits(fresh[i]);
    work[i] *= static_cast<float>(fits);
    const bool possible = fits > 0 && !feasibility.forbids(fresh[i]);
    values.push_back(possible ? static_cast<float>(gain * static_cast<double>(work[i])) : kNever);
  }
  means.insert(means.end(), mean.begin(), mean.end());
  sds.insert(sds.end(), sd.begin(), sd.end());
  works.insert(works.end(), work.begin(), work.end());
}

std::optional<ModelSearch::State::Choice> ModelSearch::State::choose_by_model(space::Random& random) {
  fit();
  Candidates candidates(lattice, taken);
  const auto order = best_trials(kParents);
  space::PointList parents(lattice.width());
  for (std::size_t i = 0; i < order.size(); ++i) {
    parents.push_back(times.point(order[i]));
    if (i < kCentres) candidates.add_neighbours(times.point(order[i]));
  }
  candidates.add(prior.promising());
  candidates.add(pool.points());
  // The maximum of the expected improvement has no closed form: neighbours refine, the pool explores, children combine
  // what was good in two trials.
  candidates.add_crossovers(parents, kChildren, random);
  if (candidates.points().empty()) return std::nullopt;
  means.clear();
  sds.clear();
  works.clear();
  values.clear();
  score(candidates.points());
  std::vector<bool> climbed;
  for (std::size_t round = 0; round < kRounds; ++round) {
    climbed.resize(values.size());
    const auto before = values.size();
    std::vector<std::size_t> top(values.size());
    std::iota(top.begin(), top.end(), std::size_t{0});
    const auto climbers = std::min(kClimbers, top.size());
    std::ranges::partial_sort(top, top.begin() + static_cast<std::ptrdiff_t>(climbers), {},
                              [&](std::size_t i) { return std::pair(-values[i], i); });
    for (std::size_t i = 0; i < climbers; ++i) {
      if (climbed[top[i]]) continue;
      climbed[top[i]] = true;
      candidates.add_neighbours(candidates.points()[top[i]]);
    }
    if (candidates.points().size() == before) break;
    score(candidates.points());
  }
  const auto chosen = most_worthwhile(candidates.points());
  if (values[chosen] == kNever) return std::nullopt;
  const auto point = candidates.points()[chosen];
  return Choice{.point = {point.begin(), point.end()}, .reason = explain(chosen), .expected = expected(point)};
}

/// The first by worth that is not deferred.
std::size_t ModelSearch::State::most_worthwhile(const space::PointList& points) {
  if (!deferred) return cheapest(points);
  auto worths = values;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (worths[i] >= 0 && deferred_whole(points[i])) worths[i] = kLast;
  if (std::ranges::any_of(worths, [](float worth) { return worth >= 0; })) values.swap(worths);
  const auto first = cheapest(points);
  auto chosen = first;
  for (std::size_t tries = 0; tries < kTries && values[chosen] >= 0; ++tries) {
    if (!deferred(points[chosen])) return chosen;
    values[chosen] = kLast;
    chosen = cheapest(points);
  }
  return first;
}

std::size_t ModelSearch::State::cheapest(const space::PointList& points) {
  const auto best_of_all = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
  if ((!options.preparation_seconds && !compiles) || durations.empty()) return best_of_all;
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(-values[i], i); });
  std::unordered_map<std::uint64_t, double> prices, lasting;  // candidates that share a build, a compiler cost the same
  std::size_t chosen = best_of_all;
  double most = 0;
  for (const auto i : order) {
    const auto key = key_before(space::Stage::Compile, points[i]);
    auto price = prices.find(key);
    if (price == prices.end()) {
      // In the order of their value: those without a price are worth less than all that have one.
      if (prices.size() == kPriced) continue;
      const auto preparation = [&] { return options.preparation_seconds(lattice.configuration(points[i])); };
      price = prices.emplace(key, options.preparation_seconds ? preparation() : 0).first;
    }
    const auto compiled = key_before(space::Stage::Run, points[i]);
    auto duration = lasting.find(compiled);
    if (duration == lasting.end()) duration = lasting.emplace(compiled, trial_duration(points[i])).first;
    // Gain per second, not gain: a build that takes a minute has to promise more than the next run of what is built.
    const double rate = static_cast<double>(values[i]) / std::max(duration->second + price->second, 1e-9);
    if (rate > most) {
      most = rate;
      chosen = i;
    }
  }
  return chosen;
}

double ModelSearch::State::trial_duration(space::Point point) {
  const auto same = compiled_durations.find(key_before(space::Stage::Run, point));
  return median(same != compiled_durations.end() ? same->second : durations);
}

std::uint64_t ModelSearch::State::key_before(space::Stage end, space::Point point) const {
  std::vector<space::Level> prepared;
  for (std::size_t i = 0; i < point.size(); ++i)
    if (lattice.parameter(i).stage < end) prepared.push_back(point[i]);
  return space::hash_of(prepared);
}

std::optional<Expectation> ModelSearch::State::expected(space::Point point) {
  if (times.size() < kExpectFrom) return std::nullopt;
  const auto prediction = times.predict(point);
  return Expectation{.log_time = prediction.log_mean(), .log_sd = prediction.log_observed_sd() * prediction.widening};
}

std::string ModelSearch::State::explain(std::size_t candidate) {
  if (times.size() == 0) return "the likeliest to work";
  const double gain =
      space::expected_improvement(static_cast<double>(means[candidate]), static_cast<double>(sds[candidate]), best);
  auto reason = fmt::format("expected improvement {:.2g} %", -100 * std::expm1(-gain * times.target().scale));
  if (works[candidate] < 0.95F)
    reason += fmt::format(", {:.0f} % likely to fail", 100 * (1 - static_cast<double>(works[candidate])));
  return reason;
}

}  // namespace nocturne::search
