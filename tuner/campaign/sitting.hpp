#pragma once

/// What the pieces of a running campaign share. A sitting lasts from the start of `tune` to its end; a campaign has one
/// or more.

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "measure/slot.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/clock.hpp"
#include "tuner/campaign/interruption.hpp"
#include "tuner/campaign/observer.hpp"
#include "tuner/campaign_file.hpp"
#include "tuner/executor/executor.hpp"

namespace nocturne::tuner {

/// Whether the rows of the space are rehearsed (rehearsal.hpp).
enum class Rehearse {
  No,
  First,  ///< before the search, where nothing of the campaign was asked yet
  Only,   ///< and nothing else: no search; what was a no-go before is tried again
};

/// References outlive the sitting; nothing here is owned.
struct Sitting {
  const CampaignSpec& spec;
  db::Store& store;
  Executor& executor;
  Observer& observer;
  const Clock& clock;
  Interruption& interruption;
  /// Reads the fingerprint anew, its cheap fields at least: called before every trial.
  std::function<space::Fingerprint()> fingerprint_now;
  space::Fingerprint fingerprint = {};            ///< as the sitting began
  std::filesystem::path slot_folder = {};         ///< of the lock files; empty: the machine's
  db::CampaignId campaign = 0;                    ///< once opened
  std::vector<space::Configuration> wanted = {};  ///< measured after the default, before what the strategy asks
  /// The first of `wanted` is compared with the default, whatever else is faster: a person asks about just this one.
  bool compare_wanted = false;
  Rehearse rehearse = Rehearse::No;
  std::optional<std::chrono::nanoseconds> rehearsal_limit = {};  ///< no further row is begun after this time

  /// Waits for the machine's CPUs, and before that for the end of a suspension. Empty: the wait was ended by an
  /// interruption or a suspension, or the lock files cannot be used
  /// (told to the observer; measuring goes on without the lock then would disturb others, so it does not).
  [[nodiscard]] std::optional<measure::SlotLock> take_slot() const;

  /// Of a run that is begun now: it ends when the sitting is abandoned, and its progress is told to the observer.
  [[nodiscard]] measure::RunControl run_control() const;
};

}  // namespace nocturne::tuner
