#include "tuner/campaign/proposal_sources.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign/fitting.hpp"
#include "tuner/campaign/pacing.hpp"

namespace nocturne::tuner {
namespace {

/// Everything is compared with it, so it comes first, whatever the budget.
class DefaultSource final : public ProposalSource {
 public:
  explicit DefaultSource(const SourceContext& context) : spec_(context.spec), state_(context.state) {}

  std::optional<Asking> propose() override {
    if (state_.next_number() > 0) return std::nullopt;
    return Asking{.source = "default", .proposal = {.configuration = spec_.space.default_configuration()}};
  }

 private:
  const CampaignSpec& spec_;
  const SearchState& state_;
};

/// What failed in the preflight is told as failed trials, once each: the search need not find that out.
class FailedStackSource final : public ProposalSource {
 public:
  explicit FailedStackSource(const SourceContext& context)
      : state_(context.state), failed_stacks_(context.failed_stacks) {}

  std::optional<Asking> propose() override {
    for (const db::PreflightRecord& record : failed_stacks_) {
      if (state_.was_asked(record.configuration)) continue;
      return Asking{.source = "preflight",
                    .proposal = {.configuration = record.configuration,
                                 .reason = "its software stack did not pass the preflight"},
                    .failed = record};
    }
    return std::nullopt;
  }

 private:
  const SearchState& state_;
  const std::vector<db::PreflightRecord>& failed_stacks_;
};

/// What the user wants to see measured, whatever the budget.
class EnqueuedSource final : public ProposalSource {
 public:
  explicit EnqueuedSource(const SourceContext& context) : state_(context.state), enqueued_(context.enqueued) {}

  std::optional<Asking> propose() override {
    for (const space::Configuration& each : enqueued_) {
      if (state_.was_asked(each)) continue;
      return Asking{.source = "user", .proposal = {.configuration = each, .reason = "the user wanted it measured"}};
    }
    return std::nullopt;
  }

 private:
  const SearchState& state_;
  const std::vector<space::Configuration>& enqueued_;
};

/// What history of this machine has seen needs no trial of its own. `is_seen(change, configuration)`.
template <class Seen>
void drop_known(std::vector<SingleChange>& changes, std::span<const search::History> history, const Seen& is_seen) {
  std::erase_if(changes, [&](const SingleChange& change) {
    return std::ranges::any_of(history, [&](const search::History& each) {
      return each.same_machine_and_workload && std::ranges::any_of(each.trials, [&](const space::Trial& trial) {
               return is_seen(change, trial.configuration);
             });
    });
  });
}

/// Each framework and container once, before a strategy that learns weighs them.
class CoverageSource final : public ProposalSource {
 public:
  explicit CoverageSource(const SourceContext& context)
      : spec_(context.spec), state_(context.state), costs_(context.costs), failed_stacks_(context.failed_stacks) {
    pace_.trials = spec_.budget.trials;
    if (!search::uses_history(spec_.strategy.name)) return;
    left_ = coverage_trials(spec_.space);
    drop_known(left_, context.history, is_part_of);
  }

  [[nodiscard]] bool needs_budget() const override { return true; }

  std::optional<Asking> propose() override {
    count_earlier_sessions();
    const PaceState state = state_.pace();
    if (const auto left = time_left(spec_.budget, state)) pace_.time = *left + state.spent;
    while (!left_.empty()) {
      SingleChange coverage = std::move(left_.front());
      left_.erase(left_.begin());
      if (state_.was_asked(coverage.configuration) || failed_in_preflight(coverage)) continue;
      const auto next = preparation_time(coverage.configuration) + state_.default_time();
      if (!fits(pace_, next)) continue;
      ++pace_.taken;
      pace_.spent += next;
      std::string reason = fmt::format("a coverage trial at {}={}", coverage.parameter, space::to_text(coverage.value));
      return Asking{.source = kCoverageAsk,
                    .proposal = {.configuration = std::move(coverage.configuration), .reason = std::move(reason)}};
    }
    return std::nullopt;
  }

  void remember(const db::Ask& ask) override {
    if (ask.strategy == spec_.strategy.name) left_.clear();  // the time for coverage is over
    if (ask.strategy != kCoverageAsk) return;
    ++taken_before_;
    // As long as the strategy was not told what is prepared by now.
    for (const db::AskAnswer& asked : ask.answer) pace_.spent += preparation_time(asked.configuration);
  }

 private:
  /// Their share of the time needs the default's, which is known only once the earlier sessions were told.
  void count_earlier_sessions() {
    const std::int64_t before = std::exchange(taken_before_, 0);
    pace_.taken += before;
    pace_.spent += before * state_.default_time();
  }

  [[nodiscard]] bool failed_in_preflight(const SingleChange& coverage) const {
    return std::ranges::any_of(failed_stacks_, [&coverage](const db::PreflightRecord& record) {
      return is_part_of(coverage, record.configuration);
    });
  }

