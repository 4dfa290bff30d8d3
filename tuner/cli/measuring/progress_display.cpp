#include "tuner/cli/measuring/progress_display.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign/preflight/preflight.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/cli/measuring/preflight.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/cli/output/rows.hpp"

namespace nocturne::cli {
namespace {

constexpr auto kRewriteEvery = std::chrono::seconds(1);
constexpr auto kSayEvery = std::chrono::minutes(1);  // in a log

}  // namespace

bool ProgressDisplay::on_terminal() const {
  return context_.err_is_terminal && (terminal_gone_ == nullptr || !*terminal_gone_);
}

void ProgressDisplay::clear() {
  ticker_.stop();
  clear_status();
}

void ProgressDisplay::clear_status() {
  if (!on_terminal()) {
    context_.err->clear();  // writing to a terminal that was just gone had failed; now a file is behind it
    status_shown_ = false;
  }
  if (!status_shown_) return;
  *context_.err << "\r\x1b[K" << std::flush;
  status_shown_ = false;
}

void ProgressDisplay::line(const std::string& text) {
  const std::scoped_lock lock(writing_);
  clear_status();
  last_line_ = clock_();
  *context_.err << (on_terminal() ? laid_out(text, context_.columns) : text) << '\n' << std::flush;
}

void ProgressDisplay::status(const std::string& text) {
  if (!on_terminal()) return;
  const std::scoped_lock lock(writing_);
  clear_status();
  const std::size_t width = context_.columns > 1 ? context_.columns - 1 : 79;
  *context_.err << shortened(one_line(text), width) << std::flush;
  status_shown_ = true;
}

std::string ProgressDisplay::Standing::text(std::chrono::system_clock::time_point now) const {
  std::string text = time_text(tuner::unix_ns_of(now)).substr(std::string_view("2024-05-31 ").size());
  if (left) {
    const std::chrono::duration<double> since = now - forecast_at, all = spent + *left, rest = *left - since;
    if (all.count() > 0) text += fmt::format(", {:.0f} %", 100 * std::min(1.0, (spent + since) / all));
    text += fmt::format(", {} left", seconds_text(std::max(0.0, rest.count())));
  }
  return done.empty() ? text : text + ", " + done;
}

void ProgressDisplay::stand(const std::string& doing) {
  const std::string text = fmt::format("{}  {}", standing_.text(clock_()), doing);
  status(text);
  if (on_terminal()) return;
  std::unique_lock lock(writing_);
  const bool due = clock_() - last_line_ >= kSayEvery;
  lock.unlock();
  if (due) line(text);
}

void ProgressDisplay::opened(const tuner::Opening& opening) {
  std::string text = "It begins: nothing is known of it yet";
  if (opening.generation > 1)
    text = fmt::format("All of it is measured anew, as generation {}{}{}", opening.generation,
                       opening.why_anew.empty() ? "" : ": ", opening.why_anew);
  if (opening.resumed) text = fmt::format("Continuing after {} finished trials", opening.trials_known);
  line(fmt::format("{} (search strategy {}, seed {}).", text, opening.strategy, opening.seed));
  to_target_ = opening.to_target;
  const std::string epochs =
      opening.to_target ? "a training to the target, by learning curves that come first," : epochs_text(opening.epochs);
  line(opening.times_processes
           ? "Each trial runs the command with other settings; its time is that of the whole process."
           : fmt::format("Each trial trains some steps with other settings; its time is what {} would take.", epochs));
  if (!opening.recovery.empty()) line(tuner::to_text(opening.recovery));
}

void ProgressDisplay::preflight(std::int64_t stack, std::int64_t stacks, const space::Configuration& values) {
  if (!preflight_shown_) {
    line(fmt::format(
        "The preflight: each of {} software stack{} is prepared and trained {} steps, the largest batch first", stacks,
        stacks == 1 ? "" : "s", tuner::kPreflightSteps));
  }
  preflight_shown_ = true;
  doing_ = fmt::format("software stack {} of {}", stack + 1, stacks);
  settings_ = ": " + settings_line(values);
  status("preparing " + doing_ + settings_);
  show_while("preparing " + doing_, true);
}

void ProgressDisplay::preflighted(std::int64_t stack, std::int64_t stacks, const db::PreflightRecord& record) {
  ticker_.stop();
  const bool go = record.outcome == space::Outcome::Ok;
  line(fmt::format("software stack {:>5}/{}  {}  {:>9}  {}", stack + 1, stacks,
                   coloured(go ? "passed" : "failed", go ? Style::Good : Style::Bad, colour()),
                   nanoseconds_text(record.prepare), preflight_words(record)));
}

void ProgressDisplay::waiting_for_slot(const measure::SlotHolder& holder) {
  ticker_.stop();
  line("Waiting: " + measure::describe(holder));
}

void ProgressDisplay::slot_taken(std::chrono::nanoseconds left_out) {
  standing_.forecast_at += left_out;
  if (settings_.empty() && !doing_.empty()) show_while(doing_, false);  // a run of a trial speaks for itself
}

void ProgressDisplay::preparing(std::int64_t number, const space::Configuration& configuration) {
  doing_ = fmt::format("trial {}", number);
  settings_ = ": " + baseline_.text(configuration);
  installing_ = false;
  stand("preparing " + doing_ + settings_);
  show_while("preparing " + doing_, true);
}

void ProgressDisplay::show_while(const std::string& what, bool in_log) {
  ticker_.stop();
  const bool rewrites = on_terminal();
  if (!rewrites && !in_log) return;
  const auto say = [this, what, rewrites, standing = standing_](std::chrono::nanoseconds since) {
    const std::string text = fmt::format("{}, for {} now", what, nanoseconds_text(since));
    rewrites ? status(fmt::format("{}  {}", standing.text(clock_()), text)) : line("still " + text);
  };
  ticker_.start(rewrites ? kRewriteEvery : kSayEvery, say);
}

void ProgressDisplay::begin(std::string what) {
  doing_ = std::move(what);
  settings_.clear();
  show_while(doing_, false);
}

void ProgressDisplay::search_ended(const std::string& sentence) {
  ticker_.stop();
  line(sentence);
  begin("judging the best");
}

void ProgressDisplay::installing(const std::string& text) {
  ticker_.stop();  // an installation speaks for itself
  installing_ = true;
  if (!on_terminal()) line("installing " + text);
  status("installing " + text);
}

void ProgressDisplay::prepared(std::int64_t number, std::chrono::nanoseconds build_time) {
  ticker_.stop();
  if (build_time.count() <= 0) return;
  line(fmt::format("trial {:>4}  {} in {}", number, installing_ ? "installed" : "built", nanoseconds_text(build_time)));
}

void ProgressDisplay::running(std::int64_t number, const space::Configuration& configuration) {
  ticker_.stop();
  doing_ = fmt::format("trial {}", number);
  settings_ = ": " + baseline_.text(configuration);
  stand(doing_ + settings_);
}

void ProgressDisplay::progress(const measure::RunProgress& progress) {
  ticker_.stop();
  std::string text = doing_;
  if (!progress.phase.empty())
    text += fmt::format(" [{}]", progress.phase);
  else if (progress.steps > 0)
    text += fmt::format(" [step {}]", progress.steps);
  stand(text + settings_);
}

void ProgressDisplay::finished(const space::Trial& trial, bool reused, const tuner::Progress& progress) {
  ticker_.stop();
  const bool coloured_text = colour();
  std::string text = fmt::format("trial {:>4}  ", trial.number);
  if (trial.estimate) {
    const bool best = progress.is_new_best;
    text += coloured(fmt::format("{:>9}", seconds_text(trial.estimate->value)), best ? Style::Good : Style::Plain,
                     coloured_text);
    text += best && trial.number != 0 ? " best" : "     ";
  } else {
    text += coloured(fmt::format("{:>14}", space::to_text(trial.outcome)), Style::Bad, coloured_text);
  }
  text += "  " + (trial.number == 0 ? "the default" : baseline_.text(trial.configuration));
  if (reused) text += " (known from before)";
  if (!trial.reason.empty()) {
    const auto [first, is_new] = reasons_.try_emplace(trial.reason, trial.number);
    // Every trial of a software stack that cannot be prepared has the same reason: said once.
    const bool of_stack = trial.outcome == space::Outcome::BuildFailed || trial.outcome == space::Outcome::Unsupported;
    text += is_new || !of_stack ? ": " + one_line(trial.reason.substr(0, trial.reason.find('\n')))
                                : fmt::format(": as trial {}", first->second);
  }
  line(text);

  standing_ = {.forecast_at = clock_(), .spent = progress.elapsed, .left = progress.left};
  std::string& done = standing_.done;
  done = fmt::format("{}{} done", progress.finished, progress.wanted ? fmt::format("/{}", *progress.wanted) : "");
  if (progress.failed > 0) done += fmt::format(", {} failed", progress.failed);
  if (!progress.best || !progress.best->estimate) return;
  done += ", best " + seconds_text(progress.best->estimate->value);
  if (progress.baseline && progress.baseline->estimate)
    done += fmt::format(" ({:.2f} x default)", progress.baseline->estimate->value / progress.best->estimate->value);
}

void ProgressDisplay::choosing(std::int64_t finalists) {
  choosing_ = true;
  standing_.done.clear();
  line(fmt::format("{} trials are too close to tell which is the best: measured again in pairs", finalists));
}

void ProgressDisplay::chosen(const space::Trial& winner) {
  choosing_ = false;
  line(fmt::format("trial {} is chosen: {}", winner.number, baseline_.text(winner.configuration)));
  begin(fmt::format("judging trial {}", winner.number));
}

void ProgressDisplay::simplifying(std::size_t changes, std::size_t fewer) {
  choosing_ = true;
  standing_.done.clear();
  line(fmt::format("Are all {} changes needed? The winner against one with {}", changes, fewer));
}

void ProgressDisplay::simplified(bool as_fast) {
  choosing_ = false;
  line(as_fast ? "as fast: the other changes are put back to the default" : "slower: the changes stay");
}

void ProgressDisplay::comparing(const space::Trial& reference, const space::Trial& candidate) {
  compared_ = fmt::format("trial {} against trial {}", candidate.number, reference.number);
}

void ProgressDisplay::verifying(std::int64_t pairs_done, std::int64_t pairs_wanted) {
  if (choosing_ || !compared_.empty()) {
    begin(fmt::format("{}{}pair {} of {}", compared_, compared_.empty() ? "" : "  ", pairs_done + 1, pairs_wanted));
    return;
  }
  if (pairs_done == 0) {
    line(to_target_ ? fmt::format("The best and the default are trained to the target, {} times each", pairs_wanted)
                    : fmt::format("The best and the default are measured again: {} pairs of fresh processes in turns",
                                  pairs_wanted));
  }
  begin(fmt::format("pair {} of {}", pairs_done + 1, pairs_wanted));
}

void ProgressDisplay::pair_finished(std::int64_t pairs_done, std::int64_t pairs_wanted,
                                    const std::optional<measure::Comparison>& so_far) {
  ticker_.stop();
  if (choosing_) return;
  std::string text = compared_.empty() ? fmt::format("pair  {:>3}/{}", pairs_done, pairs_wanted)
                                       : fmt::format("{}  pair {:>2}", compared_, pairs_done);
  if (so_far) text += fmt::format("  {:+.1f} % so far", so_far->gain_percent);
  if (so_far && so_far->pairs > 2)  // two have an interval that says nothing
    text += fmt::format(" ({:+.1f} to {:+.1f} %)", so_far->low_percent, so_far->high_percent);
  line(text);
}

void ProgressDisplay::training(const std::string& who, std::int64_t epochs) {
  ticker_.stop();
  const std::string doing =
      fmt::format("the {} trains {} for its accuracy", who, epochs_text(static_cast<double>(epochs)));
  standing_.done.clear();
  if (!on_terminal()) line(doing);
  begin(doing);
}

void ProgressDisplay::trained(const std::string& who, const space::Run& run) {
  ticker_.stop();
  if (run.accuracy) {
    line(fmt::format("the {} reaches {:.2f} % on {} test examples in {}", who, 100 * run.accuracy->accuracy,
                     run.accuracy->examples, nanoseconds_text(run.wall)));
  } else {
    line(fmt::format("the {} did not reach its accuracy: {}: {}", who, space::to_text(run.outcome),
                     one_line(run.reason)));
  }
}

void ProgressDisplay::note(const std::string& sentence) {
  line(sentence);
}

void Ticker::start(std::chrono::nanoseconds interval, Say say) {
  stop();
  thread_ = std::jthread([this, interval, say = std::move(say)](const std::stop_token& stopped) {
    const auto began = std::chrono::steady_clock::now();
    auto next = began + interval;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_until(lock, stopped, next, [&] { return stopped.stop_requested(); })) {
      if (stopped.stop_requested()) return;
      say(std::chrono::steady_clock::now() - began);
      next += interval;
    }
  });
}

void Ticker::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

}  // namespace nocturne::cli
