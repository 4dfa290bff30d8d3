#include "tuner/cli/verbs/best.hpp"

#include <fmt/format.h>

#include "tuner/campaign/answer.hpp"
#include "tuner/cli/output/answer_page.hpp"
#include "tuner/cli/output/json.hpp"

namespace nocturne::cli {

void setup(CLI::App& verb, BestOptions& options) {
  add_campaign_choice(verb, options.campaign);
  verb.add_option("--epochs", options.epochs, "Best for this many epochs (default: the campaign's own)")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  verb.footer(
      "The best for one epoch need not be the best for ninety: what compiling costs is paid once.\n\n"
      "Examples:\n"
      "  nocturne best\n"
      "  nocturne best mnist-evening --epochs 90\n"
      "  nocturne best --json | jq .best.configuration\n");
}

ExitCode run(const BestOptions& options, Context& context) {
  const auto store = open_database(context);
  if (!store) {
    return store.error();
  }
  const auto campaign = choose_campaign(context, *store, options.campaign);
  if (!campaign) {
    return campaign.error();
  }
  const auto answer = tuner::answer_of(*store, *campaign, options.epochs);
  if (!answer) {
    return complain(context, answer.error());
  }
  if (context.json) {
    print_json(context, answer_json(*answer));
  } else {
    print_answer(context, *answer);
  }
  return answer->best ? ExitCode::Ok : ExitCode::NotFound;
}

}  // namespace nocturne::cli
