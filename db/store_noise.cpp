#include "db/connection.hpp"
#include "db/rows.hpp"
#include "db/store.hpp"

namespace nocturne::db {

void Store::save_noise_floor(const NoiseFloorRecord& floor) {
  connection_->write([&](Database& database) {
    execute(database, "DELETE FROM noise_floors WHERE fingerprint_hash = ?1 AND workload = ?2", floor.fingerprint,
            floor.workload);
    Statement insert = query(database,
                             "INSERT INTO noise_floors (fingerprint_hash, workload, method, estimator, steps, pairs,"
                             " sd, bias, pair_ns, measured_unix_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    const std::int64_t measured = floor.measured_unix_ns == 0 ? now_unix_ns() : floor.measured_unix_ns;
    for (const NoiseFigure& figure : floor.figures) {
      execute(insert, floor.fingerprint, floor.workload, figure.method, figure.estimator, floor.steps, figure.pairs,
              figure.sd, figure.bias, figure.pair_time, measured);
    }
  });
}

std::vector<NoiseFloorRecord> Store::noise_floors(std::string_view workload) const {
  return connection_->read([&](const Database& database) -> std::vector<NoiseFloorRecord> {
    Statement rows = query(database,
                           "SELECT fingerprint_hash, steps, measured_unix_ns, method, estimator, pairs, sd,"
                           " bias, pair_ns FROM noise_floors WHERE workload = ?1"
                           " ORDER BY measured_unix_ns DESC, fingerprint_hash, method, estimator",
                           workload);
    std::vector<NoiseFloorRecord> floors;
    while (rows.executeStep()) {
      NoiseFloorRecord floor{.workload = std::string(workload)};
      NoiseFigure figure;
      Reader(rows).into(floor.fingerprint, floor.steps, floor.measured_unix_ns, figure.method, figure.estimator,
                        figure.pairs, figure.sd, figure.bias, figure.pair_time);
      if (floors.empty() || floors.back().fingerprint != floor.fingerprint) floors.push_back(std::move(floor));
      floors.back().figures.push_back(std::move(figure));
    }
    return floors;
  });
}

}  // namespace nocturne::db
