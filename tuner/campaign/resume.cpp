#include "tuner/campaign/resume.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tuner/campaign/file_changes.hpp"
#include "tuner/campaign/heartbeat/heartbeat.hpp"
#include "tuner/campaign/history.hpp"
#include "tuner/campaign/machine_changes.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/search_options.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"
#include "tuner/executor/measured_pair.hpp"
#include "tuner/roofline/peak_figures.hpp"

namespace nocturne::tuner {
namespace {

/// What may change without the work being incomplete again: nothing that is measured or compared depends on it.
nlohmann::json what_completeness_depends_on(const nlohmann::json& document) {
  nlohmann::json parts = nlohmann::json::object();
  for (const char* key : {"budget", "strategy", "run", "verify", "environments"})
    parts[key] = document.value(key, nlohmann::json());
  return parts;
}

/// What a new generation knows of other campaigns; empty: nothing, and so wants the user.
std::optional<std::vector<db::HistorySource>> history_to_begin_with(const Session& session, bool fresh) {
  if (fresh || !session.spec.strategy.history) return std::nullopt;
  return choose_history(session.store,
                        {.document = session.spec.document, .fingerprint_key = session.fingerprint.key()},
                        session.spec.space);
}

/// What is known of the machine's peaks is stored with a new generation: its strategy knows that, and no more, in every
/// session.
void keep_peaks(const Session& session) {
  if (!session.spec.worker.own.empty()) return;  // nobody knows its work
  const auto peaks = stored_peaks(session.store, session.fingerprint, session.spec.workload);
  if (peaks) session.store.save_peaks(session.campaign, peaks->document);
}

/// Null where preparation costs nothing that the strategy should weigh.
std::shared_ptr<PreparationCosts> preparation_costs(const Session& session) {
  const CampaignSpec& spec = session.spec;
  // Where trials are counted, time is no matter: only a budget of time is spent on preparation.
  if (!spec.budget.wall && !spec.budget.until) return nullptr;
  const auto builds = session.store.list_builds();
  const auto known = session.store.find_campaign(spec.name);
  const auto began = known && known->id == session.campaign ? known->created_unix_ns : 0;
  auto costs = std::make_shared<PreparationCosts>(spec.space, builds, began, session.executor.install_seconds(began),
                                                  spec.worker.answers);
  return costs->matter() ? std::move(costs) : nullptr;
}

/// Why what the generation before measured does not count. Empty: there is none, or it was said already.
std::string why_anew(const Session& session, const db::CampaignRecord& record, bool fresh) {
  if (fresh) return "as asked for";
  const auto known = session.store.find_campaign(record.name);
  if (!known || record.fresh || known->identity == record.identity) return std::string();
  const std::string changes = file_changes(known->spec, record.spec);
  if (!changes.empty()) return "its campaign differs in " + changes;
  return session.spec.worker.own.sources.empty() ? "its constraints know something else of this machine"
                                                 : "a file of its training was edited";
}

/// How much less time went by than intervals of it last together: orders of several slots overlap.
std::chrono::nanoseconds overlap(std::vector<std::pair<std::int64_t, std::int64_t>> intervals) {
  std::ranges::sort(intervals);
  std::int64_t twice = 0, end = 0;
  for (const auto& [from, to] : intervals) {
    if (end > from) twice += std::min(end, to) - from;
    end = std::max(end, to);
  }
  return std::chrono::nanoseconds(twice);
}

}  // namespace

std::optional<db::CampaignId> completed_before(const Session& session, bool fresh) {
  const CampaignSpec& spec = session.spec;
  if (fresh || spec.budget.until || !session.wanted.empty()) return std::nullopt;
  const auto known = session.store.find_campaign(spec.name);
  if (!known || !known->finished_unix_ns || known->identity != spec.identity()) return std::nullopt;
  if (what_completeness_depends_on(known->spec) != what_completeness_depends_on(spec.document)) return std::nullopt;
  const auto stored = session.store.load_fingerprint(known->fingerprint);
  const auto fingerprint = space::Fingerprint::from_json(stored.fields);
  if (!fingerprint || !fingerprint->differences(session.fingerprint).empty()) return std::nullopt;
  return known->id;
}

BegunCampaign begin_campaign(Session& session, bool fresh, bool set_aside) {
  auto record = present_record(session, fresh || set_aside);
  session.store.save_fingerprint(record.fingerprint);
  record.history = history_to_begin_with(session, fresh);
  std::string anew = why_anew(session, record, fresh);
  const auto handle = session.store.begin_or_resume_campaign(record);
  session.campaign = handle.id;
  auto recovered = session.store.recover_interrupted(handle.id);
  if (!handle.resumed) keep_peaks(session);
  return BegunCampaign{
      .record = std::move(record), .handle = handle, .recovered = std::move(recovered), .why_anew = std::move(anew)};
}

Opening opening_of(const Session& session, const BegunCampaign& begun, const measure::SweepReport& swept) {
  const CampaignSpec& spec = session.spec;
  const auto deadline = std::chrono::ceil<std::chrono::milliseconds>(spec.run.deadline);
  Opening opening{.id = begun.handle.id,
                  .campaign = spec.name,
                  .generation = begun.handle.generation,
                  .why_anew = begun.why_anew,
                  .resumed = begun.handle.resumed,
                  .trials_known = begun.handle.finished,
                  .recovery = {.runs = begun.recovered.runs,
                               .processes = swept.processes,
                               .control_groups = swept.cgroups,
                               .killed_about_unix_ns = last_word_before_kill(session.store.path(), begun.handle.id)},
                  .strategy = spec.strategy.name,
                  .seed = spec.strategy.seed,
                  .epochs = spec.objective.primary,
                  .to_target = spec.objective.target.has_value(),
                  .times_processes = is_timed_whole(spec.worker),
                  .longest_pair = longest_pair(deadline, deadline)};
  for (const db::StoredTrial& trial : begun.recovered.trials) opening.recovery.trials.push_back(trial.trial.number);
  return opening;
}

InformedStrategy make_informed_strategy(const Session& session, SessionLog& log) {
  const CampaignSpec& spec = session.spec;
  InformedStrategy informed;
  auto history = history_of(session.store, session.campaign, spec.strategy.name, spec.objective,
                            hopeless_wait(spec.run, spec.budget));
  informed.history = history;
  auto peaks = peaks_of_campaign(session.store, session.campaign);
  informed.costs = preparation_costs(session);

  search::Options options{.seed = spec.strategy.seed, .objective = spec.objective};
  options.roles = roles_of(spec.space);
  options.memory_limit_bytes = session.executor.memory_limit_bytes();
  options.history = std::move(history);
  options.bound = work_bound(std::move(peaks));
  options.note = [&log](const std::string& sentence) { log.say(db::Level::Warning, sentence); };
  if (informed.costs) {
    options.preparation_seconds = [costs = informed.costs](const space::Configuration& each) {
      return costs->seconds(each);
    };
  }
  if (auto sentence = to_text(options.history, spec.space); !sentence.empty()) log.say(db::Level::Info, sentence);
  auto strategy = search::make_strategy(spec.strategy.name, spec.space, options);
  if (!strategy) throw db::Error(db::ErrorCode::Inconsistent, strategy.error());
  informed.strategy = std::move(*strategy);
  if (informed.costs) informed.strategy = std::make_unique<CostAware>(std::move(informed.strategy), informed.costs);
  return informed;
}

std::vector<db::PreflightRecord> read_preflight(const Session& session, PreparationCosts* costs) {
  const auto records = session.store.preflights(session.campaign);
  const auto first = session.store.find_trial(session.campaign, 0);
  std::vector<db::PreflightRecord> failed;
  for (const db::PreflightRecord& record : records) {
    if (record.outcome != space::Outcome::Ok) {
      failed.push_back(record);
    } else if (costs != nullptr && (!first || record.preflight_unix_ns < first->reserved_unix_ns)) {
      // The strategy knew nothing of a later one when it answered, and it is to answer the same again.
      costs->prepared(record.configuration);
    }
  }
  return failed;
}

void count_earlier_time(const Session& session, SearchState& state) {
  const auto trials = session.store.list_trials({.campaign = session.campaign, .state = db::TrialState::Finished});
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals;
  for (const db::StoredTrial& trial : trials) {
    if (trial.reused_from || trial.runs == 0) continue;  // nothing was run for it
    const std::chrono::nanoseconds between(trial.finished_unix_ns.value_or(trial.reserved_unix_ns) -
                                           trial.reserved_unix_ns);
    // Two moments of the wall clock: it may have been set between them.
    const auto duration = plausible_duration(between, trial.runs, session.spec.run.deadline);
    state.took_before(trial.trial.number, duration, trial.runs);
    intervals.emplace_back(trial.reserved_unix_ns, trial.reserved_unix_ns + duration.count());
  }
  state.spent_before(session.store.time_beside_trials(session.campaign) - overlap(std::move(intervals)));
}

db::CampaignRecord present_record(const Session& session, bool fresh) {
  const CampaignSpec& spec = session.spec;
  db::CampaignRecord record{
      .name = spec.name,
      .identity = spec.identity(),
      .spec = spec.document,
      .strategy = spec.strategy.name,
      .seed = static_cast<std::int64_t>(spec.strategy.seed),
      .fingerprint = {.hash = session.fingerprint.identity(), .fields = session.fingerprint.to_json()},
      .parameters = parameter_records(spec.space),
      .fresh = fresh};
  const auto changed = machine_changes(session.store, spec.name, session.fingerprint);
  if (!changed.empty() && !fresh) {
    record.fresh = true;
    session.observer.note(fmt::format("{}: results from before do not hold, a new generation begins", changed));
  }
  return record;
}

}  // namespace nocturne::tuner
