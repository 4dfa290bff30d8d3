#include "tuner/predict/prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "search/history/past_trials.hpp"
#include "search/transfer/shared_effects.hpp"
#include "space/digest.hpp"
#include "space/lattice.hpp"
#include "space/names.hpp"
#include "space/random.hpp"
#include "tuner/campaign/history.hpp"
#include "tuner/campaign/noise/stored_noise.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/space_file.hpp"

namespace nocturne::tuner {
namespace {

using search::transfer::Expectation;
using search::transfer::Measurement;
using Where = search::transfer::Place;
using search::transfer::SharedEffects;

constexpr std::array<std::string_view, 4> kBases{"pairs", "trials", "machine", "workload"};
constexpr std::size_t kMostCandidates = 4000;
constexpr std::size_t kMostOfCampaign = 150;
constexpr double kNinety = 1.645;  // standard deviations of a central 90 % interval
// Of the space's parameters a trial must say so many, or it is of something else.
constexpr double kFewestShared = 0.5;

/// What is trained, as far as times of the same machine are comparable.
std::string workload_word(const nlohmann::json& document) {
  const auto worker = document.is_object() ? document.value("worker", nlohmann::json::object()) : nlohmann::json();
  if (worker.contains("template") || worker.contains("command")) return "command " + space::short_digest(worker.dump());
  return noise_workload(workload_of(document));
}

/// A campaign that says something of this space.
struct Past {
  db::CampaignSummary campaign{};
  Where place{};
  std::string host{};
  std::vector<search::history::PastTrial> trials{};
};

bool shares_enough(const space::Space& space, const space::Configuration& configuration) {
  std::size_t shared = 0, varied = 0;
  for (const space::Parameter& each : space.parameters()) {
    if (!each.is_real() && each.size() < 2) continue;
    ++varied;
    if (configuration.find(each.name) != nullptr) ++shared;
  }
  return static_cast<double>(shared) >= kFewestShared * static_cast<double>(varied);
}

std::vector<search::history::PastTrial> trials_in(const space::Space& space, const space::Lattice& lattice,
                                                  const db::Store& store, const db::CampaignSummary& campaign,
                                                  const space::Objective& objective) {
  std::vector<search::history::PastTrial> trials;
  for (const db::StoredTrial& each : store.list_trials(
           {.campaign = campaign.id, .state = db::TrialState::Finished, .limit = kMostTrialsOfCampaign})) {
    const auto value = search::history::log_value_of(each.trial, objective);
    if (!value || each.trial.outcome != space::Outcome::Ok || !shares_enough(space, each.trial.configuration)) continue;
    if (auto point = search::history::nearest_point(lattice, each.trial.configuration))
      trials.push_back({.point = *std::move(point), .log_value = value});
  }
  return search::history::thinned(std::move(trials), kMostOfCampaign);
}

/// Their times are seconds, and the less the better.
bool minimises_time(const db::CampaignSummary& campaign) {
  return !stored_value_rule(campaign.spec) && objective_of(campaign.spec).minimise == "time";
}

std::vector<Past> past_campaigns(const db::Store& store, const CampaignSpec& spec, const space::Lattice& lattice,
                                 const space::Objective& objective) {
  std::vector<Past> all;
  for (db::CampaignSummary& campaign : store.list_campaigns()) {
    if (campaign.ok == 0 || campaign.fingerprint.empty() || !minimises_time(campaign)) continue;
    Past past{.place = {.machine = {}, .network = workload_word(campaign.spec)},
              .trials = trials_in(spec.space, lattice, store, campaign, objective)};
    if (past.trials.empty()) continue;
    const auto fields = space::Fingerprint::from_json(store.load_fingerprint(campaign.fingerprint).fields);
    past.place.machine = fields ? fields->key() : campaign.fingerprint;
    const auto* host = fields ? fields->find("system.host") : nullptr;
    past.host = host != nullptr ? host->value : campaign.name;
    past.campaign = std::move(campaign);
    all.push_back(std::move(past));
  }
  return all;
}

/// How much a campaign says of the question: 0, the same machine and workload; 1, one of them; 2, neither.
int distance(const Past& past, const Where& asked) {
  return (past.place.machine == asked.machine ? 0 : 1) + (past.place.network == asked.network ? 0 : 1);
}

/// The nearest campaigns first, as many trials as a fit bears; a point of one place counts once.
std::vector<Measurement> measurements_of(const std::vector<Past>& pasts) {
  std::vector<Measurement> all;
  std::set<std::pair<std::string, std::uint64_t>> seen;
  for (const Past& past : pasts) {
    for (const search::history::PastTrial& each : past.trials) {
      if (all.size() == SharedEffects::kMost) return all;
      const std::string place = past.place.machine + " " + past.place.network;
      if (!each.log_value || !seen.emplace(place, space::hash_of(each.point)).second) continue;
      all.push_back({past.place, each.point, *each.log_value});
    }
  }
  return all;
}

/// All valid configurations where they are few; else what was measured near by, and others drawn.
struct Candidates {
  std::vector<space::Configuration> configurations;
  bool all = false;
};

Candidates candidates_of(const space::Space& space, space::Lattice& lattice, const std::vector<Measurement>& known) {
  Candidates candidates;
  const space::Size size = space.count();
  if (size.kind == space::Size::Kind::Exact && size.approximate <= kMostCandidates) {
    auto enumerator = space.enumerate();
    while (auto next = enumerator.next()) candidates.configurations.push_back(*std::move(next));
    candidates.all = true;
    return candidates;
  }
  std::set<std::string> seen;
  const auto add = [&](space::Configuration configuration) {
    if (seen.insert(configuration.identity()).second) candidates.configurations.push_back(std::move(configuration));
  };
  std::vector<const Measurement*> fastest;
  for (const Measurement& each : known) fastest.push_back(&each);
  std::ranges::stable_sort(fastest, {}, &Measurement::log_time);
  for (const Measurement* each : fastest)
    if (candidates.configurations.size() < kMostCandidates / 2 && lattice.valid(each->point))
      add(lattice.configuration(each->point));
  space::Random random(1);
  for (std::size_t tries = 0; tries < 2 * kMostCandidates && candidates.configurations.size() < kMostCandidates;
       ++tries)
    if (auto drawn = space.sample(random)) add(*std::move(drawn));
  return candidates;
}

PredictedConfiguration in_seconds(space::Configuration configuration, const Expectation& expected) {
  const double time_reach = kNinety * expected.log_time_sd, gain_reach = kNinety * expected.log_gain_sd;
  PredictedConfiguration predicted;
  predicted.configuration = std::move(configuration);
  predicted.seconds = std::exp(expected.log_time);
  predicted.seconds_low = std::exp(expected.log_time - time_reach);
  predicted.seconds_high = std::exp(expected.log_time + time_reach);
  predicted.gain = std::exp(expected.log_gain);
  predicted.gain_low = std::exp(expected.log_gain - gain_reach);
  predicted.gain_high = std::exp(expected.log_gain + gain_reach);
  return predicted;
}

/// What pairs with the default say of it, measured there; the latest of its verdicts at the campaign's own horizon.
std::optional<db::VerdictRecord> verdict_of(const db::Store& store, const Past& past,
                                            const space::Configuration& configuration,
                                            const space::Configuration& usual) {
  std::optional<db::VerdictRecord> found;
  for (const db::StoredComparison& each : store.comparisons(past.campaign.id)) {
    if (each.record.candidate != configuration || each.record.baseline != usual || each.record.role != "verify")
      continue;
    for (const db::VerdictRecord& verdict : each.verdicts)
      if (verdict.primary) found = verdict;
  }
  return found;
}

/// Says what it rests on; where pairs were measured there, their interval is what is known of the gain.
void add_evidence(const db::Store& store, const std::vector<Past>& pasts, const Where& asked,
                  const space::Configuration& usual, PredictedConfiguration& predicted) {
  for (const Past& past : pasts) {
    const int away = distance(past, asked);
    if (away == 0) predicted.basis = std::min(predicted.basis, PredictionBasis::Machine);
    if (away != 0 || predicted.trial) continue;
    const auto trial = store.first_ok(past.campaign.id, predicted.configuration);
    if (!trial) continue;
    predicted.trial = trial->trial.number;
    predicted.campaign = past.campaign.name;
    predicted.basis = PredictionBasis::Trials;
    const auto verdict = verdict_of(store, past, predicted.configuration, usual);
    if (!verdict) continue;
    predicted.basis = PredictionBasis::Pairs;
    predicted.gain = std::exp(-verdict->log_ratio_mean);
    predicted.gain_low = std::exp(-verdict->log_ratio_high);
    predicted.gain_high = std::exp(-verdict->log_ratio_low);
  }
}

PredictionSource source_of(const Past& past, const Where& asked) {
  return {.campaign = past.campaign.name,
          .generation = past.campaign.generation,
          .machine = past.host,
          .same_machine = past.place.machine == asked.machine,
          .same_workload = past.place.network == asked.network,
          .trials = past.trials.size()};
}

/// Places of so many among the first `size`, the largest gain first.
std::vector<std::size_t> largest_gains(const std::vector<Expectation>& expected, std::size_t size, std::size_t count) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return expected[i].log_gain; });
  order.resize(std::min(size, count));
  return order;
}

}  // namespace

