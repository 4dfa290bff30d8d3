#include "tuner/deploy/blame_trial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "measure/comparison/family_looks.hpp"
#include "measure/comparison/statistics.hpp"
#include "measure/run/slot.hpp"
#include "space/outcome.hpp"
#include "tuner/campaign/measured_pair.hpp"
#include "tuner/campaign/side_by_side.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {
namespace {

constexpr int kLoneRuns = 3;
constexpr int kMostLostPairs = 3;       // of pairs, in all
constexpr double kBlameError = 0.05;    // of all findings together
constexpr double kBlameSurely = 2.576;  // 99 %, two-sided

class Inquiry {
 public:
  Inquiry(const BlameWork& work, std::vector<ProgramTrial>& trials, std::vector<Suspect>& suspects)
      : work_(work), trials_(trials), suspects_(suspects) {}

  std::expected<PresentTimes, std::string> run() {
    if (trials_.empty()) {
      alone();
      return std::move(times_);
    }
    measure::FamilyLooks looks(work_.pairs, std::max(work_.pairs, work_.most_pairs), kBlameError);
    std::vector<std::size_t> open(trials_.size());
    std::iota(open.begin(), open.end(), std::size_t{0});
    const auto plan = looks.plan(trials_.size());
    int round = 0;
    for (const measure::Look& look : plan) {
      for (; round < look.pairs && !times_.cut_short; ++round) {
        for (const std::size_t i : open) {
          if (!times_.cut_short) add_pair(trials_[i], round);
        }
      }
      std::erase_if(open, [&](std::size_t i) { return is_decided(trials_[i], plan); });
      if (open.empty() || times_.cut_short) break;
    }
    return std::move(times_);
  }

 private:
  void add_pair(ProgramTrial& trial, int round) {
    if (!may_begin()) return;
    work_.say(fmt::format("pair {} of {}", round + 1, suspects_[trial.suspect].name));
    const auto began = work_.clock.steady();
    const auto suspensions = work_.interruption.suspensions();
    const bool present_first = round % 2 == 1;
    measure::PairResult result = measure_once(trial, present_first, round);
    if (work_.interruption.again_after_suspension(suspensions)) result = measure_once(trial, present_first, round);
    const std::size_t present = present_first ? 0 : 1;
    for (const std::size_t side : {present, 1 - present}) {
      const space::Run& run = result.runs[side];
      if (run.outcome == space::Outcome::Ok || run.outcome == space::Outcome::Killed) continue;
      work_.say(fmt::format("{} does not train: {}: {}", side == present ? "the present program" : "the one of then",
                            space::to_text(run.outcome), run.reason));
    }
    if (!result.complete()) {
      times_.cut_short = work_.interruption.requested() || ++failures_ >= kMostLostPairs;
      return;
    }
    const std::array<double, 1> epochs = {work_.spec.objective.primary};
    const auto& schedule = work_.present.schedule;
    const auto ratios = measure::log_ratios(result, schedule, schedule, epochs);
    if (!ratios) return;
    trial.log_ratios.push_back(present_first ? -ratios->front() : ratios->front());
    remember(result.runs[present]);
    longest_ = std::max<std::chrono::nanoseconds>(longest_, work_.clock.steady() - began);
  }

  [[nodiscard]] measure::PairResult measure_once(const ProgramTrial& trial, bool present_first, int round) {
    const auto flight = work_.interruption.begin();
    measure::PairResult result;
    const auto slot = measure::SlotLock::take(
        measure::Slot{}, work_.spec.name, [](const measure::SlotHolder&) {}, work_.interruption.waiting_token(),
        work_.slot_folder);
    if (!slot) {
      for (space::Run& run : result.runs) run.outcome = space::Outcome::Killed;
      return result;
    }
    measure::PairPlan pair;
    const tuner::VerifySettings& verify = work_.spec.verify;
    pair.slices = static_cast<std::size_t>(verify.slices);
    for (const std::size_t side : {0UL, 1UL}) {
      const bool is_present = (side == 0) == present_first;
      pair.sides[side].plan =
          plan_of(is_present ? work_.present : trial.other, verify.slices * verify.slice_steps, round);
      pair.sides[side].slice_steps = verify.slice_steps;
    }
    measure::PairControl control;
    control.stop = work_.interruption.token();
    return work_.executor.run_pair(pair, control);
  }

  void alone() {
    while (std::ssize(times_.seconds) < kLoneRuns && may_begin()) {
      work_.say(fmt::format("run {} of {}", times_.seconds.size() + 1, kLoneRuns));
      const auto suspensions = work_.interruption.suspensions();
      const space::Run run = run_once();
      if (work_.interruption.again_after_suspension(suspensions)) continue;
      if (run.outcome != space::Outcome::Ok) {
        work_.say(fmt::format("the present program does not train: {}: {}", space::to_text(run.outcome), run.reason));
        break;
      }
      remember(run);
    }
    times_.cut_short = std::ssize(times_.seconds) < kLoneRuns;
  }

