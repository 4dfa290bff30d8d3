#include "tuner/campaign/finals/comparing.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/trial_runner.hpp"
#include "tuner/executor/carry_out.hpp"

namespace nocturne::tuner {
namespace {

PairedSide paired_side(const ComparedSide& side) {
  const space::Trial& trial = side.trial.trial;
  return {.configuration = side.configuration,
          .launch = side.prepared.launch,
          .peak_bytes = trial.peak_bytes,
          .contained = side.prepared.contained != nullptr,
          .device_bytes = trial.device_bytes,
          .device_memory_bytes = trial.device_memory_bytes};
}

using measure::PairMethod;

constexpr double kUsableOfDevice = 0.9;

/// Of commands that cannot live beside each other.
constexpr PairMethodChoice kApart{.method = PairMethod::Sequential, .estimator = measure::StepEstimator::Median};

std::string too_many_threads(const space::Configuration& configuration, std::size_t cpus) {
  const auto threads = configuration.integer_of("threads");
  if (!threads) return "a side does not say how many threads it uses";
  if (*threads < 1 || *threads > static_cast<std::int64_t>(cpus / 2))
    return fmt::format("a side uses {} of {} CPUs", *threads, cpus);
  return {};
}

const MethodCost* cheapest(const VerifySettings& verify, PairMethod method) {
  const MethodCost* found = nullptr;
  for (const MethodCost& each : verify.known_costs) {
    if (each.method != method) continue;
    if (found == nullptr || each.cost < found->cost) found = &each;
  }
  return found;
}

/// What telling the same difference takes instead of the campaign's own way; empty: not known.
std::string cost_words(const VerifySettings& verify, const MethodCost* instead) {
  const auto own = std::ranges::find_if(verify.known_costs, [&](const MethodCost& each) {
    return each.method == verify.method && each.estimator == verify.estimator;
  });
  if (own == verify.known_costs.end() || instead == nullptr || own->cost <= 0) return {};
  return fmt::format("; to tell the same takes {:.1f} times as long", instead->cost / own->cost);
}

PairMethodChoice fall_back(const VerifySettings& verify, PairMethod method, const std::string& why) {
  const MethodCost* known = cheapest(verify, method);
  const auto usual = method == PairMethod::Slices ? measure::StepEstimator::Paired : measure::StepEstimator::Median;
  return {.method = method,
          .estimator = known != nullptr ? known->estimator : usual,
          .instead = fmt::format("{} instead of {}, for {}{}", measure::to_text(method),
                                 measure::to_text(verify.method), why, cost_words(verify, known))};
}

}  // namespace

std::optional<ComparedSide> prepared_side(const Session& session, const db::StoredTrial& trial) {
  auto prepared = session.prepare(trial.trial.configuration);
  if (prepared)
    return ComparedSide{.trial = trial, .configuration = trial.trial.configuration, .prepared = std::move(*prepared)};
  if (!session.interruption.requested()) {
    session.observer.note(
        fmt::format("trial {} cannot be prepared again: {}", trial.trial.number, prepared.error().reason));
  }
  return std::nullopt;
}

Comparing::Comparing(const Session& session, ComparedSide baseline, ComparedSide candidate)
    : session_(&session), baseline_(std::move(baseline)), candidate_(std::move(candidate)) {}

std::optional<Comparing> Comparing::open(const Session& session, const db::StoredTrial& baseline,
                                         const db::StoredTrial& candidate, std::string role) {
  auto of_baseline = prepared_side(session, baseline);
  if (!of_baseline) return std::nullopt;
  auto of_candidate = prepared_side(session, candidate);
  if (!of_candidate) return std::nullopt;
  return open(session, *std::move(of_baseline), *std::move(of_candidate), std::move(role));
}

Comparing Comparing::open(const Session& session, ComparedSide baseline, ComparedSide candidate, std::string role) {
  Comparing opened(session, std::move(baseline), std::move(candidate));
  const space::Configuration& of_baseline = opened.baseline_.trial.trial.configuration;
  const space::Configuration& of_candidate = opened.candidate_.trial.trial.configuration;
  if (const auto stored = find_comparison(session.store, session.campaign, role, of_baseline, of_candidate)) {
    opened.id_ = stored->id;
    // Goes on as it began: pairs of two ways do not belong into one interval.
    opened.method_ = measure::pair_method_from_text(stored->record.method).value_or(measure::PairMethod::Slices);
    opened.estimator_ =
        measure::step_estimator_from_text(stored->record.estimator).value_or(measure::StepEstimator::Paired);
    opened.pairs_ = std::ssize(stored->pairs);
    for (const db::StoredPair& pair : stored->pairs) opened.next_index_ = std::max(opened.next_index_, pair.index + 1);
    return opened;
  }
  const PairMethodChoice choice = opened.choose_method();
  opened.method_ = choice.method;
  opened.estimator_ = choice.estimator;
  opened.id_ = session.store.begin_comparison({.campaign = session.campaign,
                                               .candidate = of_candidate,
                                               .baseline = of_baseline,
                                               .role = std::move(role),
                                               .method = std::string(measure::to_text(choice.method)),
                                               .estimator = std::string(measure::to_text(choice.estimator))});
  return opened;
}

PairMethodChoice Comparing::choose_method() const {
  if (takes_turns() && session_->pair_limits->apart()) return kApart;
  if (!session_->spec.worker.own.empty()) return {};  // how its pairs are timed, its own template says
  auto choice = choose_pair_method(session_->spec.verify, paired_side(baseline_), paired_side(candidate_),
                                   session_->executor.cpus().size(), session_->executor.shared_memory_bytes());
  if (!choice.instead.empty()) {
    session_->observer.note(fmt::format("trials {} and {}: pairs are measured {}", baseline_.trial.trial.number,
                                        candidate_.trial.trial.number, choice.instead));
  }
  return choice;
}

std::chrono::nanoseconds Comparing::pair_time() const {
  return measured_ > 0 ? spent_ / measured_ : std::chrono::nanoseconds{0};
}

PairOrder Comparing::order_of(std::int64_t index) const {
  const VerifySettings& verify = session_->spec.verify;
  const auto& of_baseline = baseline_.trial.trial.parts;
  const auto& of_candidate = candidate_.trial.trial.parts;
  SliceSteps steps{.baseline = verify.slice_steps, .candidate = verify.slice_steps};  // where neither is known yet
  if (of_baseline && of_candidate) steps = slice_steps(verify, *of_baseline, *of_candidate);
  return session_->pair_limits->fitted(
      {.index = index,
       .baseline = {.configuration = baseline_.configuration, .slice_steps = steps.baseline},
       .candidate = {.configuration = candidate_.configuration, .slice_steps = steps.candidate},
       .slices = verify.slices,
       .method = method_,
       .seed = session_->spec.run.seed + static_cast<std::uint64_t>(index)});
}

PairEnd Comparing::measure_pair() {
  const Ordered ordered{.order = order_of(next_index_++), .at = session_->clock.steady()};
  return store(carry_out(ordered.order, {.baseline = baseline_.prepared, .candidate = candidate_.prepared},
                         session_->workplace()),
               ordered);
}

PairOrder Comparing::next_order(bool candidate_first) {
  const auto fits = [&](std::int64_t index) { return candidate_is_first(index) == candidate_first; };
  std::int64_t index = 0;
  if (const auto free = std::ranges::find_if(passed_over_, fits); free != passed_over_.end()) {
    index = passed_over_.extract(free).value();
  } else {
    if (!fits(next_index_)) passed_over_.insert(next_index_++);
    index = next_index_++;
  }
  const Ordered ordered{.order = order_of(index), .at = session_->clock.steady()};
  ordered_.insert_or_assign(index, ordered);
  return ordered.order;
}

PairEnd Comparing::take(PairOnNode ended) {
  const auto ordered = ordered_.extract(ended.index).mapped();
  keep_machine(*session_, ended.machine, ended.answer.builds);
  return store(std::move(ended.answer), ordered);
}

bool Comparing::takes_turns() const {
  const measure::CommandTemplate& own = session_->spec.worker.own;
  return !own.empty() && !own.whole();
}

std::optional<std::string> Comparing::adapt(const PairOrder& order, const PairAnswer& answer) {
  if (!takes_turns()) return std::nullopt;
  if (auto shorter = session_->pair_limits->learn(order, answer)) return shorter;
  if (pairs_ > 0) return std::nullopt;  // they can: it is another failure, and all its pairs are of one way
  auto apart = failed_beside_the_other(order, answer);
  if (!apart) return std::nullopt;
  method_ = kApart.method;
  estimator_ = kApart.estimator;
  session_->store.set_method(id_, std::string(measure::to_text(method_)), std::string(measure::to_text(estimator_)));
  return apart;
}

PairEnd Comparing::store(PairAnswer answer, const Ordered& ordered) {
  if (answer.end == OrderEnd::Suspended) return PairEnd::Suspended;
  if (answer.end != OrderEnd::Finished) return PairEnd::Lost;
  if (ordered.order.method != method_) return PairEnd::Suspended;  // given before the way changed
  db::PairRecord& pair = answer.pair;
  if (!answer.complete) {
    if (const auto otherwise = adapt(ordered.order, answer)) {
      session_->say(db::Level::Info, *otherwise);
      return PairEnd::Suspended;
    }
    for (const space::Run* run : {&pair.baseline.run, &pair.candidate.run}) {
      if (run->outcome == space::Outcome::Ok || run->outcome == space::Outcome::Killed) continue;
      session_->observer.note(fmt::format("pair {}: {}: {}", pair.index, space::to_text(run->outcome), run->reason));
    }
    const space::Outcome first = pair.baseline.run.outcome;  // the other one is killed where this one failed
    const bool ended = first == space::Outcome::Ok || first == space::Outcome::Killed;
    return ended ? PairEnd::CandidateFailed : PairEnd::BaselineFailed;
  }
  pair.candidate_trial = candidate_.trial.id;
  pair.baseline_trial = baseline_.trial.id;
  session_->store.add_pair(id_, pair);
  ++pairs_;
  ++measured_;
  if (takes_turns() && method_ == PairMethod::Sequential) session_->pair_limits->keep_apart();
  spent_ += session_->clock.steady() - ordered.at;
  return PairEnd::Stored;
}

const StoredPairs& Comparing::judged_pairs() const {
  if (std::cmp_equal(read_.size(), pairs_)) return judged_;
  auto known = session_->store.comparisons(session_->campaign);
  const auto stored = std::ranges::find(known, id_, &db::StoredComparison::id);
  if (stored == known.end()) return judged_;
  // Pairs of several nodes end in another order than they began in.
  std::erase_if(stored->pairs, [this](const db::StoredPair& pair) { return !read_.insert(pair.index).second; });
  auto fresh = stored_pairs(session_->store, *stored, baseline_.prepared.schedule, candidate_.prepared.schedule);
  for (measure::PairParts& pair : fresh.pairs) {
    if (!training_of_) break;
    pair.baseline = training_of_(baseline_.trial.trial.configuration, pair.baseline);
    pair.candidate = training_of_(candidate_.trial.trial.configuration, pair.candidate);
  }
  judged_.pairs.insert(judged_.pairs.end(), fresh.pairs.begin(), fresh.pairs.end());
  judged_.nodes.insert(judged_.nodes.end(), fresh.nodes.begin(), fresh.nodes.end());
  for (const std::string& sentence : fresh.unusable) session_->observer.note(sentence);
  return judged_;
}

std::vector<double> Comparing::log_ratios() const {
  return log_ratios_at(judged_pairs(), session_->spec.objective.primary);
}

void Comparing::save_verdicts(double confidence) const {
  const StoredPairs& pairs = judged_pairs();
  if (pairs.pairs.size() < 2) return;  // no interval yet
  const double margin = session_->spec.verify.margin_percent;
  for (const double horizon : session_->spec.objective.epochs) {
    db::VerdictRecord verdict = verdict_record(compare_at(pairs, horizon, margin, confidence), id_, horizon);
    verdict.primary = horizon == session_->spec.objective.primary;
    session_->store.save_verdict(verdict);
  }
}

std::vector<PairSeries*> pointers_to(std::vector<Comparing>& comparisons) {
  std::vector<PairSeries*> pointers;
  for (Comparing& each : comparisons) pointers.push_back(&each);
  return pointers;
}

std::string not_together_because(const PairedSide& a, const PairedSide& b, std::int64_t memory_bytes) {
  constexpr double kGibibyte = 1 << 30;
  if (a.device_bytes && b.device_bytes) {
    const double both = static_cast<double>(*a.device_bytes + *b.device_bytes);
    const auto has =
        static_cast<double>(std::max(a.device_memory_bytes.value_or(0), b.device_memory_bytes.value_or(0)));
    if (has > 0 && both > kUsableOfDevice * has)
      return fmt::format("together they need {:.1f} GiB of the GPU's {:.1f}", both / kGibibyte, has / kGibibyte);
  }
  if (memory_bytes <= 0 || !a.peak_bytes || !b.peak_bytes) return {};
  if (*a.peak_bytes + *b.peak_bytes <= memory_bytes) return {};
  return fmt::format("together they need {:.1f} GiB of {:.1f}",
                     static_cast<double>(*a.peak_bytes + *b.peak_bytes) / kGibibyte,
                     static_cast<double>(memory_bytes) / kGibibyte);
}

std::string no_duet_because(const PairedSide& a, const PairedSide& b, std::size_t cpus, std::int64_t memory_bytes) {
  if (cpus < 2) return "there is one CPU";
  for (const PairedSide* side : {&a, &b}) {
    if (auto why = too_many_threads(side->configuration, cpus); !why.empty()) return why;
    if (side->contained) return "a side runs in a container";
    if (!side->launch.cpus.empty() || side->launch.set.contains("OMP_PLACES"))
      return "a side is bound to CPUs of its own";
  }
  if (a.device_bytes && b.device_bytes) return "both compute on the GPU";
  return not_together_because(a, b, memory_bytes);
}

PairMethodChoice choose_pair_method(const VerifySettings& verify, const PairedSide& a, const PairedSide& b,
                                    std::size_t cpus, std::int64_t memory_bytes) {
  if (verify.method != PairMethod::Sequential) {
    if (const auto why = not_together_because(a, b, memory_bytes); !why.empty())
      return fall_back(verify, PairMethod::Sequential, why);
  }
  if (verify.method == PairMethod::Duet) {
    if (const auto why = no_duet_because(a, b, cpus, memory_bytes); !why.empty())
      return fall_back(verify, PairMethod::Slices, why);
  }
  return {.method = verify.method, .estimator = verify.estimator, .instead = {}};
}

}  // namespace nocturne::tuner
