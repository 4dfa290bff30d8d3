#pragma once

/// Model search that leaves out what the model rules out, and audits that prediction.
///
/// Around ModelSearch:
/// - What is pruned (a configuration, or a whole level: a framework, a compiler; model/pruning.hpp) comes after
///   what is not: first what is pruned by itself, last what belongs to a pruned level.
/// - Once in model::Audit::kOneIn trials a valid, new configuration is drawn uniformly from the pruned instead, with
///   Purpose::Audit. Its time is held against the bound that was predicted when it was drawn; where audits fail too
///   often, all bounds of pruning are widened.
///
/// Trials with parts are judged at every horizon of the objective (three models, model/horizon_prediction.hpp), others
/// by the objective alone. Nothing is pruned before kFirst trials have worked; those of earlier campaigns count that
/// are believed (history/prior.hpp), so that with them pruning begins with the first trial.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/asked_configurations.hpp"
#include "search/candidates.hpp"
#include "search/model/audit.hpp"
#include "search/model/horizon_prediction.hpp"
#include "search/model/pruning.hpp"
#include "search/model_search.hpp"
#include "search/registry.hpp"
#include "search/strategy.hpp"

namespace nocturne::search {

/// An audit: what was predicted, and what came of it.
struct AuditRecord {
  space::Configuration configuration;
  AuditPrediction prediction;         ///< when it was drawn
  std::optional<double> log_value{};  ///< empty: under way, or failed
  bool told = false;
  bool beat_its_bound = false;
  bool beat_the_incumbent = false;  ///< at one horizon at least
};

class PrunedSearch : public Strategy {
 public:
  static constexpr std::size_t kFirst = 12;

  /// Keeps a reference to the space.
  PrunedSearch(const space::Space& space, const Options& options);
  PrunedSearch(const PrunedSearch&) = delete;  // the search inside asks it what is pruned
  PrunedSearch& operator=(const PrunedSearch&) = delete;
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override;

  // For reports: what is known now. References are valid until the next ask or tell.
  /// Fits all models to all that was told, those of the parts when they are asked for. A search that goes on afterwards
  /// may go another way than without.
  void settle();
  /// Takes over an audit that was drawn in an earlier session and is not told yet. Without its prediction one is made
  /// from what is known now: fits the models.
  void adopt_audit(const space::Configuration& configuration, std::optional<AuditPrediction> prediction = std::nullopt);
  [[nodiscard]] ModelSearch& models() { return inner_; }
  [[nodiscard]] const model::Audit& audit() const { return audit_; }
  [[nodiscard]] const std::vector<AuditRecord>& audits() const { return records_; }
  [[nodiscard]] const std::vector<model::PrunedLevel>& pruned_levels();
  /// The horizons that bounds hold at: those of the objective, or none (the objective itself).
  [[nodiscard]] std::vector<double> horizons() const;
  /// Margin of pruning (> 0: pruned), of its level where that is pruned. Empty: too little is known, or the
  /// configuration is of another space.
  [[nodiscard]] std::optional<double> margin(const space::Configuration& configuration);
  /// One for each horizon; empty as margin().
  [[nodiscard]] std::vector<model::HorizonPrediction> predict_horizons(const space::Configuration& configuration);
  /// Draws configurations uniformly and counts: {pruned, drawn}.
  [[nodiscard]] std::pair<std::size_t, std::size_t> pruned_share(std::size_t draws);

 private:
  void learn(const space::Trial& trial);
  void refresh();
  void judge(const space::Trial& trial);
  /// Brings what the parts' models know of earlier campaigns up to what is believed of them.
  void take_over_history();
  [[nodiscard]] const model::PrunedLevel* pruned_level(space::Point point) const;
  [[nodiscard]] double margin(space::Point point);
  [[nodiscard]] std::optional<Proposal> draw_audit(space::Random& random);
  [[nodiscard]] std::optional<Proposal> propose();
  /// What is remembered of a trial that worked.
  struct PastTime {
    double log_objective = 0;
    std::vector<double> logs;  // T at each horizon that is judged
  };
  /// Whether the trial has an estimate that is positive and finite, as ModelSearch asks for.
  [[nodiscard]] static bool worked(const space::Trial& trial);
  /// log T at each horizon that is judged.
  [[nodiscard]] std::vector<double> logs_of(const space::Trial& trial) const;
  [[nodiscard]] std::size_t primary() const;

  Options options_;
  ModelSearch inner_;
  model::Audit audit_;
  std::vector<AuditRecord> records_;
  std::map<std::string, std::size_t> open_audits_;  // by identity
  std::map<std::string, PastTime> worked_;          // by identity
  AskedConfigurations asked_;
  std::uint64_t asks_ = 0;
  std::size_t trials_ = 0;  // asked or told, distinct

  bool expensive_;                       // there are levels that may be pruned as such
  bool parts_ = true;                    // all trials that worked have them
  bool stale_ = true;                    // told since the last refresh
  PointSet own_;                         // points that were told
  std::optional<std::size_t> revision_;  // of the history that the parts' models know
  std::optional<model::PartsForecast> parts_forecast_;
  bool parts_due_ = false;  // to be fitted anew, by whoever asks for it: a model for each part
  std::optional<model::ObjectiveForecast> objective_forecast_;
  std::optional<model::Pruning> pruning_;
  std::vector<model::PrunedLevel> levels_;
  std::size_t looked_ = 0;  // trials that had worked when they were last looked for
};

}  // namespace nocturne::search
