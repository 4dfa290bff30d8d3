#include "tuner/request/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/run/command_template.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/deploy/proof.hpp"

namespace nocturne::tuner {
namespace {

/// Whether the campaign trains what the request names: an empty sentence, or why not.
std::string other_workload(const db::CampaignSummary& campaign, const CampaignSections& sections,
                           const Demands& demands) {
  const auto is_named = [&](const std::string& name) { return name == demands.workload; };
  const bool named = !demands.workload.empty() && (is_named(campaign.name) || is_named(sections.workload.network) ||
                                                   is_named(sections.workload.data));
  if (demands.hpc && sections.worker.own.empty()) return "it trains, and an HPC application is asked for";
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
  take_comparison(store.comparisons(answer.campaign.id), answer);
  if (answer.baseline)
    answer.changes = changes_between(answer.baseline->trial.configuration, trial.trial.configuration);
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

/// Where one fits, it is the configuration's own.
std::string wrong_threads(const space::Configuration& configuration, const Demands& demands) {
  if (!demands.threads) return {};
  const auto threads = configuration.integer_of("threads");
  if (!threads) return fmt::format("its number of threads is not a parameter, and {} are demanded", *demands.threads);
  if (*threads == *demands.threads) return {};
  return fmt::format("it has {} threads, and {} are demanded", *threads, *demands.threads);
}

/// Trials of one campaign as candidates.
class CampaignCandidates {
 public:
  CampaignCandidates(const Candidates& candidates, const db::CampaignSummary& campaign, const Demands& demands)
      : candidates_(candidates), sections_(sections_of(campaign.spec)), campaign_(campaign), demands_(demands) {
    const auto there = space::Fingerprint::from_json(candidates.store->load_fingerprint(campaign.fingerprint).fields);
    const auto* model = there ? there->find("cpu.model") : nullptr;
    cpu_ = model != nullptr && model->value.contains("AMD") ? "amd" : "x86";
  }

  /// The best that fits: the one chosen by the campaign's finals where that does, else the smallest estimate. The error
  /// says why there is none.
  [[nodiscard]] std::expected<Fitting, std::string> fitting() const {
    const db::Store& store = *candidates_.store;
    if (std::string other = other_workload(campaign_, sections_, demands_); !other.empty())
      return std::unexpected(other);
    if (sections_.objective.target)
      return std::unexpected("its trials are judged by the time to an accuracy, not by a number of epochs");
    const Answer answer = answer_of(store, campaign_);
    if (!answer.best) return std::unexpected("no trial of it has ended well");
    const std::string wrong = wrong_of(*answer.best);
    std::optional<db::StoredTrial> best;
    std::string unproven;
    if (wrong.empty()) best = proven_of(answer, unproven);
    if (!best) best = fastest_that_fits();
    if (!best) return std::unexpected(wrong);
    Fitting fitting{.answer = with_best(store, answer, *best),
                    .framework = framework_of(sections_.worker, best->trial.configuration),
                    .labels = labels(*best)};
    fitting.evidence = evidence_of(store, fitting.answer, candidates_.here);
    fitting.seconds = best->trial.estimate ? best->trial.estimate->value : 0;
    fitting.price = wrong.empty() ? "" : price_of(store, answer, *best);
    fitting.unproven = unproven.empty() ? deploy::missing_proof(fitting.answer) : unproven;
    return fitting;
  }

 private:
  [[nodiscard]] Labels labels(const db::StoredTrial& trial) const {
    const std::string framework = framework_of(sections_.worker, trial.trial.configuration);
    const auto known = std::ranges::find_if(candidates_.offers, [&](const Offer& offer) {
      return offer.kind != Offer::Kind::Image && offer.name == framework;
    });
    Labels result = labels_of(known != candidates_.offers.end() ? known->labels : labels_of_name(framework),
                              trial.trial.configuration);
    result.cpu = cpu_;
    return result;
  }

  [[nodiscard]] std::string wrong_of(const db::StoredTrial& trial) const {
    std::string wrong = mismatch(labels(trial), demands_);
    if (wrong.empty() && !demands_.library.empty())
      wrong = fmt::format("its libraries are not known, and {} is demanded", demands_.library);
    return wrong.empty() ? wrong_threads(trial.trial.configuration, demands_) : wrong;
  }

  /// The finals' best; where pairs with the default left that open, the default, if it fits: what was not proven is not
  /// presented as better.
  [[nodiscard]] db::StoredTrial proven_of(const Answer& answer, std::string& unproven) const {
    const bool open = answer.verdict && answer.verdict->verdict != "faster" && answer.baseline &&
                      answer.baseline->id != answer.best->id && answer.baseline->trial.estimate;
    if (!open || !wrong_of(*answer.baseline).empty()) return *answer.best;
    unproven = fmt::format("the campaign's default is taken: {}", deploy::missing_proof(answer));
    return *answer.baseline;
  }

  [[nodiscard]] std::optional<db::StoredTrial> fastest_that_fits() const {
    std::optional<db::StoredTrial> best;
    for (db::StoredTrial& trial :
         candidates_.store->list_trials({.campaign = campaign_.id, .outcome = space::Outcome::Ok})) {
      if (!trial.trial.estimate || !wrong_of(trial).empty()) continue;
      if (!best || trial.trial.estimate->value < best->trial.estimate->value) best = std::move(trial);
    }
    return best;
  }

  const Candidates& candidates_;
  CampaignSections sections_;
  const db::CampaignSummary& campaign_;
  const Demands& demands_;
  std::string cpu_;  ///< of the machine that measured
};

/// Those that fit, the best known first; the others get their reason.
std::vector<Fitting> measured(const Candidates& candidates, const Demands& demands, std::vector<NotChosen>& others) {
  std::vector<Fitting> fitting;
  if (candidates.store == nullptr) return fitting;
  std::set<std::string> seen;
  for (const db::CampaignSummary& campaign : candidates.store->list_campaigns()) {
    if (!seen.insert(campaign.name).second) continue;  // the last opened comes first
    auto found = CampaignCandidates(candidates, campaign, demands).fitting();
    if (found)
      fitting.push_back(*std::move(found));
    else
      others.push_back({.kind = "campaign", .name = campaign.name, .reason = std::move(found.error())});
  }
  std::ranges::stable_sort(fitting, {}, [](const Fitting& each) {
    return std::pair(each.evidence, each.seconds / std::max(each.answer.objective.primary, 1.0));
  });
  for (std::size_t i = 1; i < fitting.size(); ++i) {
    const bool less_known = fitting[i].evidence != fitting.front().evidence;
    others.push_back({.kind = "campaign",
                      .name = fitting[i].answer.campaign.name,
                      .reason = less_known
                                    ? fmt::format("it is {}, which is less known than {}", to_text(fitting[i].evidence),
                                                  to_text(fitting.front().evidence))
                                    : "an epoch takes longer",
                      .fits = true});
  }
  return fitting;
}

NotChosen not_chosen(const Offer& offer, const Demands& demands, std::string reason, bool fits) {
  return {.kind = offer.kind == Offer::Kind::Image ? "image" : "environment",
          .name = offer.name,
          .reason = std::move(reason),
          .fits = fits,
          .near = is_asked_for(offer, demands)};
}

/// Those that fit, the one to take first; the others get their reason.
std::vector<Offer> offered(const Candidates& candidates, const Demands& demands, std::vector<NotChosen>& others) {
  std::vector<Offer> fitting;
  for (const Offer& offer : candidates.offers) {
    std::string wrong = mismatch(offer, demands);
    if (wrong.empty() && offer.kind == Offer::Kind::Recipe && candidates.obstacle)
      wrong = candidates.obstacle(offer.name);
    if (wrong.empty())
      fitting.push_back(offer);
    else
      others.push_back(not_chosen(offer, demands, std::move(wrong), false));
  }
  std::ranges::sort(fitting, [&](const Offer& left, const Offer& right) { return comes_before(left, right, demands); });
  return fitting;
}

}  // namespace

Labels labels_of(Labels start, const space::Configuration& configuration) {
  start.offered.clear();  // what is off is not there
  if (std::string named = configuration.text_of("graph_compiler"); !named.empty()) {
    start.graph_compilers.clear();
    if (named != "none") start.graph_compilers.push_back(std::move(named));
  }
  for (const char* compiler : {"xla", "ngraph", "glow"})
    if (configuration.text_of(compiler) == "true") start.graph_compilers.emplace_back(compiler);
  const std::string device = configuration.text_of("device");
  if (!device.empty() && device != "cpu") start.accelerator = "nvidia";
  return start;
}

std::string_view to_text(Evidence evidence) {
  constexpr std::array<std::string_view, 5> kTexts = {"pairs on this machine", "single trials on this machine",
                                                      "measured on a machine of this class",
                                                      "measured on another machine", "not measured"};
  return kTexts[static_cast<std::size_t>(evidence)];
}

bool trains_what_is_named(const db::CampaignSummary& campaign, const Demands& demands) {
  return other_workload(campaign, sections_of(campaign.spec), demands).empty();
}

Choice choose(const Candidates& candidates, const Demands& demands) {
  Choice choice;
  std::vector<Fitting> known = measured(candidates, demands, choice.others);
  std::vector<Offer> offers = offered(candidates, demands, choice.others);
  if (!known.empty()) choice.chosen = std::move(known.front());
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (choice.chosen ? offers[i].name == choice.chosen->framework : i == 0) continue;
    choice.others.push_back(not_chosen(offers[i], demands,
                                       choice.chosen ? fmt::format("nothing was measured in it")
                                                     : fmt::format("neither was measured, and {} comes first: what is "
                                                                   "here, then by its labels, then by its version",
                                                                   title_of(offers.front())),
                                       true));
  }
  if (!choice.chosen && !offers.empty()) choice.offer = std::move(offers.front());
  return choice;
}

}  // namespace nocturne::tuner
