#pragma once

/// From the noise of a machine to the way in which a campaign compares: which way of measuring, judged by what, how
/// many pairs, and which difference counts as none. Pure.
///
/// The unit of cost is the time that resolves a given difference, which is as sd² · seconds a pair. Taking turns
/// (slices, paired) is what a campaign does unless another way is cheaper by half at least: a variance from ten pairs
/// is itself uncertain by about that factor.

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "measure/comparison/noise.hpp"
#include "tuner/campaign/noise/noise_floor.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// Share of a campaign's time that pairs of the winner and the default may take at most, where noise asks for many.
inline constexpr double kMostShareOfPairs = 0.25;

struct NoiseWishes {
  std::set<std::string, std::less<>> fixed{};        ///< keys of /verify that the file itself gives
  bool default_fits_half = false;                    ///< so a duet of the winner and the default may be possible
  std::optional<std::chrono::nanoseconds> length{};  ///< time the campaign has; empty: not bounded
};

struct NoisePlan {
  VerifySettings verify{};        ///< as the campaign shall compare
  double process_sd = 0;          ///< sd of the log of a process, from pairs one after the other; 0: not known
  double resolution_percent = 0;  ///< what `verify.pairs` pairs resolve
  std::optional<int> wanted{};    ///< pairs that resolve 1 %; empty: more than a million
  double seconds_a_pair = 0;
  std::string sentence{};  ///< without full stop: what this machine can tell, and what follows
};

/// Whether the default leaves half of the CPUs free, so that a duet with it may be possible.
[[nodiscard]] bool default_fits_half(const CampaignSpec& spec, std::size_t cpus);

/// REQUIRES: floor.rows is not empty.
[[nodiscard]] NoisePlan plan_by_noise(const NoiseFloor& floor, const VerifySettings& verify, const NoiseWishes& wishes);

/// "40 minutes", "2.5 hours".
[[nodiscard]] std::string cost_text(double seconds);

/// Puts the plan into a campaign, and into its document, by which stored pairs are judged again.
void apply_plan(const NoisePlan& plan, CampaignSpec& spec);

/// A campaign that has begun compares as it began: what the file leaves open is taken from `stored`, its document in
/// the database. A plan made anew may differ, for the time that is left does; looks are planned once.
void keep_plan(const nlohmann::json& stored, CampaignSpec& spec);

/// What the file itself says of how it compares: keys of /verify.
[[nodiscard]] std::set<std::string, std::less<>> fixed_by_file(const nlohmann::json& document);

}  // namespace nocturne::tuner
