#include "search/nlopt_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <nlopt.hpp>

namespace nocturne::search {
namespace {

// A run that is replayed at each ask must stay short; local methods converge far below this.
constexpr int kMostCalls = 2000;
// Known configurations in a row, a column, after which a run has nothing new to say.
constexpr std::size_t kStaleCalls = 12;
// Where a method may stop: steps of a hundredth of a column round to the same value in nearly all domains.
constexpr double kSmallestStep = 0.01;
constexpr double kFirstStep = 0.25;

nlopt::algorithm algorithm_of(NloptMethod method) {
  switch (method) {
    case NloptMethod::Cobyla:
      return nlopt::LN_COBYLA;
    case NloptMethod::NelderMead:
      return nlopt::LN_NELDERMEAD;
    case NloptMethod::Sbplx:
      return nlopt::LN_SBPLX;
    case NloptMethod::Crs:
      return nlopt::GN_CRS2_LM;
    case NloptMethod::Direct:
      return nlopt::GN_DIRECT_L_RAND;
    case NloptMethod::Esch:
      return nlopt::GN_ESCH;
  }
  return nlopt::LN_SBPLX;
}

/// What NLopt calls; it may come once or twice more after it was told to stop.
template <class Evaluate>
double call(const std::vector<double>& point, std::vector<double>&, void* data) {
  return (*static_cast<Evaluate*>(data))(point);
}

}  // namespace

NloptSearch::NloptSearch(const space::Space& space, NloptSearchOptions options)
    : space_(space), options_(options), encoding_(space) {
  const auto& columns = encoding_.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    // Activity follows from the other columns, and one value leaves nothing to move.
    const auto& parameter = space.parameters()[columns[i].parameter];
    const bool activity = parameter.is_conditional() && (i == 0 || columns[i - 1].parameter != columns[i].parameter);
    if (!activity && (parameter.is_real() || parameter.size() > 1)) free_.push_back(static_cast<Eigen::Index>(i));
  }
}

std::vector<Proposal> NloptSearch::ask(std::size_t count) {
  space::Random random(options_.seed, asks_++);
  return asked_.collect(count, [&] { return propose(random); });
}

void NloptSearch::tell(std::span<const space::Trial> finished) {
  for (const auto& trial : finished) {
    asked_.insert(trial.configuration);
    if (!first_) first_ = trial.configuration;
    auto& known = told_[trial.configuration.identity()];
    known.configuration = trial.configuration;
    known.log_value.reset();
    if (trial.estimate && trial.estimate->value > 0) known.log_value = std::log(trial.estimate->value);
  }
  best_.reset();
  for (const auto& [identity, known] : told_) {
    if (!known.log_value) continue;
    if (!best_) worst_value_ = *known.log_value;
    worst_value_ = std::max(worst_value_, *known.log_value);
    if (best_ && best_value_ <= *known.log_value) continue;
    best_ = known.configuration;
    best_value_ = *known.log_value;
  }
  const auto* answer = awaited_ ? told(*awaited_) : nullptr;
  if (answer == nullptr) return;
  if (awaited_by_run_) log_.push_back(value_of(*answer));
  awaited_.reset();
}

const NloptSearch::Observation* NloptSearch::told(const space::Configuration& configuration) const {
  const auto found = told_.find(configuration.identity());
  return found == told_.end() ? nullptr : &found->second;
}

double NloptSearch::value_of(const Observation& told) const {
  if (told.log_value) return *told.log_value;
  return best_ ? worst_value_ + 0.1 * (1 + worst_value_ - best_value_) : 0;
}

space::Configuration NloptSearch::configuration_at(const std::vector<double>& point) const {
  Eigen::VectorXd vector = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(encoding_.columns().size()));
  for (std::size_t i = 0; i < free_.size(); ++i) vector[free_[i]] = point[i];
  return repair(encoding_.decode(vector));
}

/// Takes over values of the best known configuration, always the one that fixes most, until nothing is violated; that
/// configuration itself is where this ends at the latest.
space::Configuration NloptSearch::repair(space::Configuration configuration) const {
  const auto& anchor = best_ ? *best_ : first_ ? *first_ : space_.default_configuration();
  auto violated = space_.check(configuration).size();
  while (violated > 0) {
    std::optional<space::Configuration> fixed;
    for (const auto& [name, value] : anchor.values()) {
      const auto* own = configuration.find(name);
      if (own != nullptr && *own == value) continue;
      auto changed = configuration;
      changed.set(name, value);
      changed = space_.normalise(changed);
      const auto left = space_.check(changed).size();
      if (fixed && left >= violated) continue;
      violated = left;
      fixed = std::move(changed);
      if (left == 0) break;
    }
    if (!fixed || *fixed == configuration) return anchor;
    configuration = std::move(*fixed);
  }
  return configuration;
}

void NloptSearch::begin(const space::Configuration& start, space::Random& random) {
  const auto vector = encoding_.encode(start);
  start_.clear();
  for (const auto column : free_) start_.push_back(vector[column]);
  run_seed_ = random.bits();
  log_.clear();
  stale_ = 0;
  running_ = true;
  ++runs_;
}

std::optional<space::Configuration> NloptSearch::advance() {
  nlopt::opt optimiser(algorithm_of(options_.method), static_cast<unsigned>(free_.size()));
  optimiser.set_lower_bounds(0.0);
  optimiser.set_upper_bounds(1.0);
  optimiser.set_initial_step(kFirstStep);
  optimiser.set_xtol_abs(kSmallestStep);
  optimiser.set_maxeval(kMostCalls);

  std::optional<space::Configuration> wanted;
  bool stopped = false;
  std::size_t calls = 0;
  auto evaluate = [&](const std::vector<double>& point) {
    if (stopped) return std::numeric_limits<double>::max();
    if (calls == log_.size()) {
      auto configuration = configuration_at(point);
      if (const auto* known = told(configuration)) {
        log_.push_back(value_of(*known));
        ++stale_;
      } else {
        // One that is out elsewhere (a filler that was not told yet) has no value to give: the run ends, too.
        if (!asked_.contains(configuration)) wanted = std::move(configuration);
        stopped = true;
      }
      if (stale_ > kStaleCalls * (free_.size() + 1)) stopped = true;
      if (stopped) {
        optimiser.force_stop();
        return std::numeric_limits<double>::max();
      }
    }
    return log_[calls++];
  };
  optimiser.set_min_objective(call<decltype(evaluate)>, &evaluate);
  nlopt::srand(static_cast<unsigned long>(run_seed_ & 0xffffffffU));  // the generator is the thread's own
  auto point = start_;
  double least = 0;
  try {
    optimiser.optimize(point, least);
  } catch (const std::runtime_error&) {
    // Stopped, as it should be; or limited by rounding: then there is no proposal, and the run has ended.
  }
  return wanted;
}

std::optional<space::Configuration> NloptSearch::propose(space::Random& random) {
  if (awaited_) return asked_.sample_other(space_, random);
  if (!running_ && runs_ == 0 && first_ && !free_.empty()) begin(*first_, random);
  if (running_) {
    if (auto next = advance()) {
      stale_ = 0;
      awaited_ = next;
      awaited_by_run_ = true;
      return next;
    }
    running_ = false;
  }
  auto start = asked_.sample_other(space_, random);
  if (!start) return std::nullopt;
  if (!free_.empty()) begin(*start, random);
  awaited_ = start;
  awaited_by_run_ = false;  // the run calls at its start of its own accord
  return start;
}

}  // namespace nocturne::search
