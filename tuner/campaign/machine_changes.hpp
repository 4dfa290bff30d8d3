#pragma once

/// Is it the machine on which a campaign was measured last? What each field of the fingerprint means for results from
/// before stands in one table (measure/machine/fingerprint.cpp): one that must match begins a new generation; one to be
/// verified is verified here, cheaply, or what was measured is set aside; others only explain.

#include <string>

#include "db/store.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

/// The fields that must match and do not, in words; empty: the same machine, or no earlier session.
[[nodiscard]] std::string machine_changes(const db::Store& store, const std::string& campaign,
                                          const space::Fingerprint& now);

/// Likewise the fields to be verified; empty also where the machine is another one.
[[nodiscard]] std::string changes_to_verify(const db::Store& store, const std::string& campaign,
                                            const space::Fingerprint& now);

/// What is to be verified of a trial, as its runs were measured under another state of this machine; empty: nothing.
[[nodiscard]] std::string changes_since(const db::Store& store, db::TrialId trial, const space::Fingerprint& now);

/// What came of results that were to be verified.
struct Recheck {
  enum class End {
    Nothing,      ///< nothing to be verified, or nothing was measured
    Holds,        ///< the default takes as long as before
    SetAside,     ///< it does not, or trains no more
    Interrupted,  ///< before that could be said: the next session verifies
  };
  End end = End::Nothing;
  std::string sentence{};  ///< without full stop: what changed, what the default takes now, what follows
};

/// Where fields that are to be verified have changed since the session's campaign (of the same identity) was measured
/// last: the default is measured again, three processes of it. As long as before means: within what the between-process
/// spread of processes explains (99 %) and the campaign's margin. The runs are not stored, for they belong to no trial;
/// the sentence is, by the caller. Blocks.
[[nodiscard]] Recheck recheck_after_changes(const Session& session);

}  // namespace nocturne::tuner
