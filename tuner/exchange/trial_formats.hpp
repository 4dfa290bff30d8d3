#pragma once

/// The trials of a campaign in the formats of other tools. One line each in the list in trial_formats.cpp.

#include <string>
#include <string_view>
#include <vector>

#include "db/store.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// What a format is made of.
struct TrialTable {
  std::string campaign;
  std::string machine;                          ///< processor, as the fingerprint names it; may be empty
  double epochs = 1;                            ///< what the times are for
  std::vector<db::ParameterRecord> parameters;  ///< in the order of the file
  std::vector<db::StoredTrial> trials;          ///< finished ones, by number
};

[[nodiscard]] TrialTable trial_table(const db::Store& store, const db::CampaignSummary& campaign);

struct TrialFormat {
  std::string_view name;     ///< as `--format` takes it
  std::string_view summary;  ///< one line
  std::string (*text)(const TrialTable&) = nullptr;
};

[[nodiscard]] const std::vector<TrialFormat>& trial_formats();
/// Null: none of this name.
[[nodiscard]] const TrialFormat* find_trial_format(std::string_view name);

/// What stands for the value of a parameter that is not active, where a format wants one.
inline constexpr const char* kInactive = "inactive";

}  // namespace nocturne::tuner
