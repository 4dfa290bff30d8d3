#include "search/model_search.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "search/model/bound_feature.hpp"
#include "search/model/physics.hpp"
#include "search/model/refit.hpp"
#include "search/model_search_state.hpp"
#include "space/random.hpp"

namespace nocturne::search {
namespace {

constexpr double kKnee = 0.25;            // only the fastest quarter is told apart in full: that is where the best is
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

}  // namespace

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
      if (const auto seconds = seconds_of(trial)) s.trial_seconds.push_back(*seconds);
    } else {
      s.prior.failed(*point);
      s.times.forget(*point);
    }
  }
  for (const auto& configuration : s.memory.take_unexplained()) {
    if (const auto point = s.lattice.point_of(configuration)) s.feasibility.tell(*point, false);
  }
  space::PointList rest(s.pending.width());
  for (std::size_t i = 0; i < s.pending.size(); ++i) {
    if (!s.told_points.contains(space::hash_of(s.pending[i]))) rest.push_back(s.pending[i]);
  }
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
      proposals.push_back({.configuration = std::move(configuration), .reason = std::move(choice->reason)});
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
  const auto count = std::min(pending.size(), kMostPending);
  times.release();
  for (auto i = pending.size() - count; i < pending.size(); ++i) times.assume(pending[i]);
}

}  // namespace nocturne::search
