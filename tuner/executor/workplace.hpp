#pragma once

/// What orders are carried out with on this machine, and what each of them needs: the machine's CPUs, a configuration
/// that can be started, a run that counts.

#include <chrono>
#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "db/error.hpp"
#include "measure/run/slot.hpp"
#include "space/fingerprint.hpp"
#include "space/workload.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/executor/order_observer.hpp"

namespace nocturne::tuner {

/// The machine's CPUs, for a measurement. A suspension of the session waits until this is given back.
class HeldSlot {
 public:
  HeldSlot(Interruption::Flight flight, measure::SlotLock lock) : flight_(std::move(flight)), lock_(std::move(lock)) {}

 private:
  Interruption::Flight flight_;
  measure::SlotLock lock_;  // after it, so that it is released before the flight is over
};

/// References outlive it; nothing here is owned.
struct Workplace {
  const CampaignSpec& spec;
  Executor& executor;
  OrderObserver& observer;
  Interruption& interruption;
  const space::Fingerprint& fingerprint;
  const std::string& images;                 ///< data_state() of the workload
  const std::filesystem::path& slot_folder;  ///< where the lock files lie; empty: the machine's folder
  /// Called behind a wait for the machine's CPUs, with how long it was.
  std::function<void(std::chrono::nanoseconds)> waited = {};

  /// Waits for the machine's CPUs (for those of its part, where this process is in one), and before that for the end of
  /// a suspension. Empty: the wait was ended by an interruption or a suspension, or the lock files cannot be used (told
  /// to the observer; measuring goes on without the lock then would disturb others, so it does not).
  [[nodiscard]] std::optional<HeldSlot> take_slot() const;

  /// As the executor's; what a suspension cut short is done again after it, so that Outcome::Killed means that the
  /// session ends; what was cut is told to the observer then. Throws db::Error where a disk is too full: that is no
  /// word about the configuration. For what is prepared without a slot.
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare(
      const space::Configuration& configuration) const;
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_reference(
      const space::Configuration& configuration) const;
  /// For who holds a slot, and gives it back before it tries again: Killed where a suspension cut it short, too.
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_in_slot(
      const space::Configuration& configuration) const;

  /// Runs what `plan` gives, told to the observer while it lasts. Two ways to end say nothing of the configuration:
  /// where another hand killed the worker or its supervisor it is run again, as `plan` gives it anew, three times in
  /// all (then it has crashed); where it failed and no room is left on the disk of its folder, or the images it reads
  /// are gone, db::Error is thrown, and the trial is left to the next session. `lost` is called with each run that does
  /// not count, as Outcome::Killed. Killed is returned only where the session is suspended or abandoned.
  [[nodiscard]] space::Run run(const std::function<measure::RunPlan()>& plan,
                               const std::function<void(const space::Run&)>& lost) const;
};

/// Whether a run ended by a kill that this program did not ask for.
[[nodiscard]] bool killed_by_others(const space::Run& run, const std::stop_token& stop);

/// Set where a preparation failed because no room was left on a disk: then it is no word about the configuration.
[[nodiscard]] std::optional<db::Error> no_room_for(const PreparationFailure& failure);
/// The preparation as it is; that error is thrown.
[[nodiscard]] std::expected<PreparedWorker, PreparationFailure> unless_full(
    std::expected<PreparedWorker, PreparationFailure> prepared);
/// Set where the disk of a run's folder (which need not be there) is full.
[[nodiscard]] std::optional<db::Error> no_room_in(const std::filesystem::path& folder);
/// Set (NotFound) where the workload's own folder of images cannot be read any more or is empty, as where a disk was
/// taken away. No other folder than `data_folder` is looked at.
[[nodiscard]] std::optional<db::Error> images_gone(const space::Workload& workload);

/// What a folder holds: digest of the names, sizes and times of change of all files below it; no file is read. One that
/// cannot be walked to its end has the state of what was seen of it.
[[nodiscard]] std::string folder_state(const std::filesystem::path& folder);

/// Which images a trial was trained on, for a folder of one's own may hold others tomorrow: digest of the names, sizes
/// and times of change of all files below the workload's own folder of images; no file is read. Empty where the
/// workload has no such folder. A folder that cannot be walked to its end has the state of what was seen of it: its
/// images are missed when they are read (images_gone()).
[[nodiscard]] std::string data_state(const space::Workload& workload);

}  // namespace nocturne::tuner
