#include "tuner/report/evidence.hpp"

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison/comparison.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/report/side_facts.hpp"

namespace nocturne::report {
namespace {

constexpr double kTwoSided95 = 1.96;  // of the normal distribution: what trials by themselves allow to say

std::vector<db::CampaignSummary> campaigns_here(const db::Store& store, const PublishedResult& published,
                                                const std::string& fingerprint_key) {
  auto all = store.list_campaigns();
  std::vector<db::CampaignSummary> here;
  for (db::CampaignSummary& each : all) {
    if (tuner::workload_of(each.spec).network != published.network) continue;
    const auto stored = store.find_fingerprint(each.fingerprint);
    if (!stored) continue;  // nobody knows where it was measured
    const auto fingerprint = space::Fingerprint::from_json(stored->fields);
    if (fingerprint && fingerprint->key() == fingerprint_key) here.push_back(std::move(each));
  }
  return here;
}

void keep_better(std::optional<Evidence>& best, Evidence found) {
  const bool better =
      !best || found.grade < best->grade || (found.grade == best->grade && found.repetitions > best->repetitions);
  if (better) best = std::move(found);
}

void look_at_pairs(const std::vector<db::StoredComparison>& comparisons, const PublishedResult& published,
                   double epochs, const db::CampaignSummary& campaign, std::optional<Evidence>& best) {
  for (const db::StoredComparison& each : comparisons) {
    const space::Configuration& baseline = each.record.baseline;
    const space::Configuration& candidate = each.record.candidate;
    const bool straight =
        is_side(published, published.reference, baseline) && is_side(published, published.candidate, candidate);
    const bool turned =
        is_side(published, published.candidate, baseline) && is_side(published, published.reference, candidate);
    if ((!straight && !turned) || !differ_as_published(published, baseline, candidate)) continue;
    if (each.record.role == tuner::kSelectRole) continue;
    for (const db::VerdictRecord& verdict : each.verdicts) {
      if (verdict.horizon_epochs != epochs) continue;
      const tuner::StoredGain gain = tuner::gain_of(verdict, each.record.role, turned);
      keep_better(best, {.grade = Grade::Pairs,
                         .percent = gain.gain_percent,
                         .low_percent = gain.low_percent,
                         .high_percent = gain.high_percent,
                         .repetitions = gain.pairs,
                         .epochs = epochs,
                         .campaign = campaign.name,
                         .generation = campaign.generation});
    }
  }
}

void look_at_trials(const std::vector<db::StoredTrial>& trials, const PublishedResult& published, double epochs,
                    const db::CampaignSummary& campaign, std::optional<Evidence>& best) {
  for (const db::StoredTrial& reference : trials) {
    if (!reference.trial.estimate || !is_side(published, published.reference, reference.trial.configuration)) continue;
    for (const db::StoredTrial& candidate : trials) {
      if (!candidate.trial.estimate || !is_side(published, published.candidate, candidate.trial.configuration))
        continue;
      if (!differ_as_published(published, reference.trial.configuration, candidate.trial.configuration)) continue;
      const space::Estimate& a = *reference.trial.estimate;
      const space::Estimate& b = *candidate.trial.estimate;
      const double ratio = std::log(a.value / b.value);
      const double first = a.standard_error / a.value, second = b.standard_error / b.value;
      const double half = kTwoSided95 * std::sqrt(first * first + second * second);
      keep_better(best, {.grade = Grade::Trials,
                         .percent = 100 * std::expm1(ratio),
                         .low_percent = 100 * std::expm1(ratio - half),
                         .high_percent = 100 * std::expm1(ratio + half),
                         .repetitions = a.runs + b.runs,
                         .epochs = epochs,
                         .campaign = campaign.name,
                         .generation = campaign.generation});
    }
  }
}

/// ln(first epoch / mean of the later ones) of each run that trained two epochs or more.
void look_at_epochs(const db::Store& store, const std::vector<db::StoredTrial>& trials,
                    const db::CampaignSummary& campaign, std::optional<Evidence>& best) {
  std::vector<double> ratios;
  for (const db::StoredTrial& trial : trials) {
    if (trial.reused_from) continue;  // its runs are looked at where they were made
    const auto detail = store.load_trial(trial.id);
    for (const db::StoredRun& stored : detail.runs) {
      const auto& epochs = stored.record.run.epochs;
      if (stored.record.run.outcome != space::Outcome::Ok || epochs.size() < 2) continue;
      std::chrono::nanoseconds later{};
      for (std::size_t i = 1; i < epochs.size(); ++i) later += epochs[i].wall;
      const double mean = static_cast<double>(later.count()) / static_cast<double>(epochs.size() - 1);
      if (mean > 0 && epochs[0].wall.count() > 0)
        ratios.push_back(std::log(static_cast<double>(epochs[0].wall.count()) / mean));
    }
  }
  if (ratios.size() < 2) return;
  const measure::Comparison found = measure::compare(ratios);
  keep_better(best, {.grade = Grade::Epochs,
                     .percent = found.gain_percent,
                     .low_percent = found.low_percent,
                     .high_percent = found.high_percent,
                     .repetitions = found.pairs,
                     .epochs = 1,
                     .campaign = campaign.name,
                     .generation = campaign.generation});
}

}  // namespace

std::string_view to_text(Grade grade) {
  if (grade == Grade::Pairs) return "pairs";
  return grade == Grade::Trials ? "trials" : "epochs";
}

std::optional<Evidence> find_evidence(const db::Store& store, const PublishedResult& published,
                                      const std::string& fingerprint_key) {
  const auto campaigns = campaigns_here(store, published, fingerprint_key);
  std::optional<Evidence> best;
  for (const db::CampaignSummary& campaign : campaigns) {
    const auto trials = store.list_trials({.campaign = campaign.id, .state = db::TrialState::Finished});
    if (published.kind == PublishedKind::FirstEpoch) {
      look_at_epochs(store, trials, campaign, best);
      continue;
    }
    const double epochs = tuner::objective_of(campaign.spec).primary;
    const auto comparisons = store.comparisons(campaign.id);
    look_at_pairs(comparisons, published, epochs, campaign, best);
    look_at_trials(trials, published, epochs, campaign, best);
  }
  return best;
}

std::string failure_of(const db::Store& store, const PublishedResult& published, const std::string& fingerprint_key) {
  if (published.kind == PublishedKind::FirstEpoch) return std::string();
  const auto campaigns = campaigns_here(store, published, fingerprint_key);
  for (const space::Configuration* side : {&published.reference, &published.candidate}) {
    std::string failure;
    bool trained = false;
    for (const db::CampaignSummary& campaign : campaigns) {
      const auto trials = store.list_trials({.campaign = campaign.id, .state = db::TrialState::Finished});
      for (const db::StoredTrial& each : trials) {
        if (!is_side(published, *side, each.trial.configuration)) continue;
        trained = trained || each.trial.outcome == space::Outcome::Ok;
        if (each.trial.outcome == space::Outcome::Ok || !failure.empty()) continue;
        failure = fmt::format("{}: {}: {}", side_words(*side), space::to_text(each.trial.outcome), each.trial.reason);
      }
    }
    if (!trained && !failure.empty()) return failure;
  }
  return std::string();
}

std::string_view to_text(ReplicationOutcome finding) {
  switch (finding) {
    case ReplicationOutcome::Confirmed:
      return "confirmed";
    case ReplicationOutcome::Reversed:
      return "reversed";
    case ReplicationOutcome::Undecided:
      return "undecided";
    case ReplicationOutcome::NotMeasured:
      break;
  }
  return "not measured";
}

std::string_view to_text(Size size) {
  switch (size) {
    case Size::Inside:
      return "inside";
    case Size::Smaller:
      return "smaller";
    case Size::Larger:
      return "larger";
    case Size::Unknown:
      break;
  }
  return "unknown";
}

Judgement judge(std::optional<double> published_percent, double low_percent, double high_percent, bool interleaved) {
  Judgement judgement{.finding = ReplicationOutcome::Undecided};
  if (!interleaved) return judgement;
  const bool slower_published = published_percent && *published_percent < 0;
  // A published result of slower is one of faster in the mirror.
  if (slower_published) low_percent = -std::exchange(high_percent, -low_percent);
  if (low_percent > 0) judgement.finding = ReplicationOutcome::Confirmed;
  if (high_percent < 0) judgement.finding = ReplicationOutcome::Reversed;
  if (!published_percent) return judgement;
  const double published_size = slower_published ? -*published_percent : *published_percent;
  judgement.size = high_percent < published_size  ? Size::Smaller
                   : low_percent > published_size ? Size::Larger
                                                  : Size::Inside;
  return judgement;
}

std::string sentence_of(const Judgement& judgement) {
  std::string finding(to_text(judgement.finding));
  if (judgement.finding == ReplicationOutcome::Confirmed) {
    if (judgement.size == Size::Inside) return finding + ", as large as published";
    if (judgement.size == Size::Smaller) return finding + ", but smaller";
    if (judgement.size == Size::Larger) return finding + ", and larger";
  }
  if (judgement.finding == ReplicationOutcome::Undecided) {
    if (judgement.size == Size::Inside) return finding + ", the published size is possible";
    if (judgement.size != Size::Unknown) return finding + ", the published size is excluded";
  }
  return finding;
}

}  // namespace nocturne::report
