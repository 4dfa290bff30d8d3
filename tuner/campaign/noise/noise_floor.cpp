#include "tuner/campaign/noise/noise_floor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/comparison.hpp"
#include "measure/comparison/statistics.hpp"
#include "tuner/executor/measured_pair.hpp"

namespace nocturne::tuner {
namespace {

constexpr int kFewestRounds = 3;

struct PreparedConfiguration {
  space::Configuration configuration;
  PreparedWorker prepared;
};

/// One method's pairs so far: log ratios by estimator.
struct Series {
  std::map<StepEstimator, std::vector<double>> ratios;
  std::chrono::nanoseconds spent{};
  int pairs = 0;

  void add(const space::Run& a, const space::Run& b, std::chrono::nanoseconds took) {
    const auto first = measure::step_seconds(a), second = measure::step_seconds(b);
    for (const StepEstimator estimator : {StepEstimator::Median, StepEstimator::Minimum}) {
      const auto of_first = measure::judged_step(first, estimator), of_second = measure::judged_step(second, estimator);
      if (!of_first || !of_second || *of_first <= 0 || *of_second <= 0) return;
      ratios[estimator].push_back(std::log(*of_first / *of_second));
    }
    spent += took;
    ++pairs;
  }
};

class Floor {
 public:
  explicit Floor(const NoiseWork& work) : work_(work) {}

  std::expected<NoiseFloor, std::string> run() {
    auto whole = prepare(work_.spec.space.default_configuration());
    if (!whole) return std::unexpected("the default cannot be prepared: " + whole.error());
    const auto half = halved();
    const auto began = work_.clock.steady();
    for (int round = 0; round < kFewestRounds || (round < work_.most_rounds && within(began));) {
      if (work_.interruption.requested()) break;
      const auto suspensions = work_.interruption.suspensions();
      auto measured = measure_round(*whole, half ? &*half : nullptr, round);
      if (work_.interruption.again_after_suspension(suspensions)) continue;  // what it lost is no failure
      if (!measured) return std::unexpected(measured.error());
      ++round;
    }
    NoiseFloor floor{.rows = rows(), .left_out = left_out_};
    if (floor.rows.empty()) return std::unexpected("interrupted before two pairs were measured");
    return floor;
  }

 private:
  using Done = std::expected<void, std::string>;

  [[nodiscard]] bool within(std::chrono::steady_clock::time_point began) const {
    return work_.clock.steady() - began < work_.time;
  }

  Done measure_round(const PreparedConfiguration& whole, const PreparedConfiguration* half, int round) {
    const auto suspensions = work_.interruption.suspensions();
    const auto flight = work_.interruption.begin();
    const auto slot = measure::SlotLock::take(measure::Slot{}, work_.spec.name, work_.waiting,
                                              work_.interruption.waiting_token(), work_.slot_folder);
    if (!slot && slot.error().holder) return {};  // the wait was ended
    if (!slot) return std::unexpected(slot.error().error);
    if (work_.progress) work_.progress(round);
    using enum measure::PairMethod;
    for (const measure::PairMethod method : {Sequential, Slices, Duet}) {
      if (method == Duet && half == nullptr) continue;
      if (auto done = pair(method, method == Duet ? *half : whole, round); !done) return done;
      if (work_.interruption.suspensions() != suspensions) return {};  // the round is made again
    }
    return {};
  }

  std::expected<PreparedConfiguration, std::string> prepare(const space::Configuration& configuration) {
    auto prepared = work_.interruption.prepare_past_suspensions(
        [&](std::stop_token stop) { return work_.executor.prepare(configuration, std::move(stop)); });
    if (!prepared) return std::unexpected(prepared.error().reason);
    return PreparedConfiguration{.configuration = configuration, .prepared = std::move(*prepared)};
  }

  /// The default with half of its threads; empty: there is no such configuration, and left_out_ says why.
  std::optional<PreparedConfiguration> halved() {
    space::Configuration configuration = work_.spec.space.default_configuration();
    const std::int64_t threads = configuration.integer_of("threads").value_or(0);
    if (threads < 2) {
      left_out_.emplace_back("duet: the default does not say that it uses two threads or more");
      return std::nullopt;
    }
    configuration.set("threads", threads / 2);
    configuration = work_.spec.space.normalise(configuration);
    if (!work_.spec.space.contains(configuration)) {
      left_out_.emplace_back("duet: the space does not allow the default with half of its threads");
      return std::nullopt;
    }
    if (work_.cpus.size() < 2) {
      left_out_.emplace_back("duet: two processes need two CPUs at least");
      return std::nullopt;
    }
    auto half = prepare(configuration);
    if (!half) {
      left_out_.push_back("duet: the default with half of its threads cannot be prepared: " + half.error());
      return std::nullopt;
    }
    return std::move(*half);
  }

  [[nodiscard]] measure::RunPlan plan(const PreparedConfiguration& what, int round) {
    const VerifySettings& verify = work_.spec.verify;
    return work_.executor.plan(what.configuration, what.prepared,
                               {.purpose = space::Purpose::Verify,
                                .steps = verify.slices * verify.slice_steps,
                                .seed = work_.spec.run.seed + static_cast<std::uint64_t>(round)});
  }

  Done pair(measure::PairMethod method, const PreparedConfiguration& what, int round) {
    const auto began = work_.clock.steady();
    measure::PairPlan pair;
    pair.slices = static_cast<std::size_t>(work_.spec.verify.slices);
    for (auto& side : pair.sides) {
      side.plan = plan(what, round);
      side.slice_steps = work_.spec.verify.slice_steps;
    }
    measure::PairControl control;
    control.stop = work_.interruption.token();
    // Halves are swapped: no side keeps the better one.
    const measure::PairResult result =
        measure_pair(work_.executor, std::move(pair), method, work_.cpus, round % 2 == 1, control);
    for (const space::Run& run : result.runs) {
      if (run.outcome == space::Outcome::Ok || run.outcome == space::Outcome::Killed) continue;
      if (work_.interruption.requested()) return {};
      return std::unexpected(
          fmt::format("the default does not train: {}: {}", space::to_text(run.outcome), run.reason));
    }
    if (!result.complete()) return {};
    Series& series = series_[method];
    series.add(result.runs[0], result.runs[1], work_.clock.steady() - began);
    if (method != measure::PairMethod::Slices) return {};
    const auto ratio = measure::log_ratios(result, what.prepared.schedule, what.prepared.schedule, kManyEpochs);
    if (ratio) series.ratios[StepEstimator::Paired].push_back(ratio->front());
    return {};
  }

  [[nodiscard]] std::vector<NoiseRow> rows() const {
    std::vector<NoiseRow> rows;
    for (const auto& [method, series] : series_) {
      for (const auto& [estimator, ratios] : series.ratios) {
        if (ratios.size() < 2) continue;
        rows.push_back(
            {.method = method,
             .estimator = estimator,
             .noise = measure::noise_of(ratios),
             .seconds_a_pair = std::chrono::duration<double>(series.spent).count() / std::max(1, series.pairs)});
      }
    }
    return rows;
  }

  // So many that only the steady step counts.
  static constexpr std::array<double, 1> kManyEpochs = {1e6};

  const NoiseWork& work_;
  std::map<measure::PairMethod, Series> series_;
  std::vector<std::string> left_out_;
};

}  // namespace

std::expected<NoiseFloor, std::string> measure_noise(const NoiseWork& work) {
  return Floor(work).run();
}

}  // namespace nocturne::tuner
