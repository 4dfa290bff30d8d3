#include "tuner/campaign/heartbeat/heartbeat_writer.hpp"

#include <utility>

#include <fmt/format.h>

#include "tuner/campaign/unix_time.hpp"

namespace nocturne::tuner {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// How long each may be silent before something is wrong. Long: a false alarm wakes somebody.
constexpr nanoseconds kQuietRun = 2min;        // four looks a second; at its end a busy database may cost half a minute
constexpr nanoseconds kQuietBuild = 15min;     // a build's own deadline is ten minutes
constexpr nanoseconds kQuietAfterPair = 5min;  // beyond a pair's own limit
constexpr nanoseconds kQuietThinking = 20min;  // a strategy, the disk, whatever comes between two trials
constexpr nanoseconds kBetweenWrites = 10s;
constexpr nanoseconds kOverdue =
    3s;  // beyond a deadline: to end a worker takes half a second, of a container some more

std::int64_t steady_ns_of(const Clock& clock) {
  return std::chrono::duration_cast<nanoseconds>(clock.steady().time_since_epoch()).count();
}

}  // namespace

HeartbeatWriter::HeartbeatWriter(std::filesystem::path database, std::string campaign_file, const Clock& clock)
    : database_(std::move(database)), clock_(clock) {
  beat_.file = std::move(campaign_file);
  beat_.process = db::this_process();
  beat_.began_unix_ns = unix_ns_of(clock_.wall());
}

HeartbeatWriter::~HeartbeatWriter() {
  end("error", "it ended on an error");
}

void HeartbeatWriter::write() {
  if (!open_) return;
  beat_.written_unix_ns = unix_ns_of(clock_.wall());
  beat_.written_steady_ns = steady_ns_of(clock_);
  beat_.next_by_steady_ns.reset();
  if (quiet_ > nanoseconds{0}) beat_.next_by_steady_ns = beat_.written_steady_ns + quiet_.count();
  write_heartbeat(file_, beat_);
}

void HeartbeatWriter::turn_to(std::string_view activity, std::string doing, nanoseconds quiet) {
  beat_.activity = activity;
  beat_.doing = std::move(doing);
  beat_.since_unix_ns = unix_ns_of(clock_.wall());
  beat_.since_steady_ns = steady_ns_of(clock_);
  beat_.overdue_ns.reset();
  quiet_ = quiet;
  write();
}

void HeartbeatWriter::end(std::string_view ending, const std::string& because) {
  if (!open_) return;
  beat_.ending = ending;
  beat_.because = because;
  beat_.trial.reset();
  beat_.configuration = nullptr;
  beat_.expected_end_unix_ns.reset();
  turn_to("ended", "ended", nanoseconds{0});
  open_ = false;
}

void HeartbeatWriter::opened(const Opening& opening) {
  if (open_) end("machine_changed", "the machine or its software changed: a new generation began");
  Heartbeat fresh;
  fresh.file = beat_.file;
  fresh.process = beat_.process;
  fresh.began_unix_ns = beat_.began_unix_ns;
  fresh.campaign = opening.campaign;
  fresh.generation = opening.generation;
  fresh.finished = opening.trials_known;
  beat_ = std::move(fresh);
  file_ = heartbeat_file(database_, opening.id);
  quiet_pair_ = opening.longest_pair + kQuietAfterPair;
  open_ = true;
  turn_to("opening", "starting", kQuietThinking);
}

void HeartbeatWriter::preflight(std::int64_t stack, std::int64_t stacks, const space::Configuration& values) {
  beat_.configuration = values.to_json();
  turn_to("preflight", fmt::format("preflight check software stack {} of {}", stack + 1, stacks), kQuietBuild);
}

void HeartbeatWriter::waiting_for_slot(const measure::SlotHolder& holder) {
  if (beat_.activity != "waiting") {
    activity_before_ = beat_.activity;
    doing_before_ = beat_.doing;
    quiet_before_ = quiet_;
  }
  turn_to("waiting", "waiting: " + measure::describe(holder), nanoseconds{0});
}

