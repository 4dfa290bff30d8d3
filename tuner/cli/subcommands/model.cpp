// `nocturne model [CAMPAIGN]`: what the linear model has learnt of a campaign, and how far it can be trusted.

#include "tuner/cli/subcommand.hpp"

#include <CLI/CLI.hpp>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/model_page.hpp"

namespace nocturne::cli {
namespace {

struct ModelOptions {
  CampaignChoice campaign;
};

void setup(CLI::App& subcommand, ModelOptions& options) {
  add_campaign_choice(subcommand, options.campaign);
  subcommand.footer(
      "Effects are averages over the rest of the space, all else equal: 'faster' counts speed, 'slower' time, each\n"
      "with its 90 % interval. Calibration leaves each trial out and asks how often the others' 90 % interval holds\n"
      "it.\n"
      "\n"
      "Examples:\n"
      "  nocturne model\n"
      "  nocturne model mnist-evening --json | jq .effects\n");
}

/// NotFound where too few trials worked.
ExitCode run(const ModelOptions& options, Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  const auto page = value_or_refuse(context, ExitCode::NotFound, model_page_of(store, campaign));
  if (context.json) {
    nlohmann::json document = model_json(page);
    document["campaign"] = campaign.name;
    document["generation"] = campaign.generation;
    print_json(context, "model", document);
  } else {
    print_model(context, campaign, page);
  }
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_model(CLI::App& subcommand) {
  return add_options<ModelOptions>(subcommand);
}

}  // namespace nocturne::cli
