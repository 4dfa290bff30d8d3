// `nocturne status [CAMPAIGN]`: what a campaign is doing now, and its answer so far. For another terminal: reads the
// database and the heartbeat, writes nothing, takes no lock.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/heartbeat/observed_status.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/answer_page.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

struct StatusOptions {
  CampaignChoice campaign;
  bool watch = false;
};

constexpr std::chrono::seconds kBetweenLooks{5};  // of --watch
constexpr std::size_t kSearchLine = 60;           // characters

using nlohmann::json;
using tuner::Condition;
using tuner::Heartbeat;

/// What the subcommand tells, in either form.
struct Report {
  const tuner::Answer& answer;
  const tuner::ObservedStatus& observed_status;
  Condition condition = Condition::Running;
  std::int64_t now_unix_ns = 0;
  tuner::DefaultSettings defaults{};
  std::vector<double> best_so_far{};  ///< seconds, after each trial that trained; with --watch
};

/// The least estimate after each trial, in the order in which they ended.
std::vector<double> best_so_far(const db::Store& store, db::CampaignId campaign) {
  auto trials = store.list_trials({.campaign = campaign, .outcome = space::Outcome::Ok});
  std::ranges::stable_sort(trials, {}, [](const db::StoredTrial& each) { return each.finished_unix_ns.value_or(0); });
  std::vector<double> best;
  for (const db::StoredTrial& each : trials)
    if (each.trial.estimate)
      best.push_back(best.empty() ? each.trial.estimate->value : std::min(best.back(), each.trial.estimate->value));
  return best;
}

std::string ago(std::int64_t nanoseconds) {
  return seconds_text(std::max(0.0, static_cast<double>(nanoseconds) * 1e-9));
}

/// The command that goes on with the campaign; empty: it is at work, or complete.
std::string go_on(const Report& report) {
  const bool ended = report.condition == Condition::Hanging || report.condition == Condition::Died ||
                     report.condition == Condition::Interrupted;
  if (!ended) return {};
  const auto& heartbeat = report.observed_status.heartbeat;
  const bool known = heartbeat && !heartbeat->file.empty();
  return known ? tuner::command_text("tune", tuner::file_word(heartbeat->file))
               : tuner::tune_command(report.answer.campaign.spec);
}

/// Whom a silent tuner may be waiting for.
std::string supervisor_words(const Report& report) {
  const auto& supervisor = report.observed_status.supervisor;
  if (!supervisor) return "";
  return fmt::format(", nor is the supervisor of its run (process {}, in state {}) gone", supervisor->pid,
                     supervisor->state);
}

/// What the campaign is, in one sentence without its name.
std::string condition_sentence(const Report& report) {
  const auto& heartbeat = report.observed_status.heartbeat;
  const db::CampaignSummary& campaign = report.answer.campaign;
  switch (report.condition) {
    case Condition::Running:
      if (!heartbeat || heartbeat->ended())
        return fmt::format("running (process {}), and has not said yet what it does", campaign.owner_pid.value_or(0));
      return fmt::format("running (process {}) since {}", heartbeat->process.pid, time_text(heartbeat->began_unix_ns));
    case Condition::Stopped:
      return fmt::format("stopped while {} (process {}); 'kill -CONT {}' or 'fg' continues it", heartbeat->doing,
                         heartbeat->process.pid, heartbeat->process.pid);
    case Condition::Stalled:
      return fmt::format(
          "stalled while {} (process {}): the supervisor of its run (process {}) is stopped. 'kill -CONT {}' continues "
          "it; else the run is ended after its deadline, and made again",
          heartbeat->doing, heartbeat->process.pid, report.observed_status.supervisor->pid,
          report.observed_status.supervisor->pid);
    case Condition::Overdue:
      return fmt::format(
          "overdue while {} (process {}): its run is {} beyond its deadline, for the supervisor of it (process {}, in "
          "state {}) hangs. Both are ended within some twenty seconds, and the run is made again",
          heartbeat->doing, heartbeat->process.pid, ago(*heartbeat->overdue_ns), report.observed_status.supervisor->pid,
          report.observed_status.supervisor->state);
    case Condition::Hanging:
      return fmt::format("hanging while {}: its process {} lives and has said nothing for {}{}. 'kill {}' ends it",
                         heartbeat->doing, heartbeat->process.pid,
                         ago(report.observed_status.steady_ns - heartbeat->written_steady_ns), supervisor_words(report),
                         heartbeat->process.pid);
    case Condition::Died:
      return fmt::format("was killed at about {} while {} (process {} is gone)", time_text(heartbeat->written_unix_ns),
                         heartbeat->doing, heartbeat->process.pid);
    case Condition::Interrupted:
      if (!heartbeat) return fmt::format("nobody tunes it; it was last opened {}", time_text(campaign.opened_unix_ns));
      return fmt::format("ended {}, before its work was complete: {}", time_text(heartbeat->written_unix_ns),
                         heartbeat->because);
    case Condition::Finished:
      break;
  }
  return fmt::format("finished {}", time_text(campaign.finished_unix_ns.value_or(0)));
}

