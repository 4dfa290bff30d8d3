#include "tuner/cli/measuring/rehearsing.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/rehearsal_page.hpp"
#include "tuner/preview/length.hpp"

namespace nocturne::cli {

void add_rehearsal(CLI::App& verb, RehearsalOptions& options) {
  CLI::Option* only =
      verb.add_flag("--rehearse", options.only,
                    "Only prepare each row and train it three steps: a go / no-go list, and nothing else");
  verb.add_flag("--no-rehearsal", options.none, "Do not rehearse, however long the campaign will be")->excludes(only);
}

db::Expected<RehearsalChoice> choose_rehearsal(const RehearsalOptions& options, const tuner::CampaignSpec& spec,
                                               const db::Store& store) {
  if (options.only) return RehearsalChoice{.rehearse = tuner::Rehearse::Only};
  if (options.none) return RehearsalChoice{};
  const auto length = tuner::planned_length(spec, store, std::chrono::system_clock::now());
  if (!length) return std::unexpected(length.error());
  if (*length && **length <= tuner::kWatched) return RehearsalChoice{};
  RehearsalChoice choice{.rehearse = tuner::Rehearse::First};
  if (*length) choice.limit = **length / 10;
  return choice;
}

ExitCode report_rehearsal(const Context& context, const db::Store& store, const tuner::SittingResult& result) {
  const auto campaigns = store.list_campaigns();
  if (!campaigns) return complain(context, campaigns.error());
  const auto campaign = std::ranges::find(*campaigns, result.campaign, &db::CampaignSummary::id);
  if (campaign == campaigns->end() || !result.rehearsal) return ExitCode::NotFound;
  const auto records = store.rehearsals(result.campaign);
  if (!records) return complain(context, records.error());
  if (context.json) {
    print_json(context, "tune-rehearse", rehearsal_json(*campaign, *records, *result.rehearsal));
  } else {
    print_rehearsal(context, *records, *result.rehearsal);
  }
  return result.rehearsal->no_go > 0 ? ExitCode::NoGo : ExitCode::Ok;
}

}  // namespace nocturne::cli
