// `nocturne explain [CAMPAIGN]`: which parameters made the difference, as far as the trials show it.
// `nocturne explain CONFIGURATION|TRIAL [CAMPAIGN]`: what the model says of one configuration.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/learned_campaign.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/explaining/effects.hpp"
#include "tuner/cli/explaining/explanation.hpp"
#include "tuner/cli/output/answer_page.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

struct ExplainOptions {
  std::string what;  ///< a configuration, a trial's number, or the campaign's name
  CampaignChoice campaign;
  std::optional<double> epochs;
};

using nlohmann::json;

std::string value_text(const std::optional<space::Value>& value) {
  return value ? space::to_text(*value) : "(inactive)";
}

json value_json(const std::optional<space::Value>& value) {
  return value ? space::to_json(*value) : json(nullptr);
}

json effect_json(const ParameterEffect& effect) {
  json values = json::array();
  for (const ValueEffect& each : effect.values) {
    json row = {{"value", value_json(each.value)},
                {"measured", each.measured},
                {"failed", each.failed},
                {"seconds", nullptr},
                {"alone", nullptr}};
    if (each.measured > 0) row["seconds"] = {{"mean", each.mean}, {"fastest", each.fastest}, {"slowest", each.slowest}};
    if (each.ratio) row["alone"] = {{"time_ratio", *each.ratio}, {"pairs", each.matched}};
    values.push_back(row);
  }
  return {{"parameter", effect.parameter}, {"default", value_json(effect.default_value)}, {"values", values}};
}

/// Mean time of the slowest value over the fastest one's: how much the parameter seems to matter.
double reach(const ParameterEffect& effect) {
  double fastest = 0;
  double slowest = 0;
  for (const ValueEffect& each : effect.values) {
    if (each.measured > 0) {
      fastest = fastest == 0 ? each.mean : std::min(fastest, each.mean);
      slowest = std::max(slowest, each.mean);
    }
  }
  return fastest > 0 ? slowest / fastest : 0;
}

void print_changes(const Context& context, const tuner::Answer& answer) {
  std::ostream& out = *context.out;
  if (!answer.best || !answer.baseline) return;
  out << "Best against default: " << gain_sentence(answer) << "\n\n";
  if (answer.changes.empty()) return;
  Table table({{"parameter"}, {"default"}, {"best"}});
  for (const tuner::Change& change : answer.changes)
    table.add({Cell(change.parameter, Style::Strong), Cell(value_text(change.from)), Cell(value_text(change.to))});
  table.print(context);
  out << '\n';
}

void print_effect(const ParameterEffect& effect, bool any_failed, Table& table) {
  bool first = true;
  for (const ValueEffect& each : effect.values) {
    const bool is_default = each.value == effect.default_value;
    const auto seconds = [&each](double value) { return Cell(each.measured > 0 ? seconds_text(value) : "–"); };
    std::vector<Cell> row = {
        first ? Cell(effect.parameter, Style::Strong) : Cell(""),
        Cell(value_text(each.value) + (is_default ? " *" : "")),
        Cell(fmt::format("{}", each.measured)),
        seconds(each.mean),
        seconds(each.fastest),
        seconds(each.slowest),
        each.ratio ? Cell(fmt::format("×{:.3f}", *each.ratio), *each.ratio < 1 ? Style::Good : Style::Plain)
                   : Cell(is_default ? "×1" : "–"),
        Cell(each.matched > 0 ? fmt::format("{}", each.matched) : "–")};
    if (any_failed) row.push_back(each.failed > 0 ? Cell(fmt::format("{}", each.failed), Style::Bad) : Cell("0"));
    table.add(std::move(row));
    first = false;
  }
}

