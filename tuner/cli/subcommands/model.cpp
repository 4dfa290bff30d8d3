// `nocturne model [CAMPAIGN]`: what the linear model has learnt of a campaign, and how far it can be trusted.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "space/nearest.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/model_page.hpp"

namespace nocturne::cli {
namespace {

struct ModelOptions {
  CampaignChoice campaign;
  std::vector<std::string> interactions;  ///< "container,framework"
};

void setup(CLI::App& subcommand, ModelOptions& options) {
  add_campaign_choice(subcommand, options.campaign);
  add_value(subcommand, "--interaction", options.interactions, "FIRST,SECOND",
            "Show what FIRST costs by the value of SECOND, however little is known; may be given again")
      ->allow_extra_args(false);
  subcommand.footer(
      "Effects are averages over the rest of the space, all else equal: 'faster' counts speed, 'slower' time, each\n"
      "with its 90 % interval. Interactions say what a value costs where another parameter differs, as a container\n"
      "by framework; each of the four sides of such a combination must have three trials. Shown are the strongest,\n"
      "those between environment parameters, and those that are asked for. Calibration leaves each trial out and asks\n"
      "how often the others' 90 % interval holds it.\n"
      "\n"
      "Examples:\n"
      "  nocturne model\n"
      "  nocturne model mnist-evening --json | jq .effects\n"
      "  nocturne model deployments-cpu --interaction container,framework --interaction graph_compiler,batch\n");
}

/// Ends with Usage where one is not two parameters of the campaign.
AskedPairs asked_pairs(const ModelOptions& options, const db::CampaignSummary& campaign, const Context& context) {
  std::vector<std::string> names;
  for (const space::ParameterSpec& each : tuner::parameters_of(campaign.spec)) names.push_back(each.name);
  AskedPairs asked;
  for (const std::string& word : options.interactions) {
    const auto comma = word.find(',');
    if (comma == std::string::npos)
      refuse(context, ExitCode::Usage, fmt::format("--interaction {}: two parameters, FIRST,SECOND", word));
    auto pair = std::pair(word.substr(0, comma), word.substr(comma + 1));
    for (const std::string& name : {pair.first, pair.second})
      if (std::ranges::find(names, name) == names.end())
        refuse(context, ExitCode::Usage,
               fmt::format("--interaction {}: '{}' has no parameter '{}'{}", word, campaign.name, name,
                           space::did_you_mean(name, names)));
    if (pair.first == pair.second)
      refuse(context, ExitCode::Usage, fmt::format("--interaction {}: two different parameters", word));
    asked.push_back(std::move(pair));
  }
  return asked;
}

/// NotFound where too few trials worked.
ExitCode run(const ModelOptions& options, Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  const auto page = value_or_refuse(context, ExitCode::NotFound,
                                    model_page_of(store, campaign, asked_pairs(options, campaign, context)));
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
