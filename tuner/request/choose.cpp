#include "tuner/request/choose.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/run/command_template.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/framework_values.hpp"

namespace nocturne::tuner {
namespace {

// What recipes call them; the first that a name contains.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kFamilies = {{{"tensorflow", "tensorflow"},
                                                                                     {"pytorch", "pytorch"},
                                                                                     {"torch", "pytorch"},
                                                                                     {"mxnet", "mxnet"},
                                                                                     {"cntk", "cntk"},
                                                                                     {"jax", "jax"},
                                                                                     {"paddle", "paddle"}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The part of "tensorflow-2.21-cuda" that is a version.
std::string version_in_name(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('-'));
    if (!part.empty() && is_digit(part.front())) return std::string(part);
    name.remove_prefix(std::min(part.size() + 1, name.size()));
  }
  return {};
}

std::string text_value(const space::Configuration& configuration, std::string_view name) {
  const space::Value* value = configuration.find(name);
  return value == nullptr ? std::string() : space::to_text(*value);
}

std::vector<int> numbers_of(std::string_view version) {
  std::vector<int> numbers;
  while (!version.empty() && is_digit(version.front())) {
    int number = 0;
    const auto end = std::from_chars(version.data(), version.data() + version.size(), number).ptr;
    numbers.push_back(number);
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  return numbers;
}

/// What is not there is 0, as in PEP 440.
int order(std::vector<int> version, std::vector<int> bound) {
  const std::size_t most = std::max(version.size(), bound.size());
  version.resize(most);
  bound.resize(most);
  return version < bound ? -1 : version > bound ? 1 : 0;
}

/// 2.1 is 2.1.*; a name that says 2.1 does not say which 2.1 it is.
bool begins_with(const std::vector<int>& version, const std::vector<int>& prefix) {
  return version.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), version.begin());
}

bool holds(const std::vector<int>& version, std::string_view bound) {
  const std::size_t first = std::min(bound.find_first_not_of(' '), bound.size());
  const std::size_t digits = bound.find_first_of("0123456789");
  if (digits == std::string_view::npos) return false;
  const std::vector<int> wanted = numbers_of(bound.substr(digits));
  std::string_view sign = bound.substr(first, digits - first);
  sign = sign.substr(0, sign.find(' '));
  if (sign == ">=") return order(version, wanted) >= 0;
  if (sign == "<=") return order(version, wanted) <= 0;
  if (sign == ">") return order(version, wanted) > 0;
  if (sign == "<") return order(version, wanted) < 0;
  return begins_with(version, wanted) == (sign != "!=");
}

std::string demanded(std::string_view compiler, std::optional<bool> wanted, const Labels& labels) {
  if (!wanted || *wanted == (labels.graph_compiler == compiler)) return {};
  return *wanted ? fmt::format("it is without {}, which is demanded", compiler)
                 : fmt::format("it is with {}, which is denied", compiler);
}

/// Whether the campaign trains what the request names: an empty sentence, or why not.
std::string other_workload(const db::CampaignSummary& campaign, const CampaignSections& sections,
                           const Demands& demands) {
  const auto is_named = [&](const std::string& name) { return name == demands.workload; };
  const bool named = !demands.workload.empty() && (is_named(campaign.name) || is_named(sections.workload.network) ||
                                                   is_named(sections.workload.data));
  if (named || (demands.workload.empty() && demands.words.empty())) return {};
  std::string own;
  if (!sections.worker.own.empty()) {
    std::set<std::string> mine;
    for (const auto& group : sections.worker.own.groups) mine.insert(group.begin(), group.end());
    for (const auto& group : sections.worker.own.groups) own += fmt::format("{} ", fmt::join(group, " "));
    if (!demands.words.empty() &&
        std::ranges::all_of(demands.words, [&](const std::string& word) { return mine.contains(word); }))
      return {};
  }
  const std::string wanted =
      demands.workload.empty() ? fmt::format("{}", fmt::join(demands.words, " ")) : demands.workload;
  return fmt::format("it trains {}, and the request is for {}",
                     own.empty() ? sections.workload.network + " on " + sections.workload.data : own, wanted);
}

