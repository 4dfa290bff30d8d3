#pragma once

/// Records that tests of the store write, and a folder of their own to write them in.

#include <cstdint>
#include <filesystem>
#include <string>

#include "db/store.hpp"

namespace nocturne::db::test {

/// An empty folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

[[noreturn]] void nothing_was_thrown();

[[nodiscard]] CampaignRecord campaign(const std::string& name, const std::string& identity = "identity-1");
[[nodiscard]] space::Configuration configuration(std::int64_t threads);
/// Trial `number`, with as many threads, at 40 steps.
[[nodiscard]] TrialReservation reservation(std::int64_t number);
[[nodiscard]] TrialResult ok_result(double value);
[[nodiscard]] TrialResult failed_result(space::Outcome outcome, const std::string& reason);
/// Every field filled; `samples` of them.
[[nodiscard]] RunRecord run(const std::string& id, std::int64_t samples = 3);

/// The error that the call throws; a failed test where it throws none.
template <typename Call>
[[nodiscard]] Error error_of(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    return error;
  }
  nothing_was_thrown();
}

[[nodiscard]] Store open(const std::filesystem::path& path, Mode mode = Mode::ReadWrite);

/// Runs statements behind the store's back.
void execute_sql(const std::filesystem::path& path, const std::string& sql);
[[nodiscard]] std::int64_t query_number(const std::filesystem::path& path, const std::string& sql);
[[nodiscard]] std::string read_bytes(const std::filesystem::path& path);

}  // namespace nocturne::db::test
