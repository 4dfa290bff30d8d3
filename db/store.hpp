#pragma once

/// The one memory of all campaigns: a SQLite file (schema.sql says what each table and column means).
///
/// One Store is one connection. Move-only, not thread-safe: one thread at a time, one Store a process per file is
/// enough; several processes may use the same file at once. Writers take turns in short transactions (BEGIN IMMEDIATE)
/// and wait for each other up to the busy timeout (StoreOptions); readers never wait (WAL). What a call reported as
/// stored survives a kill of the process and a loss of power (synchronous=FULL).
///
/// A campaign has one writer: begin_or_resume_campaign() takes a lease in the name of this process, known by pid, start
/// time and boot id, so that a lease whose owner was killed, or whose machine was started again, is recognised as dead.
/// Calls marked OWNER throw NotOwner on a store that does not hold the campaign.
///
/// Every call throws Error where the database is when something fails, and after a write that threw nothing of it is
/// stored. load_ throws NotFound where find_ gives an empty optional.
///
/// On a network file system there is no WAL: one Store writes, whatever the campaign, and others read a copy that may
/// be some time old (network_writer.hpp). notice() says so.
///
/// The way of a trial, each step one transaction:
///
///   record_ask() ─► reserve_trial() ─► begin_run() … add_run() ─► finish_trial() ─► update_trial() …
///                        └────────► reuse_trial() (an equal trial exists: nothing is run)
///
/// finish_trial(), reuse_trial() and update_trial() also append the tell to the log that exchanges() gives back, so a
/// finished trial is a told one. After a crash: resume, recover_interrupted(), replay exchanges(), go on.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/error.hpp"
#include "db/migrations.hpp"
#include "db/network_options.hpp"
#include "db/records.hpp"

namespace nocturne::db {

class Connection;

enum class Mode {
  ReadWrite,  ///< creates the file and its folder where missing, migrates an older file
  ReadOnly,   ///< never creates; writes nothing (but migrates an older file where it can)
};

/// A write that waits for another process.
struct LockWait {
  const std::filesystem::path& database;
  std::chrono::milliseconds waited{};
  std::chrono::milliseconds limit{};
};

struct StoreOptions {
  /// How long a write waits for other processes. Their transactions last milliseconds: who waits this long waits for
  /// a stopped process, or a disk that does not answer.
  std::chrono::milliseconds busy_timeout{30'000};
  /// Instead, from begin_or_resume_campaign() on and until the store is closed: what a campaign measured is worth a
  /// longer wait for another program (a backup) that keeps the file locked. Empty: as long as before.
  std::optional<std::chrono::milliseconds> campaign_busy_timeout = {};
  /// Called while a write waits, several times a second. False: it waits no longer than `busy_timeout`. May be empty.
  std::function<bool(const LockWait&)> waiting = {};
  /// False: a reader leaves an older file as it is (Older), for an older program may be in the middle of writing it.
  bool migrate = true;
  /// The steps that an older file is led through. Only tests give others.
  std::span<const Migration> migrations = db::migrations();
  NetworkOptions network{};
};

class Store {
 public:
  /// Throws Error, with NotFound where a file to be read is not there.
  [[nodiscard]] static Store open(const std::filesystem::path& path, Mode mode, StoreOptions options = {});
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();  ///< releases the campaigns it holds

  [[nodiscard]] const std::filesystem::path& path() const;
  /// A line for the user where the file lies on a network file system: what that means, or how old is what is read.
  /// Empty: nothing to say.
  [[nodiscard]] std::string notice() const;
  /// When what is read was copied; empty: it is the database itself.
  [[nodiscard]] std::optional<std::int64_t> copied_unix_ns() const;

  /// What `body` writes is written whole or not at all, and the disk is waited for once. Throws Error. Between two
  /// writes of it nobody else can write: `body` does nothing else.
  void write_together(const std::function<void()>& body);

  // ---- campaigns (store_campaigns.cpp) ----

