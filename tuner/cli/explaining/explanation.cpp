#include "tuner/cli/explaining/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "search/model/changes.hpp"
#include "search/model/prediction.hpp"
#include "search/model/pruning.hpp"
#include "space/parse_number.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/cli/choice/configuration_words.hpp"
#include "tuner/cli/output/answer_page.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/cli/output/model_lines.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

using space::Configuration;

constexpr std::string_view kInactive = "(inactive)";

const space::Trial* best_of(const tuner::LearnedCampaign& learned) {
  const space::Trial* best = nullptr;
  for (const auto& each : learned.trials)
    if (each.estimate && (best == nullptr || each.estimate->value < best->estimate->value)) best = &each;
  return best;
}

Configuration best_or_default(const tuner::LearnedCampaign& learned) {
  const auto* best = best_of(learned);
  return best != nullptr ? best->configuration : learned.space.default_configuration();
}

std::vector<std::string> differences(const tuner::LearnedCampaign& learned, const Configuration& a,
                                     const Configuration& b) {
  std::vector<std::string> names;
  for (const auto& parameter : learned.space.parameters()) {
    const auto* one = a.find(parameter.name);
    const auto* other = b.find(parameter.name);
    const bool same = (one == nullptr) == (other == nullptr) && (one == nullptr || *one == *other);
    if (!same) names.push_back(parameter.name);
  }
  return names;
}

/// What a change of one parameter makes in going from the best to the configuration: the mean of changing it first and
/// of changing it last, which is its Shapley value where no more than two parameters interact (Shapley, "A value for
/// n-person games", 1953). Where one of the two is forbidden or activates something else, the other. A parameter that
/// only one of the two configurations has belongs to the change that activates it.
std::optional<double> change_alone(tuner::LearnedCampaign& learned, space::Point from, space::Point to,
                                   std::size_t parameter) {
  if (from[parameter] == space::kNoLevel || to[parameter] == space::kNoLevel) return std::nullopt;
  auto& lattice = learned.lattice();
  space::PointList before(lattice.width()), after(lattice.width());
  const auto first = search::model::with_level(lattice, from, parameter, to[parameter], /*others=*/0);
  if (first) {
    before.push_back(from);
    after.push_back(*first);
  }
  const auto last = search::model::with_level(lattice, to, parameter, from[parameter], /*others=*/0);
  if (last) {
    before.push_back(*last);
    after.push_back(to);
  }
  if (before.empty()) return std::nullopt;
  return learned.times().difference(before, after).mean;
}

void add_terms(tuner::LearnedCampaign& learned, const space::Trial& best, Explanation& explanation) {
  const auto& lattice = learned.lattice();
  const auto here = lattice.point_of(explanation.configuration);
  const auto there = lattice.point_of(best.configuration);
  if (!here || !there) return;
  space::PointList from(lattice.width()), to(lattice.width());
  from.push_back(*there);
  to.push_back(*here);
  explanation.rest = learned.times().difference(from, to).mean;
  for (std::size_t parameter = 0; parameter < lattice.width(); ++parameter) {
    if ((*here)[parameter] == (*there)[parameter]) continue;
    const auto alone = change_alone(learned, *there, *here, parameter);
    if (!alone) continue;
    const auto& name = lattice.parameter(parameter).name;
    explanation.rest -= *alone;
    explanation.terms.push_back({name, explanation.configuration.text_of(name, kInactive),
                                 best.configuration.text_of(name, kInactive), *alone});
  }
  std::ranges::stable_sort(explanation.terms, std::greater{},
                           [](const Explanation::Term& each) { return std::abs(each.log_ratio); });
}

void add_evidence(const tuner::LearnedCampaign& learned, Explanation& explanation) {
  for (const auto& each : learned.trials) {
    if (!each.estimate || each.configuration == explanation.configuration) continue;
    auto differs = differences(learned, each.configuration, explanation.configuration);
    if (explanation.nearest && differs.size() >= explanation.nearest->differs.size()) continue;
    explanation.nearest =
        Explanation::Evidence{.trial = each.number, .seconds = each.estimate->value, .differs = std::move(differs)};
  }
}

