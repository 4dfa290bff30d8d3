#pragma once

/// In what configurations differ: from each other, and from what a campaign's parameters are unless somebody varies
/// them, as tables and lines write them. Pure.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "space/configuration.hpp"

namespace nocturne::tuner {

/// A value type. Empty, where neither a document nor trial 0 is known: every setting is then a difference.
class DefaultSettings {
 public:
  DefaultSettings() = default;
  /// From a campaign's document, and trial 0 where `trials` have it: as that has them, or, where a parameter is
  /// inactive there, as it is declared.
  DefaultSettings(const nlohmann::json& document, std::span<const db::StoredTrial> trials);

  /// `first`: trial 0's configuration, which is what counts where the document declares no default.
  void know(const space::Configuration& first);
  /// What the configuration has and the default has not. What is only inactive in it is no difference.
  [[nodiscard]] space::Configuration differing(const space::Configuration& configuration) const;
  /// The same as text, in the order of the campaign file, then by name: "framework=onednn batch=64"; "default" where
  /// there is none.
  [[nodiscard]] std::string text(const space::Configuration& configuration) const;

 private:
  space::Configuration usual_;
  std::vector<std::string> order_;  ///< names in the order of the campaign file
};

/// The default settings of a stored campaign.
[[nodiscard]] DefaultSettings default_settings_of(const db::Store& store, const db::CampaignSummary& campaign);

/// A parameter in which two configurations differ. Empty: inactive there.
struct Change {
  std::string parameter;
  std::optional<space::Value> from, to;
};

/// Those of `from` by name, then those that only `to` has.
[[nodiscard]] std::vector<Change> changes_between(const space::Configuration& from, const space::Configuration& to);

}  // namespace nocturne::tuner
