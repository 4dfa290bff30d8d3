#pragma once

/// Where proposals come from. The campaign asks its sources in their order and takes what the first of them has; it
/// knows no special case.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/records.hpp"
#include "search/registry.hpp"
#include "search/strategy.hpp"
#include "space/space.hpp"
#include "tuner/campaign/preparation.hpp"
#include "tuner/campaign/search_state.hpp"
#include "tuner/campaign/single_changes.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// A trial that a source wants.
struct Asking {
  std::string source{};   ///< the name under which the ask is stored
  std::int64_t seed = 0;  ///< the strategy's; 0: there is none
  search::Proposal proposal{};
  /// Its software stack failed in the preflight: that is its result, and nothing is run.
  std::optional<db::PreflightRecord> failed{};
};

class ProposalSource {
 public:
  virtual ~ProposalSource() = default;
  /// Whether it may propose only while the budget lasts.
  [[nodiscard]] virtual bool needs_budget() const { return false; }
  /// Never what was asked before. Empty: nothing, now; that may change with what is told.
  [[nodiscard]] virtual std::optional<Asking> propose() = 0;
  /// An ask of an earlier session, whichever source it came from; called for each in their order, before the strategy
  /// is told anything of that session.
  virtual void remember(const db::Ask& /*ask*/) {}
};

/// What sources look at. Everything outlives them.
struct SourceContext {
  const CampaignSpec& spec;
  const SearchState& state;
  search::Strategy& strategy;
  const PreparationCosts* costs = nullptr;  ///< null: preparation is no matter
  const std::vector<space::Configuration>& enqueued;
  const std::vector<db::PreflightRecord>& failed_stacks;  ///< as the preflight knows them by now
  std::span<const search::History> history{};             ///< read by make_sources() alone
};

/// In this order: the default, stacks that failed in the preflight, what the user enqueued, coverage trials, single
/// changes of a command of the user's own, the strategy.
[[nodiscard]] std::vector<std::unique_ptr<ProposalSource>> make_sources(const SourceContext& context);

// Each framework and each container once, before the strategy weighs them. Pure.
//
// A model that has seen nothing of a framework knows only that it costs minutes to install, and would rather spend
// them on what it knows: a night could end without a word about half of the software stacks. So each value of an
// environment parameter is tried once, as near to the default as the constraints allow, where that takes a fair share
// of the budget at most.

/// Share of a budget, for all coverage trials together.
inline constexpr double kCoverageShare = 0.2;

/// The name under which they are asked for.
inline constexpr const char* kCoverageAsk = "coverage trial";

/// One for each value of each environment parameter to which there is a change; in the order of parameters and values.
[[nodiscard]] std::vector<SingleChange> coverage_trials(const space::Space& space);

/// What coverage trials have taken and what the campaign may take. Empty: not limited in that way.
struct CoveragePace {
  std::int64_t taken = 0;
  std::chrono::nanoseconds spent{};
  std::optional<std::int64_t> trials;
  std::optional<std::chrono::nanoseconds> time;
};

/// Whether another one, which takes about so long with what has to be installed for it, keeps to the share.
[[nodiscard]] bool fits(const CoveragePace& pace, std::chrono::nanoseconds next);

}  // namespace nocturne::tuner
