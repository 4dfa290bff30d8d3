#include "tuner/cli/subcommands/pareto.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/campaign/answer/tradeoffs.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/tradeoffs_page.hpp"

namespace nocturne::cli {
namespace {

std::vector<tuner::Reached> accuracies(const db::Store& store, const std::vector<db::StoredTrial>& trials) {
  std::vector<tuner::Reached> reached;
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

}  // namespace

void setup(CLI::App& subcommand, ParetoOptions& options) {
  add_campaign_choice(subcommand, options.campaign);
  subcommand
      .add_option("--wanted", options.wanted,
                  "time:EPOCHS, throughput, memory, accuracy:SHARE (default: time at the campaign's horizons, "
                  "throughput, memory)")
      ->type_name("LIST")
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

ExitCode run(const ParetoOptions& options, Context& context) {
  const auto opened = open_campaign(context, options.campaign);
  if (!opened) return opened.error();
  const auto& [store, campaign] = *opened;
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
  std::vector<tuner::Reached> reached;
  if (std::ranges::find(wishes, tuner::Wish::Kind::Accuracy, &tuner::Wish::kind) != wishes.end()) {
    auto found = accuracies(store, trials);
    reached = std::move(found);
  }
  TradeoffsPage page{.campaign = campaign,
                     .defaults = tuner::default_settings_of(store, campaign),
                     .wishes = wishes,
                     .tradeoffs = tuner::weigh(trials, wishes, reached, tuner::workload_of(campaign.spec)),
                     .trials = trials,
                     .reigns = tuner::reigns_beyond_noise(trials),
                     .break_evens = {}};
  auto break_evens = tuner::stored_break_evens(store, campaign, trials);
  page.break_evens = std::move(break_evens);
  if (context.json) {
    print_json(context, "pareto", tradeoffs_json(page));
  } else {
    print_tradeoffs(context, page);
  }
  return trials.empty() ? ExitCode::NotFound : ExitCode::Ok;
}

}  // namespace nocturne::cli
