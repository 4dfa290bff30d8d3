#include "tuner/executor/slurm/rhythm.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace nocturne::tuner {
namespace {

/// With the pause of a watchdog half an hour: then its job is over, and it was forgotten.
constexpr int kUnseenSilences = 15;

}  // namespace

bool pause_for(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  (void)never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

bool wait_for_silence(const std::function<std::optional<std::string>()>& look, const Rhythm& rhythm,
                      const std::stop_token& stop) {
  std::optional<std::string> before;
  for (int silent = 0, unseen = 0; silent < rhythm.silent_looks;) {
    if (!pause_for(rhythm.pause, stop)) return false;
    auto now = look();
    unseen = now ? 0 : unseen + 1;
    if (unseen > kUnseenSilences * rhythm.silent_looks) return false;
    silent = now && now == before ? silent + 1 : 0;
    before = std::move(now);
  }
  return true;
}

}  // namespace nocturne::tuner
