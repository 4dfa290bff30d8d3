#include "tuner/executor/slurm/watch.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <ios>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "space/file_contents.hpp"
#include "tuner/executor/slurm/job.hpp"
#include "tuner/executor/slurm/step.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

/// A step that cannot be created is tried again after six beats, a minute.
constexpr int kBeatsOfRest = 6;
/// Silences, ten minutes, in which Slurm refuses to queue a job again.
constexpr int kMostRefusals = 5;
constexpr int kMostCancellations = 30;
/// No job of Slurm is longer.
constexpr std::chrono::hours kLongestWatch{24 * 365};

/// In place where it is there, and always as long, so that a full disk is no silence. Where that cannot be written
/// either it is taken away: what is not there says nothing.
void write_beat(const fs::path& file, std::uint64_t number) {
  const std::string text = fmt::format("{:020}\n", number);
  const auto write = [&](auto stream) { return static_cast<bool>((stream << text).flush()); };
  std::error_code ignored;
  const bool written =
      fs::exists(file, ignored) ? write(std::fstream(file, std::ios::in | std::ios::out)) : write(std::ofstream(file));
  if (!written) fs::remove(file, ignored);
}

}  // namespace

bool wait_for_silence(const fs::path& beat, const Rhythm& rhythm, const std::stop_token& stop) {
  const auto read = [&] {
    auto text = space::read_file(beat);
    if (text && text->empty()) text.reset();  // a full disk
    return text;
  };
  return wait_for_silence(read, rhythm, stop);
}

bool watch_over(const WatchedJob& job, const std::function<void(const std::string&)>& say) {
  const auto cancel = [&] {
    for (int tries = 0; tries < kMostCancellations; ++tries) {
      // It ends this process, too.
      const auto done = ask_slurm({job.commands.scancel.string(), job.allocation.job});
      if (done || done.error().contains("killed by signal")) return;
      (void)pause_for(kBeatsOfRest * job.rhythm.pause, {});
    }
  };
  for (int refusals = 0; wait_for_silence(job.beat, job.rhythm, {});) {
    const auto again = queue_again(job.commands, job.allocation, job.script);
    if (again) {
      say(fmt::format("The coordinator is silent: {}.", again->sentence));
      if (again->dependent) cancel();  // its other nodes would keep it until its time is over
      return true;
    }
    say(fmt::format("The coordinator is silent, and the job cannot be queued again: {}", again.error()));
    if (++refusals < kMostRefusals) continue;
    say(fmt::format("Job {} is cancelled: start the same command again.", job.allocation.job));
    cancel();
    return false;
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
    const SlurmStep step{
        .job = options_.allocation.job, .node = watchers_[turn % watchers_.size()], .name = "watchdog", .words = words};
    (void)run_step(options_.commands, step, std::chrono::steady_clock::now() + kLongestWatch, stop);
    (void)pause_for(kBeatsOfRest * options_.rhythm.pause, stop);
  }
}

}  // namespace nocturne::tuner
