#pragma once

/// Trials of configurations that the user names, in a campaign but outside of its search: no strategy is asked, and the
/// campaign keeps its file, strategy and history; was it finished, it is so again.

#include <cstdint>
#include <optional>
#include <vector>

#include "db/store.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

class NamedTrials {
 public:
  /// The session outlives it.
  explicit NamedTrials(Session& session) : session_(session) {}

  /// Begins or resumes the campaign and sets the session's id: a new generation where the machine is another (told to
  /// the observer). Its trial 0 is the default, whoever begins it: that is measured first where nothing was.
  /// `fresh`: a new generation in any case, that knows nothing of others.
  void open(bool fresh = false);

  /// The finished trial of a configuration: one that trained, else the latest, else it is measured now. A failure is
  /// tried again where it may be gone by now. Empty: interrupted.
  [[nodiscard]] std::optional<db::StoredTrial> trial_of(const space::Configuration& configuration);
  /// The same, measuring nothing. Empty: never measured.
  [[nodiscard]] std::optional<db::StoredTrial> known(const space::Configuration& configuration) const;

  /// Gives the campaign back as it was.
  void close();

 private:
  [[nodiscard]] db::CampaignRecord record(bool fresh);
  [[nodiscard]] bool fails_as_before(const db::StoredTrial& before) const;
  [[nodiscard]] std::optional<db::StoredTrial> measure(const space::Configuration& configuration);

  Session& session_;
  std::vector<db::StoredTrial> recovered_;  ///< interrupted by an earlier session
  std::int64_t next_number_ = 0, finished_ = 0;
  bool was_finished_ = false;
};

}  // namespace nocturne::tuner
