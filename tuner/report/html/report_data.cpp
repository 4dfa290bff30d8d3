#include "tuner/report/html/report_data.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "measure/comparison/disturbance.hpp"
#include "tuner/campaign/answer/answer_evidence.hpp"
#include "tuner/campaign/answer/failure_groups.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::report {
namespace {

constexpr std::int64_t kEvents = 500;                    // lines of the log
constexpr std::int64_t kShownPreparation = 500'000'000;  // ns: less is the start of a process
constexpr double kInterruption = 60;                     // seconds without a session

double seconds_between(std::int64_t from_unix_ns, std::int64_t to_unix_ns) {
  return std::max(0.0, static_cast<double>(to_unix_ns - from_unix_ns) * 1e-9);
}

/// Stretches as they come: each between two moments of the campaign.
class Stretches {
 public:
  explicit Stretches(std::int64_t began_unix_ns) : began_(began_unix_ns) {}
  void add(Activity activity, std::int64_t from_unix_ns, std::int64_t to_unix_ns, std::string text,
           std::optional<std::int64_t> trial = {}) {
    all_.push_back({.activity = activity,
                    .from_s = seconds_between(began_, from_unix_ns),
                    .to_s = seconds_between(began_, std::max(from_unix_ns, to_unix_ns)),
                    .text = std::move(text),
                    .trial = trial});
  }
  [[nodiscard]] std::vector<Stretch> take() { return std::move(all_); }

