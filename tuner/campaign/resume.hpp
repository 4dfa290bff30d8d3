#pragma once

/// How a session begins: is there anything to do, is it the machine of before, what is known already.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "measure/run/sweep.hpp"
#include "search/registry.hpp"
#include "search/strategy.hpp"
#include "tuner/campaign/preparation.hpp"
#include "tuner/campaign/search_state.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

/// The campaign, where an earlier session completed this very one; empty: there is something to do.
[[nodiscard]] std::optional<db::CampaignId> completed_before(const Session& session, bool fresh);

/// A campaign as the database has it when a session begins.
struct BegunCampaign {
  db::CampaignRecord record;
  db::CampaignHandle handle;
  db::Recovery recovered;  ///< what a killed session left
  std::string why_anew{};  ///< why it is a new generation; empty: it is the first, goes on, or that was said before
};

/// Opens or resumes it, and gives the session its id. A new generation begins where the user wants all measured anew
/// (`fresh`: without history, too), or where what was measured before does not hold any more (`set_aside`).
[[nodiscard]] BegunCampaign begin_campaign(Session& session, bool fresh, bool set_aside);

/// What observers are told of it.
[[nodiscard]] Opening opening_of(const Session& session, const BegunCampaign& begun, const measure::SweepReport& swept);

/// Who proposes, and what it knows beforehand.
struct InformedStrategy {
  std::vector<search::History> history;
  std::shared_ptr<PreparationCosts> costs;  ///< null: preparation is no matter
  std::unique_ptr<search::Strategy> strategy;
};

/// The strategy of a campaign that has begun; it has been told history, and nothing of this campaign. The log outlives
/// it.
[[nodiscard]] InformedStrategy make_informed_strategy(const Session& session, SessionLog& log);

/// Software stacks that failed in the preflight. Those that passed cost nothing more to prepare (`costs` may be null).
[[nodiscard]] std::vector<db::PreflightRecord> read_preflight(const Session& session, PreparationCosts* costs);

/// The time that earlier sessions took.
void count_earlier_time(const Session& session, SearchState& state);

/// The campaign as its file and this machine are now, for the database. Without a word on history. A new generation
/// (`fresh`) also begins, and that is said, where a field of the fingerprint that must match has changed since the
/// campaign was measured last.
[[nodiscard]] db::CampaignRecord present_record(const Session& session, bool fresh);

}  // namespace nocturne::tuner
