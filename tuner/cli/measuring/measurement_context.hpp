#pragma once

/// What a subcommand needs in order to measure on this machine: the machine itself, what can be trained, where results
/// are kept, who watches, and how it is ended.

#include <chrono>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "measure/machine/machine.hpp"
#include "measure/run/sweep.hpp"
#include "space/facts.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/measuring/progress_display.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/executor/local_executor.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::cli {

/// One at a time. Not thread-safe.
class MeasurementContext {
 public:
  /// Makes the data folders and looks at the machine. Throws Refusal where something is missing. The context outlives
  /// it.
  explicit MeasurementContext(const Context& context);
  MeasurementContext(const MeasurementContext&) = delete;
  MeasurementContext& operator=(const MeasurementContext&) = delete;

  [[nodiscard]] const Context& context() const { return context_; }
  [[nodiscard]] const measure::MachineFacts& machine() const { return machine_; }
  [[nodiscard]] space::Facts facts() const;
  [[nodiscard]] const space::Fingerprint& fingerprint() const { return fingerprint_; }
  /// The same with its cheap fields read again.
  [[nodiscard]] space::Fingerprint fingerprint_now() const;
  /// Reads the machine anew: it has changed.
  void look_again();
  [[nodiscard]] const tuner::Installation& installation() const { return installation_; }
  [[nodiscard]] const tuner::Frameworks& frameworks() const { return *frameworks_; }

  /// The document of a campaign that `name` stands for; the error is a sentence. Its pairs are measured the way that
  /// the noise of this machine makes cheapest.
  [[nodiscard]] std::expected<tuner::CampaignSpec, std::string> parse(const nlohmann::json& document,
                                                                      const std::string& name) const;
  /// The same for a campaign that was read already.
  void measure_as_noise_says(tuner::CampaignSpec& spec) const;

  /// Opens a database for writing and ends what killed runs left. While it waits for another writer it can be
  /// interrupted.
  [[nodiscard]] measure::SweepReport open_store(const std::filesystem::path& database);
  /// From here on signals end what is measured, and the display shows it: configurations as their difference from
  /// `defaults`. What `rules` leave out is filled in.
  void listen(SignalRules rules = {}, tuner::DefaultSettings defaults = {});
  /// Both, for whoever measures nothing in between.
  void begin(const std::filesystem::path& database);

  // REQUIRES: open_store() succeeded.
  [[nodiscard]] db::Store& store() { return *store_; }
  // REQUIRES: listen() was called. The campaign outlives what is made of it.
  [[nodiscard]] tuner::LocalExecutor::Options executor_options() const;
  [[nodiscard]] std::unique_ptr<tuner::LocalExecutor> make_executor(const tuner::CampaignSpec& spec) const;
  [[nodiscard]] tuner::Session make_session(const tuner::CampaignSpec& spec, tuner::Executor& executor);
  [[nodiscard]] tuner::Session make_session(const tuner::CampaignSpec& spec, tuner::Executor& executor,
                                            tuner::Observer& observer);
  [[nodiscard]] ProgressDisplay& display() { return *display_; }
  /// Of its sessions: without what they wait for other campaigns.
  [[nodiscard]] const tuner::Clock& clock() const { return campaign_clock_; }
  /// The machine's, by which other processes read a heartbeat.
  [[nodiscard]] const tuner::Clock& machine_clock() const { return clock_; }
  [[nodiscard]] tuner::Interruption& interruption() { return interruption_; }
  [[nodiscard]] bool interrupted() const { return interruption_.requested(); }
  [[nodiscard]] bool terminal_is_gone() const { return signals_->hung_up(); }
  /// SIGUSR1 was what interrupted it.
  [[nodiscard]] bool job_ends() const { return signals_->job_ends(); }
  /// Interrupted, or Terminated where SIGTERM was what ended it.
  [[nodiscard]] ExitCode interruption_code() const { return signals_->interruption_code(); }

 private:
  const Context& context_;
  tuner::Installation installation_;
  measure::MachineFacts machine_;
  space::Fingerprint fingerprint_;
  std::shared_ptr<const tuner::Frameworks> frameworks_;
  tuner::SystemClock clock_;
  tuner::CampaignClock campaign_clock_{clock_};
  tuner::Interruption interruption_;
  std::optional<db::Store> store_;
  std::optional<SignalWatch> signals_;
  std::optional<ProgressDisplay> display_;
};

/// The value of `--time`; empty: none was given. Throws Refusal.
[[nodiscard]] std::optional<std::chrono::nanoseconds> time_limit(const Context& context, const std::string& text);

/// Where what is measured outside of campaigns is kept: profiles that are verified, slowdowns that are looked into.
[[nodiscard]] std::filesystem::path verifications_database(const Context& context);

/// Why no worker can be supervised here, and what to do, in a sentence without a full stop; empty: one can.
[[nodiscard]] std::string missing_supervisor();
/// Before something is run on this machine: its folders are there. Throws Refusal where a worker cannot be supervised.
void prepare_to_run(const Context& context);

/// What `framework` can name: our own workers, the shipped recipes, the user's.
[[nodiscard]] std::shared_ptr<const tuner::Frameworks> frameworks_here(const Context& context,
                                                                       const tuner::Installation& installation);

/// Where the images of containers and their recipes are.
[[nodiscard]] tuner::Containment::Options containers_here(const Context& context,
                                                          const tuner::Installation& installation);

/// The folders of `context`, and the memory that a run may take unless its campaign says otherwise.
[[nodiscard]] tuner::LocalExecutor::Options executor_options(const Context& context,
                                                             const tuner::Installation& installation,
                                                             const measure::MachineFacts& machine,
                                                             std::shared_ptr<const tuner::Frameworks> frameworks);

/// `--pairs N` and `--most-pairs N` of a subcommand that compares in pairs of fresh processes. The defaults are what
/// the policy holds; it outlives the subcommand.
void add_pair_options(CLI::App& subcommand, measure::ComparisonPolicy& policy);

}  // namespace nocturne::cli
