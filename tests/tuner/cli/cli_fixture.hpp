#pragma once

/// The user at a command line, in a test: a data folder of its own, string streams, and a database that a night filled.

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "space/fingerprint.hpp"
#include "space/run.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::test {

/// Not thread-safe.
class CliFixture {
 public:
  CliFixture();

  /// `nocturne WORDS…` with this fixture's data folder; what it printed is in out() and err().
  cli::ExitCode nocturne(const std::vector<std::string>& words);
  [[nodiscard]] std::string out() const { return out_.str(); }
  [[nodiscard]] std::string err() const { return err_.str(); }
  /// out() as JSON; fails the test where it is none.
  [[nodiscard]] nlohmann::json json() const;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path data() const { return folder() / "data"; }
  [[nodiscard]] std::filesystem::path database() const { return data() / "nocturne.db"; }
  [[nodiscard]] std::filesystem::path runs() const { return data() / "runs"; }
  [[nodiscard]] db::Store open() const;  ///< for writing

  std::string input;                                          ///< what stands on standard input of each call
  std::size_t columns = 0;                                    ///< that pages are laid out for; 0: lines stay whole
  std::map<std::string, std::string, std::less<>> variables;  ///< of the environment, beside the data folder

 private:
  TemporaryFolder folder_;
  std::ostringstream out_, err_;
};

/// What to make of a night.
struct NightOptions {
  std::string name = "evening";
  bool finished = true;  ///< the campaign is over and its lease given back
  bool verdict = true;   ///< best and default were measured again
  /// Its interval, ln of time over the default's time.
  double verdict_low = std::log(0.55), verdict_mean = std::log(0.6), verdict_high = std::log(0.65);
  std::string artifact;  ///< key of the build that every run used; empty: a user's command, /bin/true
  space::Fingerprint machine;
  int pass = 1;                                 ///< above 1: measured afresh, in a generation of its own
  double slowdown = 1;                          ///< factor on the time of all epochs
  std::optional<space::DeviceReport> device{};  ///< what every run reports of its device
  int epoch_starts = 0;                         ///< epochs in which a loader's processes were started for 200 ms
  int epoch_ends = 0;                           ///< that were seen, of 300 ms each
};

/// A campaign with six trials: 0 the default (f32, 2 threads: 4 s an epoch), 1 bf16 and 2 threads (2 s), 2 f32 and 1
/// thread (8 s), 3 bf16 and 1 thread (3.5 s), 4 crashed (threads 3), 5 reserved. T(1) is import 1 s plus the epoch.
/// Each has one run with a folder in fixture.runs(), started `age` ago. Gives the store that holds the campaign.
db::Store fill(const CliFixture& cli, const NightOptions& options = {},
               std::chrono::nanoseconds age = std::chrono::hours(1));

}  // namespace nocturne::test
