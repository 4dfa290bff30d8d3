#include "tuner/cli/output/answer_page.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/gate/loss_band.hpp"
#include "measure/run/command_template.hpp"
#include "space/objective.hpp"
#include "space/word_list.hpp"
#include "tuner/campaign/answer/answer_evidence.hpp"
#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/campaign/answer/failure_groups.hpp"
#include "tuner/campaign/curves/stored_curves.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/comparison_page.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/cli/output/ranking_lines.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/seen_training_lines.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

/// From this share of a step on, waiting for data is a line of the page.
constexpr double kWaitMargin = 0.01;

/// The user's own command; empty: the campaign has none.
measure::CommandTemplate own_command(const tuner::Answer& answer) {
  return tuner::sections_of(answer.campaign.spec).worker.own;
}

bool timed_whole(const tuner::Answer& answer) {
  return tuner::is_timed_whole(tuner::sections_of(answer.campaign.spec).worker);
}

std::string speed_text(const tuner::Answer& answer, const space::Trial& trial) {
  space::Parts parts = *trial.parts;
  if (answer.objective.target) {  // its parts are those of a training, not of an epoch
    const tuner::CampaignSections sections = tuner::sections_of(answer.campaign.spec);
    const auto steps = tuner::steps_of_epoch(sections.worker, sections.workload, trial.configuration);
    parts.steps_per_epoch = steps.value_or(0);
  }
  if (parts.steady_step <= 0 || parts.steps_per_epoch <= 0) return "";
  if (timed_whole(answer)) return "";
  const measure::CommandTemplate command = own_command(answer);
  const double examples = static_cast<double>(tuner::workload_of(answer.campaign.spec).training_examples) /
                          (parts.steps_per_epoch * parts.steady_step);
  const bool says_examples = command.empty() || command.pattern.contains("<samples");
  const bool counts_steps = !says_examples && examples * parts.steady_step < 1.5;  // a batch of one stands for none
  return fmt::format(", {:.{}f} {}/s steady", examples, counts_steps ? 1 : 0, counts_steps ? "steps" : "examples");
}

void print_own_command(const Context& context, const tuner::Answer& answer) {
  const tuner::CampaignSections campaign = tuner::sections_of(answer.campaign.spec);
  const measure::CommandTemplate& command = campaign.worker.own;
  if (command.empty()) return;
  const measure::CommandRun run{.steps = campaign.run.steps, .seed = campaign.run.seed};
  const auto words = measure::fill_words(command, answer.best->trial.configuration, run);
  if (words) print_command(context, "Command", deploy::shell_command(*words));
}

bool trained_any(const tuner::RankedLevel& level) {
  return level.best.has_value();
}

std::string value_text(const std::optional<space::Value>& value) {
  return value ? space::to_text(*value) : "–";
}

/// What each lever of a changed script may change of the training, too.
void print_changes(const Context& context, const tuner::Answer& answer) {
  const auto levers = own_command(answer).levers;
  std::vector<Column> columns = {{"  parameter"}, {"default"}, {"best"}};
  if (!levers.empty()) columns.push_back({"may change"});
  Table table(columns);
  for (const tuner::Change& change : answer.changes) {
    std::vector<Cell> cells = {Cell("  " + change.parameter), Cell(value_text(change.from)),
                               Cell(value_text(change.to), Style::Strong)};
    const auto lever = levers.find(change.parameter);
    if (!levers.empty()) cells.emplace_back(lever != levers.end() ? lever->second.changes : "nothing");
    table.add(cells);
  }
  table.print(context);
}

void print_trial_line(std::ostream& out, const char* title, const tuner::Answer& answer, const db::StoredTrial& trial,
                      const std::optional<space::Accuracy>& accuracy) {
  const auto& parts = trial.trial.parts;
  out << fmt::format("{:<9} trial {:<4}", title, trial.trial.number);
  if (parts) {
    const std::string time = seconds_text(space::total_time(*parts, answer.objective.primary));
    if (!timed_whole(answer) && tuner::is_extrapolated(trial.trial, answer.objective.primary)) {
      out << fmt::format(" would take {} ({} steps were timed){}", time, trial.trial.fidelity.steps,
                         speed_text(answer, trial.trial));
    } else {
      out << fmt::format(" {}{}", time, speed_text(answer, trial.trial));
    }
  } else {
    out << ' ' << space::to_text(trial.trial.outcome) << ": " << one_line(trial.trial.reason);
  }
  if (accuracy) {
    out << fmt::format(", {:.2f} % test accuracy after {}", 100 * accuracy->accuracy,
                       epochs_text(static_cast<double>(answer.accuracy_epochs)));
  }
  out << '\n';
}

