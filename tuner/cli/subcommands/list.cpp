// `nocturne list [WHAT]`: what exists.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/artifact/artifact.hpp"
#include "search/registry.hpp"
#include "space/nearest.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/subcommands/list_registry.hpp"
#include "tuner/deploy/deployment_log.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::cli {
namespace {

struct ListOptions {
  std::string what = "campaigns";
  CampaignChoice campaign;  ///< whose trials and parameters
  std::string outcome;      ///< trials: ok, failed (whatever is not ok), or an outcome by name
  std::string sort = "number";
  std::optional<std::int64_t> limit;
};

using nlohmann::json;

constexpr std::int64_t kEvents = 50;  // lines of the log, unless --limit says otherwise

/// A thing that can be listed. The list below is what `nocturne list --help` shows.
struct Listing {
  std::string_view name;
  std::string_view explanation;
  ExitCode (*print)(const ListOptions&, const Context&);
};

template <typename Items>
std::size_t shown(const Items& items, const std::optional<std::int64_t>& limit) {
  return limit ? std::min(items.size(), static_cast<std::size_t>(*limit)) : items.size();
}

/// Names with a sentence each, the member `explanation`: what is built into the program.
template <typename Entries, typename Explanation>
ExitCode print_names(const Context& context, const Entries& entries, Explanation explanation) {
  json document = json::array();
  Table table({{"name"}, {"explanation", Align::Left, Fit::Wraps}});
  for (const auto& entry : entries) {
    document.push_back({{"name", entry.name}, {"explanation", entry.*explanation}});
    table.add({Cell(std::string(entry.name), Style::Strong), Cell(std::string(entry.*explanation))});
  }
  return print_list(context, "names", std::move(document), table);
}

ExitCode list_strategies(const ListOptions&, const Context& context) {
  return print_names(context, search::strategies(), &search::StrategyEntry::description);
}

ExitCode list_workers(const ListOptions&, const Context& context) {
  return print_names(context, tuner::worker_recipes(), &tuner::WorkerRecipe::explanation);
}

ExitCode list_exporters(const ListOptions&, const Context& context) {
  return print_names(context, deploy::exporters(), &deploy::Exporter::summary);
}

ExitCode list_campaigns(const ListOptions& options, const Context& context) {
  const auto store = open_database(context);
  const auto campaigns = store.list_campaigns();
  json document = json::array();
  Table table({{"campaign"},
               {"generation", Align::Right},
               {"trials", Align::Right},
               {"ok", Align::Right},
               {"strategy"},
               {"state"},
               {"last opened"}});
  for (std::size_t i = 0; i < shown(campaigns, options.limit); ++i) {
    const db::CampaignSummary& campaign = campaigns[i];
    document.push_back(campaign_row(campaign));
    const bool runs = campaign.owner_pid.has_value();
    table.add({Cell(campaign.name, Style::Strong), Cell(fmt::format("{}", campaign.generation)),
               Cell(fmt::format("{}", campaign.finished)), Cell(fmt::format("{}", campaign.ok)),
               Cell(campaign.strategy),
               runs ? Cell(fmt::format("running (process {})", *campaign.owner_pid), Style::Good)
                    : Cell(campaign.finished_unix_ns ? "finished" : "interrupted"),
               Cell(time_text(campaign.opened_unix_ns))});
  }
  return print_list(context, "campaigns", std::move(document), table);
}

/// `failed` is every outcome but ok; the store filters by one.
std::vector<db::StoredTrial> find_trials(const db::Store& store, const db::CampaignSummary& campaign,
                                         const ListOptions& options) {
  db::TrialFilter filter{.campaign = campaign.id};
  const bool all_failures = options.outcome == "failed";
  if (!options.outcome.empty() && !all_failures) filter.outcome = space::outcome_from_text(options.outcome);
  if (options.sort == "value") filter.order = db::TrialFilter::Order::ByValue;
  if (!all_failures) filter.limit = options.limit;
  auto trials = store.list_trials(filter);
  if (all_failures) {
    std::erase_if(trials, [](const db::StoredTrial& each) {
      return each.state != db::TrialState::Finished || each.trial.outcome == space::Outcome::Ok;
    });
    trials.resize(shown(trials, options.limit));
  }
  return trials;
}

ExitCode list_trials(const ListOptions& options, const Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  const auto trials = find_trials(store, campaign, options);
  json document = json::array();
  Table table({{"trial", Align::Right},
               {"outcome"},
               {"time", Align::Right},
               {"memory", Align::Right},
               {"runs", Align::Right},
               {"settings", Align::Left, Fit::Wraps}});
  const auto defaults = tuner::default_settings_of(store, campaign);
  for (const db::StoredTrial& each : trials) {
    document.push_back(trial_row(each));
    const bool finished = each.state == db::TrialState::Finished;
    const bool ok = finished && each.trial.estimate;
    table.add(
        {Cell(fmt::format("{}", each.trial.number)),
         Cell(finished ? std::string(space::to_text(each.trial.outcome)) : "in flight", ok         ? Style::Good
                                                                                        : finished ? Style::Bad
                                                                                                   : Style::Warning),
         Cell(ok ? seconds_with_error(each.trial.estimate->value, each.trial.estimate->standard_error) : "–"),
         Cell(each.trial.peak_bytes ? bytes_text(*each.trial.peak_bytes) : "–"), Cell(fmt::format("{}", each.runs)),
         Cell(defaults.text(each.trial.configuration) +
              (each.trial.reason.empty() ? "" : "  (" + each.trial.reason + ")"))});
  }
  return print_list(context, "trials", std::move(document), table);
}

ExitCode list_parameters(const ListOptions& options, const Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  const auto parameters = store.parameters(campaign.id);
  json document = json::array();
  Table table({{"parameter"},
               {"stage"},
               {"default"},
               {"domain", Align::Left, Fit::Wraps},
               {"explanation", Align::Left, Fit::Wraps}});
  for (const db::ParameterRecord& each : parameters) {
    document.push_back({{"name", each.name},
                        {"stage", space::to_text(each.stage)},
                        {"domain", each.domain},
                        {"default", each.default_value},
                        {"active_if", each.active_if},
                        {"unit", each.unit},
                        {"description", each.description}});
    table.add({Cell(each.name, Style::Strong), Cell(std::string(space::to_text(each.stage))),
               Cell(json_text(each.default_value)), Cell(domain_text(each.domain)), Cell(each.description)});
  }
  return print_list(context, "parameters", std::move(document), table);
}

ExitCode list_builds(const ListOptions& options, const Context& context) {
  std::vector<measure::StoredArtifact> builds;
  std::error_code error;
  if (std::filesystem::is_directory(context.builds_folder(), error))
    builds = measure::ArtifactStore(context.builds_folder()).list();
  std::ranges::reverse(builds);  // the last used first
  json document = json::array();
  Table table({{"build"}, {"program"}, {"size", Align::Right}, {"last used"}, {"flags"}});
  for (std::size_t i = 0; i < shown(builds, options.limit); ++i) {
    const measure::StoredArtifact& build = builds[i];
    const std::int64_t used = tuner::unix_ns_of(build.last_used);
    document.push_back({{"key", build.key},
                        {"program", build.name},
                        {"flags", build.flags},
                        {"folder", build.folder.string()},
                        {"size_bytes", build.bytes},
                        {"last_used", utc_text(used)}});
    table.add({Cell(build.key.substr(0, 12)), Cell(build.name),
               Cell(bytes_text(static_cast<std::int64_t>(build.bytes))), Cell(time_text(used)), Cell(build.flags)});
  }
  return print_list(context, "builds", std::move(document), table);
}

ExitCode list_events(const ListOptions& options, const Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  const auto events = store.events(campaign.id, options.limit.value_or(kEvents));
  json document = json::array();
  Table table({{"time"}, {"level"}, {"what", Align::Left, Fit::Wraps}});
  for (const db::EventRecord& each : events) {
    document.push_back(event_row(each));
    table.add({Cell(time_text(each.time_unix_ns)),
               Cell(std::string(db::to_text(each.level)), each.level == db::Level::Info      ? Style::Plain
                                                          : each.level == db::Level::Warning ? Style::Warning
                                                                                             : Style::Bad),
               Cell(each.what)});
  }
  return print_list(context, "events", std::move(document), table);
}

/// The verdict at the primary horizon, else at the first; null: none yet.
const db::VerdictRecord* main_verdict(const db::StoredComparison& comparison) {
  const db::VerdictRecord* found = nullptr;
  for (const db::VerdictRecord& each : comparison.verdicts)
    if (found == nullptr || each.primary) found = &each;
  return found;
}

ExitCode list_comparisons(const ListOptions& options, const Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  const auto comparisons = store.comparisons(campaign.id);
  const auto trials = store.list_trials({.campaign = campaign.id});
  const TrialNumbers numbers = numbers_of(trials);
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
    document.push_back(comparison_row(each, numbers));
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
  return print_list(context, "comparisons", std::move(document), table);
}

ExitCode list_deployments(const ListOptions& options, const Context& context) {
  const auto deployments = deploy::read_deployments(context.deployments_folder());
  json document = json::array();
  Table table({{"profile"}, {"host"}, {"time"}, {"finding"}, {"what", Align::Left, Fit::Wraps}});
  for (std::size_t i = deployments.size() - shown(deployments, options.limit); i < deployments.size(); ++i) {
    const deploy::Deployment& each = deployments[i];
    document.push_back(deploy::to_json(each));
    table.add({Cell(each.profile, Style::Strong), Cell(each.host), Cell(each.time),
               Cell(each.finding, each.finding == "as measured" ? Style::Good : Style::Warning), Cell(each.because)});
  }
  return print_list(context, "deployments", std::move(document), table);
}

constexpr Listing kListings[] = {
    {"campaigns", "campaigns of the database, the last opened first", list_campaigns},
    {"trials", "trials of a campaign", list_trials},
    {"comparisons", "trials of a campaign that were measured in pairs, oldest first", list_comparisons},
    {"parameters", "parameters of a campaign", list_parameters},
    {"events", "log of a campaign: opened, resumed, ended and why, the last lines", list_events},
    {"deployments", "what 'apply --watch' and watched scripts saw, and on which host, the last lines",
     list_deployments},
    {"builds", "builds of workers, the last used first", list_builds},
    {"strategies", "strategies that a campaign can name", list_strategies},
    {"workers", "workers built from our sources; others: nocturne env list", list_workers},
    {"exporters", "formats of 'nocturne export' for a deployment", list_exporters},
    {"infrastructures", "where a job of 'nocturne request' can run",
     [](const ListOptions&, const Context& context) { return list_infrastructures(context); }},
    {"fragments", "lines of a shell that go into job scripts, and when",
     [](const ListOptions&, const Context& context) { return list_fragments(context); }},
    {"images", "images of containers that answer requests, by their labels",
     [](const ListOptions&, const Context& context) { return list_images(context); }},
};

std::vector<std::string> listing_names() {
  std::vector<std::string> names;
  for (const Listing& each : kListings) names.emplace_back(each.name);
  return names;
}

std::string check_what(const std::string& word) {
  const auto names = listing_names();
  if (std::ranges::find(names, word) != names.end()) return "";
  return fmt::format("nothing to list is called '{}'{}", word, space::did_you_mean(word, names));
}

std::string check_outcome(const std::string& word) {
  std::vector<std::string> names = {"failed"};
  for (int each = 0; each <= static_cast<int>(space::Outcome::Wrong); ++each)
    names.emplace_back(space::to_text(static_cast<space::Outcome>(each)));
  if (std::ranges::find(names, word) != names.end()) return "";
  return fmt::format("no outcome is called '{}'{}; there are: {}", word, space::did_you_mean(word, names),
                     fmt::join(names, ", "));
}

void setup(CLI::App& subcommand, ListOptions& options) {
  std::string things;
  for (const Listing& each : kListings) things += fmt::format("  {:<15} {}\n", each.name, each.explanation);
  add_value(subcommand, "what", options.what, "WHAT", "What to list (default: campaigns)", check_what);
  add_campaign_choice(subcommand, options.campaign);
  add_value(subcommand, "--outcome", options.outcome, "OUTCOME",
            "Trials: only this outcome; 'failed' is every one but ok", check_outcome);
  subcommand.add_option("--sort", options.sort, "Trials: by number, or by value (good ones only, the best first)")
      ->check(CLI::IsMember({"number", "value"}));
  add_value(subcommand, "--limit", options.limit, "N", "At most this many", whole_number(1));
  subcommand.footer(
      fmt::format("What:\n{}\nExamples:\n"
                  "  nocturne list\n"
                  "  nocturne list trials --sort value --limit 10\n"
                  "  nocturne list trials mnist-evening --outcome failed\n",
                  things));
}

ExitCode run(const ListOptions& options, Context& context) {
  const auto* found = std::ranges::find(kListings, options.what, &Listing::name);
  if (found == std::end(kListings)) return complain(context, ExitCode::Usage, check_what(options.what));
  return found->print(options, context);
}

}  // namespace

SubcommandAction add_list(CLI::App& subcommand) {
  return add_options<ListOptions>(subcommand);
}

}  // namespace nocturne::cli