Evidence evidence_of(const db::Store& store, const Answer& answer, const space::Fingerprint& here) {
  const auto there = space::Fingerprint::from_json(store.load_fingerprint(answer.campaign.fingerprint).fields);
  if (!there || there->key() != here.key()) return Evidence::TrialsElsewhere;
  const auto* host = there->find("system.host");
  const auto* this_host = here.find("system.host");
  if (host == nullptr || this_host == nullptr || host->value != this_host->value) return Evidence::TrialsOnClass;
  return answer.verdict ? Evidence::PairsHere : Evidence::TrialsHere;
}

/// The answer with another trial for its best, and what pairs say of that one.
Answer with_best(const db::Store& store, Answer answer, const db::StoredTrial& trial) {
  if (answer.best && answer.best->trial.configuration == trial.trial.configuration) return answer;
  answer.best = trial;
  answer.comparison.reset();
  answer.verdict.reset();
  if (!answer.baseline) return answer;
  answer.changes = changes_between(answer.baseline->trial.configuration, trial.trial.configuration);
  for (db::StoredComparison& comparison : store.comparisons(answer.campaign.id)) {
    if (comparison.record.role != kVerifyRole || comparison.record.candidate != trial.trial.configuration ||
        comparison.record.baseline != answer.baseline->trial.configuration) {
      continue;
    }
    for (const db::VerdictRecord& verdict : comparison.verdicts)
      if (verdict.horizon_epochs == answer.objective.primary) answer.verdict = verdict;
    answer.comparison = std::move(comparison);
  }
  return answer;
}

/// How much faster the campaign's own best is than what was demanded.
std::string price_of(const db::Store& store, const Answer& answer, const db::StoredTrial& trial) {
  if (!answer.best || answer.best->trial.configuration == trial.trial.configuration) return {};
  const std::string best =
      fmt::format("trial {} of {} does not satisfy it and", answer.best->trial.number, answer.campaign.name);
  if (const auto gain = stored_gain(store.comparisons(answer.campaign.id), trial.trial.configuration,
                                    answer.best->trial.configuration, answer.objective.primary)) {
    return fmt::format("{} is {} ({:+.1f} %, {:+.1f} to {:+.1f}, {} pairs)", best, gain->verdict, gain->gain_percent,
                       gain->low_percent, gain->high_percent, gain->pairs);
  }
  const auto& fastest = answer.best->trial.estimate;
  if (!fastest || !trial.trial.estimate || fastest->value <= 0) return {};
  return fmt::format("{} takes {:+.1f} % of the time by single trials, which is no proof", best,
                     100 * (fastest->value / trial.trial.estimate->value - 1));
}

/// The campaign's best that satisfies the request; the chosen one of its finals where that does, else the smallest
/// estimate. The error says why there is none.
std::expected<Fitting, std::string> fitting_of(const db::Store& store, const db::CampaignSummary& campaign,
                                               const Demands& demands, const space::Fingerprint& here) {
  const CampaignSections sections = sections_of(campaign.spec);
  if (std::string other = other_workload(campaign, sections, demands); !other.empty()) return std::unexpected(other);
  if (sections.objective.target)
    return std::unexpected("its trials are judged by the time to an accuracy, not by a number of epochs");
  const Answer answer = answer_of(store, campaign);
  if (!answer.best) return std::unexpected("no trial of it has ended well");
  const auto labels = [&](const db::StoredTrial& trial) {
    return labels_of(framework_of(sections.worker, trial.trial.configuration), trial.trial.configuration);
  };
  const std::string wrong = mismatch(labels(*answer.best), demands);
  std::optional<db::StoredTrial> best;
  if (wrong.empty()) best = answer.best;
  if (!best) {
    for (db::StoredTrial& trial : store.list_trials({.campaign = campaign.id, .outcome = space::Outcome::Ok})) {
      if (!trial.trial.estimate || !mismatch(labels(trial), demands).empty()) continue;
      if (!best || trial.trial.estimate->value < best->trial.estimate->value) best = std::move(trial);
    }
  }
  if (!best) return std::unexpected(wrong);
  Fitting fitting{.answer = with_best(store, answer, *best), .labels = labels(*best)};
  fitting.evidence = evidence_of(store, fitting.answer, here);
  fitting.seconds = best->trial.estimate ? best->trial.estimate->value : 0;
  fitting.price = price_of(store, answer, *best);
  return fitting;
}

}  // namespace

