#include "measure/gate/learning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "space/names.hpp"

namespace nocturne::measure {
namespace {

constexpr std::array<std::string_view, 3> kLearnings = {"same", "other", "not judged"};

/// Largest relative differences: of a tensor's movement, of a loss.
struct Bands {
  double update = 0, loss = 0;
};

constexpr Bands bands_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::Rounding ? Bands{.update = 0.02, .loss = 1e-5} : Bands{.update = 0.1, .loss = 0.01};
}

/// A tensor that moves by less than this share of the largest movement moves by rounding alone (a bias before a
/// normalisation, whose gradient is zero): what counts there is that it stays so.
constexpr double kLeastMovement = 1e-4;
/// A reference that differs from itself by more has no start to compare with.
constexpr double kMostUpdate = 0.25, kMostLoss = 0.1;
/// By so many bands may what steps change of a loss differ, besides the loss: a rate that throws it far off at once
/// makes as much of the last digits as of the rest. In bf16 that is as much as the steps themselves may differ.
constexpr double kChangedBands = 10;
/// How much wider than what the repeats showed.
constexpr double kWidening = 1.5;

double relative(double a, double b) {
  const double larger = std::max(std::abs(a), std::abs(b));
  return larger > 0 ? std::abs(a - b) / larger : 0;
}

/// The largest difference and where it is.
struct Difference {
  double size = 0;
  std::string where;
  double reference = 0, candidate = 0;
  std::size_t step = 0;
  double scale = 1;  ///< of what it is relative to, over the larger of the two

  void note(double difference, std::string place, double a, double b, std::size_t in_step, double in_scales_of = 1) {
    // What is no number is as far away as can be.
    if (!std::isfinite(difference)) difference = 1;
    if (difference > size || where.empty()) *this = {difference, std::move(place), a, b, in_step, in_scales_of};
  }
};

double largest_of(const Movement& movement) {
  double largest = 0;
  for (const auto& [name, norm] : movement) largest = std::max(largest, norm);
  return largest;
}

/// Whether they have the same tensors.
bool compare(const Movement& reference, const Movement& candidate, std::size_t step, Difference& difference) {
  const double floor = kLeastMovement * largest_of(reference);
  if (reference.size() != candidate.size()) return false;
  for (const auto& [name, norm] : reference) {
    const auto other = candidate.find(name);
    if (other == candidate.end()) return false;
    if (norm <= floor && other->second <= 10 * floor) continue;
    difference.note(std::abs(other->second / std::max(norm, floor) - 1), name, norm, other->second, step);
  }
  return true;
}

/// Empty: they do not have the same tensors.
std::optional<Difference> updates_between(const LearningRecord& reference, const LearningRecord& candidate) {
  Difference difference;
  const std::size_t steps = std::min({kComparedMovements, reference.updates.size(), candidate.updates.size()});
  for (std::size_t i = 0; i < steps; ++i)
    if (!compare(reference.updates[i], candidate.updates[i], i + 1, difference)) return std::nullopt;
  return steps == 0 ? std::nullopt : std::optional(difference);
}

/// Empty: a loss is not known.
std::optional<Difference> losses_between(const LearningRecord& reference, const LearningRecord& candidate) {
  Difference difference;
  double changed = 0;
  for (std::size_t i = 0; i < kComparedLosses; ++i) {
    if (i >= reference.losses.size() || i >= candidate.losses.size()) return std::nullopt;
    if (!reference.losses[i] || !candidate.losses[i]) return std::nullopt;
    const double a = *reference.losses[i], b = *candidate.losses[i];
    if (i > 0) changed += std::abs(a - *reference.losses[i - 1]);
    const double larger = std::max(std::abs(a), std::abs(b));
    const double scale = larger > 0 ? 1 + kChangedBands * changed / larger : 1;
    difference.note(relative(a, b) / scale, fmt::format("step {}", i + 1), a, b, i + 1, scale);
  }
  return difference;
}

LearningJudgement not_judged(std::string sentence) {
  return {.learning = Learning::NotJudged, .sentence = std::move(sentence)};
}

std::string first_steps(std::size_t count) {
  return count == 1 ? "its first step" : fmt::format("its first {} steps", count);
}

std::string notes_of(const LearningRecord& record) {
  return record.notes.empty() ? std::string() : " (" + record.notes.front() + ")";
}

/// Which losses are judged of so many steps: from `first` on, before `end`.
struct JudgedRange {
  std::size_t first = 0, end = 0;
};

JudgedRange judged_of(std::size_t steps) {
  return {.first = steps - steps * kJudgedSteps / kLearningSteps, .end = steps};
}

/// Steps that all of them have.
std::size_t shared_steps(std::span<const LearningRecord> references, const LearningRecord& candidate) {
  std::size_t steps = std::min(kLearningSteps, candidate.losses.size());
  for (const LearningRecord& each : references) steps = std::min(steps, each.losses.size());
  return steps;
}

std::optional<double> later_mean(const LearningRecord& record, const JudgedRange& range) {
  double sum = 0;
  for (std::size_t i = range.first; i < range.end; ++i) {
    if (!record.losses[i]) return std::nullopt;
    sum += *record.losses[i];
  }
  return sum / static_cast<double>(range.end - range.first);
}

}  // namespace

