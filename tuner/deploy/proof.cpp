#include "tuner/deploy/proof.hpp"

#include <fmt/format.h>

namespace nocturne::deploy {

std::string missing_proof(const tuner::Answer& answer) {
  if (!answer.best || !answer.baseline || answer.best->id == answer.baseline->id) return {};
  if (answer.baseline->trial.outcome != space::Outcome::Ok) return {};  // nothing that could be worse
  const std::int64_t number = answer.best->trial.number;
  if (!answer.verdict) {
    return fmt::format(
        "trial {} was not compared with the default for {:g} epochs in fresh pairs yet: 'nocturne tune' of the "
        "campaign's "
        "file does that (the horizons are its objective's 'epochs')",
        number, answer.objective.primary);
  }
  const double low = tuner::gain_percent(answer.verdict->log_ratio_high);
  const double high = tuner::gain_percent(answer.verdict->log_ratio_low);
  if (low > 0) return {};
  const std::string interval =
      fmt::format("its gain over the default is {:+.1f} to {:+.1f} % ({} pairs)", low, high, answer.verdict->pairs);
  if (answer.verdict->verdict == "undecided") {
    return fmt::format(
        "trial {} may be slower than the default: {}. More pairs decide it: raise 'verify.most_pairs' and run "
        "'nocturne tune' again, or keep the default",
        number, interval);
  }
  return fmt::format("trial {} is not faster than the default: {}. Keep the default", number, interval);
}

}  // namespace nocturne::deploy
