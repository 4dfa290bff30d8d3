#include "db/run_rows.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "db/rows.hpp"
#include "space/outcome.hpp"

namespace nocturne::db {
namespace {

constexpr const char* kColumns =
    "trial_id, in_flight, run_id, purpose, outcome, reason, exit_code, signal, folder, command, artifact_key,"
    " fingerprint_hash, started_unix_ns, wall_ns, cpu_ns, seed, ready_json, peak_rss_bytes, device_bytes, accuracy,"
    " accuracy_loss, accuracy_examples, loadavg_before, loadavg_after, cpu_pressure, memory_pressure, io_pressure,"
    " steal, other_cpu, log_tail";

template <typename T>
std::optional<T> unless_empty(const T& value) {
  return value.empty() ? std::nullopt : std::optional(value);
}

std::int64_t insert_run(Database& database, TrialId trial, const RunRecord& record, bool in_flight) {
  const space::Run& run = record.run;
  const space::Load& load = run.load;
  std::string places = "?1";
  for (int i = 2; i <= 30; ++i) places += fmt::format(", ?{}", i);
  const auto memory = [&](auto member) { return run.memory ? std::optional((*run.memory).*member) : std::nullopt; };
  const auto accuracy = [&](auto member) {
    return run.accuracy ? std::optional((*run.accuracy).*member) : std::nullopt;
  };
  execute(database, fmt::format("INSERT INTO runs ({}) VALUES ({})", kColumns, places), trial, in_flight, run.id,
          to_text(run.purpose), to_text(run.outcome), run.reason, run.exit_code, run.signal, run.folder, run.command,
          run.artifact, unless_empty(record.fingerprint), run.started_unix_ns, run.wall, run.cpu, run.seed,
          json_text(run.ready), memory(&space::Memory::peak_rss_bytes), memory(&space::Memory::device_bytes),
          accuracy(&space::Accuracy::accuracy), accuracy(&space::Accuracy::loss), accuracy(&space::Accuracy::examples),
          load.loadavg_before, load.loadavg_after, load.cpu_pressure, load.memory_pressure, load.io_pressure,
          load.steal, load.other_cpu, run.log_tail);
  return database.getLastInsertRowid();
}

constexpr const char* kDeviceColumns =
    "name, readings, energy_j, sm_clock_min_mhz, sm_clock_mean_mhz, sm_clock_max_mhz, memory_clock_min_mhz,"
    " memory_clock_mean_mhz, memory_clock_max_mhz, temperature_min_c, temperature_mean_c, temperature_max_c,"
    " power_min_w, power_mean_w, power_max_w, throttled_json";

void insert_device(Database& database, std::int64_t row, const space::DeviceReport& d) {
  execute(database,
          fmt::format("INSERT INTO device_reports (run, {})"
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
                      kDeviceColumns),
          row, d.name, d.readings, d.energy_j, d.sm_clock_mhz.min, d.sm_clock_mhz.mean, d.sm_clock_mhz.max,
          d.memory_clock_mhz.min, d.memory_clock_mhz.mean, d.memory_clock_mhz.max, d.temperature_c.min,
          d.temperature_c.mean, d.temperature_c.max, d.power_w.min, d.power_w.mean, d.power_w.max,
          json_text(d.throttled));
}

std::optional<space::DeviceReport> load_device(const Database& database, std::int64_t row) {
  Statement found = query(database, fmt::format("SELECT {} FROM device_reports WHERE run = ?1", kDeviceColumns), row);
  if (!found.executeStep()) return std::nullopt;
  space::DeviceReport d;
  nlohmann::json throttled;
  Reader(found).into(d.name, d.readings, d.energy_j, d.sm_clock_mhz.min, d.sm_clock_mhz.mean, d.sm_clock_mhz.max,
                     d.memory_clock_mhz.min, d.memory_clock_mhz.mean, d.memory_clock_mhz.max, d.temperature_c.min,
                     d.temperature_c.mean, d.temperature_c.max, d.power_w.min, d.power_w.mean, d.power_w.max,
                     throttled);
  d.throttled = throttled.get<std::map<std::string, double>>();
  return d;
}

void insert_measurements(Database& database, std::int64_t row, const space::Run& run) {
  Statement sample = query(database,
                           "INSERT INTO samples (run, position, first_step, steps, wall_ns, cpu_ns, data_wait_ns, loss)"
                           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  std::int64_t position = 0;
  for (const space::Sample& s : run.samples)
    execute(sample, row, position++, s.first_step, s.steps, s.wall, s.cpu, s.data_wait, s.loss);
  Statement phase = query(database,
                          "INSERT INTO phases (run, position, name, wall_ns, cpu_ns, is_finished)"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  position = 0;
  for (const space::Phase& p : run.phases) execute(phase, row, position++, p.name, p.wall, p.cpu, p.finished);
  Statement epoch =
      query(database, "INSERT INTO epochs (run, position, epoch, wall_ns, loss) VALUES (?1, ?2, ?3, ?4, ?5)");
  position = 0;
  for (const space::Epoch& e : run.epochs) execute(epoch, row, position++, e.index, e.wall, e.loss);
  Statement point = query(database,
                          "INSERT INTO curve_points (run, position, steps, accuracy, loss, examples)"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  position = 0;
  for (const space::CurvePoint& p : run.curve)
    execute(point, row, position++, p.steps, p.test.accuracy, p.test.loss, p.test.examples);
  Statement norm =
      query(database, "INSERT INTO norms (run, position, steps, layer, norm, moved) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  position = 0;
  for (const space::Norm& n : run.norms) execute(norm, row, position++, n.steps, n.layer, n.norm, n.moved);
  if (run.device) insert_device(database, row, *run.device);
}

void load_measurements(const Database& database, std::int64_t row, space::Run& run) {
  Statement sample = query(
      database,
      "SELECT first_step, steps, wall_ns, cpu_ns, data_wait_ns, loss FROM samples WHERE run = ?1 ORDER BY position",
      row);
  while (sample.executeStep()) {
    space::Sample& s = run.samples.emplace_back();
    Reader(sample).into(s.first_step, s.steps, s.wall, s.cpu, s.data_wait, s.loss);
  }
  Statement phase =
      query(database, "SELECT name, wall_ns, cpu_ns, is_finished FROM phases WHERE run = ?1 ORDER BY position", row);
  while (phase.executeStep()) {
    space::Phase& p = run.phases.emplace_back();
    Reader(phase).into(p.name, p.wall, p.cpu, p.finished);
  }
  Statement epoch = query(database, "SELECT epoch, wall_ns, loss FROM epochs WHERE run = ?1 ORDER BY position", row);
  while (epoch.executeStep()) {
    space::Epoch& e = run.epochs.emplace_back();
    Reader(epoch).into(e.index, e.wall, e.loss);
  }
  Statement point =
      query(database, "SELECT steps, accuracy, loss, examples FROM curve_points WHERE run = ?1 ORDER BY position", row);
  while (point.executeStep()) {
    space::CurvePoint& p = run.curve.emplace_back();
    std::optional<double> loss;
    Reader(point).into(p.steps, p.test.accuracy, loss, p.test.examples);
    p.test.loss = loss.value_or(std::numeric_limits<double>::quiet_NaN());
  }
  Statement norm = query(database, "SELECT steps, layer, norm, moved FROM norms WHERE run = ?1 ORDER BY position", row);
  while (norm.executeStep()) {
    space::Norm& n = run.norms.emplace_back();
    Reader(norm).into(n.steps, n.layer, n.norm, n.moved);
  }
  run.device = load_device(database, row);
}

Error contradiction(const std::string& run, std::string_view what) {
  return {ErrorCode::Inconsistent, fmt::format("run '{}' {}", run, what)};
}

/// The row of a run that ended and is stored: it stays as it is. Empty: it can be written; what was begun is removed.
std::optional<std::int64_t> make_way(Database& database, TrialId trial, const space::Run& run) {
  Statement found = query(database, "SELECT id, trial_id, in_flight, outcome FROM runs WHERE run_id = ?1", run.id);
  if (!found.executeStep()) return std::nullopt;
  Reader reader(found);
  const auto row = reader.next<std::int64_t>();
  if (reader.next<TrialId>() != trial) throw contradiction(run.id, "is stored already, for another trial");
  if (!reader.next<bool>()) {
    const auto outcome = reader.next<std::string>();
    if (outcome != to_text(run.outcome)) {
      throw contradiction(run.id,
                          fmt::format("is stored already as {}, and cannot become {}", outcome, to_text(run.outcome)));
    }
    return row;
  }
  found.reset();
  execute(database, "DELETE FROM runs WHERE id = ?1", row);
  return std::nullopt;
}

}  // namespace

std::int64_t save_run(Database& database, TrialId trial, const RunRecord& record, bool in_flight) {
  const auto ended = make_way(database, trial, record.run);
  if (ended) return *ended;
  const bool known_fingerprint =
      record.fingerprint.empty() ||
      first_value<std::int64_t>(database, "SELECT 1 FROM fingerprints WHERE hash = ?1", record.fingerprint);
  if (!known_fingerprint)
    throw contradiction(record.run.id, "names a fingerprint that is not stored: " + record.fingerprint);
  const std::int64_t row = insert_run(database, trial, record, in_flight);
  insert_measurements(database, row, record.run);
  return row;
}

StoredRun load_run_row(const Database& database, std::int64_t row) {
  Statement found = query(database, fmt::format("SELECT {} FROM runs WHERE id = ?1", kColumns), row);
  if (!found.executeStep()) throw std::runtime_error(fmt::format("run {} vanished while it was read", row));
  StoredRun stored;
  space::Run& run = stored.record.run;
  space::Load& load = run.load;
  std::string purpose;
  std::string outcome;
  std::optional<std::string> fingerprint;
  std::optional<std::int64_t> peak_rss, device, examples;
  std::optional<double> accuracy, loss;
  Reader(found).into(stored.trial, stored.in_flight, run.id, purpose, outcome, run.reason, run.exit_code, run.signal,
                     run.folder, run.command, run.artifact, fingerprint, run.started_unix_ns, run.wall, run.cpu,
                     run.seed, run.ready, peak_rss, device, accuracy, loss, examples, load.loadavg_before,
                     load.loadavg_after, load.cpu_pressure, load.memory_pressure, load.io_pressure, load.steal,
                     load.other_cpu, run.log_tail);
  run.purpose = space::purpose_from_text(purpose).value();
  run.outcome = space::outcome_from_text(outcome).value();
  stored.record.fingerprint = fingerprint.value_or("");
  if (peak_rss) run.memory = space::Memory{.peak_rss_bytes = *peak_rss, .device_bytes = device.value_or(0)};
  if (accuracy) {
    run.accuracy = space::Accuracy{.accuracy = *accuracy,
                                   .loss = loss.value_or(std::numeric_limits<double>::quiet_NaN()),
                                   .examples = examples.value_or(0)};
  }
  load_measurements(database, row, run);
  return stored;
}

}  // namespace nocturne::db
