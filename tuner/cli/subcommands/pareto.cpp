// `nocturne pareto [CAMPAIGN] [--wanted time:12,memory]`: what is best for whom, and from how many epochs on.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/answer/tradeoffs.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

struct ParetoOptions {
  CampaignChoice campaign;
  std::vector<std::string> wanted;  ///< empty: the horizons of the campaign, throughput and memory
};

struct TradeoffsPage {
  db::CampaignSummary campaign;
  tuner::DefaultSettings defaults;
  std::vector<tuner::Wish> wishes;
  tuner::Tradeoffs tradeoffs;
  std::vector<db::StoredTrial> trials;  ///< what `reigns` counts in
  std::vector<tuner::Reign> reigns;
  std::vector<tuner::TrialBreakEven> break_evens;
};

using measure::Lead;
using nlohmann::json;

std::string wish_value_text(const tuner::Wish& wish, const std::optional<double>& value) {
  if (!value) return "–";
  switch (wish.kind) {
    case tuner::Wish::Kind::Throughput:
      return fmt::format("{:.0f} examples/s", *value);
    case tuner::Wish::Kind::Memory:
      return bytes_text(static_cast<std::int64_t>(*value));
    case tuner::Wish::Kind::Time:
    case tuner::Wish::Kind::Accuracy:
      break;
  }
  return seconds_text(*value);
}

const char* lead_word(Lead lead) {
  switch (lead) {
    case Lead::Baseline:
      return "baseline";
    case Lead::Candidate:
      return "candidate";
    case Lead::Open:
      break;
  }
  return "open";
}

/// The trials of a group of rows behind its first: "7, 9".
std::string trials_text(const TradeoffsPage& page, std::span<const std::size_t> group) {
  std::string text;
  for (const std::size_t row : group.subspan(1))
    text += fmt::format("{}{}", text.empty() ? "" : ", ", page.tradeoffs.front[row].trial.trial.number);
  return text;
}

/// The best row for a wish, then those whose value is within noise of it.
std::vector<std::size_t> best_for(const TradeoffsPage& page, std::size_t wish) {
  const auto& front = page.tradeoffs.front;
  std::vector<std::size_t> rows = {*page.tradeoffs.best[wish]};
  for (std::size_t row = 0; row < front.size(); ++row)
    if (row != rows.front() && tuner::alike(front[rows.front()], front[row], page.wishes, wish)) rows.push_back(row);
  return rows;
}

void print_front(const Context& context, const TradeoffsPage& page) {
  std::vector<Column> columns = {{"trial", Align::Right}};
  for (const tuner::Wish& wish : page.wishes) columns.push_back({wish.text, Align::Right});
  columns.push_back({"settings", Align::Left, Fit::Wraps});
  const auto groups = tuner::groups_of(page.tradeoffs.front, page.wishes);
  const bool any_alike = groups.size() < page.tradeoffs.front.size();
  if (any_alike) columns.push_back({"as good", Align::Left, Fit::Wraps});
  Table table(std::move(columns));
  for (const auto& group : groups) {
    const tuner::TradeoffRow& row = page.tradeoffs.front[group.front()];
    std::vector<Cell> cells = {Cell(fmt::format("{}", row.trial.trial.number))};
    for (std::size_t i = 0; i < page.wishes.size(); ++i)
      cells.emplace_back(wish_value_text(page.wishes[i], row.values[i]));
    cells.emplace_back(page.defaults.text(row.trial.trial.configuration));
    if (any_alike) cells.emplace_back(trials_text(page, group));
    table.add(std::move(cells));
  }
  table.print(context);
}

json row_json(const TradeoffsPage& page, const tuner::TradeoffRow& row) {
  json values = json::object();
  for (std::size_t i = 0; i < page.wishes.size(); ++i)
    values[page.wishes[i].text] = row.values[i] ? json(*row.values[i]) : json(nullptr);
  return {{"trial", row.trial.trial.number},
          {"configuration", row.trial.trial.configuration.to_json()},
          {"values", values}};
}

void print_tradeoffs(const Context& context, const TradeoffsPage& page) {
  std::ostream& out = *context.out;
  out << fmt::format("{}, generation {}: what is best depends on what is wanted\n\n", page.campaign.name,
                     page.campaign.generation);
  if (page.tradeoffs.front.empty()) {
    out << fmt::format("No trial has a value for all of it ({} that trained lack one).\n", page.tradeoffs.incomplete);
    return;
  }
  Table best({{"wanted"}, {"best", Align::Right}, {"trial", Align::Right}, {"within noise", Align::Left, Fit::Wraps}});
  for (std::size_t i = 0; i < page.wishes.size(); ++i) {
    const std::vector<std::size_t> rows = best_for(page, i);
    const tuner::TradeoffRow& row = page.tradeoffs.front[rows.front()];
    best.add({Cell(page.wishes[i].text, Style::Strong), Cell(wish_value_text(page.wishes[i], row.values[i])),
              Cell(fmt::format("{}", row.trial.trial.number)), Cell(trials_text(page, rows))});
  }
  best.print(context);
  out << fmt::format("\nNothing beats these in all of it ({} of {} configurations", page.tradeoffs.front.size(),
                     page.tradeoffs.considered);
  if (page.tradeoffs.incomplete > 0) out << fmt::format("; {} more lack a value", page.tradeoffs.incomplete);
  out << ")\n";
  print_front(context, page);
  out << "\nFastest by the number of epochs, beyond the noise of single runs\n";
  for (const tuner::Reign& reign : page.reigns)
    out << fmt::format("  from {:>6.0f} on  trial {}\n", reign.from, page.trials[reign.trial].trial.number);
  if (page.break_evens.empty()) return;
  out << "\nFrom pairs of fresh processes\n";
  for (const tuner::TrialBreakEven& each : page.break_evens) out << "  " << tuner::to_text(each) << '\n';
}