void print_effects(const Context& context, const tuner::Answer& answer, const std::vector<ParameterEffect>& effects) {
  *context.out << fmt::format("{}, generation {}: {}\n", answer.campaign.name, answer.campaign.generation,
                              page_scope(answer));
  print_changes(context, answer);
  const bool any_failed = std::ranges::any_of(effects, [](const ParameterEffect& effect) {
    return std::ranges::any_of(effect.values, [](const ValueEffect& each) { return each.failed > 0; });
  });
  std::vector<Column> columns = {{"parameter"},
                                 {"value", Align::Left, Fit::Wraps},
                                 {"trials", Align::Right},
                                 {"mean", Align::Right},
                                 {"fastest", Align::Right},
                                 {"slowest", Align::Right},
                                 {"alone", Align::Right},
                                 {"pairs", Align::Right}};
  if (any_failed) columns.push_back({"failed", Align::Right});
  Table table(std::move(columns));
  for (const ParameterEffect& effect : effects) print_effect(effect, any_failed, table);
  if (table.empty()) return;
  *context.out << "Time by value of each parameter\n";
  table.print(context);
}

ExitCode explain_all(const ExplainOptions& options, const db::Store& store, const db::CampaignSummary& campaign,
                     const Context& context) {
  const auto answer = tuner::answer_of(store, campaign, options.epochs);
  const auto stored = store.list_trials({.campaign = campaign.id, .state = db::TrialState::Finished});
  if (stored.empty())
    return complain(context, ExitCode::NotFound, fmt::format("no trial of '{}' has finished yet", campaign.name));
  std::vector<space::Trial> trials;
  for (const db::StoredTrial& each : stored) trials.push_back(each.trial);
  auto effects = effects_of(trials, answer.objective.primary);
  std::ranges::stable_sort(effects, std::greater{}, reach);
  if (context.json) {
    json document = answer_json(answer);
    document["effects"] = json_list(effects, effect_json);
    print_json(context, "explain", document);
  } else {
    print_effects(context, answer, effects);
  }
  return ExitCode::Ok;
}

ExitCode explain_one(const ExplainOptions& options, const db::Store& store, const db::CampaignSummary& campaign,
                     const Context& context) {
  const auto learned = value_or_refuse(context, ExitCode::NotFound, tuner::learn_from(store, campaign));
  const bool names_trial = whole_number(0)(options.what).empty();
  auto explanation =
      value_or_refuse(context, names_trial ? ExitCode::NotFound : ExitCode::Usage, explain(*learned, options.what));
  if (explanation.measured) explanation.target = tuner::expected_training(store, campaign, *explanation.measured);
  if (context.json) {
    nlohmann::json document = explanation_json(explanation);
    document["without"] = learned->without;
    print_json(context, "explain-configuration", document);
  } else {
    print_explanation(context, *learned, explanation);
  }
  return ExitCode::Ok;
}

void setup(CLI::App& subcommand, ExplainOptions& options) {
  add_value(subcommand, "what", options.what, "CONFIGURATION|TRIAL",
            "A configuration (name=value,…; the rest as in the best) or a trial's number: what the model says of it");
  add_campaign_choice(subcommand, options.campaign);
  add_value(subcommand, "--epochs", options.epochs, "N",
            "Explain the time of this many epochs (default: the campaign's own)", positive_number());
  subcommand.footer(
      "'mean' averages all trials with a value and mixes in whatever else they had; 'alone' compares trials that\n"
      "are equal but for the parameter, with the default's value. * marks the default.\n\n"
      "Examples:\n"
      "  nocturne explain\n"
      "  nocturne explain mnist-evening --epochs 1\n"
      "  nocturne explain 17\n"
      "  nocturne explain precision=bf16,threads=4 mnist-evening\n");
}

/// NotFound where no trial has finished; Usage where the configuration is none.
ExitCode run(const ExplainOptions& options, Context& context) {
  const auto store = open_database(context);
  // The first word may be the campaign: what names a configuration has a '=' in it, or is a number.
  const bool one = names_configuration(options.what);
  CampaignChoice choice = options.campaign;
  if (!one && !options.what.empty()) {
    if (!choice.name.empty()) {
      return complain(context, ExitCode::Usage,
                      fmt::format("'{}' is no configuration (name=value,…) and no trial's number", options.what));
    }
    choice.name = options.what;
  }
  const auto campaign = choose_campaign(context, store, choice);
  return one ? explain_one(options, store, campaign, context) : explain_all(options, store, campaign, context);
}

}  // namespace

SubcommandAction add_explain(CLI::App& subcommand) {
  return add_options<ExplainOptions>(subcommand);
}

}  // namespace nocturne::cli