 private:
  std::int64_t began_;
  std::vector<Stretch> all_;
};

Activity activity_of(const db::RunSpan& run) {
  if (run.purpose == space::Purpose::Gate) return Activity::Gate;
  return run.in_flight || run.outcome == space::Outcome::Ok ? Activity::Trial : Activity::FailedTrial;
}

/// Why this run measured its neighbours as well; empty: it did not, as far as is known.
std::string disturbance_of(const db::RunSpan& span) {
  space::Run run;
  run.purpose = span.purpose;
  run.load.other_cpu = span.other_cpu;
  run.load.steal = span.steal;
  return measure::under_load(run);
}

std::int64_t end_of(const db::RunSpan& run, const Moment& moment) {
  if (run.in_flight) return moment.running ? moment.now_unix_ns : run.started_unix_ns;
  return run.started_unix_ns + run.wall.count();
}

void add_runs(const ReportData& data, Stretches& stretches) {
  for (const db::RunSpan& run : data.runs) {
    if (run.purpose == space::Purpose::Verify) continue;  // one of a pair
    const std::int64_t end = end_of(run, data.moment);
    stretches.add(activity_of(run), run.started_unix_ns, end, "", run.trial);
    const std::string disturbance = disturbance_of(run);
    if (!disturbance.empty())
      stretches.add(Activity::Disturbed, run.started_unix_ns, end, fmt::format("trial {}: {}", run.trial, disturbance));
  }
}

/// Pairs of any comparison: both processes, alive together or one after the other.
void add_pairs(const ReportData& data, Stretches& stretches) {
  std::map<std::string_view, const db::RunSpan*> runs;
  for (const db::RunSpan& run : data.runs) runs.emplace(run.id, &run);
  for (const db::StoredComparison& comparison : data.comparisons) {
    for (const db::StoredPair& pair : comparison.pairs) {
      const auto candidate = runs.find(pair.candidate_run), baseline = runs.find(pair.baseline_run);
      if (candidate == runs.end() || baseline == runs.end()) continue;
      const db::RunSpan &one = *candidate->second, &other = *baseline->second;
      stretches.add(Activity::Pair, std::min(one.started_unix_ns, other.started_unix_ns),
                    std::max(end_of(one, data.moment), end_of(other, data.moment)),
                    fmt::format("trials {} and {}", one.trial, other.trial));
    }
  }
}

/// What a trial waited for before its first run, or before it failed.
void add_preparations(const ReportData& data, Stretches& stretches) {
  std::map<std::int64_t, std::int64_t> started;
  for (const db::RunSpan& run : data.runs) started.try_emplace(run.trial, run.started_unix_ns);
  for (const db::StoredTrial& stored : data.trials) {
    if (stored.reused_from) continue;
    const auto first = started.find(stored.trial.number);
    const std::int64_t open_end = data.moment.running ? data.moment.now_unix_ns : stored.reserved_unix_ns;
    const std::int64_t ready = first != started.end() ? first->second : stored.finished_unix_ns.value_or(open_end);
    if (ready - stored.reserved_unix_ns < kShownPreparation) continue;
    stretches.add(Activity::Preparing, stored.reserved_unix_ns, ready, "", stored.trial.number);
  }
  for (const db::PreflightRecord& each : data.preflights) {
    const std::int64_t end = each.preflight_unix_ns;
    stretches.add(Activity::Preparing, end - (each.prepare + each.train).count(), end, "preflight check");
  }
}

/// Between the last thing that was done and the next session.
void add_interruptions(const ReportData& data, std::vector<Stretch>& all) {
  std::vector<Stretch> found;
  bool first = true;
  for (const db::EventRecord& event : data.events) {
    if (!event.what.starts_with("opened")) continue;
    const double opened = seconds_between(data.answer.campaign.created_unix_ns, event.time_unix_ns);
    double last = 0;
    for (const Stretch& each : all)
      if (each.from_s < opened) last = std::max(last, std::min(each.to_s, opened));
    if (!std::exchange(first, false) && opened - last > kInterruption)
      found.push_back({.activity = Activity::Interrupted, .from_s = last, .to_s = opened, .text = ""});
  }
  all.insert(all.end(), found.begin(), found.end());
}

std::vector<Stretch> stretches_of(const ReportData& data) {
  Stretches stretches(data.answer.campaign.created_unix_ns);
  add_runs(data, stretches);
  add_pairs(data, stretches);
  add_preparations(data, stretches);
  std::vector<Stretch> all = stretches.take();
  add_interruptions(data, all);
  return all;
}

Convergence convergence_of(const ReportData& data) {
  const tuner::Answer& answer = data.answer;
  const std::int64_t began = answer.campaign.created_unix_ns;
  Convergence convergence{.trials = {}, .default_seconds = {}, .horizon = horizon_of(answer)};
  for (const db::StoredTrial& stored : data.trials) {
    if (!stored.trial.estimate || !stored.finished_unix_ns) continue;
    convergence.trials.push_back({.at_s = seconds_between(began, *stored.finished_unix_ns),
                                  .seconds = stored.trial.estimate->value,
                                  .trial = stored.trial.number,
                                  .settings = data.defaults.text(stored.trial.configuration)});
    if (stored.trial.number == 0) convergence.default_seconds = stored.trial.estimate->value;
  }
  std::ranges::stable_sort(convergence.trials, {}, &Convergence::Found::at_s);
  for (const Stretch& each : data.stretches) convergence.end_s = std::max(convergence.end_s, each.to_s);
  if (!convergence.trials.empty()) convergence.end_s = std::max(convergence.end_s, convergence.trials.back().at_s);
  if (answer.verdict && answer.comparison && convergence.default_seconds) {
    convergence.verified =
        Convergence::Verified{.low = *convergence.default_seconds * std::exp(answer.verdict->log_ratio_low),
                              .high = *convergence.default_seconds * std::exp(answer.verdict->log_ratio_high),
                              .from_s = seconds_between(began, answer.comparison->started_unix_ns),
                              .to_s = convergence.end_s};
  }
  if (data.expectations.continuing && !data.moment.running)
    convergence.hour_gain = data.expectations.continuing->expected_gain.mean;
  return convergence;
}

/// Why there is no chart of pairs.
std::string missing_pairs(const ReportData& data) {
  if (!data.answer.best) return "Nothing has trained, so there is nothing to compare.";
  if (data.answer.verdict) return "The pairs themselves are not in this database.";
  if (data.answer.baseline && data.answer.best->id == data.answer.baseline->id)
    return "Nothing better than the default was found, so there was nothing to compare it with.";
  if (data.moment.running) return "The best and the default are not yet measured in pairs: single trials may be lucky.";
  return "The best and the default were not measured in pairs, so the gain is not known: single trials may be lucky.";
}

}  // namespace

