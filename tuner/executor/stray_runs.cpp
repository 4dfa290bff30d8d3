#include "tuner/executor/stray_runs.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <system_error>

#include "measure/supervisor/run_folder.hpp"
#include "space/folder_entries.hpp"
#include "space/json_field.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMostOwnerBytes = 64 << 10;  // a worker may have written anything

/// A kill may fall between the making of a folder and its first file: some microseconds.
constexpr std::chrono::hours kEmptyForLong{1};

fs::path spelled(const fs::path& database) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(database, error);
  return error ? database.lexically_normal() : real;
}

bool is_gone(const db::ProcessIdentity& process) {
  const db::ProcessIdentity self = db::this_process();
  // On another machine neither boot nor pid mean anything here.
  if (process.boot_id != self.boot_id && process.host != self.host) return false;
  return process.pid > 0 && db::life_of(process) == db::Life::Dead;
}

bool is_stray(const fs::directory_entry& entry, const fs::path& database) {
  std::error_code error;
  const auto folder = measure::RunFolder::open(entry.path());
  if (!folder) return false;
  const auto text = folder->text(measure::kOwnerFile, kMostOwnerBytes);
  const json owner = text ? json::parse(*text, nullptr, false) : json();
  if (!owner.is_object()) {
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(error);
    return !error && age > kEmptyForLong && fs::is_empty(entry.path(), error) && !error;
  }
  const auto process = owner.find("process");
  const auto kept_in = owner.find("database");
  if (process == owner.end() || kept_in == owner.end() || !kept_in->is_string()) return false;
  return spelled(kept_in->get<std::string>()) == database && is_gone(process_from_json(*process));
}

std::set<std::string> named_runs(const db::Store& store) {
  const auto rows = store.run_folders(std::numeric_limits<std::int64_t>::max());
  std::set<std::string> named;
  for (const db::RunFolder& row : rows) named.insert(row.run);
  return named;
}

}  // namespace

std::string owner_text(const fs::path& database) {
  const json owner = {{"process", process_to_json(db::this_process())}, {"database", database.string()}};
  return owner.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::vector<fs::path> stray_runs(const db::Store& store, const fs::path& runs) {
  auto named = named_runs(store);
  std::vector<fs::path> found;
  const auto has_row = [&](const fs::path& folder) { return named.contains(folder.filename().string()); };
  const fs::path database = spelled(store.path());
  for (const fs::directory_entry& entry : space::entries_of(runs))
    if (!has_row(entry.path()) && is_stray(entry, database)) found.push_back(entry.path());
  if (found.empty()) return found;
  // Again, for a process may have stored a row and ended meanwhile. One that is gone stores none.
  named = named_runs(store);
  std::erase_if(found, has_row);
  std::ranges::sort(found);
  return found;
}

std::size_t remove_stray_runs(const db::Store& store, const fs::path& runs) {
  const auto strays = stray_runs(store, runs);
  return static_cast<std::size_t>(std::ranges::count_if(strays, [](const fs::path& folder) {
    std::error_code error;
    fs::remove_all(folder, error);
    return !error;
  }));
}

using nlohmann::json;
using space::take_field;

json process_to_json(const db::ProcessIdentity& process) {
  return {{"pid", process.pid},
          {"start_ticks", process.start_ticks},
          {"boot_id", process.boot_id},
          {"pid_namespace", process.pid_namespace},
          {"host", process.host}};
}

db::ProcessIdentity process_from_json(const json& document) {
  db::ProcessIdentity process;
  take_field(document, "pid", process.pid);
  take_field(document, "start_ticks", process.start_ticks);
  take_field(document, "boot_id", process.boot_id);
  take_field(document, "pid_namespace", process.pid_namespace);
  take_field(document, "host", process.host);
  return process;
}

}  // namespace nocturne::tuner
