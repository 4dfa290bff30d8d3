#include "tuner/executor/stray_runs.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "measure/supervisor/run_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A database, and folders of runs that several processes made for it and for others.
struct RunsFolder {
  RunsFolder() : runs(folder.path() / "runs"), database(folder.path() / "n.db") {}

  void make(const std::string& name, const db::ProcessIdentity& owner, const fs::path& kept_in) const {
    fs::create_directories(runs / name);
    std::ofstream(runs / name / measure::kOwnerFile)
        << json{{"process", tuner::process_to_json(owner)}, {"database", kept_in.string()}};
    std::ofstream(runs / name / "log.txt") << "lines";
  }

  TemporaryFolder folder;
  fs::path runs, database;
};

/// A process whose pid this process has meanwhile.
db::ProcessIdentity dead() {
  auto process = db::this_process();
  --process.start_ticks;
  return process;
}

db::ProcessIdentity elsewhere() {
  auto process = dead();
  process.boot_id = "another boot";
  process.host = "another host";
  return process;
}

void store_run(db::Store& store, const std::string& id) {
  const auto campaign = store.begin_or_resume_campaign(
      {.name = "c", .identity = "i", .spec = json::object(), .strategy = "random", .fingerprint = {.hash = "m"}});
  const auto trial = store.reserve_trial(campaign.id, {.number = 0, .configuration = {}, .fidelity = {}, .key = "k"});
  db::RunRecord record;
  record.run.id = id;
  record.run.folder = "/runs/" + id;
  record.fingerprint = "m";
  store.begin_run(trial, record);
  store.release_campaign(campaign.id);  // whose tuner lives has no dead owner's folder
}

}  // namespace

TEST_CASE("folders that a dead process of this database left and no record names are removed", "[executor]") {
  const RunsFolder folder;
  auto store = db::Store::open(folder.database, db::Mode::ReadWrite);
  store_run(store, "named");
  folder.make("named", dead(), folder.database);
  for (const char* side : {"pair-a", "pair-b"}) folder.make(side, dead(), folder.folder.path() / "." / "n.db");
  folder.make("living", db::this_process(), folder.database);
  folder.make("others", dead(), folder.folder.path() / "other.db");
  folder.make("elsewhere", elsewhere(), folder.database);
  fs::create_directory_symlink(folder.runs / "pair-a", folder.runs / "link");
  for (const char* name : {"begun", "old", "full"}) fs::create_directories(folder.runs / name);
  std::ofstream(folder.runs / "full/mine") << "no run of ours";
  for (const char* name : {"old", "full"})
    fs::last_write_time(folder.runs / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  CHECK(tuner::stray_runs(store, folder.runs) ==
        std::vector<fs::path>{folder.runs / "old", folder.runs / "pair-a", folder.runs / "pair-b"});
  CHECK(tuner::remove_stray_runs(store, folder.runs) == 3);
  for (const char* name : {"named", "living", "others", "elsewhere", "begun", "full"}) {
    CAPTURE(name);
    CHECK(fs::is_directory(folder.runs / name));
  }
  for (const char* name : {"old", "pair-a", "pair-b"}) CHECK_FALSE(fs::exists(folder.runs / name));
  CHECK(tuner::stray_runs(store, folder.runs).empty());
}

TEST_CASE("an owner's file says who made the folder, and what says nothing is left alone", "[executor]") {
  const RunsFolder folder;
  auto store = db::Store::open(folder.database, db::Mode::ReadWrite);
  const json owner = json::parse(tuner::owner_text(folder.database));
  CHECK(owner["database"] == folder.database.string());
  CHECK(db::life_of(tuner::process_from_json(owner["process"])) == db::Life::Alive);
  const json process = tuner::process_to_json(dead());
  for (const json& text :
       {json(1), json::object(), json{{"process", process}}, json{{"database", "n.db"}},
        json{{"process", 7}, {"database", folder.database.string()}}, json{{"process", process}, {"database", 7}}}) {
    CAPTURE(text.dump());
    folder.make("odd", dead(), folder.database);
    std::ofstream(folder.runs / "odd" / measure::kOwnerFile) << text;
    fs::last_write_time(folder.runs / "odd", fs::file_time_type::clock::now() - std::chrono::hours(2));
    CHECK(tuner::stray_runs(store, folder.runs).empty());
  }
}

}  // namespace nocturne::test
