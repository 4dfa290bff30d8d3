#include "tuner/cli/measuring/preflight.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/preflight_page.hpp"
#include "tuner/preview/forecast.hpp"

namespace nocturne::cli {

void add_preflight(CLI::App& subcommand, PreflightOptions& options) {
  CLI::Option* only = subcommand.add_flag("--preflight", options.only,
                                          "Only prepare each software stack and train it three steps: a list of what "
                                          "passed and what failed, and nothing else");
  subcommand
      .add_flag("--no-preflight", options.none, "Do not check before the night, however long the campaign will be")
      ->excludes(only);
}

PreflightChoice choose_preflight(const PreflightOptions& options, const tuner::CampaignSpec& spec,
                                 const db::Store& store) {
  if (options.only) return PreflightChoice{.preflight = tuner::PreflightMode::Only};
  if (options.none) return PreflightChoice{};
  const auto length = tuner::planned_length(spec, store, std::chrono::system_clock::now());
  if (length && *length <= tuner::kWatched) return PreflightChoice{};
  PreflightChoice choice{.preflight = tuner::PreflightMode::First};
  if (length) choice.limit = *length / 10;
  return choice;
}

ExitCode report_preflight(const Context& context, const db::Store& store, const tuner::SessionResult& result) {
  const auto campaigns = store.list_campaigns();
  const auto campaign = std::ranges::find(campaigns, result.campaign, &db::CampaignSummary::id);
  if (campaign == campaigns.end() || !result.preflight) return ExitCode::NotFound;
  const auto records = store.preflights(result.campaign);
  if (context.json) {
    print_json(context, "tune-preflight", preflight_json(*campaign, records, *result.preflight));
  } else {
    print_preflight(context, records, *result.preflight);
  }
  return result.preflight->failed_stacks > 0 ? ExitCode::PreflightFailed : ExitCode::Ok;
}

}  // namespace nocturne::cli