void HeartbeatWriter::slot_taken(std::chrono::nanoseconds /*left_out*/) {
  turn_to(activity_before_, doing_before_, quiet_before_);
}

void HeartbeatWriter::preparing(std::int64_t number, const space::Configuration& configuration) {
  beat_.trial = number;
  beat_.configuration = configuration.to_json();
  turn_to("preparing", fmt::format("preparing trial {}", number), kQuietBuild);
}

void HeartbeatWriter::installing(const std::string& line) {
  turn_to(beat_.activity, "installing " + line, kQuietBuild);
}

void HeartbeatWriter::running(std::int64_t number, const space::Configuration& configuration) {
  beat_.trial = number;
  beat_.configuration = configuration.to_json();
  turn_to("measuring", fmt::format("measuring trial {}", number), kQuietRun);
}

void HeartbeatWriter::progress(const measure::RunProgress& progress) {
  const nanoseconds over = progress.elapsed - progress.deadline;
  const bool overdue = progress.deadline > nanoseconds{0} && over > kOverdue;
  const bool is_news = overdue && !beat_.overdue_ns;
  beat_.overdue_ns = overdue ? std::optional(over.count()) : std::nullopt;
  if (is_news || steady_ns_of(clock_) - beat_.written_steady_ns >= kBetweenWrites.count()) write();
}

void HeartbeatWriter::finished(const space::Trial& trial, bool /*reused*/, const Progress& progress) {
  beat_.trial.reset();
  beat_.configuration = nullptr;
  beat_.finished = progress.finished;
  beat_.failed = progress.failed;
  beat_.last_trial = trial.number;
  beat_.last_trial_unix_ns = unix_ns_of(clock_.wall());
  if (progress.best && progress.best->estimate) {
    beat_.best_trial = progress.best->number;
    beat_.best_seconds = progress.best->estimate->value;
    if (progress.baseline && progress.baseline->estimate && *beat_.best_seconds > 0)
      beat_.ratio = progress.baseline->estimate->value / *beat_.best_seconds;
  }
  beat_.expected_end_unix_ns.reset();
  if (progress.left) beat_.expected_end_unix_ns = unix_ns_of(clock_.wall()) + progress.left->count();
  turn_to("choosing", "choosing what to measure next", kQuietThinking);
}

void HeartbeatWriter::choosing(std::int64_t finalists) {
  pairs_of_ = fmt::format("{} finalists", finalists);
  turn_to("finals", fmt::format("choosing among {} finalists", finalists), quiet_pair_);
}

void HeartbeatWriter::chosen(const space::Trial& /*winner*/) {
  pairs_of_ = kWinnerPairs;
  write();
}

void HeartbeatWriter::simplifying(std::size_t /*changes*/, std::size_t /*fewer*/) {
  pairs_of_ = "the best and one with fewer changes";
  turn_to("finals", "looking for the smallest change that wins", quiet_pair_);
}

void HeartbeatWriter::simplified(bool /*as_fast*/) {
  pairs_of_ = kWinnerPairs;
  write();
}

void HeartbeatWriter::verifying(std::int64_t pairs_done, std::int64_t pairs_wanted) {
  turn_to("finals", fmt::format("measuring pair {} of {} of {}", pairs_done + 1, pairs_wanted, pairs_of_), quiet_pair_);
}

void HeartbeatWriter::pair_finished(std::int64_t /*pairs_done*/, std::int64_t /*pairs_wanted*/,
                                    const std::optional<measure::Comparison>& /*so_far*/) {
  write();
}

void HeartbeatWriter::training(const std::string& who, std::int64_t epochs) {
  turn_to("finals", fmt::format("training the {} for {} epoch{} for its accuracy", who, epochs, epochs == 1 ? "" : "s"),
          kQuietRun);
}

}  // namespace nocturne::tuner
