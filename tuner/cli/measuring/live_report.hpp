#pragma once

/// The page of a campaign (output/html_report.hpp) while it runs: for who looks from elsewhere.

#include <chrono>
#include <filesystem>
#include <optional>

#include "db/store.hpp"
#include "tuner/campaign/clock.hpp"
#include "tuner/campaign/observer.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// Writes the page when a campaign opens, and again between trials and between pairs: at most once a minute, and for at
/// most a hundredth of the time. A courtesy: where it cannot be written, the campaign goes on without.
/// Not thread-safe.
class LiveReport final : public tuner::Observer {
 public:
  /// All outlive it. `say` hears where the page is.
  LiveReport(const Context& context, const db::Store& store, const tuner::Clock& clock, tuner::Observer& say);
  LiveReport(const LiveReport&) = delete;
  LiveReport& operator=(const LiveReport&) = delete;
  /// Where the session ended and nobody wrote the last page, it says no longer that it runs.
  ~LiveReport() override;

  /// Somebody else writes the last page.
  void end() { campaign_.reset(); }

  void opened(const tuner::Opening& opening) override;
  void finished(const space::Trial& trial, bool reused, const tuner::Progress& progress) override;
  void pair_finished(std::int64_t pairs_done, std::int64_t pairs_wanted,
                     const std::optional<measure::Comparison>& so_far) override;

 private:
  /// Writes the page as the campaign is now, and notes when the next one is due. False: it could not be written.
  bool renew(bool running);
  void renew_if_due();

  const Context& context_;
  const db::Store& store_;
  const tuner::Clock& clock_;
  tuner::Observer& say_;
  std::optional<db::CampaignId> campaign_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace nocturne::cli
