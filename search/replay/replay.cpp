#include "search/replay/replay.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <numeric>
#include <optional>
#include <thread>
#include <unordered_set>

#include "search/replay/random_baseline.hpp"
#include "space/random.hpp"

namespace nocturne::search::replay {
namespace {

// A strategy that asks only for what it knows would never end; so many repetitions in a row end its run.
constexpr std::size_t kRepetitions = 1000;

/// CPU time of this thread: other threads, or other programs on the same cores, do not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::uint64_t key_of(RecordedSpace::Place place) {
  return (std::uint64_t{place.row} << 32U) | place.dummies;
}

/// The trial that a strategy is told, and what it really is.
struct ReplayedTrial {
  space::Trial told;
  double truth = std::numeric_limits<double>::quiet_NaN();
};

void fail(space::Trial& trial, space::Outcome outcome, const char* reason) {
  trial.outcome = outcome;
  trial.reason = reason;
}

ReplayedTrial evaluate(const RecordedSpace& recorded, RecordedSpace::Place place, const Disturbance& disturbance,
                       std::uint64_t seed) {
  ReplayedTrial result;
  const auto& rows = recorded.rows();
  const auto recorded_outcome = rows.outcomes[place.row];
  if (recorded_outcome != space::Outcome::Ok) {
    fail(result.told, recorded_outcome, "it failed when it was recorded");
    return result;
  }
  const double truth = rows.objectives[place.row];
  double told = truth;
  if (disturbance.any()) {
    // A seed of its own, so that disturbance and the strategy's draws are not the same numbers.
    space::Random random(seed ^ 0x5DEECE66D1234567U, key_of(place));
    // All are drawn in any case, so that one setting of the disturbance does not shift the numbers of another.
    const double fails = random.unit();
    const double strays = random.unit();
    // Box and Muller, "A note on the generation of random normal deviates", Ann. Math. Stat. 29, 1958.
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    const double normal = radius * std::cos(2 * std::numbers::pi * random.unit());
    if (fails < disturbance.failures) {
      fail(result.told, space::Outcome::Crashed, "made to fail");
      return result;
    }
    // On the logarithm, as times are disturbed: a share of them, never below zero.
    told *= std::exp(disturbance.noise * normal) * (strays < disturbance.outliers ? 10 : 1);
  }
  result.truth = truth;
  result.told.outcome = space::Outcome::Ok;
  result.told.estimate = space::Estimate{.value = told, .standard_error = disturbance.noise * told, .runs = 1};
  return result;
}

/// What a strategy was told, kept while its calibration is to be checked.
class CalibrationChecker {
 public:
  CalibrationChecker(const RecordedSpace& recorded, const ReplayOptions& options, std::uint64_t seed,
                     Strategy& strategy)
      : recorded_(recorded),
        options_(options),
        seed_(seed),
        search_(options.calibration ? dynamic_cast<PrunedSearch*>(&strategy) : nullptr) {}

  void heard(const space::Trial& told) {
    if (search_ != nullptr) told_.push_back(told);
  }

  void check(RunTrace& trace, const std::unordered_set<std::uint64_t>& seen) {
    const auto evaluations = trace.values.size();
    if (search_ == nullptr || std::ranges::find(kBudgets, evaluations) == kBudgets.end()) return;
    const RunState state{.evaluations = evaluations,
                         .seed = seed_,
                         .best = best_of(trace.values, evaluations, std::numeric_limits<double>::infinity()),
                         .measured = [&](auto place) { return seen.contains(key_of(place)); },
                         .truth = [&](auto place) -> std::optional<double> {
                           const auto outcome = evaluate(recorded_, place, options_.disturbance, seed_);
                           return std::isnan(outcome.truth) ? std::nullopt : std::optional(outcome.truth);
                         },
                         .told = told_};
    if (auto calibration = check_calibration(*search_, recorded_, state)) trace.calibration.push_back(*calibration);
  }

 private:
  const RecordedSpace& recorded_;
  const ReplayOptions& options_;
  std::uint64_t seed_;
  PrunedSearch* search_;
  std::vector<space::Trial> told_;
};

using Run = std::expected<RunTrace, std::string>;

/// What an evaluation takes, in milliseconds: what it cost its author, else the objective itself.
double duration_of(const RecordedSpace& recorded, RecordedSpace::Place place) {
  const Rows& rows = recorded.rows();
  if (!rows.cost_ms.empty() && rows.cost_ms[place.row] > 0) return rows.cost_ms[place.row];
  const double objective = rows.objectives[place.row];
  return objective > 0 ? objective : recorded.ordered()[recorded.ordered().size() / 2];  // it failed: as long as others
}

class OneRun {
 public:
  OneRun(const RecordedSpace& recorded, const std::string& name, const ReplayOptions& options, std::uint64_t seed,
         Strategy& strategy, RunTrace& trace)
      : recorded_(recorded),
        name_(name),
        options_(options),
        strategy_(strategy),
        trace_(trace),
        checker_(recorded, options, seed, strategy) {}

