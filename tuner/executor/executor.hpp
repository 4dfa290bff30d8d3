#pragma once

/// From a configuration to a run: prepare once, plan, run. Abstract so that a cluster's scheduler can stand behind it,
/// and so that the loop can be tested without processes.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "db/records.hpp"
#include "measure/comparison/pair.hpp"
#include "measure/comparison/statistics.hpp"
#include "measure/run/command_template.hpp"
#include "measure/run/launch.hpp"
#include "measure/run/runner.hpp"
#include "space/configuration.hpp"
#include "space/outcome.hpp"

namespace nocturne::tuner {

struct ContainerPlace;  // containment.hpp

/// A configuration that can be started.
struct PreparedWorker {
  std::vector<std::string> argv;  ///< the worker, without --request and --events
  std::string worker;             ///< identity of the program: key of its artifact, or hash of a user's command
  std::string artifact;           ///< key of the artifact or of the environment, or empty
  bool built_now = false;
  std::chrono::nanoseconds build_time{};
  std::optional<db::BuildRecord> build;  ///< how the artifact was built, for the store; empty where there is none
  measure::LaunchSettings launch;
  measure::Schedule schedule;
  /// Where a graph compiler keeps what it made (NOCTURNE_COMPILE_CACHE); a relative one belongs to the run alone.
  /// Empty: the worker has none.
  std::filesystem::path compile_cache{};
  std::shared_ptr<const ContainerPlace> contained{};  ///< its place in a container; null: on the host
  std::string image{};  ///< whose Python argv names: the recipe of an image; empty: the program is on the host
  std::filesystem::path library{};  ///< folder of what the program is linked with, beside the installation's own
  std::shared_ptr<const measure::CommandTemplate> own{};  ///< a command of the user's; null: it speaks the protocol
};

struct PreparationFailure {
  space::Outcome outcome = space::Outcome::BuildFailed;
  std::string reason;
  std::string log_tail;
  bool no_room = false;      ///< a disk was seen to be full; else the words of either may say so
  bool unreachable = false;  ///< what it needs could not be downloaded, for the network was gone
};

/// What one run shall do.
struct RunOrder {
  space::Purpose purpose = space::Purpose::Search;
  std::int64_t steps = 0;
  std::int64_t epochs = 0;  ///< > 0: whole epochs, steps ignored
  bool accuracy = false;
  std::uint64_t seed = 1;
  std::optional<std::chrono::nanoseconds> deadline{};  ///< else the campaign's
  std::optional<protocol::CurveRequest> curve = {};    ///< with `epochs`: the test accuracy on the way, too
  /// The exact comparison of trainers instead; a file to write is named in the run's folder.
  std::optional<protocol::GateRequest> gate{};
  std::string initial{};  ///< gate runs: file of weights and batches to begin with, or empty
  /// A command of the user's own records what it learns instead (measure/gate/learning.hpp), with `seed` and `steps`.
  enum class Learning { None, Start, Longer } learning = Learning::None;
};

/// In the run's folder: what it recorded.
inline constexpr const char* kLearningFile = "learning.json";

/// What a run's worker is asked, as far as the order says it.
[[nodiscard]] inline protocol::Request request_of(const space::Configuration& configuration, const RunOrder& order) {
  protocol::Request request{.seed = order.seed,
                            .steps = order.steps,
                            .epochs = order.epochs,
                            .accuracy = order.accuracy,
                            .curve = order.curve,
                            .gate = order.gate};
  request.configuration = configuration.to_json();
  if (!order.initial.empty()) request.initial = order.initial;
  return request;
}

/// One instance serves one campaign; not thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Makes whatever the configuration needs, or finds it made. Outcome Killed: the stop was asked for.
  [[nodiscard]] virtual std::expected<PreparedWorker, PreparationFailure> prepare(
      const space::Configuration& configuration, std::stop_token stop) = 0;
  /// The same for our own worker, whatever the campaign trains with: what others are compared with.
  [[nodiscard]] virtual std::expected<PreparedWorker, PreparationFailure> prepare_reference(
      const space::Configuration& configuration, std::stop_token stop) {
    return prepare(configuration, std::move(stop));
  }
  /// The run as it will be started, with a fresh id and folder; starts nothing.
  [[nodiscard]] virtual measure::RunPlan plan(const space::Configuration& configuration, const PreparedWorker& prepared,
                                              const RunOrder& order) = 0;
  [[nodiscard]] virtual space::Run run(const measure::RunPlan& plan, const measure::RunControl& control) = 0;
  [[nodiscard]] virtual measure::PairResult run_pair(const measure::PairPlan& plan,
                                                     const measure::PairControl& control) = 0;
  /// About how many seconds installing takes each value of `framework` that is an environment; 0: it was installed
  /// before that moment. Does not depend on what was installed since.
  [[nodiscard]] virtual std::map<std::string, double> install_seconds(std::int64_t /*began_unix_ns*/) const {
    return {};
  }
  /// CPUs that workers may use; empty: not known, and nothing is measured side by side.
  [[nodiscard]] virtual std::vector<int> cpus() const { return {}; }
  /// Bytes that a run may take; 0: as much as there is.
  [[nodiscard]] virtual std::int64_t memory_limit_bytes() const { return 0; }
  /// Bytes that two runs may take together; 0: not known.
  [[nodiscard]] virtual std::int64_t shared_memory_bytes() const { return 0; }
};

}  // namespace nocturne::tuner