bool at_work(const Report& report) {
  return (report.condition == Condition::Running || report.condition == Condition::Stopped ||
          report.condition == Condition::Stalled || report.condition == Condition::Overdue ||
          report.condition == Condition::Hanging) &&
         report.observed_status.heartbeat && !report.observed_status.heartbeat->ended();
}

void print_work(std::ostream& out, const Report& report) {
  const Heartbeat& heartbeat = *report.observed_status.heartbeat;
  std::string doing =
      fmt::format("{} for {}", heartbeat.doing, ago(report.observed_status.steady_ns - heartbeat.since_steady_ns));
  if (const auto configuration = space::Configuration::from_json(heartbeat.configuration); configuration)
    doing += ": " + report.defaults.text(*configuration);
  out << "Doing     " << one_line(doing) << '\n';
  if (heartbeat.last_trial && heartbeat.last_trial_unix_ns) {
    out << fmt::format("Last      trial {}, {} ago\n", *heartbeat.last_trial,
                       ago(report.now_unix_ns - *heartbeat.last_trial_unix_ns));
  }
  if (heartbeat.expected_end_unix_ns) {
    out << fmt::format("End       expected {}, in {}\n", time_text(*heartbeat.expected_end_unix_ns),
                       ago(*heartbeat.expected_end_unix_ns - report.now_unix_ns));
  }
}

json report_json(const Report& report) {
  const auto& heartbeat = report.observed_status.heartbeat;
  const auto moment = [](const std::optional<std::int64_t>& unix_ns) -> json {
    return unix_ns ? json(utc_text(*unix_ns)) : json();
  };
  json document = {{"campaign", report.answer.campaign.name},
                   {"generation", report.answer.campaign.generation},
                   {"condition", tuner::to_text(report.condition)},
                   {"sentence", condition_sentence(report)},
                   {"pid", or_null(report.answer.campaign.owner_pid)},
                   {"activity", nullptr},
                   {"doing", nullptr},
                   {"trial", nullptr},
                   {"configuration", nullptr},
                   {"for_s", nullptr},
                   {"silent_s", nullptr},
                   {"last_word", nullptr},
                   {"last_trial", nullptr},
                   {"last_trial_at", nullptr},
                   {"expected_end", nullptr},
                   {"because", nullptr},
                   {"finished", report.answer.campaign.finished},
                   {"failed", report.answer.campaign.finished - report.answer.campaign.ok},
                   {"answer", answer_json(report.answer)}};
  if (!heartbeat) return document;
  document["last_word"] = utc_text(heartbeat->written_unix_ns);
  document["activity"] = heartbeat->activity;
  document["last_trial"] = or_null(heartbeat->last_trial);
  document["last_trial_at"] = moment(heartbeat->last_trial_unix_ns);
  if (heartbeat->ended()) {
    document["because"] = heartbeat->because;
    return document;
  }
  document["doing"] = heartbeat->doing;
  document["trial"] = or_null(heartbeat->trial);
  document["configuration"] = heartbeat->configuration;
  if (at_work(report)) {
    document["pid"] = heartbeat->process.pid;
    document["for_s"] = static_cast<double>(report.observed_status.steady_ns - heartbeat->since_steady_ns) * 1e-9;
    document["silent_s"] = static_cast<double>(report.observed_status.steady_ns - heartbeat->written_steady_ns) * 1e-9;
    document["expected_end"] = moment(heartbeat->expected_end_unix_ns);
  }
  return document;
}

