#pragma once

/// What the model says of one configuration, measured or not: prediction, terms, why pruned or why chosen, the nearest
/// evidence, and the command that would settle it.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "search/model/horizon_prediction.hpp"
#include "search/model/prediction.hpp"
#include "space/configuration.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/learned_campaign.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

struct Explanation {
  struct Term {
    std::string parameter, value, against;  ///< against: the best's value
    double log_ratio = 0;                   ///< what this change alone makes
  };
  struct Evidence {
    std::int64_t trial = 0;
    double seconds = 0;
    std::vector<std::string> differs;  ///< parameters
  };
  space::Configuration configuration;
  std::optional<std::int64_t> trial;  ///< asked in this campaign under this number
  std::optional<db::AskAnswer> chosen;
  std::optional<space::Trial> measured;
  double predicted = 0;              ///< log seconds, at the primary horizon
  search::model::Interval interval;  ///< 90 %, of one measurement
  double works = 1;                  ///< probability, memory aside
  std::string memory{};              ///< what it needs, in words; empty: nothing is known
  std::string history{};             ///< what earlier campaigns measured, in words; empty: nothing
  std::optional<double> best;        ///< log seconds of the best measured
  std::vector<Term> terms;           ///< where it differs from the best, the largest first
  double rest = 0;                   ///< what the changes make together, beyond the sum of the terms
  /// Horizons of `prediction`; the primary one's is `predicted` and `interval`. Empty: trials have no parts.
  std::vector<double> horizons;
  std::vector<search::model::HorizonPrediction> prediction;
  std::optional<double> margin;  ///< margin of the pruning rule
  std::string pruned_level;      ///< sentence, or empty
  std::optional<Evidence> nearest;
  /// Of the measured trial, where the time to an accuracy is minimised and curves say something of it.
  std::optional<tuner::TargetAnswer::Side> target{};
  std::string settle;  ///< the command; empty: it is measured
};

/// Whether the word names a configuration ("name=value,…") or a trial (a number), not a campaign.
[[nodiscard]] bool names_configuration(std::string_view word);

/// `what`: a trial's number, or name=value,… where what is not named is as in the best. The error is a sentence.
[[nodiscard]] std::expected<Explanation, std::string> explain(tuner::LearnedCampaign& learned, std::string_view what);

void print_explanation(const Context& context, const tuner::LearnedCampaign& learned, const Explanation& explanation);
[[nodiscard]] nlohmann::json explanation_json(const Explanation& explanation);

}  // namespace nocturne::cli
