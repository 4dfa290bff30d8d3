#pragma once

/// Brings a job back whose batch host is lost. With --no-kill the other nodes keep such a job, and nobody is left in it
/// who would end it.
///
/// The coordinator beats: a file in the data folder changes every ten seconds. A step on a second node reads it, and
/// queues the job again when it has not changed for two minutes. Both count their own pauses: no clock of a node has to
/// be right, and a job that is suspended and resumed was not silent.

#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tuner/executor/slurm/allocation.hpp"

namespace nocturne::tuner {

struct WatchRhythm {
  std::chrono::milliseconds pause = std::chrono::seconds(10);  ///< between two beats, and between two looks
  int silent_looks = 12;                                       ///< that find what the look before them found
};

/// Reads the file until it has been silent for so many looks. One that cannot be read is not silent: nothing is known
/// then. False: stopped before, or it could not be read for half an hour.
[[nodiscard]] bool wait_for_silence(const std::filesystem::path& beat, const WatchRhythm& rhythm,
                                    const std::stop_token& stop);

/// While it lives, it beats, and a step on another node watches: `PROGRAM execute --watch FILE`. Where that step ends,
/// because its node is lost, the next node watches. A job of one node, and one that cannot be queued again, has none.
class CoordinatorWatch {
 public:
  struct Options {
    SlurmCommands commands{};
    Allocation allocation{};
    std::vector<std::string> program{};  ///< nocturne --data FOLDER
    std::filesystem::path folder{};      ///< in the data folder; made anew, and removed at the end
    WatchRhythm rhythm{};
  };
  explicit CoordinatorWatch(Options options);
  CoordinatorWatch(const CoordinatorWatch&) = delete;
  CoordinatorWatch& operator=(const CoordinatorWatch&) = delete;
  /// Ends the step.
  ~CoordinatorWatch();

 private:
  void beat(const std::stop_token& stop) const;
  void keep_watch(const std::stop_token& stop) const;
  [[nodiscard]] std::filesystem::path beat_file() const { return options_.folder / "beat"; }

  const Options options_;
  std::vector<std::string> watchers_;  ///< the nodes that can watch
  std::vector<std::jthread> threads_;  ///< the last member: they end before what they use
};

}  // namespace nocturne::tuner