std::string_view to_text(PredictionBasis basis) {
  return space::name_of(basis, kBases);
}

std::expected<PredictedRanking, std::string> predict_ranking(const db::Store& store, const CampaignSpec& spec,
                                                             const PredictionWishes& wishes) {
  space::Objective objective = spec.objective;
  if (wishes.epochs) {
    objective.epochs = {*wishes.epochs};
    objective.primary = *wishes.epochs;
  }
  space::Lattice lattice(spec.space);
  const Where asked{.machine = wishes.machine_key, .network = workload_word(spec.document)};
  auto pasts = past_campaigns(store, spec, lattice, objective);
  std::ranges::stable_sort(pasts, {}, [&](const Past& each) { return distance(each, asked); });
  auto known = measurements_of(pasts);
  if (known.size() < kFewestToPredict) {
    return std::unexpected(
        fmt::format("{} trials of all campaigns say something of this space, and {} are the fewest to predict from",
                    known.size(), kFewestToPredict));
  }
  const Candidates candidates = candidates_of(spec.space, lattice, known);
  const space::Configuration usual = spec.space.default_configuration();
  const auto reference = lattice.point_of(usual);
  if (!reference) return std::unexpected("the default is no configuration of the space");
  space::PointList points(lattice.width());
  std::vector<const space::Configuration*> configurations;
  for (const space::Configuration& each : candidates.configurations) {
    const auto point = lattice.point_of(each);
    if (!point || each == usual) continue;
    points.push_back(*point);
    configurations.push_back(&each);
  }
  points.push_back(*reference);

  const SharedEffects effects(lattice, std::move(known));
  const auto expected = effects.expect(asked, points, *reference);
  PredictedRanking ranking{.best = {},
                           .usual = in_seconds(usual, expected.back()),
                           .sources = {},
                           .candidates = configurations.size() + 1,
                           .all_candidates = candidates.all,
                           .own_share = effects.own_share_of_machine()};
  for (const std::size_t i : largest_gains(expected, configurations.size(), wishes.count)) {
    ranking.best.push_back(in_seconds(*configurations[i], expected[i]));
    add_evidence(store, pasts, asked, usual, ranking.best.back());
  }
  add_evidence(store, pasts, asked, usual, ranking.usual);
  for (const Past& past : pasts) ranking.sources.push_back(source_of(past, asked));
  return ranking;
}

}  // namespace nocturne::tuner
