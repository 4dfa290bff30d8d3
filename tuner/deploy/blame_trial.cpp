#include "tuner/deploy/blame_trial.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "measure/comparison/family_looks.hpp"
#include "measure/comparison/statistics.hpp"
#include "measure/run/slot.hpp"
#include "space/outcome.hpp"
#include "tuner/campaign/finals/measured_pair.hpp"
#include "tuner/campaign/finals/side_by_side.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {
namespace {

constexpr int kLoneRuns = 3;
constexpr int kMostLostPairs = 3;       // of pairs, in all
constexpr double kBlameError = 0.05;    // of all findings together
constexpr double kBlameSurely = 2.576;  // 99 %, two-sided

class Inquiry {
 public:
  Inquiry(const BlameWork& work, const std::vector<ProgramTrial>& trials, std::vector<Suspect>& suspects)
      : work_(work), trials_(trials), suspects_(suspects) {}

  std::expected<PresentTimes, std::string> run() {
    if (trials_.empty()) {
      alone();
    } else {
      in_turns();
    }
    if (trouble_) return std::unexpected(trouble_->message);
    auto seconds = work_.record.present_seconds();
    if (!seconds) return std::unexpected(seconds.error().message);
    times_.seconds = std::move(*seconds);
    return std::move(times_);
  }

 private:
  void in_turns() {
    measure::FamilyLooks looks(work_.pairs, std::max(work_.pairs, work_.most_pairs), kBlameError);
    std::vector<std::size_t> open(trials_.size());
    std::iota(open.begin(), open.end(), std::size_t{0});
    const auto plan = looks.plan(trials_.size());
    int round = 0;
    for (const measure::Look& look : plan) {
      for (; round < look.pairs && !over(); ++round) {
        for (const std::size_t i : open) {
          if (!over() && work_.record.pairs(program_of(i)) <= round) add_pair(i);
        }
      }
      std::erase_if(open, [&](std::size_t i) { return is_decided(i, plan); });
      if (open.empty() || over()) return;
    }
  }

  [[nodiscard]] bool over() const { return times_.cut_short || trouble_; }
  static std::size_t program_of(std::size_t trial) { return trial + 1; }  // the present one is the first

  void add_pair(std::size_t i) {
    if (!may_begin()) return;
    const ProgramTrial& trial = trials_[i];
    const std::int64_t index = work_.record.next_index(program_of(i));
    work_.say(fmt::format("pair {} of {}", index + 1, suspects_[trial.suspect].name));
    const auto began = work_.clock.steady();
    const auto suspensions = work_.interruption.suspensions();
    const bool present_first = index % 2 == 1;
    measure::PairResult result = measure_once(trial, present_first, index);
    if (work_.interruption.again_after_suspension(suspensions)) result = measure_once(trial, present_first, index);
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
    keep(work_.record.add_pair(program_of(i), std::move(result), present_first));
    longest_ = std::max<std::chrono::nanoseconds>(longest_, work_.clock.steady() - began);
  }

  [[nodiscard]] measure::PairResult measure_once(const ProgramTrial& trial, bool present_first, std::int64_t index) {
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
          plan_of(is_present ? work_.present : trial.other, verify.slices * verify.slice_steps, index);
      pair.sides[side].slice_steps = verify.slice_steps;
    }
    pair.total_limit = tuner::longest_pair(pair.sides[0].plan.deadline, pair.sides[1].plan.deadline);
    measure::PairControl control;
    control.stop = work_.interruption.token();
    return work_.executor.run_pair(pair, control);
  }

  void alone() {
    for (std::int64_t done = work_.record.found(); done < kLoneRuns;) {
      if (!may_begin()) return;
      work_.say(fmt::format("run {} of {}", done + 1, kLoneRuns));
      const auto began = work_.clock.steady();
      const auto suspensions = work_.interruption.suspensions();
      const space::Run run = run_once(done);
      if (work_.interruption.again_after_suspension(suspensions)) continue;
      if (run.outcome != space::Outcome::Ok) {
        times_.cut_short = true;
        if (run.outcome == space::Outcome::Killed) return;
        work_.say(fmt::format("the present program does not train: {}: {}", space::to_text(run.outcome), run.reason));
        return;
      }
      keep(work_.record.add_run(run));
      if (over()) return;
      ++done;
      longest_ = std::max<std::chrono::nanoseconds>(longest_, work_.clock.steady() - began);
    }
  }

  [[nodiscard]] space::Run run_once(std::int64_t index) {
    const auto flight = work_.interruption.begin();
    const auto slot = measure::SlotLock::take(
        measure::Slot{}, work_.spec.name, [](const measure::SlotHolder&) {}, work_.interruption.waiting_token(),
        work_.slot_folder);
    if (!slot) return {};  // killed
    measure::RunControl control;
    control.stop = work_.interruption.token();
    return work_.executor.run(plan_of(work_.present, work_.spec.run.steps, index), control);
  }

  [[nodiscard]] measure::RunPlan plan_of(const tuner::Prepared& prepared, std::int64_t steps, std::int64_t index) {
    return work_.executor.plan(work_.spec.space.default_configuration(), prepared,
                               {.purpose = space::Purpose::Verify,
                                .steps = steps,
                                .seed = work_.spec.run.seed + static_cast<std::uint64_t>(index),
                                .deadline = {}});
  }

  [[nodiscard]] bool may_begin() {
    if (!work_.interruption.requested() && work_.time_for(longest_)) return true;
    times_.cut_short = true;
    return false;
  }

  void keep(const db::Expected<void>& stored) {
    if (!stored) trouble_ = stored.error();
  }

  bool is_decided(std::size_t i, std::span<const measure::Look> plan) {
    if (trouble_) return false;
    const auto ratios = work_.record.log_ratios(program_of(i));
    if (!ratios) {
      trouble_ = ratios.error();
      return false;
    }
    const auto pairs = static_cast<int>(ratios->size());
    if (pairs < 2) return false;
    const double confidence = measure::confidence_after(pairs, plan, kBlameError / static_cast<double>(trials_.size()));
    const auto found =
        measure::compare(*ratios, {.margin_percent = work_.spec.verify.margin_percent, .confidence = confidence});
    suspects_[trials_[i].suspect].measured = found;
    keep(work_.record.save_verdict(program_of(i), found));
    return found.verdict != measure::Verdict::Undecided;
  }

  const BlameWork& work_;
  const std::vector<ProgramTrial>& trials_;
  std::vector<Suspect>& suspects_;
  PresentTimes times_;
  std::optional<db::Error> trouble_;  // of the database: nothing that follows could be kept
  std::chrono::nanoseconds longest_{};
  int failures_ = 0;
};

std::string program_name(std::string_view what, const tuner::Prepared& prepared) {
  const std::string& key = prepared.artifact.empty() ? prepared.worker : prepared.artifact;
  return fmt::format("{} {}", what, key.substr(0, 12));
}

}  // namespace

std::vector<BlamedProgram> blamed_programs(const tuner::Prepared& present, const std::vector<ProgramTrial>& trials,
                                           const std::vector<Suspect>& suspects) {
  std::vector<BlamedProgram> programs = {{.name = program_name("present", present), .why = "as it is now"}};
  for (const ProgramTrial& trial : trials) {
    const Suspect& suspect = suspects[trial.suspect];
    programs.push_back({.name = program_name(suspect.name + " of then", trial.other),
                        .why = fmt::format("{} as it was: {}", suspect.name, suspect.before)});
  }
  return programs;
}

std::expected<PresentTimes, std::string> measure_programs(const BlameWork& work,
                                                          const std::vector<ProgramTrial>& trials,
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
