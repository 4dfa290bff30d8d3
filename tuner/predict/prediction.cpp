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
#include "tuner/predict/roofline_offset.hpp"
#include "tuner/roofline/machine_figures.hpp"
#include "tuner/roofline/programs.hpp"

namespace nocturne::tuner {
namespace {

using search::transfer::Expectation;
using search::transfer::Measurement;
using Where = search::transfer::Place;
using search::transfer::SharedEffects;

constexpr std::array<std::string_view, 6> kBases{"pairs", "trials", "machine", "class", "workload", "roofline"};
constexpr std::size_t kMostCandidates = 4000;
constexpr std::size_t kMostOfCampaign = 150;
constexpr double kNothing = 0.05;  // log units: a gain of less is none
// Of the space's parameters a trial must say so many, or it is of something else.
constexpr double kFewestShared = 0.5;

/// Whether the user's own command is measured: nobody knows its work.
bool is_own_work(const nlohmann::json& document) {
  return document.is_object() && document.value("worker", nlohmann::json::object()).contains("template");
}

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
  std::string machine_class{};
  std::optional<PeakFigures> peaks{};
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
    if (fields) past.machine_class = machine_class(*fields);
    past.peaks = peaks_of_campaign(store, campaign.id);
    if (!past.peaks && fields && !is_own_work(campaign.spec))
      past.peaks = stored_peaks(store, *fields, workload_of(campaign.spec));
    past.campaign = std::move(campaign);
    all.push_back(std::move(past));
  }
  return all;
}

/// What is asked, beside the space.
struct Question {
  Where place{};
  std::string machine_class{};
  space::Configuration usual{};  // the default
  double examples = 1;           // that the horizon asked for trains on
};

/// How much a campaign says of the question: 0, the same machine and workload; 1, one of them; 2, neither.
int distance(const Past& past, const Where& asked) {
  return (past.place.machine == asked.machine ? 0 : 1) + (past.place.network == asked.network ? 0 : 1);
}

/// The nearest campaigns first, as many trials as a fit bears; a point of one place counts once.
std::vector<Measurement> measurements_of(const std::vector<Past>& pasts, const space::Lattice& lattice,
                                         const RooflineOffsets& offsets) {
  std::vector<Measurement> all;
  std::set<std::pair<std::string, std::uint64_t>> seen;
  for (const Past& past : pasts) {
    for (const search::history::PastTrial& each : past.trials) {
      if (all.size() == SharedEffects::kMost) return all;
      const std::string place = past.place.machine + " " + past.place.network;
      if (!each.log_value || !seen.emplace(place, space::hash_of(each.point)).second) continue;
      all.push_back(
          {past.place, each.point, *each.log_value - offsets.at(past.place, lattice.configuration(each.point))});
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
  const double time_reach = kNinety * expected.log_time_sd;
  PredictedConfiguration predicted;
  predicted.configuration = std::move(configuration);
  predicted.seconds = std::exp(expected.log_time);
  predicted.seconds_low = std::exp(expected.log_time - time_reach);
  predicted.seconds_high = std::exp(expected.log_time + time_reach);
  predicted.gain = std::exp(expected.log_gain);
  predicted.gain_low = std::exp(expected.gain_90.lower);
  predicted.gain_high = std::exp(expected.gain_90.upper);
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
void add_evidence(const db::Store& store, const std::vector<Past>& pasts, const Question& question,
                  PredictedConfiguration& predicted) {
  const Where& asked = question.place;
  const space::Configuration& usual = question.usual;
  if (pasts.empty()) predicted.basis = PredictionBasis::Roofline;
  for (const Past& past : pasts) {
    const int away = distance(past, asked);
    if (away == 0) predicted.basis = std::min(predicted.basis, PredictionBasis::Machine);
    if (past.place.network == asked.network && !past.machine_class.empty() &&
        past.machine_class == question.machine_class)
      predicted.basis = std::min(predicted.basis, PredictionBasis::Class);
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

std::optional<PeakFigures> peaks_of_question(const db::Store& store, const CampaignSpec& spec,
                                             const PredictionWishes& wishes) {
  if (!wishes.figures || is_own_work(spec.document)) return std::nullopt;
  auto description = store.network(spec.workload.network);
  if (!description) {
    auto described = describe_network(spec.workload.network);
    if (!described) return std::nullopt;
    description = *std::move(described);
  }
  auto peaks =
      PeakFigures::make(wishes.figures->figures, wishes.figures->fields, *description, spec.workload.optimizer);
  return peaks ? std::optional<PeakFigures>(*std::move(peaks)) : std::nullopt;
}

/// Of each configuration, the last of which is the default; notes a machine's own share.
std::vector<Expectation> expect_by_model(const space::Lattice& lattice, std::vector<Measurement> known,
                                         const RooflineOffsets& offsets, const Question& question,
                                         const std::vector<space::Configuration>& configurations,
                                         PredictedRanking& ranking) {
  space::PointList points(lattice.width());
  for (const space::Configuration& each : configurations) points.push_back(*lattice.point_of(each));
  const SharedEffects effects(lattice, std::move(known));
  ranking.own_share = effects.own_share_of_machine();
  auto expected = effects.expect(question.place, points, points[points.size() - 1]);
  const double of_usual = offsets.at(question.place, question.usual);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double offset = offsets.at(question.place, configurations[i]), gain = of_usual - offset;
    Expectation& each = expected[i];
    each.log_time += offset;
    each.log_gain += gain;
    each.gain_90 = {.lower = each.gain_90.lower + gain, .upper = each.gain_90.upper + gain};
    each.expected_gain += gain;
  }
  return expected;
}

PredictionSource source_of(const Past& past, const Where& asked) {
  return {.campaign = past.campaign.name,
          .generation = past.campaign.generation,
          .machine = past.host,
          .same_machine = past.place.machine == asked.machine,
          .same_workload = past.place.network == asked.network,
          .trials = past.trials.size()};
}

/// A gain whose interval reaches farther than twice what is expected, or a twentieth: it could lose more than it may
/// gain.
bool is_guess(const Expectation& expected) {
  const double reach = (expected.gain_90.upper - expected.gain_90.lower) / 2;
  return reach > 2 * std::max(std::abs(expected.log_gain), kNothing);
}

/// Places among the first `size` that are no guesses, the largest gain first.
std::vector<std::size_t> largest_gains(const std::vector<Expectation>& expected, std::size_t size) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return is_guess(expected[i]); });
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return expected[i].expected_gain; });
  return order;
}

}  // namespace