  /// Resumes the newest generation of this name and identity, else begins a new generation; takes its lease.
  /// Owned: another living process holds it; the message names the pid. Resuming replaces spec, strategy and seed, and
  /// clears `finished`.
  CampaignHandle begin_or_resume_campaign(const CampaignRecord& record);
  /// Marks it finished: its budget is spent or nothing is left to propose. OWNER
  void finish_campaign(CampaignId campaign);
  /// Gives the lease back. OWNER
  void release_campaign(CampaignId campaign);
  /// Every generation, the last opened first.
  [[nodiscard]] std::vector<CampaignSummary> list_campaigns() const;
  /// The given generation, else the one opened last; empty: there is none.
  [[nodiscard]] std::optional<CampaignSummary> find_campaign(std::string_view name,
                                                             std::optional<std::int64_t> generation = {}) const;
  /// The same; NotFound names the nearest things there are.
  [[nodiscard]] CampaignSummary load_campaign(std::string_view name, std::optional<std::int64_t> generation = {}) const;
  [[nodiscard]] std::vector<ParameterRecord> parameters(CampaignId campaign) const;
  /// What it knew when it began, without campaigns that were removed since.
  [[nodiscard]] std::vector<HistorySource> history(CampaignId campaign) const;

  /// Whole or nothing. A campaign of this name and identity that is there gets the trials whose configurations it
  /// lacks; else it is a new one, finished and never opened, so that what was opened last stays it. Its trials have no
  /// runs, and no campaign takes them for its own.
  ImportCount import_campaign(const ImportedCampaign& imported);

  // ---- asks and tells (store_exchanges.cpp) ----

  /// Logs one ask() and its answer. Numbers of the answer were not asked before. OWNER
  void record_ask(CampaignId campaign, const Ask& ask);
  /// Asks and tells in the order in which they happened. Numbers that were asked and never reserved are still to do.
  [[nodiscard]] std::vector<Exchange> exchanges(CampaignId campaign) const;

  // ---- what was tried before the search (store_preflights.cpp) ----

  /// Replaces an earlier one of the same row. The outcome is not Killed. OWNER
  void save_preflight(CampaignId campaign, const PreflightRecord& preflight);
  /// In the order in which they were tried in the preflight last.
  [[nodiscard]] std::vector<PreflightRecord> preflights(CampaignId campaign) const;

  // ---- trials (store_trials.cpp; reading: store_trial_queries.cpp) ----

  /// Short transaction 1: says that this trial is being worked on. A recovered trial is reserved again with the same
  /// number and must have the same configuration and fidelity (its key may differ: a driver was upgraded). OWNER
  TrialId reserve_trial(CampaignId campaign, const TrialReservation& reservation);
  /// Short transaction 2: result, runs with all they measured, and the tell, all or nothing. Runs begun by begin_run()
  /// are replaced, those of add_run() may be listed again and are kept. The outcome is not Killed: a killed trial is
  /// left reserved, and is recovered. OWNER
  void finish_trial(TrialId trial, const TrialResult& result, std::span<const RunRecord> runs = {});
  /// A later judgement of a finished trial (more runs, an audit, the gate): replaces its result, adds runs, tells
  /// again. OWNER
  void update_trial(TrialId trial, const TrialResult& result, std::span<const RunRecord> runs = {});
  /// The same of several trials, all or none. OWNER
  void update_trials(std::span<const std::pair<TrialId, TrialResult>> results);
  /// Reserves and finishes at once with the result of an equal trial, whose runs are its runs from now on. OWNER
  TrialId reuse_trial(CampaignId campaign, const TrialReservation& reservation, TrialId source);
  /// The latest finished trial with this key, ok before failed ones, in any campaign — in a fresh one, only of that
  /// campaign itself. The caller decides whether a failure still stands (a timeout does not, with a longer deadline).
  [[nodiscard]] std::optional<StoredTrial> find_equal_trial(CampaignId campaign, std::string_view key) const;
  /// Trials reserved by a process that is gone. Marks the runs it left in flight as killed; each trial can be reserved
  /// again with the same number and configuration. OWNER
  Recovery recover_interrupted(CampaignId campaign);

