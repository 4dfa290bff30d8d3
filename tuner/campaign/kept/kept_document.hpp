#pragma once

/// What was worked out from a stored campaign and took long, kept for whoever asks the same again: one small JSON file
/// a subject, beside the database.
///
/// A file says what its document rests on: a digest of all that the campaign's model learns from (db::Store), the
/// campaign as the caller read it, and the program. Where one of them differs it is read as none at all, so what is
/// kept is never older than the database. A courtesy, like the heartbeat: where it cannot be written, or is torn,
/// the next one works it out anew.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "db/store.hpp"

namespace nocturne::tuner {

/// DATABASE-SUBJECT-ID.json
[[nodiscard]] std::filesystem::path kept_file(const std::filesystem::path& database, std::string_view subject,
                                              db::CampaignId campaign);

class KeptDocument {
 public:
  /// `question`: what the document depends on besides the campaign. Reads the database once; the store and the campaign
  /// must outlive it.
  KeptDocument(const db::Store& store, const db::CampaignSummary& campaign, std::string_view subject,
               std::string_view question);

  /// Empty: it must be worked out.
  [[nodiscard]] std::optional<nlohmann::json> read() const;
  /// Does nothing where the database has changed since: nobody knows of which state the document is.
  void write(const nlohmann::json& document) const;

 private:
  [[nodiscard]] std::string basis() const;

  const db::Store& store_;
  const db::CampaignSummary& campaign_;
  std::string question_;
  std::filesystem::path file_;
  std::string basis_;  ///< empty: not known, nothing is kept
};

}  // namespace nocturne::tuner