/// How far the ratio of two single trials may lie beyond what the pairs say before the page says that it does.
constexpr double kTrialSpread = 0.05;  // of a logarithm: what a process differs by on a quiet machine

/// Single trials that contradict the pairs, so that Best and Default do not fit to Gain: a run of one was disturbed.
void print_disturbed(const Context& context, const tuner::Answer& answer) {
  if (!answer.verdict || !answer.baseline || !answer.best->trial.parts || !answer.baseline->trial.parts) return;
  const double epochs = answer.objective.primary;
  const double trials = std::log(space::total_time(*answer.best->trial.parts, epochs) /
                                 space::total_time(*answer.baseline->trial.parts, epochs));
  const db::VerdictRecord& pairs = *answer.verdict;
  // The reader sees both times below the gain and divides them: where that is far from the gain, a line says why.
  if (trials > pairs.log_ratio_low - kTrialSpread && trials < pairs.log_ratio_high + kTrialSpread) return;
  print_line(
      context, "But",
      fmt::format("these two single runs say {:.2f} times, the pairs {:.2f}: a run was disturbed; the pairs count",
                  std::exp(-trials), std::exp(-pairs.log_ratio_mean)));
}

/// "12.3 ms of each step (5.7 %, 34 s in all)"
std::string wait_text(const tuner::Answer& answer, const db::StoredTrial& trial, const measure::DataWait& wait) {
  std::string text = fmt::format("{} of each step ({}", seconds_text(wait.step_seconds), percent_text(wait.share));
  if (trial.trial.parts) {
    text += fmt::format(", {} in all",
                        seconds_text(measure::data_wait_seconds(wait, *trial.trial.parts, answer.objective.primary)));
  }
  return text + ")";
}

/// "7, 5 and 8".
std::string epochs_list(const std::vector<double>& epochs) {
  std::vector<std::string> texts;
  for (const double each : epochs) texts.push_back(fmt::format("{:.2g}", each));
  return space::word_list(texts);
}

/// Epochs and time to the target, where that is what is minimised.
void print_target(const Context& context, const tuner::Answer& answer) {
  if (!answer.target) return;
  const tuner::TargetAnswer& target = *answer.target;
  const std::string trainings =
      target.trainings == 0 ? "" : fmt::format(" and {}", space::counted(target.trainings, "training", "trainings"));
  print_line(context, "Target",
             fmt::format("{:.2f} % of the test set right, by {} that took {}{} (90 % intervals)", 100 * target.accuracy,
                         space::counted(target.curves, "learning curve", "learning curves"),
                         seconds_text(target.curves_seconds), trainings));
  const bool two = answer.baseline && answer.baseline->id != answer.best->id;
  if (target.best) print_line(context, "", fmt::format("{}{}", two ? "the best: " : "", target_text(*target.best)));
  if (two && target.baseline) print_line(context, "", "the default: " + target_text(*target.baseline));
  if (!two || !target.trained) return;
  const measure::Comparison& epoch = target.trained->epoch;
  print_line(context, "",
             fmt::format(
                 "trained in pairs: the best for {} epochs, the default for {}; an epoch alone {}{}",
                 epochs_list(target.trained->best_epochs), epochs_list(target.trained->baseline_epochs),
                 fmt::format("{:+.1f} %", epoch.gain_percent),
                 epoch.pairs < 2 ? "" : fmt::format(" ({:+.1f} to {:+.1f} %)", epoch.low_percent, epoch.high_percent)));
}

nlohmann::json trained_json(const std::optional<tuner::TargetAnswer::Trained>& trained) {
  if (!trained) return nullptr;
  return {{"best_epochs", trained->best_epochs},
          {"default_epochs", trained->baseline_epochs},
          {"epoch_gain_percent", trained->epoch.gain_percent},
          {"epoch_low_percent", trained->epoch.low_percent},
          {"epoch_high_percent", trained->epoch.high_percent}};
}

nlohmann::json target_json(const tuner::Answer& answer) {
  if (!answer.target) return nullptr;
  return {{"accuracy", answer.target->accuracy},
          {"curves", answer.target->curves},
          {"curves_s", answer.target->curves_seconds},
          {"trainings", answer.target->trainings},
          {"trained", trained_json(answer.target->trained)},
          {"best", target_side_json(answer.target->best)},
          {"default", target_side_json(answer.target->baseline)}};
}