  std::expected<void, std::string> run() {
    for (;;) {
      while (may_ask())
        if (auto asked = ask(); !asked) return asked;
      if (flights_.empty()) return {};
      tell_first();
    }
  }

 private:
  struct Flight {
    ReplayedTrial outcome;
    bool is_new = true;
    double ends = 0;
  };

  [[nodiscard]] bool may_ask() const {
    return !exhausted_ && flights_.size() < options_.slots && seen_.size() < options_.evaluations &&
           repetitions_ < kRepetitions;
  }

  std::expected<void, std::string> ask() {
    const auto begun = thread_seconds();
    if (options_.slots > 1) {
      std::vector<space::Configuration> pending;
      for (const Flight& each : flights_) pending.push_back(each.outcome.told.configuration);
      strategy_.mark_pending(pending);
    }
    auto proposals = strategy_.ask(1);
    trace_.cpu_seconds += thread_seconds() - begun;
    exhausted_ = proposals.empty();
    if (exhausted_) return {};
    auto& configuration = proposals.front().configuration;
    const auto place = recorded_.find(configuration);
    if (!place) {
      return std::unexpected(fmt::format("strategy '{}' proposed what is not in the space '{}' (seed {}): {}", name_,
                                         recorded_.name(), trace_.seed, configuration.canonical()));
    }
    Flight flight{.outcome = evaluate(recorded_, *place, options_.disturbance, trace_.seed)};
    flight.outcome.told.number = static_cast<std::int64_t>(seen_.size());
    flight.outcome.told.configuration = std::move(configuration);
    flight.is_new = seen_.insert(key_of(*place)).second;
    repetitions_ = flight.is_new ? 0 : repetitions_ + 1;
    // A repetition is answered from memory, as a campaign would, and costs no evaluation.
    flight.ends = now_ + (flight.is_new ? duration_of(recorded_, *place) : 0);
    flights_.push_back(std::move(flight));
    return {};
  }

  void tell_first() {
    const auto first = std::ranges::min_element(flights_, {}, &Flight::ends);
    const Flight flight = std::move(*first);
    flights_.erase(first);
    now_ = flight.ends;
    // Rated by the true value, whatever it was told.
    if (flight.is_new) {
      trace_.values.push_back(flight.outcome.truth);
      trace_.ended.push_back(now_);
      checker_.heard(flight.outcome.told);
    }
    const auto begun = thread_seconds();
    strategy_.tell(std::span(&flight.outcome.told, 1));
    trace_.cpu_seconds += thread_seconds() - begun;
    if (flight.is_new) checker_.check(trace_, seen_);
  }

  const RecordedSpace& recorded_;
  const std::string& name_;
  const ReplayOptions& options_;
  Strategy& strategy_;
  RunTrace& trace_;
  CalibrationChecker checker_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Flight> flights_;
  std::size_t repetitions_ = 0;
  bool exhausted_ = false;
  double now_ = 0;
};

Run run_once(const RecordedSpace& recorded, const std::string& name, const ReplayOptions& options, std::uint64_t seed) {
  RunTrace trace{.seed = seed, .values = {}, .cpu_seconds = 0};
  auto history = options.history ? options.history(recorded, seed) : std::vector<History>();
  const auto begun = thread_seconds();
  const auto made = make_strategy(name, recorded.space(), {.seed = seed, .history = std::move(history)});
  if (!made) return std::unexpected(made.error());
  trace.cpu_seconds += thread_seconds() - begun;
  if (auto done = OneRun(recorded, name, options, seed, **made, trace).run(); !done)
    return std::unexpected(done.error());
  return trace;
}

/// Hands out runs to threads and keeps the first error by order, so that it does not depend on chance.
class Crew {
 public:
  Crew(std::span<const RecordedSpace> spaces, const ReplayOptions& options, const Progress& progress, const Stop& stop)
      : spaces_(spaces), options_(options), progress_(progress), stop_(stop) {
    for (std::size_t space = 0; space < spaces.size(); ++space)
      for (std::size_t strategy = 0; strategy < options.strategies.size(); ++strategy)
        series_.push_back({.space = space, .strategy = strategy, .runs = std::vector<RunTrace>(options.repeats)});
    all_ = series_.size() * options.repeats;
  }

  std::expected<std::vector<Series>, std::string> work() {
    const auto wanted = options_.threads != 0 ? options_.threads : std::max(1U, std::thread::hardware_concurrency());
    {
      std::vector<std::jthread> others;
      for (std::size_t i = 1; i < std::min(wanted, all_); ++i) others.emplace_back([this] { serve(); });
      serve();
    }
    if (error_) return std::unexpected(error_->second);
    return std::move(series_);
  }

