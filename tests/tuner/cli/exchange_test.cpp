#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "db/store.hpp"
#include "search/replay/load.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/exchange/imported.hpp"
#include "tuner/exchange/trial_formats.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;
using nlohmann::json;

namespace {

std::string write(const test::CliFixture& cli, const char* name, const std::string& text) {
  const auto file = cli.folder() / name;
  std::ofstream(file) << text;
  return file.string();
}

constexpr const char* kCache = R"({"kernel_name": "k", "device_name": "d", "objective": "time",
  "tune_params_keys": ["x", "tile"], "tune_params": {"x": [1, 2], "tile": [8, 16]},
  "cache": {"1,8": {"x": 1, "tile": 8, "time": 4.0, "times": [4, 4], "compile_time": 1, "verification_time": 0,
                    "benchmark_time": 8},
            "2,16": {"x": 2, "tile": 16, "time": "CompilationFailedConfig", "times": []}}})";

constexpr const char* kHyperfine = R"({"results": [
  {"command": "sleep 1", "mean": 1.5, "times": [1.4, 1.6], "exit_codes": [0, 0], "parameters": {"n-jobs": "1"}},
  {"command": "sleep 2", "mean": 2.5, "times": [2.5], "exit_codes": [0], "parameters": {"n-jobs": "2"}},
  {"command": "sleep 3", "mean": 0.1, "times": [0.1], "exit_codes": [1], "parameters": {"n-jobs": "3"}}]})";

/// A storage as Optuna makes it, with a study of two parameters.
std::string optuna_storage(const test::CliFixture& cli, const char* direction = "MINIMIZE") {
  const auto file = (cli.folder() / "optuna.db").string();
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  const std::string sql = std::string(R"(
    CREATE TABLE studies (study_id INTEGER PRIMARY KEY, study_name VARCHAR);
    CREATE TABLE study_directions (study_direction_id INTEGER PRIMARY KEY, direction VARCHAR, study_id INTEGER, objective INTEGER);
    CREATE TABLE trials (trial_id INTEGER PRIMARY KEY, number INTEGER, study_id INTEGER, state VARCHAR);
    CREATE TABLE trial_params (param_id INTEGER PRIMARY KEY, trial_id INTEGER, param_name VARCHAR, param_value FLOAT, distribution_json TEXT);
    CREATE TABLE trial_values (trial_value_id INTEGER PRIMARY KEY, trial_id INTEGER, objective INTEGER, value FLOAT, value_type VARCHAR);
    INSERT INTO studies VALUES (1, 'net'), (2, 'other');
    INSERT INTO study_directions VALUES (1, ')") +
                          direction + R"(', 1, 0), (2, 'MINIMIZE', 2, 0);
    INSERT INTO trials VALUES (1, 0, 1, 'COMPLETE'), (2, 1, 1, 'FAIL'), (3, 2, 1, 'PRUNED'), (4, 3, 1, 'COMPLETE');
    INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json)
      SELECT trial_id, 'learning rate', 0.1 * trial_id, '{"name": "FloatDistribution", "attributes": {"low": 0.0}}' FROM trials;
    INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json)
      SELECT trial_id, 'kind', trial_id % 2, '{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}' FROM trials;
    INSERT INTO trial_values (trial_id, objective, value) VALUES (1, 0, 3.5), (4, 0, 2.5);)";
  char* error = nullptr;
  REQUIRE(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error) == SQLITE_OK);
  sqlite3_close(database);
  return file;
}

/// Campaigns of a database by name.
std::map<std::string, db::CampaignSummary> campaigns_in(const test::CliFixture& cli) {
  std::map<std::string, db::CampaignSummary> all;
  const auto store = db::Store::open(cli.database(), db::Mode::ReadOnly);
  for (auto& each : store.list_campaigns()) all.emplace(each.name, each);
  return all;
}

}  // namespace

