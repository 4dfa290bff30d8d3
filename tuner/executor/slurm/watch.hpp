#pragma once

/// Brings a job back whose batch host is lost. With --no-kill the other nodes keep such a job, and nobody is left in it
/// who would end it.
///
/// The coordinator beats: a file in the data folder changes every ten seconds. A step on a second node reads it, and
/// queues the job again when it has not changed for two minutes.

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tuner/executor/slurm/allocation.hpp"
#include "tuner/executor/slurm/rhythm.hpp"

namespace nocturne::tuner {

/// Reads the file until it has been silent for so many looks. One that cannot be read, or is empty, is not silent:
/// nothing is known then. False: stopped before, or that went on for half an hour.
[[nodiscard]] bool wait_for_silence(const std::filesystem::path& beat, const Rhythm& rhythm,
                                    const std::stop_token& stop);

/// A job whose coordinator may be lost, as its watchdog knows it.
struct WatchedJob {
  SlurmCommands commands{};
  Allocation allocation{};
  std::filesystem::path script{};  ///< of the job; may be empty
  std::filesystem::path beat{};
  Rhythm rhythm{};
};

/// Blocks until the coordinator is silent, and queues the job again in its place. Slurm may refuse, for its controller
/// is away, or the site forbids it and there is no script: then that is tried again after each further silence, and in
/// the end the job is cancelled, or it would keep its nodes until its time is over. Whether the job goes on. A file
/// that is gone for good says that the coordinator has ended, and this was forgotten: nothing is done. `say` hears
/// sentences.
[[nodiscard]] bool watch_over(const WatchedJob& job, const std::function<void(const std::string&)>& say);

/// While it lives, it beats, and a step on another node watches: `PROGRAM execute --watch FILE`. Where that step ends,
/// because its node is lost, the next node watches. A job of one node, and one that cannot be queued again, has none.
class CoordinatorWatch {
 public:
  struct Options {
    SlurmCommands commands{};
    Allocation allocation{};
    std::vector<std::string> program{};  ///< nocturne --data FOLDER
    std::filesystem::path folder{};      ///< in the data folder; made anew, and removed at the end
    Rhythm rhythm{};
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