 private:
  void serve() {
    while (!ended_) {
      const auto number = next_++;
      if (number >= all_) return;
      if (stop_ && stop_()) return end(number, "stopped");
      auto& series = series_[number / options_.repeats];
      const auto repeat = number % options_.repeats;
      auto run = attempt(series, repeat);
      if (!run) return end(number, run.error());
      series.runs[repeat] = std::move(*run);
      const std::lock_guard lock(mutex_);
      ++finished_;
      if (progress_) progress_(finished_, all_);
    }
  }

  Run attempt(const Series& series, std::size_t repeat) const {
    const auto& name = options_.strategies[series.strategy];
    try {
      return run_once(spaces_[series.space], name, options_, options_.seed + repeat);
    } catch (const std::exception& error) {
      return std::unexpected(fmt::format("strategy '{}' failed on the space '{}' (seed {}): {}", name,
                                         spaces_[series.space].name(), options_.seed + repeat, error.what()));
    }
  }

  void end(std::size_t number, std::string sentence) {
    const std::lock_guard lock(mutex_);
    // Several may fail at once: the one of the lowest number is told, as with one thread.
    if (!error_ || number < error_->first) error_ = {number, std::move(sentence)};
    ended_ = true;
  }

  std::span<const RecordedSpace> spaces_;
  const ReplayOptions& options_;
  const Progress& progress_;
  const Stop& stop_;
  std::vector<Series> series_;
  std::size_t all_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  std::size_t finished_ = 0;
  std::optional<std::pair<std::size_t, std::string>> error_;
};

// Draws of the past are not those of the run that is given it, though both follow from one seed.
constexpr std::uint64_t kPast = 0x70A57CA3BA1609B5U;

space::Trial trial_of(const RecordedSpace& recorded, std::size_t row) {
  space::Trial trial;
  trial.configuration = recorded.configuration(row);
  trial.outcome = recorded.rows().outcomes[row];
  if (trial.outcome == space::Outcome::Ok)
    trial.estimate = space::Estimate{.value = recorded.rows().objectives[row], .standard_error = 0, .runs = 1};
  return trial;
}

}  // namespace

std::expected<std::vector<Series>, std::string> replay(std::span<const RecordedSpace> spaces,
                                                       const ReplayOptions& options, const Progress& progress,
                                                       const Stop& stop) {
  // A wrong name is found before anything is run.
  for (const auto& name : options.strategies) {
    if (spaces.empty()) break;
    if (const auto made = make_strategy(name, spaces.front().space(), {.seed = options.seed}); !made)
      return std::unexpected(made.error());
  }
  return Crew(spaces, options, progress, stop).work();
}

std::string trace_lines(std::span<const RecordedSpace> spaces, const ReplayOptions& options,
                        std::span<const Series> series) {
  std::string lines;
  for (const auto& each : series) {
    for (const auto& run : each.runs) {
      lines += fmt::format(R"({{"space": {}, "tuner": {}, "seed": {}, "values": [)",
                           nlohmann::json(spaces[each.space].name()).dump(),
                           nlohmann::json(options.strategies[each.strategy]).dump(), run.seed);
      for (std::size_t i = 0; i < run.values.size(); ++i) {
        // fmt writes the shortest decimals that give the same double again.
        lines += i == 0 ? "" : ", ";
        lines += std::isnan(run.values[i]) ? "null" : fmt::format("{}", run.values[i]);
      }
      lines += "]}\n";
    }
  }
  return lines;
}

History sampled_campaign(const RecordedSpace& recorded, std::size_t trials, std::uint64_t seed) {
  History history{.same_machine_and_workload = false, .trials = {}, .name = recorded.name()};
  std::vector<std::size_t> rows(recorded.rows().size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  space::Random random(seed ^ kPast);
  for (std::size_t i = 0; i < std::min(trials, rows.size()); ++i) {  // Fisher and Yates, as far as needed
    std::swap(rows[i], rows[i + random.below(rows.size() - i)]);
    history.trials.push_back(trial_of(recorded, rows[i]));
  }
  return history;
}

History earlier_campaign(const RecordedSpace& recorded, std::size_t trials, std::uint64_t seed) {
  History history{.same_machine_and_workload = true, .trials = {}, .name = recorded.name()};
  const auto strategy = make_strategy("auto", recorded.space(), {.seed = seed ^ kPast}).value();
  while (history.trials.size() < trials) {
    const auto proposals = strategy->ask(1);
    if (proposals.empty()) break;
    const auto place = recorded.find(proposals.front().configuration);
    if (!place) break;
    auto trial = trial_of(recorded, place->row);
    // As proposed: a parameter that changes nothing (a dummy) is not in the row.
    trial.configuration = proposals.front().configuration;
    trial.number = static_cast<std::int64_t>(history.trials.size());
    strategy->tell({&trial, 1});
    history.trials.push_back(std::move(trial));
  }
  return history;
}

}  // namespace nocturne::search::replay
