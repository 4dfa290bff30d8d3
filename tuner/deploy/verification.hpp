#pragma once

/// Does a profile still hold here? Its configuration is measured against the default it was compared with, in fresh
/// pairs, as a campaign of two configurations; nothing that was measured before is used.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

struct VerificationSettings {
  int pairs = 6;        ///< of the first look
  int most_pairs = 20;  ///< while undecided
  double margin_percent = 1;
};

/// The campaign file that measures profile.configuration against profile.gain->baseline, the latter being its default.
/// The error is a sentence: the profile names no default, or is it, or the two cannot be put into one space.
[[nodiscard]] std::expected<nlohmann::json, std::string> verification_campaign(const Profile& profile,
                                                                               const VerificationSettings& settings);

enum class Finding {
  Holds,        ///< faster than the default, the whole interval above zero
  DoesNotHold,  ///< as fast as the default, or slower
  NotMeasured,  ///< a side does not train here, or the pairs do not tell
};
[[nodiscard]] std::string_view to_text(Finding finding);  ///< "holds", "does not hold", "could not be measured"

struct Verification {
  Finding finding = Finding::NotMeasured;
  std::string because;  ///< one sentence
  std::optional<db::VerdictRecord> verdict;
};

/// Reads the answer of such a campaign.
[[nodiscard]] Verification verification_of(const tuner::Answer& answer, const Profile& profile);

}  // namespace nocturne::deploy