/// Other horizons than the primary one: models of the parts, fitted for reports as that of the times is, say how many
/// times as long they take, so that there is one prediction, not one of each model.
void add_horizons(tuner::LearnedCampaign& learned, space::Point point, Explanation& explanation) {
  const auto horizons = learned.search->horizons();
  const auto primary = std::ranges::find(horizons, learned.objective.primary);
  if (primary == horizons.end()) return;
  search::model::PartsForecast forecast(learned.lattice(), horizons, {}, {}, search::model::kForReports);
  for (const space::Trial& trial : learned.trials) {
    const auto told = learned.lattice().point_of(trial.configuration);
    if (told && trial.estimate && trial.parts) forecast.tell(*told, *trial.parts);
  }
  if (forecast.size() == 0) return;
  forecast.fit();
  std::vector<search::model::HorizonPrediction> prediction(horizons.size());
  forecast.predict_horizons(point, learned.search->audit().widening(), prediction);
  const auto reference = static_cast<std::size_t>(primary - horizons.begin());
  const double shift = explanation.predicted - prediction[reference].log_mean;
  for (auto& each : prediction) {
    each.log_mean += shift;
    each.log_optimistic += shift;
    each.log_pessimistic += shift;
    each.log_extreme += shift;
  }
  prediction[reference].log_optimistic = explanation.interval.lower;
  prediction[reference].log_pessimistic = explanation.interval.upper;
  explanation.horizons = horizons;
  explanation.prediction = std::move(prediction);
}

/// What differs from the default, from which a configuration on the command line begins.
std::string assignment_text(const Configuration& base, const Configuration& configuration) {
  std::string text;
  for (const tuner::Change& change : tuner::changes_between(base, configuration))
    if (change.to) text += (text.empty() ? "" : ",") + change.parameter + "=" + space::to_text(*change.to);
  return text;
}

using search::model::ratio_text;

std::string seconds_of(double log_seconds) {
  return seconds_text(std::exp(log_seconds));
}

void print_prediction(std::ostream& out, const tuner::LearnedCampaign& learned, const Explanation& explanation) {
  out << fmt::format("predicted      {} for {}, 90 % interval {} to {}", seconds_of(explanation.predicted),
                     horizon_text(learned.objective, learned.objective.primary), seconds_of(explanation.interval.lower),
                     seconds_of(explanation.interval.upper));
  if (explanation.best) out << fmt::format("; the best took {}", seconds_of(*explanation.best));
  out << '\n';
  for (std::size_t i = 0; i < explanation.horizons.size(); ++i) {
    if (explanation.horizons[i] == learned.objective.primary) continue;  // said above
    const auto& each = explanation.prediction[i];
    const std::string interval =
        std::isfinite(std::exp(each.log_pessimistic))
            ? fmt::format("{} to {}", seconds_of(each.log_optimistic), seconds_of(each.log_pessimistic))
            : fmt::format("at least {}", seconds_of(each.log_optimistic));
    out << fmt::format("  {}: {}, {}\n", search::model::epochs_text({&explanation.horizons[i], 1}),
                       seconds_of(each.log_mean), interval);
  }
  if (explanation.works < 0.95) out << fmt::format("  works with a probability of {:.0f} %\n", 100 * explanation.works);
}

void print_terms(std::ostream& out, const Explanation& explanation) {
  if (explanation.terms.empty()) return;
  out << "terms          against the best\n";
  for (const auto& term : explanation.terms) {
    out << fmt::format("  {}={} instead of {}: {}\n", term.parameter, term.value, term.against,
                       ratio_text(term.log_ratio));
  }
  if (explanation.terms.size() > 1) out << fmt::format("  together, beyond these: {}\n", ratio_text(explanation.rest));
}

