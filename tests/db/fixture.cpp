#include "tests/db/fixture.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace nocturne::db::test {

namespace {

/// Memory where there is enough of it: locks and kills are the same there, without waiting for a disk at each commit;
/// writers then meet more often.
std::filesystem::path place_for_folders() {
  constexpr std::uintmax_t kEnoughBytes = 48 * 1024 * 1024;
  std::error_code error;
  const auto space = std::filesystem::space("/dev/shm", error);
  const bool usable = !error && space.available >= kEnoughBytes && ::access("/dev/shm", W_OK) == 0;
  return usable ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (place_for_folders() / "nocturne-db-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder can be made");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

CampaignRecord campaign(const std::string& name, const std::string& identity) {
  CampaignRecord record{.name = name, .identity = identity, .strategy = "random", .seed = 7};
  record.spec = {{"campaign", name}, {"budget", {{"wall", "5min"}}}};
  record.fingerprint = {.hash = "machine-1", .fields = {{"cpu", "a CPU with µcode"}}};
  record.parameters = {{.name = "threads",
                        .stage = space::Stage::Run,
                        .domain = {{"range", {1, 8}}},
                        .default_value = 8,
                        .active_if = "framework == 'onednn'",
                        .unit = "threads",
                        .description = "How many threads train."},
                       {.name = "march",
                        .stage = space::Stage::Build,
                        .domain = {{"values", {"x86-64-v3", "native"}}},
                        .default_value = "native"}};
  return record;
}

space::Configuration configuration(std::int64_t threads) {
  space::Configuration result;
  result.set("threads", threads);
  result.set("precision", std::string("bf16"));
  result.set("xla", true);
  result.set("scale", 1.0);
  return result;
}

TrialReservation reservation(std::int64_t number) {
  return {.number = number,
          .configuration = configuration(number),
          .fidelity = {.steps = 40},
          .key = "key-" + std::to_string(number)};
}

TrialResult ok_result(double value) {
  return {.outcome = space::Outcome::Ok,
          .reason = "",
          .estimate = space::Estimate{.value = value, .standard_error = value / 100, .runs = 2},
          .parts = space::Parts{.import = 0.125,
                                .data = 0.25,
                                .compile = 0.5,
                                .first_step_excess = 0.0625,
                                .epoch_overhead = 0.03125,
                                .steps_per_epoch = 468.75,
                                .steady_step = value / 5000}};
}

TrialResult failed_result(space::Outcome outcome, const std::string& reason) {
  return {.outcome = outcome, .reason = reason, .estimate = {}, .parts = {}};
}

RunRecord run(const std::string& id, std::int64_t samples) {
  using std::chrono::nanoseconds;
  RunRecord record{.run = {}, .fingerprint = "machine-1"};
  space::Run& r = record.run;
  r.id = id;
  r.purpose = space::Purpose::Audit;
  r.outcome = space::Outcome::Ok;
  r.reason = "";
  r.exit_code = 0;
  r.folder = "/runs/" + id;
  r.command = "nocturne-onednn --request '/runs/it''s/request.json'";
  r.artifact = "build-1";
  r.started_unix_ns = 1'700'000'000'123'456'789;
  r.wall = nanoseconds(5'000'000'001);
  r.cpu = nanoseconds(9'999'999'999);
  r.seed = -3;
  r.ready = {{"versions", {{"onednn", "3.2.1"}}}, {"threads", 2}, {"isa", "avx512_core_bf16"}};
  r.phases = {{.name = "import", .wall = nanoseconds(11), .cpu = nanoseconds(12), .finished = true},
              {.name = "accuracy", .wall = nanoseconds(13), .cpu = nanoseconds(14), .finished = false}};
  for (std::int64_t i = 0; i < samples; ++i) {
    r.samples.push_back({.first_step = i,
                         .steps = 1,
                         .wall = nanoseconds(1'000'000 + i),
                         .cpu = nanoseconds(2'000'000 + i),
                         .data_wait = nanoseconds(i),
                         .loss = i % 3 == 2 ? std::nullopt : std::optional(2.3 / static_cast<double>(i + 1))});
  }
  r.epochs = {{.index = 0, .wall = nanoseconds(77), .loss = 0.1}, {.index = 1, .wall = nanoseconds(78), .loss = {}}};
  r.curve = {{.steps = 117, .test = {.accuracy = 0.94, .loss = 0.2, .examples = 10000}},
             {.steps = 234, .test = {.accuracy = 0.96, .loss = 0.13, .examples = 10000}}};
  r.norms = {{.steps = 0, .layer = "conv1.weights", .norm = 4.25, .moved = 0.0},
             {.steps = 8, .layer = "conv1.weights", .norm = {}, .moved = 1e-3}};
  r.accuracy = space::Accuracy{.accuracy = 0.9876, .loss = 0.04, .examples = 10000};
  r.memory = space::Memory{.peak_rss_bytes = 123'456'789'012, .device_bytes = 5};
  r.device = space::DeviceReport{.name = "A GPU with µcode",
                                 .readings = 7,
                                 .energy_j = 1234.5,
                                 .sm_clock_mhz = {.min = 1, .mean = 2, .max = 3},
                                 .memory_clock_mhz = {.min = 4, .mean = 5, .max = 6},
                                 .temperature_c = {.min = 7, .mean = {}, .max = 8},
                                 .power_w = {.min = {}, .mean = 9, .max = 10},
                                 .throttled = {{"power_cap", 1.0}, {"thermal", 0.125}}};
  r.load = {.loadavg_before = 0.5,
            .loadavg_after = 1.5,
            .cpu_pressure = 0.01,
            .memory_pressure = 0.0,
            .io_pressure = {},
            .steal = 1e-9,
            .other_cpu = 0.2};
  r.log_tail = "last words\n";
  return record;
}

Store open(const std::filesystem::path& path, Mode mode) {
  return Store::open(path, mode);
}

void nothing_was_thrown() {
  FAIL("no error was thrown");
  std::abort();  // not reached: FAIL throws
}

void execute_sql(const std::filesystem::path& path, const std::string& sql) {
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec(sql);
}

std::int64_t query_number(const std::filesystem::path& path, const std::string& sql) {
  const SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
  SQLite::Statement statement(database, sql);
  statement.executeStep();
  return statement.getColumn(0).getInt64();
}

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace nocturne::db::test