TEST_CASE("a database of another machine becomes history, once, under a name of its own", "[cli]") {
  test::CliFixture there, here;
  test::NightOptions elsewhere;
  elsewhere.machine.set({.name = "cpu.model", .value = "another processor"});
  (void)test::fill(there, elsewhere);
  (void)test::fill(here);
  CHECK(here.nocturne({"import", there.database().string(), "--json"}) == ExitCode::Ok);
  const auto row = here.json().at("campaigns").at(0);
  CHECK(row.at("from") == "evening");
  CHECK(row.at("kind") == "nocturne");
  CHECK(row.at("added") == 5);  // the reserved trial is none
  const auto name = row.at("name").get<std::string>();
  CHECK(name.starts_with("evening-"));

  const auto campaigns = campaigns_in(here);
  REQUIRE(campaigns.size() == 2);
  const auto& imported = campaigns.at(name);
  CHECK(imported.finished_unix_ns.has_value());
  CHECK(imported.ok == 4);
  const auto store = db::Store::open(here.database(), db::Mode::ReadOnly);
  CHECK(store.load_fingerprint(imported.fingerprint).fields.dump().contains("another processor"));
  CHECK(store.exchanges(imported.id).size() == 10);
  // What is measured here is still what is meant without a name.
  CHECK(here.nocturne({"best", "--json"}) == ExitCode::Ok);
  CHECK(here.json().at("campaign") == "evening");
  CHECK(here.nocturne({"best", name, "--json"}) == ExitCode::Ok);
  CHECK(here.json().at("best").at("trial") == 1);

  CHECK(here.nocturne({"import", there.database().string(), "--json"}) == ExitCode::Ok);
  CHECK(here.json().at("campaigns").at(0).at("added") == 0);
  CHECK(here.json().at("campaigns").at(0).at("known") == 5);
  CHECK(campaigns_in(here).size() == 2);
}

