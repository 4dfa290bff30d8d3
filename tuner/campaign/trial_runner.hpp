#pragma once

/// Orders carried out on this machine with the database of the campaign: runs are stored as they end, and a trial that
/// is known already is not measured again.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "db/store.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/executor/carry_out.hpp"
#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

/// Carries the order out. Its runs are stored as they end, so that a kill costs one run; its result is not:
/// store_answer() does. `reference`: with which they take turns, whose runs are stored with trial 0; null: alone.
[[nodiscard]] TrialAnswer run_here(const Session& session, const TrialOrder& order,
                                   const TrialReference* reference = nullptr);

/// The same for a run outside of the search, which is stored with the trial `owner`.
[[nodiscard]] GateAnswer run_here(const Session& session, const GateOrder& order, const PreparedWorker& prepared,
                                  db::TrialId owner);

/// The answer to a trial whose software stack failed in the preflight: that failure. Nothing is run.
[[nodiscard]] TrialAnswer answer_of_preflight(const Session& session, std::int64_t number,
                                              const db::PreflightRecord& seen);

/// Stores the result of a finished order, and with it the tell. Reserves the trial where nobody has.
/// `took`: since the order was given; of one from another machine the reservation is stored as of then.
void store_answer(const Session& session, const TrialAnswer& answer, std::chrono::nanoseconds took = {});

/// Stores what runs of an answer from another machine refer to. `machine`: empty: it was this one.
void keep_machine(const Session& session, const std::optional<space::Fingerprint>& machine,
                  std::span<const db::BuildRecord> builds);

/// The host whose fingerprint has this hash; empty: not known.
[[nodiscard]] std::string host_of(const db::Store& store, const std::string& fingerprint);
/// The host on which the default's own trial was measured; empty: not known.
[[nodiscard]] std::string node_of_default(const Session& session);
/// Stores the runs of the default on nodes with the default's own trial. REQUIRES: that is stored.
void store_defaults(const Session& session, std::span<const DefaultOnNode> measured);

}  // namespace nocturne::tuner