void print_data_wait(std::ostream& out, const tuner::Answer& answer) {
  const auto matters = [](const std::optional<measure::DataWait>& wait) { return wait && wait->share >= kWaitMargin; };
  const bool two = answer.baseline && answer.baseline->id != answer.best->id && answer.baseline_wait;
  if (!answer.best_wait || !(matters(answer.best_wait) || (two && matters(answer.baseline_wait)))) return;
  out << "Data      the best waits for it " << wait_text(answer, *answer.best, *answer.best_wait);
  if (two) out << ", the default " << wait_text(answer, *answer.baseline, *answer.baseline_wait);
  out << '\n';
}

/// "data 31 -> 4 %": what the time of a step goes into, of the default and of the best.
void print_step_share(std::ostream& out, const tuner::Answer& answer) {
  if (answer.best_share.empty()) return;
  const bool two = answer.baseline && answer.baseline->id != answer.best->id && !answer.baseline_share.empty();
  const auto percent = [](const std::map<std::string, double>& share, const char* part) {
    const auto found = share.find(part);
    return found != share.end() ? fmt::format("{:.0f}", 100 * found->second) : std::string("?");
  };
  std::string text;
  for (const char* part : space::kStepParts) {
    if (!answer.best_share.contains(part)) continue;
    text += fmt::format("{}{} {}{} %", text.empty() ? "" : ", ", step_part_text(part, answer.best_share),
                        two ? percent(answer.baseline_share, part) + " -> " : "", percent(answer.best_share, part));
  }
  out << fmt::format("A step    {}\n", text);
}

/// What is changed on purpose in what an epoch teaches, where only the time of an epoch is minimised. Empty: nothing.
std::string taught_otherwise(const tuner::Answer& answer) {
  std::vector<std::string> names;
  const auto levers = own_command(answer).levers;
  for (const tuner::Change& change : answer.changes) {
    const auto lever = levers.find(change.parameter);
    if (lever != levers.end() && lever->second.changes == measure::kChangesLearning) names.push_back(change.parameter);
  }
  if (answer.target || names.empty()) return {};
  return fmt::format(
      "what {} {} to an epoch's learning is not judged: tune with --accuracy REGEX --target X for the time until it is "
      "as accurate as you want",
      fmt::join(names, " and "), names.size() == 1 ? "does" : "do");
}

/// Whether a changed script learns as it does unchanged.
void print_judged_learning(const Context& context, const tuner::Answer& answer) {
  std::vector<std::string> sentences;
  if (answer.learning) {
    const bool same = answer.learning->learning == measure::Learning::Same;
    sentences.push_back((same ? "as the script unchanged: " : "not judged, compare it before you deploy: ") +
                        one_line(answer.learning->sentence));
  }
  if (std::string otherwise = taught_otherwise(answer); !otherwise.empty()) sentences.push_back(std::move(otherwise));
  if (!sentences.empty()) print_line(context, "Learning", fmt::format("{}", fmt::join(sentences, "; ")));
}

std::string_view learning_verdict(const measure::AccuracyDifference& difference, double margin) {
  if (difference.inferior) return "inferior";
  return difference.at_most <= margin ? "holds" : "undecided";
}

void print_learning(std::ostream& out, const tuner::Answer& answer, bool colour) {
  const auto difference = tuner::accuracy_difference(answer);
  if (!difference) return;
  const auto verdict = learning_verdict(*difference, answer.accuracy_margin);
  const std::string text = fmt::format("{}, {:g} lower allowed: {}",
                                       accuracy_change(difference->lower, difference->at_least, difference->at_most),
                                       answer.accuracy_margin, verdict);
  out << "Accuracy  " << coloured(text, verdict == "holds" ? Style::Good : Style::Warning, colour) << '\n';
}

nlohmann::json learning_json(const tuner::Answer& answer) {
  const auto difference = tuner::accuracy_difference(answer);
  if (!difference) return nullptr;
  return {{"lower_points", difference->lower},
          {"low", difference->at_least},
          {"high", difference->at_most},
          {"confidence", tuner::kPageConfidence},
          {"allowed_points", answer.accuracy_margin},
          {"verdict", learning_verdict(*difference, answer.accuracy_margin)}};
}

nlohmann::json judged_learning_json(const tuner::Answer& answer) {
  if (!answer.learning) return nullptr;
  return {{"verdict", measure::to_text(answer.learning->learning)}, {"why", answer.learning->sentence}};
}