  [[nodiscard]] std::vector<StoredTrial> list_trials(const TrialFilter& filter = {}) const;
  [[nodiscard]] std::optional<StoredTrial> find_trial(CampaignId campaign, std::int64_t number) const;
  /// The same; NotFound says which there are.
  [[nodiscard]] StoredTrial load_numbered_trial(CampaignId campaign, std::int64_t number) const;
  [[nodiscard]] TrialDetail load_trial(TrialId trial) const;
  /// The smallest value among its ok trials; empty: none is ok.
  [[nodiscard]] std::optional<StoredTrial> best(CampaignId campaign) const;

  // ---- what a campaign came to, of its finished trials (store_overview.cpp, store_digest.cpp) ----

  [[nodiscard]] std::map<space::Outcome, std::int64_t> count_outcomes(CampaignId campaign) const;
  /// Processes that ended in this campaign's own trials, by purpose; those of pairs are of purpose verify.
  [[nodiscard]] std::map<space::Purpose, std::int64_t> count_processes(CampaignId campaign) const;
  /// Empty: there is no such trial, or it is not finished.
  [[nodiscard]] std::optional<StoredTrial> finished_trial(CampaignId campaign, std::int64_t number) const;
  /// The ok trial with the smallest T(epochs), composed of its parts, the first of equal ones; empty: none is ok.
  [[nodiscard]] std::optional<StoredTrial> fastest(CampaignId campaign, double epochs) const;
  /// The first ok trial of this configuration.
  [[nodiscard]] std::optional<StoredTrial> first_ok(CampaignId campaign,
                                                    const space::Configuration& configuration) const;
  /// Those that are not ok, by number: costs as much as there are of them.
  [[nodiscard]] std::vector<StoredTrial> failed_trials(CampaignId campaign) const;
  /// By value of a parameter, in the order of the values. SQLite walks through the trials and gives a row a value.
  [[nodiscard]] std::vector<LevelSummary> levels(CampaignId campaign, std::string_view parameter, double epochs) const;
  /// From reservation to end, of the last `count` trials that were run, oldest first.
  [[nodiscard]] std::vector<std::chrono::nanoseconds> last_durations(CampaignId campaign, std::int64_t count) const;
  /// SHA-256 of all that is stored of a campaign and that its model learns from: space, asks, tells, trials, memory of
  /// its runs, verdicts of pairs, noise, peak figures, and the same of the campaigns it knows of. Equal digests: the
  /// same model.
  [[nodiscard]] std::string learning_digest(CampaignId campaign) const;

  // ---- runs (store_runs.cpp) ----

  /// Says that this run starts now: id, purpose, folder, command, artifact, seed, started. If the process dies, this
  /// is what is left of it. OWNER
  void begin_run(TrialId trial, const RunRecord& run);
  /// Stores a run that has ended, outside of finish_trial(): a repeat that shall survive a crash, a gate, one epoch of
  /// the best. OWNER
  void add_run(TrialId trial, const RunRecord& run);
  [[nodiscard]] StoredRun load_run(std::string_view id) const;
  /// Runs with purpose gate and one of `count` seeds from `first_seed` on that ended ok, of any campaign: what a
  /// reference trained for one campaign serves the next. By seed, oldest first.
  [[nodiscard]] std::vector<CampaignRun> gate_runs(std::int64_t first_seed, std::int64_t count) const;
  /// All runs of a campaign's own trials, those of pairs among them, in the order in which they were started.
  [[nodiscard]] std::vector<RunSpan> run_spans(CampaignId campaign) const;
  /// What a campaign has worked on beside its trials, in all sessions: runs of preflights and of the gate, pairs but
  /// for those that the user asked for, and builds and environments made since it began that its runs use.
  [[nodiscard]] std::chrono::nanoseconds time_beside_trials(CampaignId campaign) const;

  // ---- paired verification (store_comparisons.cpp) ----

