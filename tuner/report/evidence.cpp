#include "tuner/report/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/math/distributions/chi_squared.hpp>

#include "measure/comparison/comparison.hpp"
#include "space/fingerprint.hpp"
#include "space/moments.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/report/side_facts.hpp"

namespace nocturne::report {
namespace {

constexpr double kTwoSided95 = 1.96;  // of the normal distribution: what trials by themselves allow to say

std::vector<db::CampaignSummary> campaigns_here(const db::Store& store, const std::string& network,
                                                const std::string& fingerprint_key) {
  auto all = store.list_campaigns();
  std::vector<db::CampaignSummary> here;
  for (db::CampaignSummary& each : all) {
    if (tuner::workload_of(each.spec).network != network) continue;
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

/// What is looked for.
struct Wanted {
  const PublishedResult& published;
  const FrameworkLabels& known;

  [[nodiscard]] bool is_reference(const space::Configuration& configuration) const {
    return is_side(published, published.reference, configuration, known);
  }
  [[nodiscard]] bool is_candidate(const space::Configuration& configuration) const {
    return is_side(published, published.candidate, configuration, known);
  }
  [[nodiscard]] bool differ(const space::Configuration& reference, const space::Configuration& candidate) const {
    return differ_as_published(published, reference, candidate, known);
  }
};

void look_at_pairs(const std::vector<db::StoredComparison>& comparisons, const Wanted& wanted, double epochs,
                   const db::CampaignSummary& campaign, std::optional<Evidence>& best) {
  for (const db::StoredComparison& each : comparisons) {
    const space::Configuration& baseline = each.record.baseline;
    const space::Configuration& candidate = each.record.candidate;
    const bool straight =
        wanted.is_reference(baseline) && wanted.is_candidate(candidate) && wanted.differ(baseline, candidate);
    const bool turned =
        wanted.is_candidate(baseline) && wanted.is_reference(candidate) && wanted.differ(candidate, baseline);
    if (!straight && !turned) continue;
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

void look_at_trials(const std::vector<db::StoredTrial>& trials, const Wanted& wanted, double epochs,
                    const db::CampaignSummary& campaign, std::optional<Evidence>& best) {
  for (const db::StoredTrial& reference : trials) {
    if (!reference.trial.estimate || !wanted.is_reference(reference.trial.configuration)) continue;
    for (const db::StoredTrial& candidate : trials) {
      if (!candidate.trial.estimate || !wanted.is_candidate(candidate.trial.configuration)) continue;
      if (!wanted.differ(reference.trial.configuration, candidate.trial.configuration)) continue;
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

/// ln(seconds) of each epoch of each run that ended well.
std::vector<std::vector<double>> epochs_of(const db::Store& store, const std::vector<db::StoredTrial>& trials) {
  std::vector<std::vector<double>> all;
  for (const db::StoredTrial& trial : trials) {
    if (trial.reused_from) continue;  // its runs are looked at where they were made
    const auto detail = store.load_trial(trial.id);
    for (const db::StoredRun& stored : detail.runs) {
      if (stored.record.run.outcome != space::Outcome::Ok) continue;
      std::vector<double> one;
      for (const auto& epoch : stored.record.run.epochs)
        if (epoch.wall.count() > 0) one.push_back(std::log(static_cast<double>(epoch.wall.count()) * 1e-9));
      if (one.size() == stored.record.run.epochs.size()) all.push_back(std::move(one));
    }
  }
  return all;
}

/// ln(first epoch / mean of the later ones) of each run that trained two epochs or more.
void look_at_first_epochs(const std::vector<std::vector<double>>& runs, const db::CampaignSummary& campaign,
                          std::optional<Evidence>& best) {
  std::vector<double> ratios;
  for (const std::vector<double>& epochs : runs) {
    if (epochs.size() < 2) continue;
    const double later = std::accumulate(epochs.begin() + 1, epochs.end(), 0.0,
                                         [](double sum, double log_seconds) { return sum + std::exp(log_seconds); });
    ratios.push_back(epochs[0] - std::log(later / static_cast<double>(epochs.size() - 1)));
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

void look_at_later_epochs(std::vector<std::vector<double>> runs, const db::CampaignSummary& campaign,
                          std::optional<Evidence>& best) {
  for (std::vector<double>& epochs : runs)
    if (!epochs.empty()) epochs.erase(epochs.begin());
  const auto found = scatter_of(runs);
  if (!found) return;
  keep_better(best, {.grade = Grade::Epochs,
                     .percent = found->percent,
                     .low_percent = found->low_percent,
                     .high_percent = found->high_percent,
                     .repetitions = found->processes,
                     .epochs = 1,
                     .campaign = campaign.name,
                     .generation = campaign.generation});
}

std::optional<Evidence> evidence_in(const db::Store& store, const Wanted& wanted, const std::string& network,
                                    const std::string& fingerprint_key) {
  std::optional<Evidence> best;
  for (const db::CampaignSummary& campaign : campaigns_here(store, network, fingerprint_key)) {
    const auto trials = store.list_trials({.campaign = campaign.id, .state = db::TrialState::Finished});
    if (is_of_epochs(wanted.published.kind)) {
      auto runs = epochs_of(store, trials);
      if (wanted.published.kind == PublishedKind::FirstEpoch)
        look_at_first_epochs(runs, campaign, best);
      else
        look_at_later_epochs(std::move(runs), campaign, best);
      continue;
    }
    const double epochs = tuner::objective_of(campaign.spec).primary;
    look_at_pairs(store.comparisons(campaign.id), wanted, epochs, campaign, best);
    look_at_trials(trials, wanted, epochs, campaign, best);
  }
  return best;
}

double log_of(double percent) {
  return std::log1p(percent / 100);
}

/// What one gain has beyond the other. The ends are those of two independent intervals (Zou and Donner, "Construction
/// of confidence limits about effect measures", 2008, equation 6): exact for two normal ones of any width.
Evidence beyond(const Evidence& one, const Evidence& other) {
  const double difference = log_of(one.percent) - log_of(other.percent);
  const auto reach = [](double first, double second) { return std::sqrt(first * first + second * second); };
  const double down =
      reach(log_of(one.percent) - log_of(one.low_percent), log_of(other.high_percent) - log_of(other.percent));
  const double up =
      reach(log_of(one.high_percent) - log_of(one.percent), log_of(other.percent) - log_of(other.low_percent));
  return {.grade = std::max(one.grade, other.grade),
          .percent = 100 * std::expm1(difference),
          .low_percent = 100 * std::expm1(difference - down),
          .high_percent = 100 * std::expm1(difference + up),
          .repetitions = std::min(one.repetitions, other.repetitions),
          .epochs = one.epochs,
          .campaign = one.campaign,
          .generation = one.generation};
}

}  // namespace

std::string_view to_text(Grade grade) {
  if (grade == Grade::Pairs) return "pairs";
  return grade == Grade::Trials ? "trials" : "epochs";
}

std::optional<Evidence> find_evidence(const db::Store& store, const PublishedResult& published,
                                      const std::string& fingerprint_key, const FrameworkLabels& known) {
  const Wanted wanted{.published = published, .known = known};
  auto found = evidence_in(store, wanted, published.network, fingerprint_key);
  if (!found || published.kind != PublishedKind::Interaction) return found;
  const auto other = evidence_in(store, wanted, published.other_network, fingerprint_key);
  return other ? std::optional(beyond(*found, *other)) : std::nullopt;
}

std::string failure_of(const db::Store& store, const PublishedResult& published, const std::string& fingerprint_key,
                       const FrameworkLabels& known) {
  if (is_of_epochs(published.kind)) return std::string();
  const auto campaigns = campaigns_here(store, published.network, fingerprint_key);
  for (const PublishedSide* side : {&published.reference, &published.candidate}) {
    std::string failure;
    bool trained = false;
    for (const db::CampaignSummary& campaign : campaigns) {
      const auto trials = store.list_trials({.campaign = campaign.id, .state = db::TrialState::Finished});
      for (const db::StoredTrial& each : trials) {
        if (!is_side(published, *side, each.trial.configuration, known)) continue;
        trained = trained || each.trial.outcome == space::Outcome::Ok;
        if (each.trial.outcome == space::Outcome::Ok || !failure.empty()) continue;
        failure =
            fmt::format("{}: {}: {}", side_words(*side, known), space::to_text(each.trial.outcome), each.trial.reason);
      }
    }
    if (!trained && !failure.empty()) return failure;
  }
  return std::string();
}

std::optional<Scatter> scatter_of(const std::vector<std::vector<double>>& log_seconds) {
  Scatter scatter;
  double squares = 0, freedom = 0;
  for (const std::vector<double>& one : log_seconds) {
    if (one.size() < 2) continue;
    squares += space::moments_of(one).squares;
    freedom += static_cast<double>(one.size() - 1);
    ++scatter.processes;
  }
  if (scatter.processes == 0) return std::nullopt;
  const boost::math::chi_squared distribution(freedom);
  const auto percent = [&](double of) { return 100 * std::expm1(std::sqrt(squares / of)); };
  scatter.percent = percent(freedom);
  scatter.low_percent = percent(boost::math::quantile(distribution, 0.975));
  scatter.high_percent = percent(boost::math::quantile(distribution, 0.025));
  return scatter;
}

std::string_view to_text(ReplicationOutcome finding) {
  switch (finding) {
    case ReplicationOutcome::Confirmed:
      return "confirmed";
    case ReplicationOutcome::Reversed:
      return "reversed";
    case ReplicationOutcome::Undecided:
      return "undecided";
    case ReplicationOutcome::NotMeasurable:
      return "not measurable here";
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

namespace {

/// How far a gain lies outside an interval, log units; 0: inside.
double distance(double gain, double low_percent, double high_percent) {
  if (gain >= low_percent && gain <= high_percent) return 0;
  return gain < low_percent ? log_of(low_percent) - log_of(gain) : log_of(gain) - log_of(high_percent);
}

Reading nearer_reading(double published_percent, double low_percent, double high_percent) {
  const double speed = distance(gain_percent(published_percent, Reading::Speed), low_percent, high_percent);
  const double time = distance(gain_percent(published_percent, Reading::TimeSaved), low_percent, high_percent);
  return time < speed ? Reading::TimeSaved : Reading::Speed;
}

/// Confirmed where the whole interval lies in the range, reversed where it lies outside.
Judgement judge_range(double low, double high, double low_percent, double high_percent) {
  if (low_percent > low && high_percent < high) return {.finding = ReplicationOutcome::Confirmed};
  if (high_percent < low || low_percent > high) return {.finding = ReplicationOutcome::Reversed};
  return {.finding = ReplicationOutcome::Undecided};
}

}  // namespace

Judgement judge(std::optional<double> published_percent, double low_percent, double high_percent, bool interleaved) {
  Judgement judgement{.finding = ReplicationOutcome::Undecided};
  if (!interleaved) return judgement;
  const bool slower_published = published_percent && *published_percent < 0;
  double published_size = 0;
  if (published_percent) {
    judgement.reading = nearer_reading(*published_percent, low_percent, high_percent);
    published_size = std::abs(gain_percent(*published_percent, judgement.reading));
  }
  // A published result of slower is one of faster in the mirror.
  if (slower_published) low_percent = -std::exchange(high_percent, -low_percent);
  if (low_percent > 0) judgement.finding = ReplicationOutcome::Confirmed;
  if (high_percent < 0) judgement.finding = ReplicationOutcome::Reversed;
  if (!published_percent) return judgement;
  judgement.size = high_percent < published_size  ? Size::Smaller
                   : low_percent > published_size ? Size::Larger
                                                  : Size::Inside;
  return judgement;
}

Judgement judge(const PublishedResult& published, double low_percent, double high_percent, bool interleaved) {
  const double margin = published.margin_percent;
  const double mirrored = 100 * (1 / (1 + margin / 100) - 1);  // as much slower as the margin is faster
  if (!interleaved) return {.finding = ReplicationOutcome::Undecided};
  switch (published.kind) {
    case PublishedKind::Same:
      return judge_range(mirrored, margin, low_percent, high_percent);
    case PublishedKind::FarBehind:
      return judge_range(-100, mirrored, std::max(low_percent, -99.9), high_percent);
    case PublishedKind::LaterEpochs:
      return judge_range(-1, margin, low_percent, high_percent);
    case PublishedKind::Interaction:
      if (low_percent > 0 || high_percent < 0) return {.finding = ReplicationOutcome::Confirmed};
      if (low_percent > mirrored && high_percent < margin) return {.finding = ReplicationOutcome::Reversed};
      return {.finding = ReplicationOutcome::Undecided};
    case PublishedKind::Faster:
    case PublishedKind::FirstEpoch:
      break;
  }
  return judge(published.published_percent, low_percent, high_percent, interleaved);
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
