// `nocturne best [CAMPAIGN] [--epochs N] [--by PARAMETER]`: the best configuration with its verdict against the
// default, or the levels of a parameter by the best measured with each.

#include "tuner/cli/subcommand.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "space/nearest.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/campaign/answer/ranking.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/answer_page.hpp"
#include "tuner/cli/output/expectation_lines.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/ranking_lines.hpp"

namespace nocturne::cli {
namespace {

struct BestOptions {
  CampaignChoice campaign;
  std::optional<double> epochs;  ///< another horizon than the campaign's own; composed of the parts of each trial
  std::string by{};              ///< a parameter; empty: the page of the best
};

/// NotFound where no level has trained yet.
ExitCode print_ranking_by(const BestOptions& options, Context& context, const db::Store& store,
                          const db::CampaignSummary& campaign) {
  const auto comparisons = store.comparisons(campaign.id);
  const double epochs = options.epochs.value_or(tuner::objective_of(campaign.spec).primary);
  const auto ranking = tuner::stored_ranking(store, campaign, options.by, comparisons, epochs);
  if (!ranking) {
    std::vector<std::string> names;
    for (const auto& each : tuner::parameters_of(campaign.spec)) names.push_back(each.name);
    return complain(context, ExitCode::Usage,
                    fmt::format("campaign '{}' has no parameter '{}'{}; its parameters: {}", campaign.name, options.by,
                                space::did_you_mean(options.by, names), fmt::join(names, ", ")));
  }
  if (context.json) {
    nlohmann::json document = ranking_json(*ranking);
    document["campaign"] = campaign.name;
    document["generation"] = campaign.generation;
    document["epochs"] = epochs;
    print_json(context, "best-by", document);
  } else {
    print_ranking(context, campaign, *ranking);
  }
  return !ranking->levels.empty() && ranking->levels.front().best ? ExitCode::Ok : ExitCode::NotFound;
}

void setup(CLI::App& subcommand, BestOptions& options) {
  add_campaign_choice(subcommand, options.campaign);
  add_value(subcommand, "--epochs", options.epochs, "N", "Best for this many epochs (default: the campaign's own)",
            positive_number());
  add_value(subcommand, "--by", options.by, "PARAMETER",
            "Rank the values of this parameter (framework, batch, …) by the best trial of each");
  subcommand.footer(
      "The best for one epoch need not be the best for ninety: what compiling costs is paid once. A ranking by\n"
      "framework or any other parameter has the best configuration of each: 'settings' is what it has and the default\n"
      "has not, '±' the standard error of its trial alone. Machines drift between single trials: the line below the\n"
      "table is the command that measures the first of them in pairs, and from then on their verdicts stand in the\n"
      "table.\n"
      "\n"
      "Examples:\n"
      "  nocturne best\n"
      "  nocturne best mnist-evening --epochs 90\n"
      "  nocturne best --by framework\n"
      "  nocturne best --json | jq .best.configuration\n");
}

/// NotFound where nothing has trained yet.
ExitCode run(const BestOptions& options, Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  if (options.epochs) require_horizons(context, campaign);
  if (!options.by.empty()) return print_ranking_by(options, context, store, campaign);
  const auto answer = tuner::answer_of(store, campaign, options.epochs);
  const auto expected = tuner::expectations_of(store, answer);
  if (context.json) {
    nlohmann::json document = answer_json(answer);
    add_expectations(document, expected);
    print_json(context, "best", document);
  } else {
    print_answer(context, answer);
    print_expectations(context, expected);
  }
  return answer.best ? ExitCode::Ok : ExitCode::NotFound;
}

}  // namespace

SubcommandAction add_best(CLI::App& subcommand) {
  return add_options<BestOptions>(subcommand);
}

}  // namespace nocturne::cli