nlohmann::json next_hour_json(const std::optional<tuner::NextHour>& hour) {
  if (!hour) return nullptr;
  return {{"pairs", hour->pairs}, {"resolution_percent", hour->resolution_percent}};
}

void print_price(const Context& context, const tuner::Price& price) {
  std::string text = space::counted(price.search, "process", "processes") + " for the search";
  for (const auto& [count, what] : {std::pair{price.references, "of the default in turns with them"},
                                    {price.choice, "to choose"},
                                    {price.verdict, "for the gain"},
                                    {price.gate, "to see whether they train rightly"}}) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  }
  if (price.next_hour) {
    text += fmt::format("; another hour of pairs ({}) would tell a gain of {:.2g} %", price.next_hour->pairs,
                        price.next_hour->resolution_percent);
  }
  print_line(context, "Price", text);
}

constexpr std::size_t kFailureGroups = 3;        // lines of reasons: the page is one screen
constexpr std::size_t kFailureNumbers = 4;       // of a group's trials
constexpr std::size_t kFailureReasonWidth = 90;  // characters

/// "trial 4", "trials 4, 7", "91 trials (16, 17, 48, 49, …)"
std::string trials_text(const tuner::FailureGroup& group) {
  if (group.trials.size() == 1) return fmt::format("trial {}", group.trials.front());
  const auto named = std::span(group.trials).first(std::min(kFailureNumbers, group.trials.size()));
  const std::string numbers = fmt::format("{}", fmt::join(named, ", "));
  if (named.size() == group.trials.size()) return "trials " + numbers;
  return fmt::format("{} trials ({}, …)", group.trials.size(), numbers);
}

}  // namespace

std::string target_text(const tuner::TargetAnswer::Side& side) {
  const auto seconds = [](double low, double high) {
    return fmt::format("{} to {}", seconds_text(low), seconds_text(high));
  };
  return fmt::format("{:.2g} epochs ({:.2g} to {:.2g}) in {} ({}); one training in {}", side.epochs.mean,
                     side.epochs.low, side.epochs.high, seconds_text(side.time.seconds),
                     seconds(side.time.low, side.time.high), seconds(side.time.next_low, side.time.next_high));
}

nlohmann::json target_side_json(const std::optional<tuner::TargetAnswer::Side>& side) {
  if (!side) return nullptr;
  return {{"epochs", side->epochs.mean},
          {"epochs_low", side->epochs.low},
          {"epochs_high", side->epochs.high},
          {"seconds", side->time.seconds},
          {"seconds_low", side->time.low},
          {"seconds_high", side->time.high},
          {"one_training_low", side->time.next_low},
          {"one_training_high", side->time.next_high},
          {"curves", side->epochs.reached + side->epochs.censored},
          {"censored", side->epochs.censored}};
}

std::string accuracy_change(double lower, double at_least, double at_most) {
  const auto direction = [](double points) { return points < 0 ? "higher" : "lower"; };
  // A bound that rounds to nothing lies on either side.
  const bool one_side = lower < 0 ? at_most < 0.005 : at_least > -0.005;
  const auto side = std::minmax({std::abs(at_least), std::abs(at_most)});
  const std::string interval = one_side ? fmt::format("{:.2f} to {:.2f}", side.first, side.second)
                                        : fmt::format("{:.2f} {} to {:.2f} {}", std::abs(at_most), direction(at_most),
                                                      std::abs(at_least), direction(at_least));
  return fmt::format("{:.2f} points {} than the default ({})", std::abs(lower), direction(lower), interval);
}

std::string page_scope(const tuner::Answer& answer) {
  return fmt::format("times of {}, {:g} % intervals",
                     timed_whole(answer) ? "one run" : horizon_text(answer.objective, answer.objective.primary),
                     100 * tuner::kPageConfidence);
}

namespace {

std::string of_target(const tuner::Answer& answer) {
  return answer.target ? fmt::format(" to {:.2f} %", 100 * answer.target->accuracy) : std::string();
}

/// Where its pairs were measured, if on several nodes; else empty.
std::string on_nodes(const tuner::Answer& answer) {
  if (!answer.nodes) return {};
  return fmt::format(" on {} {} of this class{}", answer.nodes->nodes, answer.nodes->called,
                     answer.nodes->differs ? ", between which the gain differs by more than noise" : "");
}

nlohmann::json verified_gain_json(const tuner::Answer& answer) {
  if (!answer.verdict) return nullptr;
  nlohmann::json gain = {{"verdict", answer.verdict->verdict},
                         {"percent", tuner::gain_percent(answer.verdict->log_ratio_mean)},
                         {"low_percent", tuner::gain_percent(answer.verdict->log_ratio_high)},
                         {"high_percent", tuner::gain_percent(answer.verdict->log_ratio_low)},
                         {"confidence", answer.verdict->confidence},
                         {"pairs", answer.verdict->pairs}};
  if (answer.nodes) {
    gain["nodes"] = answer.nodes->nodes;
    gain["differs_by_node"] = answer.nodes->differs;
  }
  return gain;
}

}  // namespace

