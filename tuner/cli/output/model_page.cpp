#include "tuner/cli/output/model_page.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <tuple>

#include <fmt/format.h>

#include "search/model/changes.hpp"
#include "search/model/prediction.hpp"
#include "space/moments.hpp"
#include "space/word_list.hpp"
#include "tuner/campaign/kept/expectations_members.hpp"
#include "tuner/cli/output/expectation_lines.hpp"
#include "tuner/cli/output/format.hpp"

namespace nocturne::tuner {

NOCTURNE_MEMBERS(cli::ModelPage::Effect, parameter, reference, share, values);
NOCTURNE_MEMBERS(cli::ModelPage::Joint, first_value, second_value, trials, mean, lower, upper);
NOCTURNE_MEMBERS(cli::ModelPage::Pair, first, second, strength, share, first_default, second_default, joint);
NOCTURNE_MEMBERS(cli::ModelPage::PrunedLevel, parameter, value, sentence, margin);
NOCTURNE_MEMBERS(search::model::ShareInterval, lower, upper);
NOCTURNE_MEMBERS(search::model::MemoryModel::Coefficients, fixed_bytes, bytes_each);
NOCTURNE_MEMBERS(search::model::MemoryModel::Largest, lower, expected, upper);
NOCTURNE_MEMBERS(cli::MemoryLine, group, peaks, out_of_memory, limit_bytes, line, largest);
NOCTURNE_MEMBERS(cli::ModelPage, worked, failed, horizons, primary_epochs, without, effects, interactions, aliased,
                 pruned, drawn, pruned_levels, audits, audit_failures, audit_misses, miss_rate, widening, held,
                 left_out, typical_error, noise, memory, history, continuing);

}  // namespace nocturne::tuner

