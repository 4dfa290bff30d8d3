#include "tuner/cli/progress_display.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/output/colour.hpp"
#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {
namespace {

std::string settings_text(const space::Configuration& configuration) {
  std::string text;
  for (const auto& [name, value] : configuration.values()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, space::to_text(value));
  }
  return text;
}

/// What differs from the default; the default itself whole.
std::string difference_text(const space::Configuration& baseline, const space::Configuration& configuration) {
  if (baseline.empty()) return settings_text(configuration);
  space::Configuration differing;
  for (const auto& [name, value] : configuration.values()) {
    const space::Value* before = baseline.find(name);
    if (before == nullptr || *before != value) differing.set(name, value);
  }
  return differing.empty() ? "the default" : settings_text(differing);
}

}  // namespace

void ProgressDisplay::clear() {
  if (!status_shown_) return;
  *context_.err << "\r\x1b[K" << std::flush;
  status_shown_ = false;
}

void ProgressDisplay::line(const std::string& text) {
  clear();
  *context_.err << text << '\n' << std::flush;
}

void ProgressDisplay::status(const std::string& text) {
  if (!context_.err_is_terminal) return;
  clear();
  const std::size_t width = context_.columns > 1 ? context_.columns - 1 : 79;
  *context_.err << shortened(one_line(text), width) << std::flush;
  status_shown_ = true;
}

void ProgressDisplay::opened(const tuner::Opening& opening) {
  std::string text = fmt::format("Campaign '{}', generation {}: ", opening.campaign, opening.generation);
  text += opening.resumed ? fmt::format("goes on after {} finished trials", opening.trials_known) : "begins";
  text += fmt::format(" (strategy {}, seed {})", opening.strategy, opening.seed);
  line(text);
  if (!opening.recovered.empty()) {
    std::string numbers;
    for (const std::int64_t number : opening.recovered) {
      numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number);
    }
    line(fmt::format("The last sitting was killed in trial {}: it runs again; all that was finished is kept", numbers));
  }
  if (opening.processes_swept > 0) {
    line(fmt::format("{} processes left over from a killed sitting were ended", opening.processes_swept));
  }
}

void ProgressDisplay::waiting_for_slot(const measure::SlotHolder& holder) {
  line("Waiting: " + measure::describe(holder));
}

void ProgressDisplay::preparing(std::int64_t number, const space::Configuration& configuration) {
  doing_ = fmt::format("trial {}: {}", number, difference_text(baseline_, configuration));
  status(fmt::format("{}  preparing {}", standing_, doing_));
}

void ProgressDisplay::prepared(std::int64_t number, std::chrono::nanoseconds build_time) {
  if (build_time.count() > 0) line(fmt::format("trial {:>4}  built in {}", number, nanoseconds_text(build_time)));
}

void ProgressDisplay::running(std::int64_t number, const space::Configuration& configuration) {
  if (number == 0) baseline_ = configuration;
  doing_ = fmt::format("trial {}: {}", number,
                       difference_text(number == 0 ? space::Configuration() : baseline_, configuration));
  status(fmt::format("{}  {}", standing_, doing_));
}

void ProgressDisplay::progress(const measure::RunProgress& progress) {
  std::string text = fmt::format("{}  {}", standing_, doing_);
  if (!progress.phase.empty()) {
    text += fmt::format(" [{}]", progress.phase);
  } else if (progress.steps > 0) {
    text += fmt::format(" [step {}]", progress.steps);
  }
  status(text);
}

void ProgressDisplay::finished(const space::Trial& trial, bool reused, const tuner::Standing& standing) {
  if (trial.number == 0) baseline_ = trial.configuration;
  const bool colour = context_.colour_err();
  std::string text = fmt::format("trial {:>4}  ", trial.number);
  if (trial.estimate) {
    const bool best = standing.best && standing.best->number == trial.number;
    text +=
        coloured(fmt::format("{:>9}", seconds_text(trial.estimate->value)), best ? Style::Good : Style::Plain, colour);
    text += best && trial.number != 0 ? " best" : "     ";
  } else {
    text += coloured(fmt::format("{:>14}", space::to_text(trial.outcome)), Style::Bad, colour);
  }
  text += "  " + (trial.number == 0 ? "the default: " + settings_text(trial.configuration)
                                    : difference_text(baseline_, trial.configuration));
  if (reused) text += " (known from before)";
  if (!trial.reason.empty()) text += ": " + one_line(trial.reason.substr(0, trial.reason.find('\n')));
  line(text);

  standing_ = fmt::format("{}{} done", standing.finished, standing.wanted ? fmt::format("/{}", *standing.wanted) : "");
  if (standing.failed > 0) standing_ += fmt::format(", {} failed", standing.failed);
  if (standing.best && standing.best->estimate) {
    standing_ += ", best " + seconds_text(standing.best->estimate->value);
    if (standing.baseline && standing.baseline->estimate) {
      standing_ +=
          fmt::format(" ({:.2f} x default)", standing.baseline->estimate->value / standing.best->estimate->value);
    }
  }
  const double minutes = std::chrono::duration<double, std::ratio<60>>(standing.elapsed).count();
  if (minutes > 0.05) standing_ += fmt::format(", {:.1f} trials/min", static_cast<double>(standing.finished) / minutes);
  if (standing.left) {
    standing_ += ", " + seconds_text(std::max(0.0, std::chrono::duration<double>(*standing.left).count())) + " left";
  }
}

void ProgressDisplay::verifying(std::int64_t pairs_done, std::int64_t pairs_wanted) {
  if (pairs_done == 0) {
    line(
        fmt::format("The best and the default are measured again: {} pairs of fresh processes in turns", pairs_wanted));
  }
  status(fmt::format("pair {} of {}", pairs_done + 1, pairs_wanted));
}

void ProgressDisplay::pair_finished(std::int64_t pairs_done, std::int64_t pairs_wanted,
                                    const std::optional<measure::Comparison>& so_far) {
  std::string text = fmt::format("pair  {:>3}/{}", pairs_done, pairs_wanted);
  if (so_far) {
    text += fmt::format("  {:+.1f} % (95 % interval {:+.1f} to {:+.1f} %)", so_far->gain_percent, so_far->low_percent,
                        so_far->high_percent);
  }
  line(text);
}

void ProgressDisplay::training(const std::string& who, std::int64_t epochs) {
  doing_ = fmt::format("the {} trains {} epoch{} for its accuracy", who, epochs, epochs == 1 ? "" : "s");
  standing_.clear();
  if (!context_.err_is_terminal) line(doing_);
  status(doing_);
}

void ProgressDisplay::trained(const std::string& who, const space::Run& run) {
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

}  // namespace nocturne::cli
