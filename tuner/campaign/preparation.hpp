#pragma once

/// What preparing a configuration still costs, for strategies that weigh gain against time.
///
/// A function of asks and tells alone (what was told, and builds and environments older than the campaign), so that a
/// campaign that is opened again asks what it asked before.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "db/records.hpp"
#include "search/strategy.hpp"
#include "space/space.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

class PreparationCosts {
 public:
  /// Where no build was timed yet: nocturne-onednn takes 30 to 46 s on two cores.
  static constexpr double kBuildSeconds = 40;
  static constexpr double kEnvironmentSeconds = 120;

  /// Seconds a build takes: the median of those made before the campaign began. `installs`: what installing each value
  /// of `framework` takes that is an environment, about (Executor::install_seconds); 0 where it was installed before
  /// the campaign began. What an installation before that took is known better. `answers`: the recipes that values of
  /// `framework` mean together with those of `source`, where that is a parameter.
  PreparationCosts(const space::Space& space, std::span<const db::BuildRecord> builds, std::int64_t began_unix_ns,
                   std::map<std::string, double> installs = {}, std::vector<RecipeAnswer> answers = {});

  /// Whether any parameter costs preparation at all.
  [[nodiscard]] bool matter() const { return !environment_.empty() || !build_.empty() || !installs_.empty(); }
  /// It is prepared from now on.
  void prepared(const space::Configuration& configuration);
  /// 0: nothing of it is missing.
  [[nodiscard]] double seconds(const space::Configuration& configuration) const;

 private:
  /// The value of `framework`, or its recipe, where it is an environment of a known price; empty: it is not.
  [[nodiscard]] std::string framework_of(const space::Configuration& configuration) const;

  std::vector<std::string> environment_, build_;  // names of parameters of these stages, the build's with both
  std::map<std::string, double> installs_;        // by framework, or recipe where there are answers
  WorkerChoice worker_;                           // by which both choose it
  double build_seconds_ = kBuildSeconds;
  std::set<std::string> environments_, builds_, frameworks_;  // that are there
};

/// Forwards to a strategy, and notes what was told as prepared.
class CostAware : public search::Strategy {
 public:
  CostAware(std::unique_ptr<search::Strategy> inner, std::shared_ptr<PreparationCosts> costs)
      : inner_(std::move(inner)), costs_(std::move(costs)) {}
  [[nodiscard]] std::vector<search::Proposal> ask(std::size_t count) override { return inner_->ask(count); }
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override { inner_->mark_pending(in_flight); }

 private:
  std::unique_ptr<search::Strategy> inner_;
  std::shared_ptr<PreparationCosts> costs_;
};

}  // namespace nocturne::tuner