void print_pruning(std::ostream& out, const Explanation& explanation) {
  const auto where =
      explanation.horizons.empty() ? std::string() : " at " + search::model::epochs_text(explanation.horizons);
  if (!explanation.pruned_level.empty()) {
    out << "pruned         " << explanation.pruned_level << '\n';
    return;
  }
  if (!explanation.margin) return;
  if (*explanation.margin > 0) {
    out << fmt::format("pruned         at best {} (one in 100 000 is beyond) than the incumbent{}\n",
                       ratio_text(*explanation.margin), where);
  } else {
    out << fmt::format("not pruned     it may be {} than the incumbent (one in 100 000 is beyond)\n",
                       ratio_text(*explanation.margin));
  }
}

}  // namespace

bool names_configuration(std::string_view word) {
  return word.find('=') != std::string_view::npos || space::parse_number<std::int64_t>(word).has_value();
}

std::expected<Explanation, std::string> explain(tuner::LearnedCampaign& learned, std::string_view what) {
  Explanation explanation;
  if (const auto number = space::parse_number<std::int64_t>(what)) {
    const auto asked = std::ranges::find(learned.asked, *number, &db::AskAnswer::number);
    if (asked == learned.asked.end()) {
      return std::unexpected(
          fmt::format("there is no trial {}; this campaign asked for {}", *number, learned.asked.size()));
    }
    explanation.configuration = asked->configuration;
  } else {
    // Words change the best, for "what if I changed this" is asked of what one would deploy.
    auto configuration = read_configuration(learned.space, best_or_default(learned), what);
    if (!configuration) return std::unexpected(configuration.error());
    explanation.configuration = *std::move(configuration);
  }
  const auto point = learned.lattice().point_of(explanation.configuration);
  if (!point) return std::unexpected("that configuration is not one of this campaign's space");

  const auto asked = std::ranges::find(learned.asked, explanation.configuration, &db::AskAnswer::configuration);
  if (asked != learned.asked.end()) {
    explanation.trial = asked->number;
    explanation.chosen = *asked;
  }
  if (const space::Trial* told = learned.trial_of(*point)) explanation.measured = *told;

  auto& times = learned.times();
  const auto prediction = times.predict(*point);
  explanation.predicted = prediction.log_mean();
  explanation.interval = prediction.log_interval(0.9, learned.search->audit().widening());
  explanation.works = learned.search->models().feasibility().probability(*point);
  explanation.memory = memory_text(learned.search->models().memory(), *point);
  explanation.history = history_text(learned, *point);
  add_horizons(learned, *point, explanation);
  explanation.margin = learned.search->margin(explanation.configuration);
  for (const auto& level : learned.search->pruned_levels())
    if ((*point)[level.parameter] == level.level && explanation.pruned_level.empty())
      explanation.pruned_level = search::model::to_text(level, learned.lattice(), learned.search->horizons());
  if (const auto* best = best_of(learned)) {
    explanation.best = std::log(best->estimate->value);
    add_terms(learned, *best, explanation);
  }
  add_evidence(learned, explanation);
  // A prediction is no measurement, so the page ends with how to get one.
  if (!explanation.measured) {
    const std::string other = assignment_text(learned.space.default_configuration(), explanation.configuration);
    explanation.settle = tuner::command_text(
        {"compare", "best", other.empty() ? "default" : other, "--campaign", learned.campaign, "--measure"});
  }
  return explanation;
}