std::string_view to_text(PredictionBasis basis) {
  return space::name_of(basis, kBases);
}

std::string machine_class(const nlohmann::json& fields) {
  const auto text = [&](const char* name) { return fields.is_object() ? fields.value(name, "") : std::string(); };
  const std::string processor = text("cpu.model"), gpus = text("gpu.models");
  return processor.empty() ? processor : processor + (gpus.empty() ? "" : ", " + gpus);
}

std::string machine_class(const space::Fingerprint& fingerprint) {
  return machine_class(figure_fields(fingerprint));
}

std::expected<PredictedRanking, std::string> predict_ranking(const db::Store& store, const CampaignSpec& spec,
                                                             const PredictionWishes& wishes) {
  space::Objective objective = spec.objective;
  if (wishes.epochs) {
    objective.epochs = {*wishes.epochs};
    objective.primary = *wishes.epochs;
  }
  space::Lattice lattice(spec.space);
  const Question question{
      .place = {.machine = wishes.machine_key, .network = workload_word(spec.document)},
      .machine_class = wishes.machine_class,
      .usual = spec.space.default_configuration(),
      .examples = static_cast<double>(spec.workload.training_examples) * std::max(objective.primary, 1.0)};
  if (!lattice.point_of(question.usual)) return std::unexpected("the default is no configuration of the space");
  auto pasts = past_campaigns(store, spec, lattice, objective);
  std::ranges::stable_sort(pasts, {}, [&](const Past& each) { return distance(each, question.place); });
  const auto peaks = peaks_of_question(store, spec, wishes);
  RooflineOffsets offsets;
  offsets.add(question.place, peaks);
  for (const Past& past : pasts) offsets.add(past.place, past.peaks);
  auto known = measurements_of(pasts, lattice, offsets);
  const bool few = known.size() < kFewestToPredict;
  if (few) {  // the machine's own figures say as much as if nothing had been measured anywhere
    pasts.clear();
    offsets = RooflineOffsets();
    offsets.add(question.place, peaks);
  }
  if (few && !offsets.known()) {
    return std::unexpected(
        fmt::format("{} trials of all campaigns say something of this space, and {} are the fewest to predict from",
                    known.size(), kFewestToPredict));
  }
  Candidates candidates = candidates_of(spec.space, lattice, known);
  std::erase(candidates.configurations, question.usual);
  candidates.configurations.push_back(question.usual);
  const auto& configurations = candidates.configurations;
  PredictedRanking ranking{
      .by_share = offsets.known(), .candidates = configurations.size(), .all_candidates = candidates.all};
  const auto expected =
      few ? expect_by_roofline(offsets, question.place, configurations, question.usual, question.examples)
          : expect_by_model(lattice, std::move(known), offsets, question, configurations, ranking);
  ranking.usual = in_seconds(question.usual, expected.back());
  auto order = largest_gains(expected, configurations.size() - 1);
  ranking.withheld = configurations.size() - 1 - order.size();
  order.resize(std::min(order.size(), wishes.count));
  for (const std::size_t i : order) {
    ranking.best.push_back(in_seconds(configurations[i], expected[i]));
    add_evidence(store, pasts, question, ranking.best.back());
  }
  add_evidence(store, pasts, question, ranking.usual);
  for (const Past& past : pasts) ranking.sources.push_back(source_of(past, question.place));
  return ranking;
}

}  // namespace nocturne::tuner