/// README.md of tuner/cli describes its keys.
nlohmann::json tradeoffs_json(const TradeoffsPage& page) {
  json document = {{"campaign", page.campaign.name},
                   {"generation", page.campaign.generation},
                   {"wanted", json::array()},
                   {"best", json::object()},
                   {"front", json::array()},
                   {"considered", page.tradeoffs.considered},
                   {"incomplete", page.tradeoffs.incomplete},
                   {"fastest", json::array()},
                   {"break_evens", json::array()}};
  for (std::size_t i = 0; i < page.wishes.size(); ++i) {
    const auto& best = page.tradeoffs.best[i];
    document["wanted"].push_back(page.wishes[i].text);
    document["best"][page.wishes[i].text] = best ? json(page.tradeoffs.front[*best].trial.trial.number) : json(nullptr);
  }
  for (const tuner::TradeoffRow& row : page.tradeoffs.front) document["front"].push_back(row_json(page, row));
  for (const tuner::Reign& reign : page.reigns)
    document["fastest"].push_back({{"from_epochs", reign.from}, {"trial", page.trials[reign.trial].trial.number}});
  for (const tuner::TrialBreakEven& each : page.break_evens) {
    const measure::BreakEven& found = each.result;
    document["break_evens"].push_back({{"baseline", each.baseline},
                                       {"candidate", each.candidate},
                                       {"pairs", each.pairs},
                                       {"confidence", each.confidence},
                                       {"at_first", lead_word(found.at_first)},
                                       {"at_last", lead_word(found.at_last)},
                                       {"epochs", found.epochs ? json(*found.epochs) : json(nullptr)},
                                       {"low", found.low},
                                       {"high", std::isfinite(found.high) ? json(found.high) : json(nullptr)},
                                       {"sentence", tuner::to_text(each)}});
  }
  return document;
}

std::vector<tuner::ReachedAccuracy> accuracies(const db::Store& store, const std::vector<db::StoredTrial>& trials) {
  std::vector<tuner::ReachedAccuracy> reached;
  for (const db::StoredTrial& trial : trials) {
    const auto detail = store.load_trial(trial.id);
    for (const db::StoredRun& stored : detail.runs) {
      const space::Run& run = stored.record.run;
      if (!run.accuracy || run.epochs.empty()) continue;
      reached.push_back(
          {.trial = trial.id, .epochs = static_cast<double>(run.epochs.size()), .accuracy = run.accuracy->accuracy});
    }
  }
  return reached;
}

void setup(CLI::App& subcommand, ParetoOptions& options) {
  add_campaign_choice(subcommand, options.campaign);
  add_value(subcommand, "--wanted", options.wanted, "LIST",
            "time:EPOCHS, throughput, memory, accuracy:SHARE (default: time at the campaign's horizons, "
            "throughput, memory)")
      ->delimiter(',');
  subcommand.footer(
      "The fastest for one epoch need not be the fastest for ninety, nor fit beside something else. Shown are the\n"
      "best for each wish, the configurations that no other beats in all of them, and which is fastest for how many\n"
      "epochs. accuracy:0.97 is the time until that share of the test set is right. It is known only of\n"
      "configurations that trained whole epochs, as finalists do. Single runs are compared here: close ones need\n"
      "pairs.\n"
      "\n"
      "Examples:\n"
      "  nocturne pareto\n"
      "  nocturne pareto mnist-evening --wanted time:12,memory\n"
      "  nocturne pareto --json | jq '.front[].trial'\n");
}

/// NotFound where nothing has trained yet.
ExitCode run(const ParetoOptions& options, Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  require_horizons(context, campaign);
  std::vector<std::string> wanted = options.wanted;
  if (wanted.empty()) {
    for (const double epochs : tuner::objective_of(campaign.spec).epochs)
      wanted.push_back(fmt::format("time:{:g}", epochs));
    wanted.insert(wanted.end(), {"throughput", "memory"});
  }
  std::vector<tuner::Wish> wishes;
  for (const std::string& text : wanted) {
    auto wish = tuner::parse_wish(text);
    if (!wish) {
      *context.err << "nocturne pareto: --wanted: " << wish.error() << '\n';
      return ExitCode::Usage;
    }
    wishes.push_back(*std::move(wish));
  }
  const auto trials = store.list_trials({.campaign = campaign.id, .outcome = space::Outcome::Ok});
  std::vector<tuner::ReachedAccuracy> reached;
  if (std::ranges::find(wishes, tuner::Wish::Kind::Accuracy, &tuner::Wish::kind) != wishes.end()) {
    auto found = accuracies(store, trials);
    reached = std::move(found);
  }
  const TradeoffsPage page{.campaign = campaign,
                           .defaults = tuner::default_settings_of(store, campaign),
                           .wishes = wishes,
                           .tradeoffs = tuner::weigh(trials, wishes, reached, tuner::workload_of(campaign.spec)),
                           .trials = trials,
                           .reigns = tuner::reigns_beyond_noise(trials),
                           .break_evens = tuner::stored_break_evens(store, campaign, trials)};
  if (context.json)
    print_json(context, "pareto", tradeoffs_json(page));
  else
    print_tradeoffs(context, page);
  return trials.empty() ? ExitCode::NotFound : ExitCode::Ok;
}

}  // namespace

SubcommandAction add_pareto(CLI::App& subcommand) {
  return add_options<ParetoOptions>(subcommand);
}

}  // namespace nocturne::cli
