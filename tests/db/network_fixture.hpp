#pragma once

/// Stores on a file system that is said to be remote, and the leases that writers elsewhere leave there.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "db/file_system.hpp"
#include "db/writer_lease.hpp"
#include "tests/db/fixture.hpp"

namespace nocturne::db::test {

/// A store that takes its folder for one of NFS; its times are those of a test.
inline StoreOptions on_nfs() {
  using namespace std::chrono_literals;
  StoreOptions options;
  options.busy_timeout = 20ms;
  options.network.file_system = [](const std::filesystem::path&) { return FileSystem{.type = "nfs", .remote = true}; };
  options.network.lease = {.renewal = 5ms, .patience = 60ms};
  options.network.copy_after_commits = 1;
  options.network.copying_share = 0;
  return options;
}

inline Store open_on_nfs(const std::filesystem::path& path, Mode mode = Mode::ReadWrite) {
  return Store::open(path, mode, on_nfs());
}

inline std::vector<std::string> read_events(const Store& store) {
  std::vector<std::string> events;
  for (const EventRecord& event : store.events({})) events.push_back(event.what);
  return events;
}

inline ProcessIdentity of_another_machine() {
  return {.pid = 4711, .start_ticks = 1, .boot_id = "another boot", .pid_namespace = "pid:[1]", .host = "node7"};
}

/// A lease as a machine leaves it that lost its power.
inline void leave_lease_behind(const std::filesystem::path& path, const ProcessIdentity& who = of_another_machine()) {
  using namespace std::chrono_literals;
  std::string bytes;
  {
    const auto lease = WriterLease::take(path, {.renewal = 1h, .patience = 60ms}, who);
    bytes = read_bytes(writer_lease_file(path));
  }
  std::ofstream(writer_lease_file(path), std::ios::binary) << bytes;
}

}  // namespace nocturne::db::test
