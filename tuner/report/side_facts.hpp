#pragma once

/// What the database knows of one configuration of a campaign. Measures nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "space/objective.hpp"
#include "space/run.hpp"

namespace nocturne::report {

/// A number with its standard error, both in seconds; 0: not known.
struct MeasuredTime {
  double seconds = 0, standard_error = 0;
};

struct HorizonTime {
  double epochs = 0;
  MeasuredTime time;
};

struct SideFacts {
  space::Configuration configuration;
  /// Its finished trial: one that trained before one that did not, else the latest. Empty: never measured.
  std::optional<db::StoredTrial> trial;
  std::vector<HorizonTime> times;  ///< times for the objective's horizons; empty where it did not train
  MeasuredTime steady_step;
  double first_step_s = 0;
  std::optional<space::Accuracy> accuracy;  ///< on the test set, after the most epochs that were trained
  std::int64_t accuracy_epochs = 0;

  [[nodiscard]] bool trained() const { return trial && trial->trial.outcome == space::Outcome::Ok; }
};

/// Standard errors come from the runs of the trial: between them where there are several, else within the one.
[[nodiscard]] SideFacts side_facts(const db::Store& store, db::CampaignId campaign, const space::Objective& objective,
                                   const space::Configuration& configuration);

}  // namespace nocturne::report
