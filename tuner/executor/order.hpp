#pragma once

/// The seam between the loop of a campaign and whatever carries out its orders: this process, or nodes of a cluster.
///
/// An order is one thing to do on one machine, its answer what came of it. Both are plain values without references
/// into the process: order_json.hpp writes and reads them, `nocturne execute` carries one out and is gone, and
/// carry_out.hpp does the work, wherever the order came from.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/error.hpp"
#include "db/records.hpp"
#include "measure/comparison/noise.hpp"
#include "measure/machine/machine_part.hpp"
#include "search/strategy.hpp"
#include "space/configuration.hpp"
#include "space/facts.hpp"
#include "space/fingerprint.hpp"
#include "space/outcome.hpp"
#include "space/trial.hpp"
#include "tuner/executor/executor.hpp"

namespace nocturne::tuner {

/// Describe yourself: what the machine is, and what a run may use of it.
struct DescribeOrder {
  std::optional<measure::PartKind> parts{};  ///< set: and which parts of that kind it has
};

/// Prepare a software stack, and train a few steps: does it go?
struct PreparationOrder {
  space::Configuration stack{};  ///< its values of the environment and build parameters
  /// Valid configurations of it, tried until one is not out of memory; at least one. A preflight's: the largest batch
  /// first.
  std::vector<space::Configuration> ladder{};
  std::string batch{};     ///< the parameter that is smaller from step to step; empty: none is
  std::int64_t steps = 3;  ///< 0: it is prepared, and nothing is trained
};

/// Run a trial: prepare its configuration, and measure it as often as the stopping rule wants.
struct TrialOrder {
  std::int64_t number = 0;  ///< the trial's number; no two orders in flight have the same
  space::Configuration configuration{};
  space::Purpose purpose = space::Purpose::Search;
  std::optional<space::Estimate> incumbent{};     ///< when the order was given; spares the hopeless their repeats
  std::optional<search::Expectation> expected{};  ///< a first run that is far from it is repeated; empty: not known
  /// A run of it may take so long, for the budget has no more time; empty: as the campaign's deadline says.
  std::optional<std::chrono::nanoseconds> limit{};

  /// Likewise, where that comes before the deadline of all runs.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> earlier_deadline(std::chrono::nanoseconds of_all) const {
    return limit && *limit < of_all ? limit : std::nullopt;
  }
};

/// Run a pair: both configurations once each, as `method` says.
struct PairOrder {
  struct Side {
    space::Configuration configuration{};
    std::int64_t slice_steps = 4;  ///< so that slices of both sides last about equally long
  };
  std::int64_t index = 0;  ///< in its comparison; who starts first and who has which CPUs alternates with it
  Side baseline{}, candidate{};
  std::int64_t slices = 6;  ///< turns of each side
  measure::PairMethod method = measure::PairMethod::Slices;
  std::uint64_t seed = 1;
};

/// Gate: one run that says whether a configuration trains as it should, or what it is compared with: the exact steps,
/// whole epochs, what a script learns. Several of them make a verdict.
struct GateOrder {
  space::Configuration configuration{};
  bool reference = false;  ///< our own worker instead, whatever the campaign trains with
  RunOrder run{};          ///< the file that a gate writes is named within the run's folder
  /// The exact run of the reference that this one is compared with; empty: it is compared with nothing.
  std::optional<space::Run> against{};
};

/// How an order ended.
enum class OrderEnd {
  Finished,     ///< there is a result; a failure is one
  Suspended,    ///< cut short by a suspension of the session, or never begun: to be run again, and no loss
  Lost,         ///< its process or its node is gone, or another hand killed it: to be run again
  Interrupted,  ///< the session ends; the next one runs it again
  OutOfTime,    ///< an installation or a build was cut, for prepare_within was over: likewise, with more time
};
/// Nothing is wrong with it, and this session does not run it again.
[[nodiscard]] constexpr bool left_to_the_next_session(OrderEnd end) {
  return end == OrderEnd::Interrupted || end == OrderEnd::OutOfTime;
}

struct MachineAnswer {
  space::Facts facts{};
  std::vector<int> cpus{};               ///< CPUs that workers may use
  std::int64_t memory_limit_bytes = 0;   ///< that a run may take; 0: as much as there is
  std::int64_t shared_memory_bytes = 0;  ///< that two runs may take together; 0: not known
  std::vector<measure::MachinePart> parts{};
  std::string why_no_parts{};  ///< where they were asked for and there are none; a sentence without a full stop
};

// In all that follow the rest is set where it finished, but for a trial's and a preflight's reason: out of time, it is
// what was cut. Builds are those that were used, made now or before.

struct PreparationAnswer {
  OrderEnd end = OrderEnd::Finished;
  db::PreflightRecord record{};
  std::string worker{};  ///< identity of the program; empty: it could not be prepared
  std::vector<db::BuildRecord> builds{};
};