Labels labels_of(std::string_view framework, const space::Configuration& configuration) {
  Labels labels{.framework = std::string(framework), .version = version_in_name(framework), .graph_compiler = {}};
  const auto family = std::ranges::find_if(kFamilies, [&](const auto& each) { return framework.contains(each.first); });
  if (family != kFamilies.end()) labels.framework = family->second;
  labels.graph_compiler = text_value(configuration, "graph_compiler");
  if (labels.graph_compiler == "none") labels.graph_compiler.clear();
  for (const char* compiler : {"xla", "ngraph", "glow"})
    if (text_value(configuration, compiler) == "true") labels.graph_compiler = compiler;
  if (const space::Value* threads = configuration.find("threads"))
    if (const auto* number = std::get_if<std::int64_t>(threads)) labels.threads = *number;
  const std::string device = text_value(configuration, "device");
  if (framework.contains("cuda") || (!device.empty() && device != "cpu")) labels.accelerator = "nvidia";
  return labels;
}

bool is_version_in(std::string_view version, std::string_view range) {
  const std::vector<int> numbers = numbers_of(version);
  if (numbers.empty()) return false;
  while (!range.empty()) {
    const std::string_view bound = range.substr(0, range.find(','));
    if (!holds(numbers, bound)) return false;
    range.remove_prefix(std::min(bound.size() + 1, range.size()));
  }
  return true;
}

std::string mismatch(const Labels& labels, const Demands& demands) {
  if (demands.hpc) return "it trains, and an HPC application is asked for";
  if (!demands.framework.empty() && labels.framework != demands.framework)
    return fmt::format("it is {}, and {} is demanded", labels.framework, demands.framework);
  if (!demands.version.empty() && !is_version_in(labels.version, demands.version))
    return labels.version.empty()
               ? fmt::format("its version is not known, and {} is demanded", demands.version)
               : fmt::format("it is version {}, and {} is demanded", labels.version, demands.version);
  if (!demands.accelerator.empty() && labels.accelerator != demands.accelerator)
    return fmt::format("its accelerator is {}, and {} is demanded", labels.accelerator, demands.accelerator);
  if (demands.threads && labels.threads != demands.threads)
    return labels.threads
               ? fmt::format("it has {} threads, and {} are demanded", *labels.threads, *demands.threads)
               : fmt::format("its number of threads is not a parameter, and {} are demanded", *demands.threads);
  for (const auto& [compiler, wanted] :
       {std::pair{"xla", demands.xla}, {"ngraph", demands.ngraph}, {"glow", demands.glow}})
    if (std::string wrong = demanded(compiler, wanted, labels); !wrong.empty()) return wrong;
  return {};
}

std::string_view to_text(Evidence evidence) {
  constexpr std::array<std::string_view, 4> kTexts = {"pairs on this machine", "single trials on this machine",
                                                      "measured on a machine of this class",
                                                      "measured on another machine"};
  return kTexts[static_cast<std::size_t>(evidence)];
}

Choice choose(const db::Store& store, const Demands& demands, const space::Fingerprint& here) {
  Choice choice;
  std::set<std::string> seen;
  std::vector<Fitting> fitting;
  for (const db::CampaignSummary& campaign : store.list_campaigns()) {
    if (!seen.insert(campaign.name).second) continue;  // the last opened comes first
    auto found = fitting_of(store, campaign, demands, here);
    if (found)
      fitting.push_back(*std::move(found));
    else
      choice.others.push_back({.campaign = campaign.name, .reason = std::move(found.error())});
  }
  std::ranges::stable_sort(fitting, {}, [](const Fitting& each) {
    return std::pair(each.evidence, each.seconds / std::max(each.answer.objective.primary, 1.0));
  });
  for (std::size_t i = 1; i < fitting.size(); ++i) {
    const bool less_known = fitting[i].evidence != fitting.front().evidence;
    choice.others.push_back(
        {.campaign = fitting[i].answer.campaign.name,
         .reason = less_known ? fmt::format("it is {}, which is less known than {}", to_text(fitting[i].evidence),
                                            to_text(fitting.front().evidence))
                              : "an epoch takes longer"});
  }
  if (!fitting.empty()) choice.chosen = std::move(fitting.front());
  return choice;
}

}  // namespace nocturne::tuner
