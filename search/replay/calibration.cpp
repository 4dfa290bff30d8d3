#include "search/replay/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "space/random.hpp"

namespace nocturne::search::replay {
namespace {

// Draws for the check, apart from those of the strategy and of disturbance.
constexpr std::uint64_t kStream = std::uint64_t{1} << 62;

struct CalibrationDraw {
  std::vector<space::Configuration> configurations;
  space::PointList points;
  std::vector<double> log_values;
};

CalibrationDraw draw(PrunedSearch& search, const RecordedSpace& recorded, const RunState& run) {
  CalibrationDraw drawn{
      .configurations = {}, .points = space::PointList(search.models().lattice().width()), .log_values = {}};
  space::Random random(run.seed, kStream | run.evaluations);
  for (std::size_t i = 0; i < kCalibrationDraws; ++i) {
    auto configuration = recorded.space().sample(random);
    if (!configuration) break;
    const auto place = recorded.find(*configuration);
    if (!place || run.measured(*place)) continue;
    const auto value = run.truth(*place);
    const auto point = search.models().lattice().point_of(*configuration);
    if (!value || !point) continue;
    drawn.configurations.push_back(*std::move(configuration));
    drawn.points.push_back(*point);
    drawn.log_values.push_back(std::log(*value));
  }
  return drawn;
}

model::LinearModel report_of(PrunedSearch& search, std::span<const space::Trial> told) {
  auto& lattice = search.models().lattice();
  model::LinearModel report(lattice, model::kForReports);
  for (const auto& trial : told) {
    if (!trial.estimate) continue;
    if (const auto point = lattice.point_of(trial.configuration)) report.tell(*point, std::log(trial.estimate->value));
  }
  if (report.size() > 0) report.fit();
  return report;
}

void check_optimum(PrunedSearch& search, const RecordedSpace& recorded, const RunState& run,
                   CalibrationCheck& calibration) {
  calibration.optimum_found = run.best <= recorded.optimum();
  calibration.optimum_pruned = !calibration.optimum_found;
  for (std::uint32_t row = 0; row < recorded.rows().size(); ++row) {
    if (!calibration.optimum_pruned) return;
    if (recorded.rows().objectives[row] != recorded.optimum()) continue;
    const RecordedSpace::Place place{.row = row};
    calibration.optimum_pruned = search.margin(recorded.configuration(place)).value_or(0) > 0;
  }
}

}  // namespace

std::optional<CalibrationCheck> check_calibration(PrunedSearch& search, const RecordedSpace& recorded,
                                                  const RunState& run) {
  if (!search.margin(run.told.front().configuration)) return std::nullopt;
  CalibrationCheck calibration{.evaluations = run.evaluations};
  calibration.widening = search.audit().widening();
  calibration.audits = search.audit().audits();
  calibration.audit_failures = search.audit().failures();
  calibration.audit_misses = search.audit().misses();
  double log_best = std::numeric_limits<double>::infinity();
  for (const auto& trial : run.told)
    if (trial.estimate) log_best = std::min(log_best, std::log(trial.estimate->value));
  const auto drawn = draw(search, recorded, run);
  calibration.search_intervals =
      model::calibration(search.models().times(), drawn.points, drawn.log_values, 0.9, calibration.widening);
  auto report = report_of(search, run.told);
  calibration.report_intervals = model::calibration(report, drawn.points, drawn.log_values);
  for (std::size_t i = 0; i < drawn.configurations.size(); ++i) {
    if (!(*search.margin(drawn.configurations[i]) > 0)) continue;
    ++calibration.pruned;
    calibration.beat_bound +=
        drawn.log_values[i] < search.predict_horizons(drawn.configurations[i]).front().log_optimistic;
    calibration.beat_incumbent += drawn.log_values[i] < log_best;
  }
  check_optimum(search, recorded, run, calibration);
  return calibration;
}

}  // namespace nocturne::search::replay
