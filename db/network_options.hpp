#pragma once

/// What may be set of a database on a network file system. The defaults serve; tests are quicker.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "db/file_system.hpp"

namespace nocturne::db {

/// Who opens a database waits for a sign of life of the writer before it, of whom nothing else can be known.
struct LeaseWait {
  std::filesystem::path database{};
  std::filesystem::path lease{};         ///< the file that says who writes; removed by hand, it ends the wait at once
  std::string writer{};                  ///< "process 4711 on 'node7'", or "another process"
  std::chrono::milliseconds patience{};  ///< how long at most
};

struct LeaseTimes {
  std::chrono::milliseconds renewal{4'000};    ///< the writer says so often that it lives
  std::chrono::milliseconds patience{20'000};  ///< silence after which a writer on another machine counts as dead
  /// Called before a wait begins.
  std::function<void(const LeaseWait&)> waiting = [](const LeaseWait&) {};
};

struct NetworkOptions {
  FileSystemProbe file_system = file_system_of;
  LeaseTimes lease{};
  std::int64_t copy_after_commits = 20;               ///< or, whatever comes first,
  std::chrono::milliseconds copy_after_time{30'000};  ///< at the next commit after so long
  int copying_share = 20;                             ///< but copying takes at most one part in so many of the time
};

}  // namespace nocturne::db