struct TrialAnswer {
  using End = OrderEnd;
  std::int64_t number = 0;  ///< number of the order that is answered
  End end = End::Finished;
  space::Trial trial{};
  db::TrialReservation reservation{};
  std::string log_tail{};             ///< the installer's or compiler's last words, where it could not be prepared
  std::vector<db::RunRecord> runs{};  ///< that count; what is stored of them already stays as it is
  std::vector<db::BuildRecord> builds{};
  // Known to the database of this process alone: not written with the answer.
  std::optional<db::TrialId> reserved{};  ///< empty: it was not reserved in the database yet
  std::optional<db::TrialId> equal_to{};  ///< an equal trial was known: nothing was run, its result is taken over
  int ratios = 0;                         ///< runs of it that took turns with the default
  // Known to whoever received it from another machine: likewise.
  std::string node{};                           ///< empty: this machine
  std::optional<space::Fingerprint> machine{};  ///< empty: likewise
};

/// What the default took on a node: how nodes of one class differ, and what changes on one in a night.
struct DefaultOnNode {
  std::string node{};
  TrialAnswer answer{};  ///< finished; its runs have the purpose Verify
};

struct PairAnswer {
  OrderEnd end = OrderEnd::Finished;
  bool complete = false;  ///< both sides ended well and every slice was run; else their outcomes say why
  db::PairRecord pair{};  ///< its trials are for whoever gave the order to fill in
  std::vector<db::BuildRecord> builds{};
};

struct GateAnswer {
  OrderEnd end = OrderEnd::Finished;
  db::RunRecord run{};  ///< without an id where it could not be prepared: outcome and reason say why
  /// What the comparison says; empty: there was none, or `why_none`.
  struct Verdict {
    bool agrees = true;
    std::string sentence{};  ///< the deviation, or what was nearest to its tolerance
  };
  std::optional<Verdict> verdict{};
  std::string why_none{};  ///< a sentence why the two cannot be compared
  std::vector<db::BuildRecord> builds{};
};

/// What came of a pair on a node.
struct PairOnNode {
  std::string node{};
  std::int64_t index = 0;  ///< of the order
  PairAnswer answer{};
  std::optional<space::Fingerprint> machine{};  ///< set where it finished
};

using Task = std::variant<DescribeOrder, PreparationOrder, TrialOrder, PairOrder, GateOrder>;
using TaskAnswer = std::variant<MachineAnswer, PreparationAnswer, TrialAnswer, PairAnswer, GateAnswer>;

/// A task with what another process needs to carry it out: one on this machine, or on one of the same class with the
/// same data folder.
struct Order {
  nlohmann::json document{};  ///< as stored with the campaign: workload, worker, limits of a run
  double process_sd = 0.05;   ///< between-process standard deviation on that class of machines (RunSettings)
  std::vector<int> cpus{};    ///< the slot's; who may use others refuses. Empty: whatever there is
  std::string runs_folder{};  ///< where the folders of its runs are made; empty: in the data folder
  /// An installation or a build is cut after this time, counted from when the order is read; empty: it is not.
  std::optional<std::chrono::nanoseconds> prepare_within{};
  Task task{};
};

struct OrderAnswer {
  space::Fingerprint machine{};  ///< the one that carried it out; runs name its identity
  TaskAnswer result{};
  std::vector<std::string> notes{};  ///< what the user should know of that machine, sentences
};

/// Works on several orders at once. Not thread-safe: the loop alone calls it.
///
/// Pairs are given to a node by name, one at a time, for a pair never leaves its node, and which node it was counts in
/// the verdict.
class OrderExecutor {
 public:
  virtual ~OrderExecutor() = default;
  /// How many orders it takes at once, at least 1; may change while the campaign lasts.
  [[nodiscard]] virtual std::size_t slots() const = 0;
  /// REQUIRES: fewer than slots() are in flight.
  virtual void submit(TrialOrder order) = 0;
  /// Blocks until one of the orders in flight has ended, in whichever order they end. After an interruption of the
  /// session all of them end soon. The error ends the session (a full disk). REQUIRES: one is in flight.
  [[nodiscard]] virtual TrialAnswer next() = 0;
  /// Where there are several nodes: the default as it was measured on each of them beside the orders, since the last
  /// call.
  [[nodiscard]] virtual std::vector<DefaultOnNode> take_defaults() { return {}; }

  /// The nodes that take pairs, those first that are to be preferred; changes while the campaign lasts. Empty: whoever
  /// wants a pair carries it out himself, on this machine.
  [[nodiscard]] virtual std::vector<std::string> pair_nodes() const { return {}; }
  /// REQUIRES: no order is in flight on that node. It need not be among the nodes any more: then the pair is lost.
  virtual void submit_pair(const std::string& node, PairOrder order);
  /// Blocks until one of the pairs in flight has ended; else as next(). REQUIRES: one is in flight.
  [[nodiscard]] virtual PairOnNode next_pair();
};

}  // namespace nocturne::tuner
