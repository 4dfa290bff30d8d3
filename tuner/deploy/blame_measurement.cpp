#include "tuner/deploy/blame_measurement.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "space/outcome.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/deploy/profile.hpp"
#include "tuner/executor/pair_driver.hpp"

namespace nocturne::deploy {
namespace {

constexpr int kLoneRuns = 3;
constexpr double kBlameSurely = 2.576;  // 99 %, two-sided

std::string program_name(std::string_view what, const tuner::PreparedWorker& prepared) {
  const std::string& key = prepared.artifact.empty() ? prepared.worker : prepared.artifact;
  return fmt::format("{} {}", what, key.substr(0, 12));
}

/// The present program against that of each test; whether all of it was measured.
bool measure_tests(const BlameMeasurement& work, const std::vector<CauseTest>& tests,
                   std::vector<CandidateCause>& causes) {
  const space::Configuration told = work.session.spec.space.default_configuration();
  const auto side = [&](std::size_t program, const tuner::PreparedWorker& prepared) {
    return tuner::ComparedSide{.trial = work.record.trial(program), .configuration = told, .prepared = prepared};
  };
  std::vector<tuner::Comparing> comparisons;
  for (std::size_t i = 0; i < tests.size(); ++i) {  // program 0 is the present one
    comparisons.push_back(
        tuner::Comparing::open(work.session, side(i + 1, tests[i].other), side(0, work.present), tuner::kBlameRole));
  }
  measure::ComparisonPolicy policy = work.policy;
  policy.margin_percent = work.session.spec.verify.margin_percent;
  auto driver = tuner::PairDriver::open(tuner::pointers_to(comparisons), policy, work.session.spec.run.seed);
  const auto end =
      driver.run({.time_for = [&](std::size_t, std::chrono::nanoseconds pair) { return work.time_for(pair); },
                  .measuring =
                      [&](std::size_t test) {
                        work.session.observer.note(fmt::format("pair {} of {}", comparisons[test].pairs() + 1,
                                                               causes[tests[test].cause].name));
                      }});
  driver.stop();
  bool all = end == tuner::PairsEnd::Complete;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const measure::ComparisonMember& member = driver.comparison().members()[i];
    causes[tests[i].cause].measured = member.comparison;
    all = all && member.state != measure::MemberState::Failed && member.state != measure::MemberState::Lost;
  }
  return all;
}

/// The present program by itself; whether all of its runs ended well.
bool measure_present(const BlameMeasurement& work) {
  const tuner::Session& session = work.session;
  std::chrono::nanoseconds longest{};
  for (std::int64_t done = work.record.found(); done < kLoneRuns;) {
    if (session.interruption.requested() || !work.time_for(longest)) return false;
    session.observer.note(fmt::format("run {} of {}", done + 1, kLoneRuns));
    const auto began = session.clock.steady();
    const auto suspensions = session.interruption.suspensions();
    const auto slot = session.take_slot();
    if (!slot && session.interruption.again_after_suspension(suspensions)) continue;
    if (!slot) return false;
    const auto plan = [&]() -> measure::RunPlan {
      return session.executor.plan(session.spec.space.default_configuration(), work.present,
                                   {.purpose = space::Purpose::Verify,
                                    .steps = session.spec.run.steps,
                                    .seed = session.spec.run.seed + static_cast<std::uint64_t>(done)});
    };
    const auto run = session.run(plan, [&](const space::Run& lost) { return work.record.add_run(lost); });
    if (run.outcome == space::Outcome::Killed) {
      if (session.interruption.again_after_suspension(suspensions)) continue;
      return false;
    }
    if (run.outcome != space::Outcome::Ok) {
      session.observer.note(
          fmt::format("the present program does not train: {}: {}", space::to_text(run.outcome), run.reason));
      return false;
    }
    work.record.add_run(run);
    longest = std::max<std::chrono::nanoseconds>(longest, session.clock.steady() - began);
    ++done;
  }
  return true;
}

}  // namespace

std::vector<BlamedProgram> blamed_programs(const tuner::PreparedWorker& present, const std::vector<CauseTest>& tests,
                                           const std::vector<CandidateCause>& causes) {
  std::vector<BlamedProgram> programs = {{.name = program_name("present", present), .why = "as it is now"}};
  for (const CauseTest& test : tests) {
    const CandidateCause& cause = causes[test.cause];
    programs.push_back({.name = program_name(cause.name + " of then", test.other),
                        .why = fmt::format("{} as it was: {}", cause.name, cause.before)});
  }
  return programs;
}

PresentTimes measure_programs(const BlameMeasurement& work, const std::vector<CauseTest>& tests,
                              std::vector<CandidateCause>& causes) {
  work.session.campaign = work.record.campaign();
  const auto all = tests.empty() ? measure_present(work) : measure_tests(work, tests, causes);
  return {.seconds = work.record.present_seconds(), .cut_short = !all};
}

std::optional<WholeChange> whole_change(const PresentTimes& now, const std::optional<space::Estimate>& then,
                                        double process_sd, double margin_percent) {
  if (now.seconds.empty() || !then || then->value <= 0) return std::nullopt;
  const auto count = static_cast<double>(now.seconds.size());
  const double mean = std::accumulate(now.seconds.begin(), now.seconds.end(), 0.0) / count;
  return WholeChange{.log_ratio = std::log(mean / then->value),
                     .explained = kBlameSurely * process_sd * std::sqrt(1 / count + 1.0 / std::max(1, then->runs)) +
                                  std::log1p(margin_percent / 100)};
}

nlohmann::json blame_campaign(const BlamedResult& result) {
  auto parameters = nlohmann::json::array();
  for (const auto& [name, value] : result.configuration.values()) {
    nlohmann::json parameter = {{"name", name}, {"stage", "run"}, {"default", space::to_json(value)}};
    if (std::holds_alternative<bool>(value))
      parameter["type"] = "boolean";
    else
      parameter["values"] = nlohmann::json::array({space::to_json(value)});
    parameters.push_back(std::move(parameter));
  }
  nlohmann::json campaign = {
      {"campaign", "blame-" + file_stem(result.name).substr(0, 50)},
      {"description", "Made by 'nocturne blame': what changed, and what of it made this slower?"},
      {"workload",
       {{"network", result.workload.network},
        {"data", result.workload.data},
        {"optimizer", result.workload.optimizer},
        {"training_examples", result.workload.training_examples}}},
      {"objective", {{"minimise", result.minimise}, {"epochs", nlohmann::json::array({result.epochs})}}},
      {"space", {{"parameters", std::move(parameters)}}},
      {"budget", {{"trials", 1}}},
      {"run", {{"steps", result.steps}}},
  };
  if (result.worker.is_object() && !result.worker.empty()) campaign["worker"] = result.worker;
  return campaign;
}

}  // namespace nocturne::deploy