std::expected<LearningRecord, std::string> read_learning(const nlohmann::json& document) {
  if (!document.is_object() || document.value("version", nlohmann::json()) != 1)
    return std::unexpected("it recorded nothing of its learning");
  LearningRecord record;
  for (const nlohmann::json& loss : document.value("losses", nlohmann::json::array()))
    if (loss.is_number())
      record.losses.emplace_back(loss.get<double>());
    else if (loss.is_string())
      record.losses.emplace_back(std::nan(""));  // "nan", "inf"
    else
      record.losses.emplace_back(std::nullopt);
  for (const nlohmann::json& step : document.value("updates", nlohmann::json::array())) {
    Movement& movement = record.updates.emplace_back();
    if (!step.is_object()) continue;
    for (const auto& [name, norm] : step.items()) movement[name] = norm.is_number() ? norm.get<double>() : std::nan("");
  }
  for (const nlohmann::json& note : document.value("notes", nlohmann::json::array()))
    if (note.is_string()) record.notes.push_back(note.get<std::string>());
  return record;
}

std::string_view to_text(Learning learning) {
  return space::name_of(learning, kLearnings);
}

Learning learning_from_text(std::string_view verdict) {
  return space::named<Learning>(verdict, kLearnings).value_or(Learning::NotJudged);
}

LearningJudgement judge_start(const LearningRecord& reference, std::span<const LearningRecord> repeats,
                              const LearningRecord& candidate, Arithmetic arithmetic) {
  for (const LearningRecord* record : {&reference, &candidate})
    if (record->updates.empty() || record->updates.front().empty())
      return not_judged("how far a step moves its parameters was not seen" + notes_of(*record));
  if (largest_of(reference.updates.front()) == 0)
    return not_judged(fmt::format("in {} steps the script unchanged moves none of its parameters", kStartSteps));
  Bands bands = bands_of(arithmetic);
  for (const LearningRecord& repeat : repeats) {
    const auto updates = updates_between(reference, repeat);
    const auto losses = losses_between(reference, repeat);
    if (!updates || updates->size > kMostUpdate || (losses && losses->size > kMostLoss))
      return not_judged("the script unchanged does not begin twice alike, whatever random streams it is given");
    bands.update = std::max(bands.update, kWidening * updates->size);
    if (losses) bands.loss = std::max(bands.loss, kWidening * losses->size);
  }
  const auto updates = updates_between(reference, candidate);
  if (!updates)
    return {.learning = Learning::Other, .sentence = "it trains other parameters than the script unchanged"};
  if (updates->size > bands.update) {
    return {.learning = Learning::Other,
            .sentence =
                fmt::format("{} move{} {} {:.3g} times as far as in the script unchanged ({:.3g} and {:.3g}; {:.3g} "
                            "to {:.3g} times is what such changes do)",
                            first_steps(updates->step), updates->step == 1 ? "s" : "", updates->where,
                            updates->candidate / updates->reference, updates->candidate, updates->reference,
                            1 - bands.update, 1 + bands.update)};
  }
  const auto losses = losses_between(reference, candidate);
  if (losses && losses->size > bands.loss) {
    return {.learning = Learning::Other,
            .sentence =
                fmt::format("its loss in {} is {:.6g}, the script's {:.6g}, and such changes leave it within {:.2g}",
                            losses->where, losses->candidate, losses->reference, bands.loss * losses->scale)};
  }
  std::string sentence =
      fmt::format("its first steps move each of {} tensors as far as the script's do, within {:.2g} %",
                  reference.updates.front().size(), 100 * updates->size);
  if (!losses) return not_judged(sentence + ", but its loss was not seen" + notes_of(candidate));
  return {.learning = Learning::Same,
          .sentence = sentence + fmt::format("; first losses within {:.2g} %", 100 * losses->size * losses->scale)};
}

LearningJudgement judge_longer_run(std::span<const LearningRecord> references, const LearningRecord& candidate) {
  const std::size_t steps = shared_steps(references, candidate);
  if (steps < kFewestLearningSteps) {
    return not_judged(fmt::format("the losses of {} steps were seen, and fewer than {} tell nothing{}", steps,
                                  kFewestLearningSteps, notes_of(candidate)));
  }
  const JudgedRange range = judged_of(steps);
  std::vector<double> means;
  for (const LearningRecord& each : references)
    if (const auto mean = later_mean(each, range)) means.push_back(*mean);
  const auto mean = later_mean(candidate, range);
  if (means.size() < kLearningReferences || !mean)
    return not_judged(fmt::format("the losses of {} steps were not seen{}", steps, notes_of(candidate)));
  if (!std::ranges::all_of(means, [](double each) { return std::isfinite(each); }))
    return not_judged("the losses of the script unchanged are no numbers");
  const auto [least, most] = std::ranges::minmax(means);
  const double more = (most - least) / 2;
  const std::string figures =
      fmt::format("mean loss of steps {} to {} {:.4g}; {} of the script unchanged had {:.4g} to {:.4g}",
                  range.first + 1, range.end, *mean, means.size(), least, most);
  const bool inside = *mean >= least - more && *mean <= most + more;
  return {.learning = inside ? Learning::Same : Learning::Other, .sentence = figures};
}

LearningJudgement joined(const LearningJudgement& start, const LearningJudgement& longer) {
  if (start.learning == Learning::Other || longer.learning == Learning::Other)
    return {Learning::Other, start.learning == Learning::Other ? start.sentence : longer.sentence};
  const bool both = start.learning == Learning::Same && longer.learning == Learning::Same;
  return {both ? Learning::Same : Learning::NotJudged, start.sentence + "; " + longer.sentence};
}

}  // namespace nocturne::measure
