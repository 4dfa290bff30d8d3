#include "tuner/preview/ahead.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/campaign/noise/stored_noise.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/proposal_sources.hpp"
#include "tuner/roofline/machine_figures.hpp"

namespace nocturne::tuner {
namespace {

std::optional<double> seconds_until(const Budget& budget, std::chrono::system_clock::time_point now) {
  if (!budget.until) return std::nullopt;
  return std::chrono::duration<double>(next_occurrence(*budget.until, now) - now).count();
}

bool is_timed(const Budget& budget) {
  return budget.wall || budget.until;
}

bool is_long(const Ahead& ahead) {
  return !ahead.length || *ahead.length > kWatched;
}

double in_seconds(std::chrono::seconds time) {
  return static_cast<double>(time.count());
}

PlannedStep installation(const Ahead& ahead) {
  const EnvironmentsAhead& environments = ahead.environments;
  return {.what = "install",
          .detail = fmt::format("{}: {:.0f} MB to download, {:.0f} MB on disk, each when it is first tried{}{}",
                                fmt::join(environments.to_install, ", "),
                                static_cast<double>(environments.download_bytes) / 1e6,
                                static_cast<double>(environments.new_disk_bytes) / 1e6,
                                environments.limit.empty() ? "" : "; ", environments.limit),
          .seconds = environments.seconds};
}

PlannedStep search(const CampaignSpec& spec, const Ahead& ahead) {
  std::string until = "until nothing is left to propose";
  if (spec.budget.trials)
    until = fmt::format("until {} trials are measured", *spec.budget.trials);
  else if (ahead.forecast.budget_seconds)
    until = fmt::format("about {:.0f} trials in the time of the budget", ahead.forecast.trials.value_or(0));
  std::optional<double> seconds =
      ahead.forecast.budget_seconds ? ahead.forecast.budget_seconds : ahead.forecast.seconds;
  if (seconds) seconds = std::max(0.0, *seconds - ahead.costs.finals_seconds);
  return {.what = "search",
          .detail = fmt::format("{}, of {} valid configurations, {}", spec.strategy.name, ahead.survey.valid.to_text(),
                                until),
          .seconds = seconds};
}

}  // namespace

Ahead look_ahead(const CampaignSpec& spec, const Frameworks& frameworks, const db::Store* store,
                 const space::Fingerprint& fingerprint, std::chrono::system_clock::time_point now) {
  std::optional<double> estimate;
  if (store != nullptr) estimate = first_estimate(spec, *store, fingerprint);
  Ahead ahead{.survey = survey(spec.space, spec.facts),
              .costs = costs_of(spec, store, estimate),
              .environments = environments_ahead(spec, frameworks),
              .length = planned_length(spec, store, now)};
  ahead.costs.install_seconds = ahead.environments.seconds;
  ahead.costs.environments =
      static_cast<std::int64_t>(ahead.environments.installed.size() + ahead.environments.to_install.size());
  ahead.forecast = forecast(spec, ahead.survey, ahead.costs, seconds_until(spec.budget, now));
  return ahead;
}

KnownCampaign known_campaign_of(const CampaignSpec& spec, const db::Store* store,
                                const space::Fingerprint& fingerprint) {
  if (store == nullptr) return {};
  KnownCampaign known{.noise_known = known_noise(*store, spec, fingerprint).floor.has_value(),
                      .figures_known = store->machine_figures(figures_key(fingerprint)).has_value()};
  const auto campaign = store->find_campaign(spec.name);
  if (!campaign || campaign->identity != spec.identity()) return known;
  known.finished = campaign->finished;
  known.pending = campaign->trials - campaign->finished;
  known.complete = campaign->finished_unix_ns && !spec.budget.until &&
                   campaign->spec.value("budget", nlohmann::json()) == spec.document.value("budget", nlohmann::json());
  return known;
}

std::vector<PlannedStep> plan_of(const CampaignSpec& spec, const Ahead& ahead, const KnownCampaign& known) {
  std::vector<PlannedStep> steps;
  if (known.complete) return steps;
  const bool ours = spec.worker.own.empty() && spec.worker.command.empty();
  if (ours && !known.figures_known && is_long(ahead))
    steps.push_back({"machine", "what this machine could do at best", in_seconds(kFiguresTime)});
  if (spec.worker.own.empty() && !known.noise_known && is_long(ahead) && is_timed(spec.budget))
    steps.push_back({"noise", "how far equal runs differ here, the default against itself", in_seconds(kNoiseTime)});
  if (!ahead.environments.to_install.empty()) steps.push_back(installation(ahead));
  const bool begins = known.finished == 0 && known.pending == 0;
  if (begins && is_long(ahead)) {
    steps.push_back(
        {"preflight", fmt::format("each software stack prepared and trained three steps, for a tenth of the time at "
                                  "most: {}{} builds",
                                  ahead.survey.builds.at_most ? "at most " : "", ahead.survey.builds.size.to_text())});
  }
  if (begins) steps.push_back({"default", "the default configuration", ahead.costs.trial_seconds});
  const auto coverage = begins && search::uses_history(spec.strategy.name) ? coverage_trials(spec.space).size() : 0;
  if (coverage > 0) {
    steps.push_back({"coverage",
                     fmt::format("{} trials at most, each value of an environment parameter once, in a fifth of the "
                                 "budget",
                                 coverage),
                     static_cast<double>(coverage) * ahead.costs.trial_seconds});
  }
  if (known.pending > 0) steps.push_back({"pending", fmt::format("{} trials that were asked before", known.pending)});
  steps.push_back(search(spec, ahead));
  steps.push_back({"finals", "the best and the default measured again, in alternation, and whether they train as well",
                   ahead.costs.finals_seconds});
  return steps;
}

}  // namespace nocturne::tuner
