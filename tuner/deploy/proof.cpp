#include "tuner/deploy/proof.hpp"

#include <fmt/format.h>

#include "tuner/campaign/stored_document.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::deploy {
namespace {

/// What the user does so that the pairs of the verdict become more.
std::string way_to_more_pairs(const tuner::Answer& answer) {
  const nlohmann::json& document = answer.campaign.spec;
  const tuner::VerifySettings verify = tuner::sections_of(document).verify;
  if (!verify.most_pairs_given || answer.verdict->pairs < verify.most_pairs)
    return fmt::format("run '{}' again with a longer --wall", tuner::tune_command(document));
  const std::string of_file = tuner::command_text({"tune", "FILE"});
  if (!tuner::tunes_own_command(document))
    return fmt::format("raise 'verify.most_pairs' in the campaign's file and run '{}' again", of_file);
  return fmt::format("write the campaign's file with '{}', raise its 'verify.most_pairs' and run '{}'",
                     tuner::command_text({"tune", "--write-campaign", "FILE", "--", "COMMAND"}), of_file);
}

std::string missing_verdict(const tuner::Answer& answer) {
  const std::int64_t number = answer.best->trial.number;
  const std::string command = tuner::tune_command(answer.campaign.spec);
  const char* longer = answer.campaign.finished_unix_ns ? " with a longer --wall" : "";
  if (answer.objective.target)
    return fmt::format("trial {} was not trained to the target for real yet: '{}' does that{}", number, command,
                       longer);
  if (const auto& compared = answer.compared) {
    return fmt::format(
        "only 'compare' has measured trial {} against the default in fresh pairs ({}, {:+.1f} to {:+.1f} %, {} pairs), "
        "and nothing has checked how it trains: '{}' does both{}",
        number, compared->verdict, compared->low_percent, compared->high_percent, compared->pairs, command, longer);
  }
  const double epochs = answer.objective.primary;
  return fmt::format(
      "trial {} was not compared with the default for {:g} epoch{} in fresh pairs yet: '{}' does that{}{}", number,
      epochs, epochs == 1 ? "" : "s", command, longer,
      tuner::tunes_own_command(answer.campaign.spec) ? ""
                                                     : " (the horizons are the 'epochs' of the campaign's objective)");
}

}  // namespace

std::string missing_proof(const tuner::Answer& answer) {
  if (!answer.best || !answer.baseline || answer.best->id == answer.baseline->id) return {};
  if (answer.baseline->trial.outcome != space::Outcome::Ok) return {};  // nothing that could be worse
  const std::int64_t number = answer.best->trial.number;
  if (!answer.verdict) return missing_verdict(answer);
  const double low = tuner::gain_percent(answer.verdict->log_ratio_high);
  const double high = tuner::gain_percent(answer.verdict->log_ratio_low);
  if (low > 0) return {};
  const std::string interval =
      fmt::format("its gain over the default is {:+.1f} to {:+.1f} % ({} pairs)", low, high, answer.verdict->pairs);
  if (answer.verdict->verdict == "undecided") {
    return fmt::format("trial {} may be slower than the default: {}. More pairs decide it: {}, or keep the default",
                       number, interval, way_to_more_pairs(answer));
  }
  return fmt::format("trial {} is not faster than the default: {}. Keep the default", number, interval);
}

}  // namespace nocturne::deploy
