#include "tuner/campaign/noise/stored_noise.hpp"

#include <chrono>

#include <fmt/format.h>

#include "tuner/campaign/noise/noise_plan.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/executor/machine_difference.hpp"

namespace nocturne::tuner {
namespace {

/// Empty: a word that this program does not know, written by a newer one.
std::optional<NoiseRow> noise_row(const db::NoiseFigure& figure) {
  const auto method = measure::pair_method_from_text(figure.method);
  const auto estimator = measure::step_estimator_from_text(figure.estimator);
  if (!method || !estimator) return std::nullopt;
  return NoiseRow{.method = *method,
                  .estimator = *estimator,
                  .noise = {.pairs = static_cast<int>(figure.pairs), .sd = figure.sd, .bias = figure.bias},
                  .seconds_a_pair = std::chrono::duration<double>(figure.pair_time).count()};
}

}  // namespace

std::string noise_workload(const space::Workload& workload) {
  return fmt::format("{}/{}/{}", workload.network, workload.data, workload.optimizer);
}

void store_noise(db::Store& store, const CampaignSpec& spec, const space::Fingerprint& fingerprint,
                 const NoiseFloor& floor) {
  const db::FingerprintRecord machine{.hash = fingerprint.identity(), .fields = fingerprint.to_json()};
  store.save_fingerprint(machine);
  db::NoiseFloorRecord record{.fingerprint = machine.hash,
                              .workload = noise_workload(spec.workload),
                              .steps = spec.verify.slices * spec.verify.slice_steps};
  for (const NoiseRow& row : floor.rows) {
    record.figures.push_back({.method = std::string(measure::to_text(row.method)),
                              .estimator = std::string(measure::to_text(row.estimator)),
                              .pairs = row.noise.pairs,
                              .sd = row.noise.sd,
                              .bias = row.noise.bias,
                              .pair_time = forecast_of(row.seconds_a_pair)});
  }
  return store.save_noise_floor(record);
}

KnownNoise known_noise(const db::Store& store, const CampaignSpec& spec, const space::Fingerprint& fingerprint) {
  const auto floors = store.noise_floors(noise_workload(spec.workload));
  KnownNoise known;
  for (const db::NoiseFloorRecord& record : floors) {
    const auto stored = store.load_fingerprint(record.fingerprint);
    const auto then = space::Fingerprint::from_json(stored.fields);
    if (!then) continue;
    const auto differences = then->differences(fingerprint);
    if (!differences.empty()) {
      if (known.set_aside.empty())
        known.set_aside = "the noise that was measured before is set aside: " + change_words(differences);
      continue;
    }
    NoiseFloor floor;
    for (const db::NoiseFigure& figure : record.figures)
      if (const auto row = noise_row(figure)) floor.rows.push_back(*row);
    if (floor.rows.empty()) continue;
    return KnownNoise{.floor = std::move(floor), .set_aside = {}};
  }
  return known;
}

void measure_as_noise_says(const db::Store& store, CampaignSpec& spec, const space::Fingerprint& fingerprint,
                           std::size_t cpus) {
  if (!spec.worker.own.empty()) return;  // its pairs are timed as its template says
  const auto known = known_noise(store, spec, fingerprint);
  if (!known.floor) return;
  const NoisePlan plan =
      plan_by_noise(*known.floor, spec.verify,
                    {.fixed = fixed_by_file(spec.document), .default_fits_half = default_fits_half(spec, cpus)});
  spec.verify.method = plan.verify.method;
  spec.verify.estimator = plan.verify.estimator;
  spec.verify.known_costs = plan.verify.known_costs;
  if (plan.process_sd > 0) spec.run.process_sd = plan.process_sd;
}

}  // namespace nocturne::tuner