namespace nocturne::cli {
namespace {

constexpr std::size_t kPairs = 6;
constexpr double kConfidence = 0.9;      // of all intervals of the page
constexpr double kWorthShowing = 0.01;   // of the explained variance: less is "no effect seen"
constexpr std::size_t kMemoryLines = 8;  // of groups: beyond, those that say little are counted

std::string level_text(const space::Lattice& lattice, std::size_t parameter, space::Level level) {
  if (level == space::kNoLevel) return "(inactive)";
  return space::to_text(lattice.axis(parameter).values[level]);
}

double variance_of(const std::vector<double>& values) {
  const space::Moments moments = space::moments_of(values);
  return moments.squares / static_cast<double>(moments.count);
}

/// Whether both are about how a training is deployed: what one of them costs is asked of the other however little it
/// is.
bool are_deployment(const space::Lattice& lattice, const search::model::Interaction& pair) {
  return lattice.parameter(pair.first).stage == space::Stage::Environment &&
         lattice.parameter(pair.second).stage == space::Stage::Environment;
}

/// Turned where it was asked for the other way round: the first parameter is the one whose cost is told.
std::optional<search::model::Interaction> asked_way(const space::Lattice& lattice, search::model::Interaction pair,
                                                    const AskedPairs& asked) {
  const std::string &first = lattice.parameter(pair.first).name, &second = lattice.parameter(pair.second).name;
  if (std::ranges::find(asked, std::pair(first, second)) != asked.end()) return pair;
  if (std::ranges::find(asked, std::pair(second, first)) == asked.end()) return std::nullopt;
  std::swap(pair.first, pair.second);
  return pair;
}

ModelPage::Pair shown_pair(tuner::LearnedCampaign& learned, const search::model::Interaction& pair, double share,
                           const search::model::ChangeOptions& options) {
  auto& lattice = learned.lattice();
  ModelPage::Pair shown{.first = lattice.parameter(pair.first).name,
                        .second = lattice.parameter(pair.second).name,
                        .strength = pair.strength,
                        .share = share,
                        .first_default = level_text(lattice, pair.first, lattice.axis(pair.first).default_level),
                        .second_default = level_text(lattice, pair.second, lattice.axis(pair.second).default_level),
                        .joint = {}};
  for (const auto& each : search::model::joint_changes(learned.times(), lattice, pair.first, pair.second, options)) {
    shown.joint.push_back({.first_value = level_text(lattice, pair.first, each.first),
                           .second_value = level_text(lattice, pair.second, each.second),
                           .trials = each.trials,
                           .mean = each.mean,
                           .lower = each.interval.lower,
                           .upper = each.interval.upper});
  }
  std::ranges::stable_sort(shown.joint, std::greater{}, [](const auto& each) { return std::abs(each.mean); });
  return shown;
}

/// The strongest, those of the deployment of which something is known, and what was asked for. `total`: of the variance
/// that all effects and interactions make.
void add_interactions(tuner::LearnedCampaign& learned, const std::vector<search::model::Interaction>& pairs,
                      double total, const search::model::ChangeOptions& options, const AskedPairs& asked,
                      ModelPage& page) {
  std::size_t strong = 0;
  for (const auto& pair : pairs) {
    const double share = total > 0 ? pair.strength * pair.strength / total : 0;
    const bool is_strong = strong < kPairs && share >= kWorthShowing;
    const auto wanted = asked_way(learned.lattice(), pair, asked);
    if (!is_strong && !wanted && !are_deployment(learned.lattice(), pair)) continue;
    ModelPage::Pair shown = shown_pair(learned, wanted.value_or(pair), share, options);
    strong += is_strong ? 1 : 0;
    if (is_strong || wanted || !shown.joint.empty()) page.interactions.push_back(std::move(shown));
  }
}

void add_effects(tuner::LearnedCampaign& learned, const AskedPairs& asked, ModelPage& page) {
  auto& lattice = learned.lattice();
  const search::model::ChangeOptions options{.confidence = kConfidence, .process_sd = learned.process_sd};
  double total = 0;
  const auto varies = [&](std::size_t i) { return lattice.axis(i).levels > 1 || lattice.axis(i).conditional; };
  for (std::size_t i = 0; i < lattice.width(); ++i) {
    if (!varies(i)) continue;
    const auto reference = lattice.axis(i).default_level;
    ModelPage::Effect shown{.parameter = lattice.parameter(i).name, .reference = level_text(lattice, i, reference)};
    std::vector<double> means{0};
    for (const auto& change : search::model::average_changes(learned.times(), lattice, i, reference, options)) {
      shown.values.push_back({level_text(lattice, i, change.level), change, {}});
      means.push_back(change.mean);
    }
    shown.share = variance_of(means);
    total += shown.share;
    page.effects.push_back(std::move(shown));
  }
  const auto pairs = learned.times().interactions();
  for (const auto& pair : pairs) total += pair.strength * pair.strength;
  for (ModelPage::Effect& effect : page.effects) effect.share = total > 0 ? effect.share / total : 0;
  std::ranges::stable_sort(page.effects, std::greater{}, &ModelPage::Effect::share);
  add_interactions(learned, pairs, total, options, asked, page);
  for (const auto& alias : learned.times().aliased()) {
    if (!varies(alias.parameters.front())) continue;  // it never can
    std::vector<std::string> parameters;
    for (const std::size_t each : alias.parameters) parameters.push_back(lattice.parameter(each).name);
    const std::string names = space::word_list(parameters);
    page.aliased.push_back(alias.parameters.size() == 1
                               ? names + " never changed: its effect is not known"
                               : names + " always changed together: their effects cannot be separated");
  }
}

void add_pruning(tuner::LearnedCampaign& learned, ModelPage& page) {
  auto& search = *learned.search;
  page.horizons = search.horizons();
  for (const auto& level : search.pruned_levels()) {
    page.pruned_levels.push_back({learned.lattice().parameter(level.parameter).name,
                                  level_text(learned.lattice(), level.parameter, level.level),
                                  search::model::to_text(level, learned.lattice(), page.horizons), level.margin});
  }
  std::tie(page.pruned, page.drawn) = search.pruned_share(tuner::kPrunedDraws);
  page.audits = search.audit().audits();
  page.audit_failures = search.audit().failures();
  page.audit_misses = search.audit().misses();
  page.miss_rate = search.audit().miss_rate();
  page.widening = search.audit().widening();
}

void add_calibration(tuner::LearnedCampaign& learned, ModelPage& page) {
  std::vector<double> errors;
  for (const auto& each : learned.times().leave_one_out()) {
    page.held += each.prediction.log_interval(0.9).contains(each.log_value);
    errors.push_back(std::abs(each.prediction.log_mean() - each.log_value));
  }
  page.left_out = errors.size();
  if (!errors.empty()) {
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::ranges::nth_element(errors, middle);
    page.typical_error = *middle;
  }
  page.noise = learned.times().noise_sd();
}

std::string range_text(const search::model::ShareInterval& share) {
  return fmt::format("{:.0f} to {:.0f} %", 100 * share.lower, 100 * share.upper);
}

void print_effects(std::ostream& out, const ModelPage& page) {
  std::string none;
  for (const auto& effect : page.effects) {
    if (effect.share < kWorthShowing || effect.values.empty()) {
      none += (none.empty() ? "" : ", ") + effect.parameter;
      continue;
    }
    out << fmt::format("{} ({:.0f} % of what varies; default {})\n", effect.parameter, 100 * effect.share,
                       effect.reference);
    for (const auto& each : effect.values)
      out << fmt::format("  {}={}: {}\n", effect.parameter, each.value, change_text(each, effect.reference));
  }
  if (!none.empty()) out << "No effect seen on average: " << none << '\n';
}

/// "8.1 % more (2.0 % to 14.9 %)"
std::string joint_text(const ModelPage::Joint& joint) {
  const bool more = joint.mean > 0;
  const auto percent = [&](double log) { return 100 * std::expm1(log) * (more ? 1 : -1); };
  return fmt::format("{:.1f} % {} time ({:.1f} to {:.1f} %)", percent(joint.mean), more ? "more" : "less",
                     percent(more ? joint.lower : joint.upper), percent(more ? joint.upper : joint.lower));
}

void print_interaction(std::ostream& out, const ModelPage::Pair& pair) {
  out << fmt::format("  {} with {}: moves times by ± {:.1f} % beyond both effects ({:.0f} % of what varies)\n",
                     pair.first, pair.second, 100 * std::expm1(pair.strength), 100 * pair.share);
  std::size_t unseen = 0;
  double lowest = 0, highest = 0;
  for (const ModelPage::Joint& each : pair.joint) {
    if (each.is_seen()) {
      out << fmt::format("    {}={} instead of {} takes {} where {}={} than where it is {}\n", pair.first,
                         each.first_value, pair.first_default, joint_text(each), pair.second, each.second_value,
                         pair.second_default);
      continue;
    }
    ++unseen;
    lowest = std::min(lowest, each.lower);
    highest = std::max(highest, each.upper);
  }
  if (unseen > 0) {
    out << fmt::format("    {} of {} combinations: no dependence seen, {:+.1f} to {:+.1f} % at the widest\n", unseen,
                       pair.joint.size(), 100 * std::expm1(lowest), 100 * std::expm1(highest));
  }
  if (pair.joint.empty()) {
    out << fmt::format("    which of their values is not known: no combination has {} trials on each side\n",
                       search::model::kFewestTogether);
  }
}

/// In percent of time, above 0: it takes more than both effects say.
nlohmann::json interaction_json(const ModelPage::Pair& pair) {
  nlohmann::json combinations = nlohmann::json::array();
  for (const ModelPage::Joint& each : pair.joint) {
    combinations.push_back({{"values", {each.first_value, each.second_value}},
                            {"trials", each.trials},
                            {"more_time_percent", 100 * std::expm1(each.mean)},
                            {"low_percent", 100 * std::expm1(each.lower)},
                            {"high_percent", 100 * std::expm1(each.upper)},
                            {"seen", each.is_seen()}});
  }
  return {{"parameters", {pair.first, pair.second}},
          {"defaults", {pair.first_default, pair.second_default}},
          {"strength", pair.strength},
          {"share", pair.share},
          {"combinations", std::move(combinations)}};
}

}  // namespace

ModelPage make_model_page(tuner::LearnedCampaign& learned, const AskedPairs& asked) {
  ModelPage page{.worked = learned.times().size(),
                 .failed = static_cast<std::size_t>(std::ranges::count_if(
                     learned.trials, [](const space::Trial& each) { return each.outcome != space::Outcome::Ok; })),
                 .primary_epochs = learned.objective.primary,
                 .without = learned.without};
  add_effects(learned, asked, page);
  add_pruning(learned, page);
  add_calibration(learned, page);
  page.memory = memory_lines(learned.search->models().memory());
  page.history = history_lines(learned);
  page.continuing = tuner::continuing(learned, std::chrono::hours(1));
  return page;
}

void print_model(const Context& context, const db::CampaignSummary& campaign, const ModelPage& page) {
  std::ostream& out = *context.out;
  out << fmt::format("{}, generation {}: times of {}, {:g} % intervals, learnt from {} trials, {} failed ones beside\n",
                     campaign.name, campaign.generation,
                     horizon_text(tuner::objective_of(campaign.spec), page.primary_epochs), 100 * kConfidence,
                     page.worked, page.failed);
  for (const std::string& each : page.without) out << "Note: " << each << '\n';
  out << "\nEffects on average over the whole space ('best' has those from the best configuration)\n";
  print_effects(out, page);
  if (!page.interactions.empty()) out << "\nInteractions\n";
  for (const auto& pair : page.interactions) print_interaction(out, pair);
  if (!page.aliased.empty()) out << "\nNot separated\n";
  for (const auto& each : page.aliased) out << "  " << each << '\n';
  out << "\nPruned\n";
  if (page.drawn == 0) {
    out << "  nothing yet: too few trials\n";
  } else {
    out << fmt::format("  {:.0f} % of the configurations cannot win{}, even at the optimistic 5 % end\n",
                       100 * static_cast<double>(page.pruned) / static_cast<double>(page.drawn),
                       page.horizons.empty() ? "" : " at " + search::model::epochs_text(page.horizons));
  }
  for (const auto& each : page.pruned_levels) out << "  " << each.sentence << '\n';
  out << fmt::format("  audits: {} drawn from the pruned", page.audits);
  if (page.audits > 0) {
    out << fmt::format(
        ", {} faster than their own bound (5 % would be right), {} faster than the incumbent (interval of that rate: "
        "{})",
        page.audit_failures, page.audit_misses, range_text(page.miss_rate));
  }
  out << (page.widening > 1 ? fmt::format("; bounds are widened {:.2f} times", page.widening) : "") << '\n';
  if (!page.memory.empty()) out << '\n';
  std::size_t one_batch = 0;
  for (const auto& each : page.memory) {
    const bool says_little = !each.line && each.out_of_memory == 0;
    if (says_little && page.memory.size() > kMemoryLines)
      ++one_batch;
    else
      out << "memory: " << to_text(each) << '\n';
  }
  if (one_batch > 0)
    out << fmt::format("memory: {} groups more with one batch size only (--json has them)\n", one_batch);
  if (!page.history.empty()) out << '\n';
  for (const auto& each : page.history) out << each << '\n';
  out << fmt::format(
      "\nCalibration: of {} trials, each left out in turn, the intervals held {:.0f} % ({}); typical error {:.1f} %, "
      "noise {:.1f} %\n",
      page.left_out,
      100 * static_cast<double>(page.held) / static_cast<double>(std::max<std::size_t>(page.left_out, 1)),
      range_text(search::model::clopper_pearson(page.held, page.left_out)), 100 * std::expm1(page.typical_error),
      100 * page.noise);
  if (page.continuing) out << "More time: " << tuner::to_text(*page.continuing) << '\n';
}

nlohmann::json model_json(const ModelPage& page) {
  using nlohmann::json;
  json document = {{"trials", page.worked},         {"failed", page.failed},         {"epochs", page.primary_epochs},
                   {"effects", json::array()},      {"interactions", json::array()}, {"aliased", page.aliased},
                   {"pruned_levels", json::array()}};
  for (const auto& effect : page.effects) {
    document["effects"].push_back({{"parameter", effect.parameter},
                                   {"default", effect.reference},
                                   {"share", effect.share},
                                   {"values", values_json(effect.values)}});
  }
  for (const auto& pair : page.interactions) document["interactions"].push_back(interaction_json(pair));
  for (const auto& each : page.pruned_levels) {
    document["pruned_levels"].push_back(
        {{"parameter", each.parameter}, {"value", each.value}, {"margin", each.margin}, {"because", each.sentence}});
  }
  document["pruned"] = {
      {"share",
       page.drawn > 0 ? json(static_cast<double>(page.pruned) / static_cast<double>(page.drawn)) : json(nullptr)},
      {"drawn", page.drawn}};
  document["audits"] = {{"drawn", page.audits},
                        {"beat_their_bound", page.audit_failures},
                        {"beat_the_incumbent", page.audit_misses},
                        {"miss_rate", {page.miss_rate.lower, page.miss_rate.upper}},
                        {"widening", page.widening}};
  document["calibration"] = {{"trials", page.left_out},
                             {"held", page.held},
                             {"confidence", 0.9},
                             {"typical_log_error", page.typical_error},
                             {"noise", page.noise}};
  document["memory"] = memory_json(page.memory);
  document["history"] = page.history;
  document["continuing"] = continuing_json(page.continuing);
  document["without"] = page.without;
  return document;
}

std::expected<ModelPage, std::string> model_page_of(const db::Store& store, const db::CampaignSummary& campaign,
                                                    const AskedPairs& asked) {
  std::string question;
  for (const auto& [first, second] : asked) question += first + "," + second + ";";
  const auto make = [&]() -> std::expected<ModelPage, std::string> {
    auto learned = tuner::learn_from(store, campaign);
    if (!learned) return std::unexpected(learned.error());
    return make_model_page(**learned, asked);
  };
  return tuner::kept_result<ModelPage>(store, campaign, "model", question, make);
}

}  // namespace nocturne::cli