std::string gain_sentence(const tuner::Answer& answer) {
  if (!answer.best) return "no configuration has trained yet";
  if (!answer.baseline || answer.baseline->trial.outcome != space::Outcome::Ok)
    return "the default configuration did not train, so there is nothing to compare with";
  if (answer.best->id == answer.baseline->id) {
    return answer.campaign.finished <= 1 ? "nothing but the default configuration has been measured"
                                         : "the default configuration is the best of those tried";
  }
  if (!answer.verdict) {
    const double ratio = space::total_time(*answer.baseline->trial.parts, answer.objective.primary) /
                         space::total_time(*answer.best->trial.parts, answer.objective.primary);
    const tuner::CampaignSections sections = tuner::sections_of(answer.campaign.spec);
    const bool no_time =
        answer.campaign.finished_unix_ns && !answer.comparison && (sections.budget.wall || sections.budget.until);
    return fmt::format("looks {:.2f} times as fast as the default{}, {}", ratio, of_target(answer),
                       no_time ? fmt::format("not measured again: its time was too short for {} pairs with the default",
                                             tuner::fewest_pairs(sections.verify))
                       : answer.compared ? "no verdict yet"
                                         : "not yet measured again");
  }
  const db::VerdictRecord& verdict = *answer.verdict;
  const double gain = tuner::gain_percent(verdict.log_ratio_mean);
  const std::string numbers = fmt::format("{:+.1f} %, {:+.1f} to {:+.1f} %, {} pairs of fresh processes{}", gain,
                                          tuner::gain_percent(verdict.log_ratio_high),
                                          tuner::gain_percent(verdict.log_ratio_low), verdict.pairs, on_nodes(answer));
  if (verdict.verdict == "faster")
    return fmt::format("{:.2f} times as fast as the default{} ({})", 1 + gain / 100, of_target(answer), numbers);
  // The default costs nothing to explain or to keep, so a tie goes to it.
  if (verdict.verdict == "same") return fmt::format("as fast as the default ({}): keep the default", numbers);
  if (verdict.verdict == "slower")
    return fmt::format("slower than the default when measured again ({}): keep the default", numbers);
  return fmt::format("undecided against the default ({})", numbers);
}

std::string compared_sentence(const tuner::Answer& answer) {
  const std::string& verdict = answer.compared->verdict;
  return fmt::format("{} in your own pairs: {}{}", verdict == "same" ? "as fast" : verdict, gain_text(*answer.compared),
                     answer.verdict ? "" : "; how it trains was not checked");
}

void print_answer(const Context& context, const tuner::Answer& answer) {
  std::ostream& out = *context.out;
  const bool colour = context.colour_out();
  const db::CampaignSummary& campaign = answer.campaign;
  out << coloured(fmt::format("{}, generation {}", campaign.name, campaign.generation), Style::Strong, colour)
      << fmt::format("{}: {}\n", campaign.finished_unix_ns ? "" : " (not finished)", page_scope(answer));
  if (!answer.best) {
    if (answer.baseline) print_trial_line(out, "Default", answer, *answer.baseline, {});
    print_failures(context, answer);
    return;
  }
  out << "Gain      "
      << coloured(gain_sentence(answer), answer.verified_faster() ? Style::Good : Style::Warning, colour) << '\n';
  if (answer.compared) print_line(context, "Compared", compared_sentence(answer));
  print_trial_line(out, "Best", answer, *answer.best, answer.best_accuracy);
  if (answer.baseline && answer.baseline->id != answer.best->id) {
    print_trial_line(out, "Default", answer, *answer.baseline, answer.baseline_accuracy);
    print_disturbed(context, answer);
  }
  print_target(context, answer);
  print_learning(out, answer, colour);
  print_judged_learning(context, answer);
  if (answer.changes.empty()) {
    out << "Settings  " << settings_line(answer.best->trial.configuration) << '\n';
  } else {
    out << fmt::format("Changed   {} of {} settings\n", answer.changes.size(),
                       tuner::parameters_of(campaign.spec).size());
    print_changes(context, answer);
  }
  print_own_command(context, answer);
  print_data_wait(out, answer);
  print_step_share(out, answer);
  if (answer.ranking && std::ranges::count_if(answer.ranking->levels, trained_any) > 1)
    print_ranking(context, campaign, *answer.ranking);
  print_failures(context, answer);
  print_price(context, answer.price);
}

