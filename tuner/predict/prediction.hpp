#pragma once

/// What to expect of a campaign's configurations on a machine, from all that was ever measured: the ten best, without
/// measuring anything. Times of all campaigns that share parameters with this one are explained together
/// (search/transfer/shared_effects.hpp), as shares of what their machines could do at best where that is known of all
/// (roofline_offset.hpp); what was measured on the machine itself overrules the rest.
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
  Class,     ///< trials of this workload on another machine with the same processor and GPUs
  Workload,  ///< other workloads on this machine, or any on other machines
  Roofline,  ///< nothing was measured anywhere: operations, bytes and peak figures
};
/// pairs, trials, machine, class, workload, roofline
[[nodiscard]] std::string_view to_text(PredictionBasis basis);

/// What machines of one class have in common: the models of processor and GPUs. Empty: not known.
[[nodiscard]] std::string machine_class(const space::Fingerprint& fingerprint);
/// The same by the fields that are stored with figures (tuner/roofline/machine_figures.hpp).
[[nodiscard]] std::string machine_class(const nlohmann::json& fields);

struct PredictionWishes {
  std::string
      machine_key;  ///< space::Fingerprint::key() of the machine that is asked about, or that of a described one
  std::string machine_class{};                        ///< its class; empty: not known
  std::optional<db::MachineFiguresRecord> figures{};  ///< what it can do at best; empty: not known
  std::optional<double> epochs;                       ///< empty: the campaign's own
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
  std::vector<PredictedConfiguration> best{};  ///< by gain; without the default, and what is withheld
  PredictedConfiguration usual{};              ///< the default
  std::vector<PredictionSource> sources{};     ///< what is nearest to the question first
  bool by_share = false;                       ///< the bound of each machine was the model's offset
  std::size_t candidates = 0;                  ///< configurations that were looked at
  bool all_candidates = false;                 ///< those are all that are valid
  std::size_t withheld = 0;                    ///< of them, guesses: they could lose more than they may gain
  double own_share = 0;                        ///< of effects, that a machine has to itself: 0 to 1
  /// Whether times themselves are known to within a factor of two; else only gains are worth reading.
  [[nodiscard]] bool knows_times() const { return usual.seconds_high <= 4 * usual.seconds_low; }
};

/// Fewer trials that worked say nothing.
inline constexpr std::size_t kFewestToPredict = 8;

/// The error is a sentence: nothing that was measured says anything of this space, and of machine or network nobody
/// knows what they can do or take.
[[nodiscard]] std::expected<PredictedRanking, std::string> predict_ranking(const db::Store& store,
                                                                           const CampaignSpec& spec,
                                                                           const PredictionWishes& wishes);

}  // namespace nocturne::tuner
