#pragma once

/// What to expect of a campaign's configurations on a machine, from all that was ever measured: the ten best, without
/// measuring anything. Times of all campaigns that share parameters with this one are explained together
/// (search/transfer/shared_effects.hpp); what was measured on the machine itself overrules the rest.
///
/// A prediction is no proof: none can be exported, and each names the command that would settle it.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/store.hpp"
#include "space/configuration.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// What a prediction rests on, the strongest first.
enum class PredictionBasis {
  Pairs,     ///< pairs with the default on this machine
  Trials,    ///< its trial on this machine
  Machine,   ///< trials of other configurations on this machine with this workload
  Workload,  ///< other workloads on this machine, or this one on other machines
};
[[nodiscard]] std::string_view to_text(PredictionBasis basis);  ///< pairs, trials, machine, workload

struct PredictionWishes {
  std::string machine_key;       ///< space::Fingerprint::key() of the machine that is asked about
  std::optional<double> epochs;  ///< empty: the campaign's own
  std::size_t count = 10;
};

/// Times and gains are medians with central 90 % intervals.
struct PredictedConfiguration {
  space::Configuration configuration;
  double seconds = 0, seconds_low = 0, seconds_high = 0;
  double gain = 0, gain_low = 0, gain_high = 0;  ///< the default's time over its own: above 1 is faster
  PredictionBasis basis = PredictionBasis::Workload;
  std::optional<std::int64_t> trial{};  ///< number of its trial there, of `campaign`
  std::string campaign{};
  /// Whether the interval of its gain is all above 1.
  [[nodiscard]] bool is_faster() const { return gain_low > 1; }
};

/// A campaign that was learnt from.
struct PredictionSource {
  std::string campaign;
  std::int64_t generation = 0;
  std::string machine;  ///< its host, or where it came from
  bool same_machine = false, same_workload = false;
  std::size_t trials = 0;
};

struct PredictedRanking {
  std::vector<PredictedConfiguration> best;  ///< by gain; without the default
  PredictedConfiguration usual;              ///< the default
  std::vector<PredictionSource> sources;     ///< what is nearest to the question first
  std::size_t candidates = 0;                ///< configurations that were looked at
  bool all_candidates = false;               ///< those are all that are valid
  double own_share = 0;                      ///< of effects, that a machine has to itself: 0 to 1
  /// Whether times themselves are known to within a factor of two; else only gains are worth reading.
  [[nodiscard]] bool knows_times() const { return usual.seconds_high <= 4 * usual.seconds_low; }
};

/// Fewer trials that worked say nothing.
inline constexpr std::size_t kFewestToPredict = 8;

/// The error is a sentence: nothing that was measured says anything of this space.
[[nodiscard]] std::expected<PredictedRanking, std::string> predict_ranking(const db::Store& store,
                                                                           const CampaignSpec& spec,
                                                                           const PredictionWishes& wishes);

}  // namespace nocturne::tuner
