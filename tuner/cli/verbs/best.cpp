#include "tuner/cli/verbs/best.hpp"

#include <fmt/format.h>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "tuner/campaign/answer.hpp"
#include "tuner/campaign/learned.hpp"
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
  const auto opened = open_campaign(context, options.campaign);
  if (!opened) return opened.error();
  const auto& [store, campaign] = *opened;
  const auto answer = tuner::answer_of(store, campaign, options.epochs);
  if (!answer) {
    return complain(context, answer.error());
  }
  const auto going_on = tuner::going_on(store, campaign, measure::facts_of(measure::probe_machine_cheaply()));
  if (context.json) {
    nlohmann::json document = answer_json(*answer);
    document["going_on"] = going_on_json(going_on);
    print_json(context, document);
  } else {
    print_answer(context, *answer);
    print_going_on(context, going_on);
  }
  return answer->best ? ExitCode::Ok : ExitCode::NotFound;
}

}  // namespace nocturne::cli