nlohmann::json answer_json(const tuner::Answer& answer) {
  const auto trial_json =
      [&](const std::optional<db::StoredTrial>& trial, const std::optional<space::Accuracy>& accuracy,
          const std::optional<measure::DataWait>& wait, const std::map<std::string, double>& share) -> nlohmann::json {
    if (!trial) return nullptr;
    nlohmann::json json = {{"trial", trial->trial.number},
                           {"configuration", trial->trial.configuration.to_json()},
                           {"outcome", space::to_text(trial->trial.outcome)}};
    if (!trial->trial.reason.empty()) json["reason"] = trial->trial.reason;
    if (const auto& parts = trial->trial.parts) {
      json["seconds"] = space::total_time(*parts, answer.objective.primary);
      json["parts_s"] = parts_row(*parts);
      json["steps_per_epoch"] = parts->steps_per_epoch;
      if (wait)
        json["data_wait"] = {{"step_s", wait->step_seconds},
                             {"share", wait->share},
                             {"seconds", measure::data_wait_seconds(*wait, *parts, answer.objective.primary)}};
    }
    if (accuracy) json["accuracy"] = accuracy->accuracy;
    if (!share.empty()) json["step_share"] = share;
    return json;
  };
  nlohmann::json json = {
      {"campaign", answer.campaign.name},
      {"generation", answer.campaign.generation},
      {"finished", answer.campaign.finished_unix_ns.has_value()},
      {"epochs", answer.objective.primary},
      {"best", trial_json(answer.best, answer.best_accuracy, answer.best_wait, answer.best_share)},
      {"default", trial_json(answer.baseline, answer.baseline_accuracy, answer.baseline_wait, answer.baseline_share)},
      {"gain", verified_gain_json(answer)},
      {"target", target_json(answer)},
      {"accuracy", learning_json(answer)},
      {"learning", judged_learning_json(answer)},
      {"changes", nlohmann::json::array()},
      {"outcomes", nlohmann::json::object()},
      {"processes",
       {{"search", answer.price.search},
        {"references", answer.price.references},
        {"choice", answer.price.choice},
        {"verdict", answer.price.verdict},
        {"gate", answer.price.gate},
        {"next_hour", next_hour_json(answer.price.next_hour)}}}};
  for (const tuner::Change& change : answer.changes) {
    json["changes"].push_back({{"parameter", change.parameter},
                               {"default", change.from ? space::to_json(*change.from) : nlohmann::json()},
                               {"best", change.to ? space::to_json(*change.to) : nlohmann::json()}});
  }
  for (const auto& [outcome, count] : answer.outcomes) json["outcomes"][std::string(space::to_text(outcome))] = count;
  if (answer.ranking) json["ranking"] = ranking_json(*answer.ranking);
  if (answer.compared) json["compared"] = gain_json(answer.compared);
  return json;
}

void print_failures(const Context& context, const tuner::Answer& answer) {
  std::ostream& out = *context.out;
  std::int64_t all = 0;
  std::string counts;
  for (const auto& [outcome, count] : answer.outcomes) {
    all += count;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, space::to_text(outcome));
  }
  out << fmt::format("Tried     {} configuration{}: {}\n", all, all == 1 ? "" : "s", counts);
  const std::vector<tuner::FailureGroup> groups = tuner::grouped(answer.failures);
  std::size_t left = answer.failures.size();
  for (const tuner::FailureGroup& group : std::span(groups).first(std::min(kFailureGroups, groups.size()))) {
    left -= group.trials.size();
    out << fmt::format("          {}: {}: {}\n", trials_text(group), space::to_text(group.outcome),
                       shortened(one_line(group.reason), kFailureReasonWidth));
  }
  // One failure stands above in full; a list of it would say nothing more.
  if (answer.failures.size() < 2) return;
  out << fmt::format("          {}:\n", left > 0 ? fmt::format("and {} more", left) : "all of them");
  print_command(context, "",
                tuner::command_text("list", fmt::format("trials {} --outcome failed", words_for(answer.campaign))));
}

}  // namespace nocturne::cli