  [[nodiscard]] std::chrono::nanoseconds preparation_time(const space::Configuration& configuration) const {
    return forecast_of(costs_ != nullptr ? costs_->seconds(configuration) : 0);
  }

  const CampaignSpec& spec_;
  const SearchState& state_;
  const PreparationCosts* costs_;
  const std::vector<db::PreflightRecord>& failed_stacks_;
  std::vector<SingleChange> left_;
  CoveragePace pace_;
  std::int64_t taken_before_ = 0;  // in earlier sessions, and not counted yet
};

/// A command that is timed as a whole begins with one change at a time (single_changes.hpp). Where steps are seen there
/// are trials enough for points that are spread out, from which the model learns more: of levers of 20, 10 and 5 % it
/// found all three in 99 of 100 campaigns of 40 trials, after single changes in 85 ([.single-changes-survey]).
class SingleChangeSource final : public ProposalSource {
 public:
  explicit SingleChangeSource(const SourceContext& context) : spec_(context.spec), state_(context.state) {
    if (!spec_.worker.own.whole() || spec_.worker.own.empty()) return;
    if (!search::uses_history(spec_.strategy.name)) return;
    left_ = single_changes(spec_.space, spec_.worker.own);
    drop_known(left_, context.history, [](const SingleChange& change, const space::Configuration& configuration) {
      return configuration == change.configuration;
    });
  }

  [[nodiscard]] bool needs_budget() const override { return true; }

  std::optional<Asking> propose() override {
    if (!state_.knows_default()) return std::nullopt;  // what trials take is not known yet
    while (!left_.empty() && single_change_fits(taken_, state_.trials_in_budget())) {
      SingleChange change = std::move(left_.front());
      left_.erase(left_.begin());
      if (state_.was_asked(change.configuration)) continue;
      ++taken_;
      std::string reason = fmt::format("{}={} alone", change.parameter, space::to_text(change.value));
      return Asking{.source = kSingleChangeAsk,
                    .proposal = {.configuration = std::move(change.configuration), .reason = std::move(reason)}};
    }
    left_.clear();
    return std::nullopt;
  }

  void remember(const db::Ask& ask) override {
    if (ask.strategy == spec_.strategy.name) left_.clear();  // the strategy has begun
    if (ask.strategy == kSingleChangeAsk) ++taken_;
  }

 private:
  const CampaignSpec& spec_;
  const SearchState& state_;
  std::vector<SingleChange> left_;
  std::int64_t taken_ = 0;  // in all sessions
};

class StrategySource final : public ProposalSource {
 public:
  explicit StrategySource(const SourceContext& context)
      : spec_(context.spec), state_(context.state), strategy_(context.strategy) {}

  [[nodiscard]] bool needs_budget() const override { return true; }

  std::optional<Asking> propose() override {
    // Asks without an answer are not stored, so a strategy that has nothing left is not asked again: a resumed campaign
    // could not repeat that.
    if (exhausted_ || !state_.knows_default()) return std::nullopt;
    strategy_.mark_pending(state_.in_flight());
    auto proposed = strategy_.ask(1);
    exhausted_ = proposed.empty();
    if (exhausted_) return std::nullopt;
    return Asking{.source = spec_.strategy.name,
                  .seed = static_cast<std::int64_t>(spec_.strategy.seed),
                  .proposal = std::move(proposed.front())};
  }

 private:
  const CampaignSpec& spec_;
  const SearchState& state_;
  search::Strategy& strategy_;
  bool exhausted_ = false;
};

}  // namespace

std::vector<std::unique_ptr<ProposalSource>> make_sources(const SourceContext& context) {
  std::vector<std::unique_ptr<ProposalSource>> sources;
  sources.push_back(std::make_unique<DefaultSource>(context));
  sources.push_back(std::make_unique<FailedStackSource>(context));
  sources.push_back(std::make_unique<EnqueuedSource>(context));
  sources.push_back(std::make_unique<CoverageSource>(context));
  sources.push_back(std::make_unique<SingleChangeSource>(context));
  sources.push_back(std::make_unique<StrategySource>(context));
  return sources;
}

std::vector<SingleChange> coverage_trials(const space::Space& space) {
  std::vector<SingleChange> trials;
  for (const space::Parameter& parameter : space.parameters()) {
    if (parameter.stage != space::Stage::Environment || parameter.is_real()) continue;
    for (std::uint64_t i = 0; i < std::min(parameter.size(), kMostFittingValues); ++i)
      if (auto change = single_change(space, parameter.name, parameter.value(i))) trials.push_back(*std::move(change));
  }
  return trials;
}

bool fits(const CoveragePace& pace, std::chrono::nanoseconds next) {
  if (pace.trials && static_cast<double>(pace.taken + 1) > kCoverageShare * static_cast<double>(*pace.trials))
    return false;
  return !pace.time ||
         static_cast<double>((pace.spent + next).count()) <= kCoverageShare * static_cast<double>(pace.time->count());
}

}  // namespace nocturne::tuner
