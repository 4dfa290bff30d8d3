#pragma once

/// What goes into the store and comes out of it: plain values around the nouns of `space`.
///
/// Ids are row numbers of this one file; names and hashes are what survives an export. `_unix_ns` is nanoseconds since
/// 1970 UTC. No double may be NaN: where there is no number, the optional is empty.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/configuration.hpp"
#include "space/run.hpp"
#include "space/stage.hpp"
#include "space/trial.hpp"
#include "space/value.hpp"

namespace nocturne::db {

using CampaignId = std::int64_t;
using TrialId = std::int64_t;
using ComparisonId = std::int64_t;

/// The machine and its software, as measured; `hash` is over all fields.
struct FingerprintRecord {
  std::string hash{};
  nlohmann::json fields{};
};

struct ParameterRecord {
  std::string name{};
  space::Stage stage = space::Stage::Run;
  nlohmann::json domain{};  ///< as in the campaign file: {"values": […]}, {"range": […], …}
  nlohmann::json default_value{};
  std::string active_if{};  ///< expression, or empty: always
  std::string unit{};
  std::string description{};
};

/// A finished campaign that a new one knows of.
struct HistorySource {
  CampaignId campaign = 0;
  bool same = false;        ///< machine and workload are the same; else it only ranks
  std::int64_t trials = 0;  ///< numbers below this count: it may have gone on since
  friend bool operator==(const HistorySource&, const HistorySource&) = default;
};

/// What a campaign is begun with.
struct CampaignRecord {
  std::string name{};
  std::string identity{};  ///< hash of workload, space and objective: equal identity, same campaign
  nlohmann::json spec{};   ///< the whole campaign file, extended and completed; replaced when resumed
  std::string strategy{};  ///< may change between sessions of one campaign; so may the seed
  std::int64_t seed = 1;
  FingerprintRecord fingerprint{};
  std::vector<ParameterRecord> parameters{};
  bool fresh = false;  ///< begin a new generation even if the identity is known, and reuse no trial from before it
  /// What a new generation knows, the most telling first; a resumed one keeps what it knew. Empty optional: nothing,
  /// and a resumed one forgets.
  std::optional<std::vector<HistorySource>> history{};
};

/// What begin_or_resume_campaign() gives.
struct CampaignHandle {
  CampaignId id = 0;
  std::int64_t generation = 1;  ///< 1, 2, … for campaigns of one name
  bool resumed = false;         ///< false: new, has no trials
  std::int64_t trials = 0;      ///< asked so far: the next trial has this number
  std::int64_t finished = 0;    ///< how many of them have finished
};

/// A campaign as listed.
struct CampaignSummary {
  CampaignId id = 0;
  std::string name{};
  std::int64_t generation = 1;
  std::string identity{};
  nlohmann::json spec{};
  std::string strategy{};
  std::int64_t seed = 1;
  std::string fingerprint{};  ///< hash
  bool fresh = false;
  std::int64_t created_unix_ns = 0;
  std::int64_t opened_unix_ns = 0;                 ///< when it was last begun or resumed
  std::optional<std::int64_t> finished_unix_ns{};  ///< empty: it can go on
  std::int64_t trials = 0, finished = 0, ok = 0;   ///< counts
  std::optional<std::int64_t> owner_pid{};         ///< the living process that tunes it now
};

enum class TrialState { Reserved, Finished };

/// What reserves a trial.
struct TrialReservation {
  std::int64_t number = 0;
  space::Configuration configuration{};
  space::Fidelity fidelity{};
  std::string key{};  ///< hash of workload, configuration, fidelity and the fingerprint's fields that must match
  std::int64_t reserved_unix_ns = 0;  ///< when it was begun; 0 when stored: now
};

/// A run with the fingerprint under which it was made: its hash, of a fingerprint already stored, or empty.
struct RunRecord {
  space::Run run{};
  std::string fingerprint{};
};

/// What finishes a trial, or a later judgement of it.
struct TrialResult {
  space::Outcome outcome = space::Outcome::Killed;
  std::string reason{};                       ///< empty when ok
  std::optional<space::Estimate> estimate{};  ///< present exactly if outcome is Ok
  std::optional<space::Parts> parts{};        ///< likewise
};
[[nodiscard]] inline TrialResult result_of(const space::Trial& trial) {
  return {.outcome = trial.outcome, .reason = trial.reason, .estimate = trial.estimate, .parts = trial.parts};
}

/// A trial as stored, without its runs. `trial.outcome` is Killed and says nothing while the state is reserved.
struct StoredTrial {
  TrialId id = 0;
  CampaignId campaign = 0;
  std::string campaign_name{};
  std::int64_t generation = 1;
  TrialState state = TrialState::Reserved;
  std::string key{};
  space::Trial trial{};
  std::int64_t reserved_unix_ns = 0;
  std::optional<std::int64_t> finished_unix_ns{};
  std::optional<TrialId> reused_from{};  ///< the trial whose runs these are; it has none of its own at first
  std::int64_t runs = 0;                 ///< how many, those reused included
};

struct StoredRun {
  TrialId trial = 0;
  RunRecord record{};
  bool in_flight = false;  ///< begun and not yet stored as finished: if nothing tunes the campaign, it was interrupted
};

/// When a process ran, for what, and how busy the machine was beside it: a run without all that it measured.
struct RunSpan {
  std::string id{};        ///< as in space::Run
  std::int64_t trial = 0;  ///< the number of the trial it belongs to
  space::Purpose purpose = space::Purpose::Search;
  space::Outcome outcome = space::Outcome::Killed;
  bool in_flight = false;
  std::int64_t started_unix_ns = 0;
  std::chrono::nanoseconds wall{};
  std::optional<double> other_cpu{}, steal{};  ///< as in space::Load
};

/// A run with the campaign it was made in.
struct CampaignRun {
  CampaignId campaign = 0;
  nlohmann::json spec{};  ///< that campaign's document
  StoredRun stored{};
};

/// Everything of a trial: its own runs and those of the trial it reuses, oldest first, raw samples included.
struct TrialDetail {
  StoredTrial stored{};
  std::vector<StoredRun> runs{};
};

/// What a process that is gone left behind in a campaign.
struct Recovery {
  std::vector<StoredTrial> trials{};  ///< reserved and not finished, by number
  std::int64_t runs = 0;              ///< that were in flight
};

struct TrialFilter {
  enum class Order { ByNumber, ByValue };  ///< by value: ok ones only, best first
  std::optional<CampaignId> campaign{};
  std::optional<TrialState> state{};
  std::optional<space::Outcome> outcome{};  ///< implies finished
  std::string configuration{};              ///< identity, or empty
  Order order = Order::ByNumber;
  std::optional<std::int64_t> limit{};
};

/// What the finished trials with one value of a parameter came to.
struct LevelSummary {
  space::Value value{};
  std::int64_t trained = 0, failed = 0;  ///< counts
  std::string reason{};                  ///< the first failure's that gave one; empty where a trial trained
  std::optional<StoredTrial> fastest{};  ///< at the horizon asked for, the first of equal ones
};

/// One configuration of a strategy's answer.
struct AskAnswer {
  std::int64_t number = 0;
  space::Configuration configuration{};
  space::Purpose purpose = space::Purpose::Search;  ///< Search or Audit
  std::string reason{};                             ///< why it was chosen; may be empty
  std::optional<double> predicted_log_bound{};  ///< what an audit predicted (search::AuditPrediction); empty: no audit
  std::optional<double> predicted_log_margin{};
};

/// One call of a strategy's ask(): what it was asked for, and what it answered.
struct Ask {
  std::string strategy{};  ///< which one answered; asks of another strategy or seed cannot be replayed, only told
  std::int64_t seed = 1;
  std::int64_t count = 0;
  std::vector<AskAnswer> answer{};
};

/// One trial as it was told then; a later tell of the same number replaces it.
struct Tell {
  space::Trial trial{};
};

/// Asks and tells in the order of their time; replayed, they rebuild the strategy.
using Exchange = std::variant<Ask, Tell>;

/// A campaign from elsewhere: another database, another program.
struct ImportedCampaign {
  CampaignRecord record{};  ///< its name tells it from those measured here; `fresh` and `history` do not matter
  std::int64_t created_unix_ns = 0, finished_unix_ns = 0;
  std::vector<space::Trial> trials{};  ///< finished ones, by number
  std::vector<AskAnswer> asked{};      ///< what is known of how they were asked for; may lack some
};

/// What came of it.
struct ImportCount {
  std::int64_t added = 0, known = 0;  ///< trials
};

/// A software stack (one set of environment and build values) that was prepared and trained a few steps before the
/// search.
struct PreflightRecord {
  space::Configuration stack{};
  space::Configuration configuration{};  ///< that was trained last
  space::Outcome outcome = space::Outcome::Killed;
  std::string reason{};                   ///< empty when ok
  std::vector<std::int64_t> too_large{};  ///< batches that were out of memory before it, in the order tried
  std::chrono::nanoseconds prepare{}, train{};
  std::string log_tail{};              ///< the compiler's or the worker's last words, where it failed
  std::int64_t preflight_unix_ns = 0;  ///< 0 when stored: now
};

/// What one machine can do at best.
struct MachineFiguresRecord {
  std::string key{};                  ///< names the machine; tuner/roofline says what goes into it
  nlohmann::json fields{};            ///< fields of the fingerprint that the key is made of
  nlohmann::json figures{};           ///< as measured
  std::int64_t measured_unix_ns = 0;  ///< 0 when stored: now
};

enum class Side { Candidate, Baseline };

/// Consecutive steps of one worker in a pair, measured while the other waited.
struct Slice {
  Side side = Side::Candidate;
  std::int64_t first_step = 0;  ///< counted in that worker's process, as in its samples
  std::int64_t steps = 0;
  std::int64_t wall_ns = 0;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// Two workers alive together. Their runs are stored with the trials they belong to.
struct PairRecord {
  std::int64_t index = 0;  ///< 0, 1, … within the comparison
  Side first = Side::Candidate;
  TrialId candidate_trial = 0, baseline_trial = 0;
  RunRecord candidate{}, baseline{};
  std::vector<Slice> slices{};  ///< in the order in which they were measured
};

/// A pair as listed: runs by id (load_run() gives them whole), without its slices (slices() gives them).
struct StoredPair {
  std::int64_t index = 0;
  Side first = Side::Candidate;
  std::string candidate_run{}, baseline_run{};
  std::string fingerprint{};  ///< hash of the machine's that measured it; empty: not known
};

/// What is compared with what.
struct ComparisonRecord {
  CampaignId campaign = 0;
  space::Configuration candidate{}, baseline{};
  /// search: runs of a trial beside the default; select: to choose the winner; verify: fresh pairs, from which the gain
  /// is reported; compare: the user asked; blame: the present program against one of then
  std::string role = "verify";
  std::string method = "slices";     ///< how its pairs are measured: sequential, slices, duet
  std::string estimator = "paired";  ///< median or minimum of a process's steady steps; paired: neighbouring slices
};

/// What the pairs of a comparison say at one horizon.
struct VerdictRecord {
  ComparisonId comparison = 0;
  double horizon_epochs = 0;
  bool primary = false;                          ///< the campaign's primary horizon
  std::string verdict{};                         ///< faster, slower, same, undecided: of the candidate
  double log_ratio_mean = 0;                     ///< ln(T(candidate) / T(baseline)): below 0, the candidate is faster
  double log_ratio_low = 0, log_ratio_high = 0;  ///< interval
  double confidence = 0.95;                      ///< confidence of that interval, 0 to 1
  std::int64_t pairs = 0;                        ///< that it rests on
  friend bool operator==(const VerdictRecord&, const VerdictRecord&) = default;
};

struct StoredComparison {
  ComparisonId id = 0;
  ComparisonRecord record{};
  std::int64_t started_unix_ns = 0;
  std::int64_t judged_unix_ns = 0;  ///< the last time; 0: it has no verdict yet
  std::vector<StoredPair> pairs{};
  std::vector<VerdictRecord> verdicts{};  ///< by horizon; the latest of each
};

/// How far apart equal programs seemed, by one way of measuring pairs.
struct NoiseFigure {
  std::string method{};     ///< sequential, slices, duet
  std::string estimator{};  ///< median, minimum, paired
  std::int64_t pairs = 0;
  double sd = 0, bias = 0;  ///< standard deviation and bias of the log ratio of a pair
  std::chrono::nanoseconds pair_time{};
  friend bool operator==(const NoiseFigure&, const NoiseFigure&) = default;
};

/// The noise floor of a machine, measured with one workload.
struct NoiseFloorRecord {
  std::string fingerprint{};  ///< hash, of a stored one
  std::string workload{};     ///< network/data/optimizer
  std::int64_t steps = 0;     ///< steps of each process
  std::vector<NoiseFigure> figures{};
  std::int64_t measured_unix_ns = 0;  ///< 0 when stored: now
};

/// A content-addressed artifact that exists, or existed, on this machine.
struct BuildRecord {
  std::string key{};  ///< hash of everything that went in
  std::string program{};
  std::string compiler{};  ///< with its version
  nlohmann::json flags{};
  std::string folder{};
  std::int64_t build_ns = 0;  ///< how long it took
  std::int64_t size_bytes = 0;
  std::int64_t created_unix_ns = 0;    ///< 0 when stored: now
  std::int64_t last_used_unix_ns = 0;  ///< likewise
};

/// An environment that was installed is a record too: its flags are {"environment": name of the recipe, "packages":
/// [as locked], "download_bytes"}. The name; empty: it was built.
[[nodiscard]] std::optional<std::string> environment_of(const BuildRecord& build);

enum class Level { Info, Warning, Error };

[[nodiscard]] std::string_view to_text(Level level);  ///< info, warning, error

/// A line of a campaign's log.
struct EventRecord {
  std::optional<CampaignId> campaign{};
  std::int64_t time_unix_ns = 0;
  Level level = Level::Info;
  std::string what{};
};

/// The files of a run, as far as the store knows: what `clean` may drop.
struct RunFolder {
  std::string run{};
  TrialId trial = 0;
  std::string folder{};
  std::int64_t started_unix_ns = 0;
  bool in_flight = false;
};

}  // namespace nocturne::db