nlohmann::json explanation_json(const Explanation& explanation) {
  using nlohmann::json;
  json document = {{"configuration", explanation.configuration.to_json()},
                   {"trial", explanation.trial ? json(*explanation.trial) : json(nullptr)},
                   {"measured_s", nullptr},
                   {"predicted_s", std::exp(explanation.predicted)},
                   {"low_s", std::exp(explanation.interval.lower)},
                   {"high_s", std::exp(explanation.interval.upper)},
                   {"works", explanation.works},
                   {"memory", explanation.memory},
                   {"history", explanation.history},
                   {"terms", json::array()},
                   {"rest_log_ratio", explanation.rest},
                   {"horizons", json::array()},
                   {"pruned", explanation.margin ? json(*explanation.margin > 0) : json(nullptr)},
                   {"margin", explanation.margin ? json(*explanation.margin) : json(nullptr)},
                   {"pruned_level", explanation.pruned_level},
                   {"chosen", nullptr},
                   {"nearest", nullptr},
                   {"target", target_side_json(explanation.target)},
                   {"settle", explanation.settle}};
  if (explanation.measured && explanation.measured->estimate)
    document["measured_s"] = explanation.measured->estimate->value;
  if (explanation.measured) document["outcome"] = space::to_text(explanation.measured->outcome);
  for (const auto& term : explanation.terms) {
    document["terms"].push_back(
        {{"parameter", term.parameter}, {"value", term.value}, {"best", term.against}, {"log_ratio", term.log_ratio}});
  }
  for (std::size_t i = 0; i < explanation.horizons.size() && i < explanation.prediction.size(); ++i) {
    document["horizons"].push_back({{"epochs", explanation.horizons[i]},
                                    {"predicted_s", std::exp(explanation.prediction[i].log_mean)},
                                    {"low_s", std::exp(explanation.prediction[i].log_optimistic)},
                                    {"high_s", std::exp(explanation.prediction[i].log_pessimistic)}});
  }
  if (explanation.chosen) {
    document["chosen"] = {{"purpose", space::to_text(explanation.chosen->purpose)},
                          {"reason", explanation.chosen->reason}};
  }
  if (explanation.nearest) {
    document["nearest"] = {{"trial", explanation.nearest->trial},
                           {"seconds", explanation.nearest->seconds},
                           {"differs", explanation.nearest->differs}};
  }
  return document;
}

void print_explanation(const Context& context, const tuner::LearnedCampaign& learned, const Explanation& explanation) {
  std::ostream& out = *context.out;
  out << "configuration  " << one_line(settings_line(explanation.configuration)) << '\n';
  if (explanation.measured) {
    const auto& trial = *explanation.measured;
    out << fmt::format("measured       trial {}: {}\n", trial.number,
                       trial.estimate ? seconds_with_error(trial.estimate->value, trial.estimate->standard_error)
                                      : std::string(space::to_text(trial.outcome)) + ", " + one_line(trial.reason));
  }
  if (explanation.chosen) {
    const auto& chosen = *explanation.chosen;
    out << fmt::format("chosen         {}{}{}\n", space::to_text(chosen.purpose), chosen.reason.empty() ? "" : ": ",
                       one_line(chosen.reason));
  }
  print_prediction(out, learned, explanation);
  if (explanation.target) out << "target         " << target_text(*explanation.target) << " (90 %)\n";
  if (!explanation.memory.empty()) out << "memory         " << explanation.memory << '\n';
  if (!explanation.history.empty()) out << "history        " << explanation.history << '\n';
  print_terms(out, explanation);
  print_pruning(out, explanation);
  if (const auto& nearest = explanation.nearest) {
    std::string differs;
    for (const auto& name : nearest->differs) differs += (differs.empty() ? "" : ", ") + name;
    out << fmt::format("evidence       nearest is trial {}: {}, differs in {}\n", nearest->trial,
                       seconds_text(nearest->seconds), differs);
  }
  for (const std::string& each : learned.without) out << "note           " << each << '\n';
  if (!explanation.settle.empty()) {
    constexpr std::string_view kHeading = "settle it      ";
    out << kHeading << broken_command(explanation.settle, kHeading.size(), context.columns) << '\n';
  }
}

}  // namespace nocturne::cli
