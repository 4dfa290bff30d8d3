#pragma once

/// Does a profile still hold here? Its configuration is measured against the default it was compared with, in fresh
/// pairs, as a campaign of two configurations; nothing that was measured before is used.

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "measure/comparison/sequential_comparison.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

/// The campaign file that measures profile.configuration against profile.gain->baseline, the latter being its default.
/// The error is a sentence: the profile names no default, or is it, or the two cannot be put into one space.
[[nodiscard]] std::expected<nlohmann::json, std::string> verification_campaign(const Profile& profile,
                                                                               const measure::ComparisonPolicy& policy);

enum class VerificationOutcome {
  Holds,        ///< faster than the default, the whole interval above zero
  DoesNotHold,  ///< no faster than the default: the whole interval below the margin
  NotMeasured,  ///< a side does not train here, or the pairs do not tell
};
[[nodiscard]] std::string_view to_text(
    VerificationOutcome finding);  ///< "holds", "does not hold", "could not be measured"

struct Verification {
  VerificationOutcome finding = VerificationOutcome::NotMeasured;
  std::string because{};                            ///< one sentence
  std::optional<measure::Comparison> comparison{};  ///< with the interval it was judged by; empty: too few pairs
};

/// What its pairs say of a profile (the candidate). `end`: why no more of them were measured, a clause ("interrupted").
[[nodiscard]] Verification verification_of(const measure::ComparisonMember& pairs, const Profile& profile,
                                           double margin_percent, const std::string& end);

}  // namespace nocturne::deploy
