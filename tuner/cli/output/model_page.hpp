#pragma once

/// The page of `nocturne model`: gathered once, printed as text or as JSON.

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "search/model/audit.hpp"
#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/campaign/learned_campaign.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/output/model_lines.hpp"

namespace nocturne::cli {

struct ModelPage {
  struct Effect {
    std::string parameter;
    std::string reference;                  ///< the default's value
    double share = 0;                       ///< share of the variance that all effects and interactions make
    std::vector<tuner::OtherValue> values;  ///< against the default
  };
  /// What a value of the first parameter does at a value of the second, beyond what it does at its default.
  struct Joint {
    std::string first_value, second_value;
    std::size_t trials = 0;                 ///< of the least tried of the four combinations
    double mean = 0, lower = 0, upper = 0;  ///< log units; above 0: it takes more time there
    [[nodiscard]] bool is_seen() const { return lower > 0 || upper < 0; }
  };
  struct Pair {
    std::string first, second;
    double strength = 0;  ///< log units
    double share = 0;
    std::string first_default, second_default;
    std::vector<Joint> joint;  ///< of combinations that have enough trials; the largest first
  };
  struct PrunedLevel {
    std::string parameter, value, sentence;
    double margin = 0;  ///< log units
  };

  std::size_t worked = 0, failed = 0;
  std::vector<double> horizons;  ///< at which pruning is judged; empty: the objective alone
  double primary_epochs = 0;
  std::vector<std::string> without;   ///< constraints of the space that are not in force, a sentence each
  std::vector<Effect> effects;        ///< the largest share first
  std::vector<Pair> interactions;     ///< likewise; then those of the deployment, and those that were asked for
  std::vector<std::string> aliased;   ///< sentences
  std::size_t pruned = 0, drawn = 0;  ///< how many uniform draws are ruled out, and how many were made
  std::vector<PrunedLevel> pruned_levels;
  std::size_t audits = 0, audit_failures = 0, audit_misses = 0;
  search::model::ShareInterval miss_rate;
  double widening = 1;
  std::size_t held = 0, left_out = 0;  ///< how many 90 % intervals held, each trial left out in turn
  double typical_error = 0;            ///< median of |log measured - log predicted| then
  double noise = 0;                    ///< standard deviation of one measurement, log units
  std::vector<MemoryLine> memory;      ///< by group
  std::vector<std::string> history;    ///< what earlier campaigns told, and whether it holds: sentences
  std::optional<tuner::ValueOfContinuing> continuing;
};

/// Two parameters whose interaction is shown however small it is and however little is known of it.
using AskedPairs = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] ModelPage make_model_page(tuner::LearnedCampaign& learned, const AskedPairs& asked = {});
/// The page of a stored campaign, as it was kept where nothing has changed since (tuner/campaign/kept). The error is a
/// sentence.
[[nodiscard]] std::expected<ModelPage, std::string> model_page_of(const db::Store& store,
                                                                  const db::CampaignSummary& campaign,
                                                                  const AskedPairs& asked = {});
void print_model(const Context& context, const db::CampaignSummary& campaign, const ModelPage& page);
/// README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json model_json(const ModelPage& page);

}  // namespace nocturne::cli
