#pragma once

/// What is known of a profile, or of the best of a campaign, as it was measured then.

#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "measure/machine/machine.hpp"
#include "space/trial.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/deploy/blame.hpp"
#include "tuner/deploy/blame_measurement.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

struct BlameBaseline {
  BlamedResult result{};
  Circumstances then{};
  std::optional<space::Estimate> estimate{};  ///< seconds for result.epochs
  std::filesystem::path program{};  ///< program as it was then, or the interpreter of its environment; empty: not known
};

/// `store` may be null: then only what the profile itself says of the machine is known.
[[nodiscard]] BlameBaseline blame_baseline(const Profile& profile, const db::Store* store);

/// The error is a sentence: nothing ended well.
[[nodiscard]] std::expected<BlameBaseline, std::string> blame_baseline(const tuner::Answer& answer,
                                                                       const db::Store& store);

/// An installed compiler that calls itself as the one of then does, whatever its file is called: its path; empty: none.
[[nodiscard]] std::string compiler_of_then(const std::vector<measure::Compiler>& installed,
                                           const std::optional<db::BuildRecord>& then);

}  // namespace nocturne::deploy