void setup(CLI::App& subcommand, StatusOptions& options) {
  add_campaign_choice(subcommand, options.campaign);
  subcommand.add_flag("--watch", options.watch, "Look again every 5 s, until it runs no more");
  subcommand.footer(
      "Says whether the campaign runs, hangs, was killed or is finished, what it measures now, and its answer so far.\n"
      "Reads only: it may be called at any moment and disturbs no measurement. Exit code 1: hanging or killed.\n"
      "--watch looks again every 5 s until it runs no more, and draws how the best so far came down.\n"
      "\n"
      "Examples:\n"
      "  nocturne status\n"
      "  nocturne status --watch\n"
      "  nocturne status mnist-overnight --json | jq .condition\n");
}

/// How it looks at this moment.
Report look(const db::Store& store, const tuner::Answer& answer, const tuner::ObservedStatus& observed_status) {
  return {.answer = answer,
          .observed_status = observed_status,
          .condition = tuner::condition_of(observed_status),
          .now_unix_ns = tuner::now_unix_ns(),
          .defaults = tuner::default_settings_of(store, answer.campaign)};
}

void print_report(const Context& context, const Report& report) {
  const db::CampaignSummary& campaign = report.answer.campaign;
  *context.out << fmt::format("{}, generation {}: {}\n", campaign.name, campaign.generation,
                              one_line(condition_sentence(report)));
  if (const std::string command = go_on(report); !command.empty()) print_command(context, "Go on", command);
  if (at_work(report)) print_work(*context.out, report);
  if (!report.best_so_far.empty()) {
    *context.out << fmt::format("Search    {} best so far: {} to {} in {} trials\n",
                                sparkline(report.best_so_far, kSearchLine), seconds_text(report.best_so_far.front()),
                                seconds_text(report.best_so_far.back()), report.best_so_far.size());
  }
  if (report.answer.best || report.answer.baseline) {
    *context.out << '\n';
    print_answer(context, report.answer);
  } else {
    *context.out << "No trial has finished yet.\n";
  }
}

/// One look; with --watch again and again, until the campaign runs no more.
ExitCode run(const StatusOptions& options, Context& context) {
  if (options.watch && context.json) return complain(context, ExitCode::Usage, "--watch or --json, not both");
  look_for_database(context);
  for (;;) {
    // Short: who looks in passing does not wait half a minute for a locked file.
    const auto store = db::Store::open(context.database(), db::Mode::ReadOnly,
                                       {.busy_timeout = std::chrono::seconds(5), .migrate = false});
    tell_notice(context, store);
    const auto answer = tuner::answer_of(store, choose_campaign(context, store, options.campaign));
    const tuner::ObservedStatus observed_status = tuner::look_at(store.path(), answer.campaign);
    Report report = look(store, answer, observed_status);
    if (options.watch) report.best_so_far = best_so_far(store, answer.campaign.id);
    if (options.watch && context.out_is_terminal) *context.out << "\x1b[H\x1b[2J";
    if (context.json)
      print_json(context, "status", report_json(report));
    else
      print_report(context, report);
    context.out->flush();
    const bool is_error = report.condition == Condition::Hanging || report.condition == Condition::Died;
    if (!options.watch || !at_work(report)) return is_error ? ExitCode::Negative : ExitCode::Ok;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

SubcommandAction add_status(CLI::App& subcommand) {
  return add_options<StatusOptions>(subcommand);
}

}  // namespace nocturne::cli
