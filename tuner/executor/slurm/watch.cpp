#include "tuner/executor/slurm/watch.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <ios>
#include <iterator>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "space/file_contents.hpp"
#include "tuner/executor/slurm/step.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

/// A step that cannot be created is tried again after six beats, a minute.
constexpr int kBeatsOfRest = 6;
/// Silences that a file may be unreadable for, half an hour: then its job is over, and this step was forgotten.
constexpr int kUnreadableSilences = 15;
/// No job of Slurm is longer.
constexpr std::chrono::hours kLongestWatch{24 * 365};

/// False: stopped before its end.
bool pause_for(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  (void)never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

/// In place where it is there, and always as long: a disk that is full is no silence.
void write_beat(const fs::path& file, std::uint64_t number) {
  const std::string text = fmt::format("{:020}\n", number);
  if (std::fstream known(file, std::ios::in | std::ios::out); known)
    known << text;
  else
    std::ofstream(file) << text;
}

}  // namespace

bool wait_for_silence(const fs::path& beat, const WatchRhythm& rhythm, const std::stop_token& stop) {
  std::optional<std::string> before;
  for (int silent = 0, unreadable = 0; silent < rhythm.silent_looks;) {
    if (!pause_for(rhythm.pause, stop)) return false;
    const auto now = space::read_file(beat);
    unreadable = now ? 0 : unreadable + 1;
    if (unreadable > kUnreadableSilences * rhythm.silent_looks) return false;
    silent = now && now == before ? silent + 1 : 0;
    before = now;
  }
  return true;
}

CoordinatorWatch::CoordinatorWatch(Options options) : options_(std::move(options)) {
  const Allocation& allocation = options_.allocation;
  if (!allocation.batch) return;
  std::ranges::remove_copy(allocation.nodes, std::back_inserter(watchers_), allocation.here);
  if (watchers_.empty()) return;
  std::error_code ignored;
  fs::remove_all(options_.folder, ignored);
  fs::create_directories(options_.folder, ignored);
  write_beat(beat_file(), 0);
  threads_.emplace_back([this](const std::stop_token& stop) { beat(stop); });
  threads_.emplace_back([this](const std::stop_token& stop) { keep_watch(stop); });
}

CoordinatorWatch::~CoordinatorWatch() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
  std::error_code ignored;
  fs::remove_all(options_.folder, ignored);
}

void CoordinatorWatch::beat(const std::stop_token& stop) const {
  for (std::uint64_t number = 1; pause_for(options_.rhythm.pause, stop); ++number) write_beat(beat_file(), number);
}

void CoordinatorWatch::keep_watch(const std::stop_token& stop) const {
  std::vector<std::string> words = options_.program;
  words.insert(words.end(), {"execute", "--watch", beat_file().string()});
  for (std::size_t turn = 0; !stop.stop_requested(); ++turn) {
    const SlurmStep step{.job = options_.allocation.job,
                         .node = watchers_[turn % watchers_.size()],
                         .name = "watchdog",
                         .words = words,
                         .folder = options_.folder};
    (void)run_step(options_.commands, step, std::chrono::steady_clock::now() + kLongestWatch, stop);
    (void)pause_for(kBeatsOfRest * options_.rhythm.pause, stop);
  }
}

}  // namespace nocturne::tuner