  ComparisonId begin_comparison(const ComparisonRecord& record);  ///< OWNER
  /// Its pairs are measured and judged otherwise than when it began. REQUIRES: it has none. OWNER
  void set_method(ComparisonId comparison, const std::string& method, const std::string& estimator);
  /// A pair whole: both runs and the slices. OWNER
  void add_pair(ComparisonId comparison, const PairRecord& pair);
  /// Replaces the verdict of the same comparison and horizon. OWNER
  void save_verdict(const VerdictRecord& verdict);
  /// Oldest first.
  [[nodiscard]] std::vector<StoredComparison> comparisons(CampaignId campaign) const;
  /// Those of one pair, by its index, in the order in which they were measured.
  [[nodiscard]] std::vector<Slice> slices(ComparisonId comparison, std::int64_t pair) const;

  // ---- the resolution of the machine (store_noise.cpp) ----

  /// Replaces what was stored for the same fingerprint and workload.
  void save_noise_floor(const NoiseFloorRecord& floor);
  /// Noise of a workload, the latest first; figures by method and estimator.
  [[nodiscard]] std::vector<NoiseFloorRecord> noise_floors(std::string_view workload) const;

  // ---- what campaigns share (store_shared.cpp) ----

  void save_fingerprint(const FingerprintRecord& fingerprint);  ///< known already: nothing happens
  [[nodiscard]] std::optional<FingerprintRecord> find_fingerprint(std::string_view hash) const;  ///< empty: not known
  [[nodiscard]] FingerprintRecord load_fingerprint(std::string_view hash) const;
  void save_build(const BuildRecord& build);                   ///< by key: updates all but when it was created
  [[nodiscard]] std::vector<BuildRecord> list_builds() const;  ///< last used first
  void forget_build(std::string_view key);                     ///< after its folder was removed; runs keep the key
  void append_event(const EventRecord& event);                 ///< time 0: now
  /// The same; a log that cannot be written stops nothing.
  void try_append_event(const EventRecord& event) noexcept;
  /// The last `limit` lines of a campaign's log, oldest first; without a campaign: of all.
  [[nodiscard]] std::vector<EventRecord> events(std::optional<CampaignId> campaign, std::int64_t limit = 100) const;

  // ---- what could be done at best (store_machine_figures.cpp) ----

  void save_machine_figures(const MachineFiguresRecord& record);  ///< by key: replaces earlier ones
  /// Empty: that machine was not measured.
  [[nodiscard]] std::optional<MachineFiguresRecord> machine_figures(std::string_view key) const;
  void save_network(std::string_view name, const nlohmann::json& description);       ///< replaces an earlier one
  [[nodiscard]] std::optional<nlohmann::json> network(std::string_view name) const;  ///< empty: not known
  /// What the campaign's model knows of both, for all its sessions. OWNER
  void save_peaks(CampaignId campaign, const nlohmann::json& peaks);
  [[nodiscard]] std::optional<nlohmann::json> peaks(CampaignId campaign) const;  ///< empty: nothing

  // ---- upkeep (store_upkeep.cpp) ----

  /// Folders of runs that started before; in flight ones only where nothing tunes their campaign any more.
  [[nodiscard]] std::vector<RunFolder> run_folders(std::int64_t started_before_unix_ns) const;
  /// After its folder was removed; the record of the run stays.
  void forget_run_folder(std::string_view run);
  /// Removes a generation with all its trials. Runs that trials of other campaigns reuse move to these. Owned: a
  /// living process tunes it.
  void remove_campaign(CampaignId campaign);
  /// Gives unused pages back to the file system. Needs about the file's size of free room for its time, on a network
  /// file system twice that. Owned, and nothing is changed: there another program became the writer meanwhile.
  void compact();
  /// Empty: sound. Else what SQLite found, one line each: pages, indexes and foreign keys.
  [[nodiscard]] std::vector<std::string> integrity_check() const;

 private:
  explicit Store(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace nocturne::db