TEST_CASE("a copy of one's own database brings nothing new", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const auto copy = cli.folder() / "copy.db";
  std::filesystem::copy(cli.database(), copy);
  CHECK(cli.nocturne({"import", copy.string(), "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("campaigns").at(0).at("native") == true);
  CHECK(campaigns_in(cli).size() == 1);
}

TEST_CASE("an imported trial is no equal trial of a campaign that is tuned here", "[cli]") {
  test::CliFixture there, here;
  (void)test::fill(there);
  CHECK(here.nocturne({"import", there.database().string()}) == ExitCode::Ok);
  auto store = here.open();
  const auto own = store.begin_or_resume_campaign({.name = "own", .identity = "x", .spec = json::object()});
  for (const char* key : {"evening0", "evening1", "evening4"}) CHECK_FALSE(store.find_equal_trial(own.id, key));
}

TEST_CASE("a cache of Kernel Tuner is imported in seconds, and grows with its file", "[cli]") {
  test::CliFixture cli;
  const auto file = write(cli, "gemm.json", kCache);
  CHECK(cli.nocturne({"import", file, "--json"}) == ExitCode::Ok);
  const auto name = cli.json().at("campaigns").at(0).at("name").get<std::string>();
  CHECK(cli.json().at("campaigns").at(0).at("kind") == "kernel-tuner-cache");
  CHECK(cli.nocturne({"list", "trials", name, "--json"}) == ExitCode::Ok);
  const auto trials = cli.json().at("trials");
  REQUIRE(trials.size() == 2);
  CHECK(trials.at(0).at("estimate").at("seconds").get<double>() == Approx(0.004));
  CHECK(trials.at(1).at("outcome") == "build_failed");

  std::string more = kCache;
  more.replace(more.find("\"2,16\""), 0, R"("2,8": {"x": 2, "tile": 8, "time": 3.0, "times": [3]},)");
  write(cli, "gemm.json", more);
  CHECK(cli.nocturne({"import", file, "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("campaigns").at(0).at("name") == name);
  CHECK(cli.json().at("campaigns").at(0).at("added") == 1);
  CHECK(cli.json().at("campaigns").at(0).at("known") == 2);
}

TEST_CASE("hyperfine's JSON is history, and a space to replay", "[cli]") {
  test::CliFixture cli;
  const auto file = write(cli, "bench.json", kHyperfine);
  CHECK(cli.nocturne({"import", file, "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("campaigns").at(0).at("kind") == "hyperfine");
  const auto name = cli.json().at("campaigns").at(0).at("name").get<std::string>();
  CHECK(cli.nocturne({"list", "trials", name, "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("trials").at(0).at("configuration") == json{{"n_jobs", 1}});
  CHECK(cli.json().at("trials").at(0).at("estimate").at("runs") == 2);
  CHECK(cli.json().at("trials").at(2).at("outcome") == "failed");
  CHECK(cli.nocturne({"replay", file, "--strategy", "exhaustive", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("spaces").at(0).at("optimum").get<double>() == Approx(1.5));
}

TEST_CASE("a study of Optuna is history, and a space to replay; one that maximises is refused", "[cli]") {
  test::CliFixture cli;
  const auto file = optuna_storage(cli);
  CHECK(cli.nocturne({"import", file}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("several studies: 'net', 'other'"));
  CHECK(cli.nocturne({"import", file, "--study", "net", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("campaigns").at(0).at("added") == 3);  // the pruned one is left out
  const auto name = cli.json().at("campaigns").at(0).at("name").get<std::string>();
  CHECK(cli.nocturne({"list", "trials", name, "--json"}) == ExitCode::Ok);
  const auto configuration = cli.json().at("trials").at(2).at("configuration");
  CHECK(configuration.at("learning_rate").get<double>() == Approx(0.4));
  CHECK(configuration.at("kind") == "a");
  CHECK(cli.nocturne({"replay", file, "--campaign", "net", "--strategy", "exhaustive", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("spaces").at(0).at("rows") == 3);

  const auto folder = (cli.folder() / "spaces").string();
  CHECK(cli.nocturne({"import", file, "--study", "net", "--space", folder}) == ExitCode::Ok);
  CHECK(cli.nocturne({"replay", folder, "--strategy", "exhaustive", "--json"}) == ExitCode::Ok);

  std::filesystem::remove(file);
  (void)optuna_storage(cli, "MAXIMIZE");
  CHECK(cli.nocturne({"import", file, "--study", "net"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("maximises"));
}

TEST_CASE("what cannot be imported is said with its place", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"import", "nowhere.json"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("nowhere.json: no such file"));
  CHECK(cli.nocturne({"import", write(cli, "odd.json", "{}")}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("none of the known formats"));
  CHECK(cli.nocturne({"import", write(cli, "bad.json", R"({"results": [{"command": "x", "mean": "fast"}]})")}) ==
        ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("/results/0: 'mean' is no number"));
  CHECK_FALSE(std::filesystem::exists(cli.database()));
}

TEST_CASE("history of a search by ask and tell comes from imported trials", "[cli]") {
  test::CliFixture cli;
  const auto folder = (cli.folder() / "search").string();
  const auto cache = write(cli, "gemm.json", kCache);
  CHECK(cli.nocturne({"import", cache, "--db", folder + "/search.db"}) == ExitCode::Ok);
  const auto space = write(cli, "space.json", R"({"space": {"parameters": [
      {"name": "x", "values": [1, 2]}, {"name": "tile", "values": [8, 16, 32]}]}})");
  CHECK(cli.nocturne({"ask", folder, "--space", space}) == ExitCode::Ok);
  const auto store = db::Store::open(folder + "/search.db", db::Mode::ReadOnly);
  CHECK(store.history(store.load_campaign("search").id).size() == 1);
}

TEST_CASE("trials are exported in formats that are read again", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  for (const char* format : {"t4", "kernel-tuner", "hyperfine"}) {
    CAPTURE(format);
    const auto file = cli.folder() / (std::string(format) + ".json");
    REQUIRE(cli.nocturne({"export", "--campaign", "evening", "--format", format, "--output", file.string()}) ==
            ExitCode::Ok);
    const auto loaded = search::replay::load(std::vector{file});
    REQUIRE(loaded);
    const auto& space = loaded->front();
    const bool has_failed = std::string_view(format) != "hyperfine";
    CHECK(space.rows().size() == (has_failed ? 5 : 4));
    CHECK(space.optimum() * space.seconds_per_unit() == Approx(3));  // T(1) of trial 1
  }
}

TEST_CASE("CSV has a line a trial, failed ones too, and quotes what needs it", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"export", "evening", "--format", "csv"}) == ExitCode::Ok);
  std::istringstream lines(cli.out());
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  REQUIRE(all.size() == 6);
  CHECK(all[0] == "trial,outcome,seconds,standard_error,runs,epochs,reason,batch,precision,threads");
  CHECK(all[2] == "1,ok,3,0.01,1,1,,100,bf16,2");
  CHECK(all[5] == "4,crashed,,,,1,signal 11 in phase first_step,100,f32,3");

  tuner::TrialTable table{.campaign = "c", .machine = {}, .parameters = {}, .trials = {}};
  table.parameters.push_back({.name = "a"});
  db::StoredTrial& trial = table.trials.emplace_back();
  trial.trial.outcome = space::Outcome::Failed;
  trial.trial.reason = "a \"quote\", a comma";
  const auto text = tuner::find_trial_format("csv")->text(table);
  CHECK_THAT(text, ContainsSubstring(R"(0,failed,,,,1,"a ""quote"", a comma",)"));
}

TEST_CASE("a format of trials takes no --epochs, and an unknown format names all", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"export", "evening", "--format", "csv", "--epochs", "3"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"export", "--format", "cvs"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("did you mean 'csv'?") && ContainsSubstring("kernel-tuner"));
}
