#include "tuner/campaign/learned_campaign.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/history.hpp"
#include "tuner/campaign/noise/stored_noise.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/search_options.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/roofline/peak_figures.hpp"

namespace nocturne::tuner {
namespace {

std::optional<search::AuditPrediction> prediction_of(const db::AskAnswer& asked) {
  if (!asked.predicted_log_bound || !asked.predicted_log_margin) return std::nullopt;
  return search::AuditPrediction{.log_bound = *asked.predicted_log_bound, .margin = *asked.predicted_log_margin};
}

/// Asks and tells in their order. The strategy itself is not asked again: audits are taken over as they were drawn.
void hear(LearnedCampaign& learned, std::span<const db::Exchange> exchanges) {
  std::map<std::int64_t, space::Trial> told;
  std::map<std::int64_t, db::AskAnswer> asked;
  for (const db::Exchange& exchange : exchanges) {
    if (const auto* ask = std::get_if<db::Ask>(&exchange)) {
      for (const db::AskAnswer& each : ask->answer) {
        asked[each.number] = each;
        if (each.purpose == space::Purpose::Audit) learned.search->adopt_audit(each.configuration, prediction_of(each));
      }
    } else {
      const space::Trial& trial = std::get<db::Tell>(exchange).trial;
      learned.search->tell({&trial, 1});
      told[trial.number] = trial;
    }
  }
  for (auto& [number, trial] : told) learned.trials.push_back(std::move(trial));
  for (auto& [number, each] : asked) learned.asked.push_back(std::move(each));
}

/// What fresh pairs of two configurations say, in log units: T(candidate) / T(baseline).
struct KnownRatio {
  std::size_t baseline = 0, candidate = 0;  ///< trials of the model
  double mean = 0, variance = 0;
};

/// Of the pairs that chose nothing, at the primary horizon; those of blame compare programs, not configurations.
std::vector<KnownRatio> known_ratios(const LearnedCampaign& learned) {
  const auto trial_of = [&](const space::Configuration& configuration) {
    const auto point = learned.lattice().point_of(configuration);
    return point ? learned.report->trial_of(*point) : std::nullopt;
  };
  std::vector<KnownRatio> result;
  for (const db::StoredComparison& each : learned.comparisons) {
    if (each.record.role == kSelectRole || each.record.role == kBlameRole) continue;
    const auto baseline = trial_of(each.record.baseline), candidate = trial_of(each.record.candidate);
    const auto verdict = std::ranges::find(each.verdicts, true, &db::VerdictRecord::primary);
    if (!baseline || !candidate || baseline == candidate || verdict == each.verdicts.end()) continue;
    const double reach = (verdict->log_ratio_high - verdict->log_ratio_low) / 2;
    if (!(reach >= 0) || !std::isfinite(reach)) continue;
    constexpr double kTwoSided = 1.96;  // of the verdict's 95 %; that it is Student's makes it the more cautious
    result.push_back({*baseline, *candidate, verdict->log_ratio_mean, reach * reach / (kTwoSided * kTwoSided)});
  }
  return result;
}

/// Each trial is one process, and one disturbed process would stay a fact although its pairs say otherwise. So the two
/// trials of a comparison move towards its ratio: by least squares, where a trial weighs the less the farther it lies
/// from what all other trials say of it. True: something moved.
bool heed_pairs(LearnedCampaign& learned) {
  auto& model = *learned.report;
  const auto ratios = known_ratios(learned);
  if (ratios.empty()) return false;
  std::map<std::size_t, double> variance;  // of a trial
  const double process_sd = std::max(model.noise_sd(), learned.process_sd);
  for (const auto& [trial, prediction, log_value] : model.leave_one_out()) {
    const double surprise = log_value - prediction.log_mean();
    variance[trial] = process_sd * process_sd + surprise * surprise;
  }
  for (const KnownRatio& each : ratios) {
    const double before = model.log_value(each.baseline), after = model.log_value(each.candidate);
    const double one = variance.try_emplace(each.baseline, process_sd * process_sd).first->second;
    const double other = variance.try_emplace(each.candidate, process_sd * process_sd).first->second;
    const double share = (after - before - each.mean) / (one + other + each.variance);
    const auto move = [&model](std::size_t trial, double log_value) {
      const space::Point point = model.point(trial);
      model.tell(std::vector<space::Level>(point.begin(), point.end()), log_value);  // a copy: tell() may move points
    };
    move(each.baseline, before + one * share);
    move(each.candidate, after - other * share);
  }
  return true;
}

void fit_report(LearnedCampaign& learned) {
  learned.report = std::make_unique<search::model::LinearModel>(learned.lattice(), search::model::kForReports);
  for (std::size_t i = 0; i < learned.trials.size(); ++i) {
    const auto point = learned.lattice().point_of(learned.trials[i].configuration);
    if (!point) continue;
    learned.trial_at.emplace(space::hash_of(*point), i);
    const auto& estimate = learned.trials[i].estimate;
    if (estimate && estimate->value > 0) learned.report->tell(*point, std::log(estimate->value));
  }
  if (learned.report->size() == 0) return;
  learned.report->fit();
  if (heed_pairs(learned)) learned.report->fit();
}

}  // namespace

const space::Trial* LearnedCampaign::trial_of(space::Point point) const {
  const auto found = trial_at.find(space::hash_of(point));
  return found == trial_at.end() ? nullptr : &trials[found->second];
}

double process_sd_of(const db::Store& store, const db::CampaignSummary& campaign) {
  for (const db::NoiseFloorRecord& floor : store.noise_floors(noise_workload(workload_of(campaign.spec)))) {
    if (floor.fingerprint != campaign.fingerprint) continue;
    for (const db::NoiseFigure& figure : floor.figures)
      if (figure.method == "sequential") return figure.sd / std::sqrt(2.0);
  }
  return 0;
}

namespace {

/// A forecast that leaves a factor of three open is none.
const double kNotKnown = std::log(3.0);

double typical_seconds(const db::Store& store, db::CampaignId campaign) {
  return std::chrono::duration<double>(expected_trial(store.last_durations(campaign, kRecentTrials))).count();
}

std::string duration_text(std::chrono::seconds time) {
  const auto seconds = time.count();
  if (seconds == 3600) return "another hour";
  if (seconds % 3600 == 0) return fmt::format("another {} hours", seconds / 3600);
  if (seconds % 60 == 0) return fmt::format("another {} minutes", seconds / 60);
  return fmt::format("another {} s", seconds);
}

}  // namespace

std::expected<std::unique_ptr<LearnedCampaign>, std::string> learn_from(const db::Store& store,
                                                                        const db::CampaignSummary& campaign) {
  auto known = stored_space(store, campaign);
  if (!known) return std::unexpected(known.error());
  const auto exchanges = store.exchanges(campaign.id);
  auto learned = std::make_unique<LearnedCampaign>(std::move(known->space));
  learned->campaign = campaign.name;
  learned->without = std::move(known->without);
  const CampaignSections sections = sections_of(campaign.spec);
  learned->objective = sections.objective;
  auto history = history_of(store, campaign.id, campaign.strategy, learned->objective,
                            hopeless_wait(sections.run, sections.budget));
  learned->history = to_text(history, learned->space);
  learned->search = std::make_unique<search::PrunedSearch>(
      learned->space, search::Options{.seed = static_cast<std::uint64_t>(campaign.seed),
                                      .objective = learned->objective,
                                      .history = std::move(history),
                                      .roles = roles_of(learned->space),
                                      .memory_limit_bytes = memory_limit_of(campaign.spec, known->facts),
                                      .bound = work_bound(peaks_of_campaign(store, campaign.id))});
  hear(*learned, exchanges);
  learned->process_sd = process_sd_of(store, campaign);
  learned->comparisons = store.comparisons(campaign.id);
  fit_report(*learned);
  if (learned->times().size() < kFewestForModel) {
    return std::unexpected(fmt::format("'{}' has {} trials that worked; a model needs {} at least", campaign.name,
                                       learned->times().size(), kFewestForModel));
  }
  learned->search->settle();
  learned->seconds_per_trial = typical_seconds(store, campaign.id);
  return learned;
}

std::optional<ValueOfContinuing> continuing(LearnedCampaign& learned, std::chrono::seconds time) {
  if (!(learned.seconds_per_trial > 0)) return std::nullopt;
  const double trials = std::chrono::duration<double>(time).count() / learned.seconds_per_trial;
  space::Random random(learned.trials.size());
  return ValueOfContinuing{.time = time,
                           .expected_gain = search::model::expected_gain(
                               learned.search->models().times(), learned.search->models().feasibility(),
                               learned.lattice(), static_cast<std::size_t>(std::clamp(trials, 1.0, 1e6)), random)};
}

std::string to_text(const ValueOfContinuing& continuing) {
  const auto& gain = continuing.expected_gain;
  if (gain.upper > kNotKnown) return fmt::format("{}: not known yet", duration_text(continuing.time));
  return fmt::format("{}: {:+.1f} % speed by the forecast of the search, which is no interval",
                     duration_text(continuing.time), 100 * std::expm1(gain.mean));
}

}  // namespace nocturne::tuner
