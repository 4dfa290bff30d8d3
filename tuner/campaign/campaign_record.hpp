#pragma once

/// A campaign as its file and this machine are now: what is put into the database where a session begins.

#include "db/store.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

/// Without a word on history. A new generation (`fresh`) also begins, and that is said, where a field of the
/// fingerprint that must match has changed since the campaign was measured last.
[[nodiscard]] db::CampaignRecord present_record(const Session& session, bool fresh);

}  // namespace nocturne::tuner
