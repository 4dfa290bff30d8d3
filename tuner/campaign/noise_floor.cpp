#include "tuner/campaign/noise_floor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/comparison.hpp"
#include "measure/comparison/location.hpp"
#include "measure/comparison/warm_up.hpp"

namespace nocturne::tuner {
namespace {

constexpr int kFewestRounds = 3;

struct Configured {
  space::Configuration configuration;
  Prepared prepared;
};

/// Seconds a step of the steady samples of one process.
std::vector<double> steady_steps(const space::Run& run) {
  std::vector<double> seconds;
  for (const space::Sample& sample : run.samples) {
    seconds.push_back(std::chrono::duration<double>(sample.wall).count() / static_cast<double>(sample.steps));
  }
  const auto skipped = static_cast<std::ptrdiff_t>(measure::detect_warm_up(seconds).samples);
  seconds.erase(seconds.begin(), seconds.begin() + skipped);
  return seconds;
}

/// One method's pairs so far: log ratios by estimator.
struct Series {
  std::map<StepEstimator, std::vector<double>> ratios;
  std::chrono::nanoseconds spent{};
  int pairs = 0;

  void add(const space::Run& a, const space::Run& b, std::chrono::nanoseconds took) {
    const auto first = steady_steps(a), second = steady_steps(b);
    if (first.empty() || second.empty()) return;
    ratios[StepEstimator::Median].push_back(std::log(measure::median(first) / measure::median(second)));
    ratios[StepEstimator::Minimum].push_back(std::log(std::ranges::min(first) / std::ranges::min(second)));
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
    for (int round = 0; round < kFewestRounds || work_.clock.steady() - began < work_.time;) {
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

  Done measure_round(const Configured& whole, const Configured* half, int round) {
    const auto flight = work_.interruption.begin();
    const auto slot = measure::SlotLock::take(measure::Slot{}, work_.spec.name, work_.waiting,
                                              work_.interruption.waiting_token(), work_.slot_folder);
    if (!slot && slot.error().holder) return {};  // the wait was ended
    if (!slot) return std::unexpected(slot.error().error);
    if (work_.progress) work_.progress(round);
    if (auto done = sequential(whole, round); !done) return done;
    if (auto done = slices(whole, round); !done) return done;
    if (half == nullptr) return {};
    return duet(*half, round);
  }

  std::expected<Configured, std::string> prepare(const space::Configuration& configuration) {
    auto prepared = work_.interruption.past_suspensions(
        [&](std::stop_token stop) { return work_.executor.prepare(configuration, std::move(stop)); });
    if (!prepared) return std::unexpected(prepared.error().reason);
    return Configured{.configuration = configuration, .prepared = std::move(*prepared)};
  }

  /// The default with half of its threads; empty: there is no such configuration, and left_out_ says why.
  std::optional<Configured> halved() {
    space::Configuration configuration = work_.spec.space.default_configuration();
    const space::Value* threads = configuration.find("threads");
    const auto* count = threads != nullptr ? std::get_if<std::int64_t>(threads) : nullptr;
    if (count == nullptr || *count < 2) {
      left_out_.emplace_back("duet: the default does not say that it uses two threads or more");
      return std::nullopt;
    }
    configuration.set("threads", space::Value(*count / 2));
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

  [[nodiscard]] measure::RunPlan plan(const Configured& what, int round) {
    const VerifySettings& verify = work_.spec.verify;
    return work_.executor.plan(what.configuration, what.prepared,
                               {.purpose = space::Purpose::Verify,
                                .steps = verify.slices * verify.slice_steps,
                                .seed = work_.spec.run.seed + static_cast<std::uint64_t>(round),
                                .deadline = {}});
  }

  [[nodiscard]] measure::RunControl control() {
    measure::RunControl control;
    control.stop = work_.interruption.token();
    return control;
  }

  Done trained(const space::Run& run) const {
    if (run.outcome == space::Outcome::Ok || work_.interruption.requested()) return {};
    return std::unexpected(fmt::format("the default does not train: {}: {}", space::to_text(run.outcome), run.reason));
  }

  Done sequential(const Configured& what, int round) {
    const auto began = work_.clock.steady();
    const space::Run a = work_.executor.run(plan(what, round), control());
    if (auto ok = trained(a); !ok) return ok;
    const space::Run b = work_.executor.run(plan(what, round), control());
    if (auto ok = trained(b); !ok) return ok;
    keep(measure::PairMethod::Sequential, a, b, began);
    return {};
  }

  Done slices(const Configured& what, int round) {
    const auto began = work_.clock.steady();
    measure::PairPlan pair;
    pair.slices = static_cast<std::size_t>(work_.spec.verify.slices);
    for (auto& side : pair.sides) {
      side.plan = plan(what, round);
      side.slice_steps = work_.spec.verify.slice_steps;
    }
    measure::PairControl pair_control;
    pair_control.stop = work_.interruption.token();
    const measure::PairResult result = work_.executor.run_pair(pair, pair_control);
    for (const space::Run& run : result.runs) {
      if (auto ok = trained(run); !ok && run.outcome != space::Outcome::Killed) return ok;
    }
    if (!result.complete()) return {};
    keep(measure::PairMethod::Slices, result.runs[0], result.runs[1], began);
    const auto ratio = measure::log_ratios(result, what.prepared.schedule, what.prepared.schedule, kManyEpochs);
    if (ratio) series_[measure::PairMethod::Slices].ratios[StepEstimator::Paired].push_back(ratio->front());
    return {};
  }

  Done duet(const Configured& what, int round) {
    const auto began = work_.clock.steady();
    std::array<measure::RunPlan, 2> plans = {plan(what, round), plan(what, round)};
    const std::vector<int>& cpus = work_.cpus;
    const auto middle = cpus.begin() + static_cast<std::ptrdiff_t>(cpus.size() / 2);
    plans[0].cpus.assign(cpus.begin(), middle);
    plans[1].cpus.assign(middle, cpus.end());
    if (round % 2 == 1) std::swap(plans[0].cpus, plans[1].cpus);  // no side keeps the better half
    auto other = std::async(std::launch::async, [&] { return work_.executor.run(plans[1], control()); });
    const space::Run a = work_.executor.run(plans[0], control());
    const space::Run b = other.get();
    for (const space::Run* run : {&a, &b}) {
      if (auto ok = trained(*run); !ok) return ok;
    }
    keep(measure::PairMethod::Duet, a, b, began);
    return {};
  }

  void keep(measure::PairMethod method, const space::Run& a, const space::Run& b,
            std::chrono::steady_clock::time_point began) {
    if (a.outcome != space::Outcome::Ok || b.outcome != space::Outcome::Ok) return;
    series_[method].add(a, b, work_.clock.steady() - began);
  }

  [[nodiscard]] std::vector<NoiseRow> rows() const {
    std::vector<NoiseRow> rows;
    for (const auto& [method, series] : series_) {
      for (const auto& [estimator, ratios] : series.ratios) {
        if (ratios.size() < 2) continue;
        rows.push_back({.method = method,
                        .estimator = estimator,
                        .noise = measure::noise_of(ratios),
                        .seconds_a_pair = std::chrono::duration<double>(series.spent).count() / series.pairs});
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

std::string_view to_text(StepEstimator estimator) {
  switch (estimator) {
    case StepEstimator::Median:
      return "median";
    case StepEstimator::Minimum:
      return "minimum";
    case StepEstimator::Paired:
      break;
  }
  return "paired";
}

std::expected<NoiseFloor, std::string> measure_noise(const NoiseWork& work) {
  return Floor(work).run();
}

}  // namespace nocturne::tuner
