// `nocturne list comparisons`: which trials of a campaign were measured against each other, and what the pairs say.

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/subcommands/list.hpp"

namespace nocturne::cli {
namespace {

/// Numbers of the campaign's trials by configuration.
using TrialNumbers = std::map<std::string, std::int64_t, std::less<>>;

nlohmann::json number_or_null(const TrialNumbers& numbers, const space::Configuration& configuration) {
  const auto found = numbers.find(configuration.identity());
  return found == numbers.end() ? nlohmann::json() : nlohmann::json(found->second);
}

nlohmann::json compared_json(const db::StoredComparison& each, const TrialNumbers& numbers) {
  nlohmann::json document = {{"role", each.record.role},
                             {"candidate", number_or_null(numbers, each.record.candidate)},
                             {"baseline", number_or_null(numbers, each.record.baseline)},
                             {"method", each.record.method},
                             {"estimator", each.record.estimator},
                             {"started", utc_text(each.started_unix_ns)},
                             {"pairs", nlohmann::json::array()},
                             {"verdicts", nlohmann::json::array()}};
  for (const db::StoredPair& pair : each.pairs) {
    document["pairs"].push_back({{"pair", pair.index},
                                 {"first", pair.first == db::Side::Candidate ? "candidate" : "baseline"},
                                 {"candidate_run", pair.candidate_run},
                                 {"baseline_run", pair.baseline_run}});
  }
  for (const db::VerdictRecord& verdict : each.verdicts) {
    const tuner::StoredGain gain = tuner::gain_of(verdict, each.record.role, false);
    document["verdicts"].push_back({{"epochs", verdict.horizon_epochs},
                                    {"primary", verdict.primary},
                                    {"verdict", verdict.verdict},
                                    {"gain_percent", gain.gain_percent},
                                    {"low_percent", gain.low_percent},
                                    {"high_percent", gain.high_percent},
                                    {"confidence", verdict.confidence},
                                    {"pairs", verdict.pairs}});
  }
  return document;
}

/// The verdict at the primary horizon, else at the first; null: none yet.
const db::VerdictRecord* main_verdict(const db::StoredComparison& comparison) {
  const db::VerdictRecord* found = nullptr;
  for (const db::VerdictRecord& each : comparison.verdicts) {
    if (found == nullptr || each.primary) found = &each;
  }
  return found;
}

}  // namespace

ExitCode list_comparisons(const ListOptions& options, const Context& context) {
  const auto opened = open_campaign(context, options.campaign);
  if (!opened) return opened.error();
  const auto& [store, campaign] = *opened;
  const auto comparisons = store.comparisons(campaign.id);
  const auto trials = store.list_trials({.campaign = campaign.id});
  TrialNumbers numbers;
  for (const db::StoredTrial& each : trials) {
    numbers.emplace(each.trial.configuration.identity(), each.trial.number);
  }
  auto document = nlohmann::json::array();
  Table table({{"role"},
               {"trial", Align::Right},
               {"vs", Align::Right},
               {"pairs", Align::Right},
               {"verdict"},
               {"gain", Align::Right},
               {"begun", Align::Left, Fit::Wraps}});
  const auto count =
      options.limit ? std::min(comparisons.size(), static_cast<std::size_t>(*options.limit)) : comparisons.size();
  for (std::size_t i = comparisons.size() - count; i < comparisons.size(); ++i) {
    const db::StoredComparison& each = comparisons[i];
    document.push_back(compared_json(each, numbers));
    const auto number = [&](const space::Configuration& configuration) {
      const auto found = numbers.find(configuration.identity());
      return found == numbers.end() ? std::string("–") : std::to_string(found->second);
    };
    const db::VerdictRecord* verdict = main_verdict(each);
    const auto gain = verdict != nullptr ? tuner::gain_of(*verdict, each.record.role, false) : tuner::StoredGain{};
    table.add({Cell(each.record.role, Style::Strong), Cell(number(each.record.candidate)),
               Cell(number(each.record.baseline)), Cell(std::to_string(each.pairs.size())),
               Cell(verdict != nullptr ? verdict->verdict : std::string("–")),
               Cell(verdict != nullptr ? fmt::format("{:+.1f} % ({:+.1f} to {:+.1f})", gain.gain_percent,
                                                     gain.low_percent, gain.high_percent)
                                       : std::string("–")),
               Cell(time_text(each.started_unix_ns))});
  }
  if (context.json) {
    print_json(context, "list-comparisons", {{"comparisons", document}});
  } else {
    table.print(context);
  }
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
