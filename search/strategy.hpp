#pragma once

/// The seam between a campaign and whatever proposes configurations.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "space/configuration.hpp"
#include "space/outcome.hpp"
#include "space/trial.hpp"

namespace nocturne::search {

/// What a model said of a configuration that is measured to see whether it was right. Both are logarithms of times.
struct AuditPrediction {
  double log_bound = 0;  ///< the least time of the primary horizon that it thought possible
  double margin = 0;     ///< log_bound minus the incumbent's log time; above 0: it was pruned
  friend bool operator==(const AuditPrediction&, const AuditPrediction&) = default;
};

/// What a model expects of one run of a configuration, whose logarithm of the time is about normal.
struct Expectation {
  double log_time = 0;
  double log_sd = 0;  ///< above 0; what one run scatters included
  friend bool operator==(const Expectation&, const Expectation&) = default;
};

/// A configuration that a strategy wants to see measured, and why.
struct Proposal {
  space::Configuration configuration;
  space::Purpose purpose = space::Purpose::Search;  ///< Audit: drawn from what is pruned, to test the prediction
  std::string reason{};                         ///< one clause for the log: "expected improvement 3.1 %"; may be empty
  std::optional<AuditPrediction> prediction{};  ///< what the model said; present if purpose is Audit
  std::optional<Expectation> expected{};        ///< empty: no model knows enough
  friend bool operator==(const Proposal&, const Proposal&) = default;
};

/// Proposes configurations and learns from finished trials (ask/tell).
///
/// One instance serves one campaign; not thread-safe. The same seed and the same sequence of calls give the same
/// proposals: no clock, no global state; ask number k draws its randomness from (seed, k) alone. A proposal may never
/// come back; only tell() says what happened, and may say it again with a better estimate.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Returns up to `count` valid configurations that were neither asked nor told before. Empty: nothing left to
  /// propose.
  [[nodiscard]] virtual std::vector<Proposal> ask(std::size_t count) = 0;
  /// Learns from finished trials, failed ones too: their estimate is empty, their outcome says why.
  virtual void tell(std::span<const space::Trial> finished) = 0;
  /// Says which configurations are being measured and not told yet, whoever asked for them: not to be proposed, and a
  /// model may assume a value for them. Called before ask(); one that it proposed itself is named, too. With one trial
  /// at a time none is. A strategy without use for it ignores this.
  virtual void mark_pending(std::span<const space::Configuration> /*in_flight*/) {}
};

}  // namespace nocturne::search