ReportData report_data(const db::Store& store, tuner::Answer answer, tuner::Expectations expectations,
                       const Moment& moment) {
  ReportData data{.answer = std::move(answer), .expectations = std::move(expectations), .moment = moment};
  const db::CampaignSummary& campaign = data.answer.campaign;
  data.defaults = tuner::default_settings_of(store, campaign);
  data.trials = store.list_trials({.campaign = campaign.id});
  data.runs = store.run_spans(campaign.id);
  data.comparisons = store.comparisons(campaign.id);
  data.preflights = store.preflights(campaign.id);
  data.events = store.events(campaign.id, kEvents);
  data.stretches = stretches_of(data);
  if (const auto pairs = tuner::pairs_of(store, data.answer))
    data.pairs = {.log_ratios = tuner::log_ratios_at(pairs->stored, data.answer.objective.primary),
                  .policy = pairs->policy};
  if (const auto fingerprint = store.find_fingerprint(campaign.fingerprint)) {
    for (const nlohmann::json& field : fingerprint->fields)
      if (field.is_object() && field.contains("value") && field.at("value").is_string())
        data.machine[field.value("name", "")] = field.at("value").get<std::string>();
  }
  add_details(store, data);
  return data;
}

std::string machine_of(const ReportData& data) {
  std::string machine;
  for (const char* name : {"cpu.model", "cpu.topology", "memory", "gpu.models"}) {
    const auto found = data.machine.find(name);
    if (found != data.machine.end() && !found->second.empty()) machine += (machine.empty() ? "" : ", ") + found->second;
  }
  return machine;
}

std::string horizon_of(const tuner::Answer& answer) {
  if (answer.objective.target) return "a training to the target accuracy";
  return answer.objective.primary == 1 ? "1 epoch" : fmt::format("{:g} epochs", answer.objective.primary);
}

std::vector<PageFact> page_facts(const ReportData& data) {
  const db::CampaignSummary& campaign = data.answer.campaign;
  std::vector<PageFact> facts;
  const std::string machine = machine_of(data);
  if (!machine.empty()) facts.push_back({.name = "machine", .value = machine});
  const space::Workload workload = tuner::workload_of(campaign.spec);
  if (tuner::tunes_own_command(campaign.spec))
    facts.push_back({.name = "what was trained", .value = "a command of your own"});
  else if (!workload.network.empty())
    facts.push_back({.name = "what was trained", .value = fmt::format("{} on {}", workload.network, workload.data)});
  facts.push_back({.name = "times are of", .value = horizon_of(data.answer)});
  facts.push_back({.name = "trials", .value = fmt::format("{}, of which {} trained", campaign.finished, campaign.ok)});
  double end = 0;
  for (const Stretch& each : data.stretches) end = std::max(end, each.to_s);
  facts.push_back({.name = "from its start to its end",
                   .value = end > 7200  ? digits(end / 3600) + " h"
                            : end > 120 ? digits(end / 60) + " min"
                                        : digits(end) + " s"});
  return facts;
}

std::vector<PageSection> page_sections(const ReportData& data) {
  const tuner::Answer& answer = data.answer;
  const auto section = [](std::string id, std::string heading, std::initializer_list<std::optional<Chart>> charts,
                          std::string instead) {
    PageSection made{.id = std::move(id), .heading = std::move(heading), .instead = std::move(instead)};
    for (const std::optional<Chart>& chart : charts)
      if (chart) made.charts.push_back(*chart);
    return made;
  };
  std::vector<PageSection> sections;
  sections.push_back(section("gain", "Gain",
                             {pairs_chart(data.pairs), accuracy_chart(tuner::accuracy_difference(answer),
                                                                      answer.accuracy_margin, answer.accuracy_epochs)},
                             missing_pairs(data)));
  sections.push_back(section("night", "What happened", {timeline_chart(data.stretches)}, "Nothing has run yet."));
  sections.push_back(
      section("search", "The search", {convergence_chart(convergence_of(data))}, "No configuration has trained."));
  sections.push_back(section("effects", "What matters", {effects_chart(data.expectations.matters)},
                             data.moment.running ? "What each setting is worth is worked out when the campaign ends."
                                                 : "Too few trials worked to tell what each setting is worth."));
  sections.push_back(section("ranking", "Ranking", {ranking_chart(answer.ranking, horizon_of(answer))}, ""));
  sections.push_back(section("length", "Length of training", {epochs_chart(data.epochs)}, ""));
  sections.push_back(section("tradeoffs", "Speed and memory", {memory_chart(data.memory)}, ""));
  sections.push_back(section("possible", "Share of the possible", {possible_chart(data.reached)}, ""));
  sections.push_back(section("evenness", "Steps", {steps_chart(data.steps)}, ""));
  sections.push_back(
      section("model", "The model and the failures",
              {predictions_chart(data.expectations.left_out), failures_chart(tuner::grouped(answer.failures))}, ""));
  return sections;
}

}  // namespace nocturne::report