  [[nodiscard]] space::Run run_once() {
    const auto flight = work_.interruption.begin();
    const auto slot = measure::SlotLock::take(
        measure::Slot{}, work_.spec.name, [](const measure::SlotHolder&) {}, work_.interruption.waiting_token(),
        work_.slot_folder);
    if (!slot) return {};  // killed
    measure::RunControl control;
    control.stop = work_.interruption.token();
    return work_.executor.run(plan_of(work_.present, work_.spec.run.steps, static_cast<int>(times_.seconds.size())),
                              control);
  }

  [[nodiscard]] measure::RunPlan plan_of(const tuner::Prepared& prepared, std::int64_t steps, int round) {
    return work_.executor.plan(work_.spec.space.default_configuration(), prepared,
                               {.purpose = space::Purpose::Verify,
                                .steps = steps,
                                .seed = work_.spec.run.seed + static_cast<std::uint64_t>(round),
                                .deadline = {}});
  }

  [[nodiscard]] bool may_begin() {
    if (!work_.interruption.requested() && work_.time_for(longest_)) return true;
    times_.cut_short = true;
    return false;
  }

  void remember(const space::Run& run) {
    const auto summary = measure::summarise(run, work_.present.schedule);
    if (summary) times_.seconds.push_back(space::total_time(summary->parts, work_.spec.objective.primary));
  }

  bool is_decided(const ProgramTrial& trial, std::span<const measure::Look> plan) {
    const auto pairs = static_cast<int>(trial.log_ratios.size());
    if (pairs < 2) return false;
    const double confidence = measure::confidence_after(pairs, plan, kBlameError / static_cast<double>(trials_.size()));
    const auto found = measure::compare(trial.log_ratios,
                                        {.margin_percent = work_.spec.verify.margin_percent, .confidence = confidence});
    suspects_[trial.suspect].measured = found;
    return found.verdict != measure::Verdict::Undecided;
  }

  const BlameWork& work_;
  std::vector<ProgramTrial>& trials_;
  std::vector<Suspect>& suspects_;
  PresentTimes times_;
  std::chrono::nanoseconds longest_{};
  int failures_ = 0;
};

}  // namespace

std::expected<PresentTimes, std::string> measure_programs(const BlameWork& work, std::vector<ProgramTrial>& trials,
                                                          std::vector<Suspect>& suspects) {
  return Inquiry(work, trials, suspects).run();
}

std::optional<WholeChange> whole_change(const PresentTimes& now, const std::optional<space::Estimate>& then,
                                        double luck, double margin_percent) {
  if (now.seconds.empty() || !then || then->value <= 0) return std::nullopt;
  const auto count = static_cast<double>(now.seconds.size());
  const double mean = std::accumulate(now.seconds.begin(), now.seconds.end(), 0.0) / count;
  return WholeChange{.log_ratio = std::log(mean / then->value),
                     .explained = kBlameSurely * luck * std::sqrt(1 / count + 1.0 / std::max(1, then->runs)) +
                                  std::log1p(margin_percent / 100)};
}

nlohmann::json blame_campaign(const Accused& accused) {
  auto parameters = nlohmann::json::array();
  for (const auto& [name, value] : accused.configuration.values()) {
    nlohmann::json parameter = {{"name", name}, {"stage", "run"}, {"default", space::to_json(value)}};
    if (std::holds_alternative<bool>(value)) {
      parameter["type"] = "boolean";
    } else {
      parameter["values"] = nlohmann::json::array({space::to_json(value)});
    }
    parameters.push_back(std::move(parameter));
  }
  nlohmann::json campaign = {
      {"campaign", "blame-" + file_stem(accused.name).substr(0, 50)},
      {"description", "Made by 'nocturne blame': what changed, and what of it made this slower?"},
      {"workload",
       {{"network", accused.workload.network},
        {"data", accused.workload.data},
        {"optimizer", accused.workload.optimizer},
        {"training_examples", accused.workload.training_examples}}},
      {"objective", {{"minimise", accused.minimise}, {"epochs", nlohmann::json::array({accused.epochs})}}},
      {"space", {{"parameters", std::move(parameters)}}},
      {"budget", {{"trials", 1}}},
      {"run", {{"steps", accused.steps}}},
  };
  if (accused.worker.is_object() && !accused.worker.empty()) campaign["worker"] = accused.worker;
  return campaign;
}

}  // namespace nocturne::deploy
