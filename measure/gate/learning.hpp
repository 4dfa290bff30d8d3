#pragma once

/// Does a script whose training was changed from outside learn as it does unchanged? Pure: no clock, no files.
///
/// Loss curves alone do not tell: with other random streams they differ as much as with a layer that stands still. So
/// there are two checks, each against the same script with its levers left alone:
///
/// - The paired start: same random streams, no dropout, a few steps. How far they move each tensor of parameters, over
///   how far they move it in the reference, is 1 but for rounding; so are the losses, and what steps change of them
///   within ten times that. The first step shows a learning rate or a layer that stands still; gradients that are not
///   zeroed show from the second on.
/// - The longer run, everything on: the mean of its later losses lies among those of references with other random
///   streams, whose range is widened by half. A run of fewer steps is judged by these.
///
/// Where the reference itself does not come twice alike, bands are as wide as it needs.

#include <cstddef>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::measure {

/// Tensor → Euclidean norm of its change since before the first step.
using Movement = std::map<std::string, double>;

/// What one training recorded (kernels/inject/nocturne_inject/learning).
struct LearningRecord {
  std::vector<std::optional<double>> losses;  ///< one for each step; empty: not seen
  std::vector<Movement> updates;              ///< behind each of its first steps
  std::vector<std::string> notes;             ///< sentences: what could not be seen
};

/// The error is a sentence: it is no such record.
[[nodiscard]] std::expected<LearningRecord, std::string> read_learning(const nlohmann::json& document);

/// What the changes may do to the arithmetic.
enum class Arithmetic {
  Rounding,   ///< the order of operations, other kernels
  Precision,  ///< a shorter mantissa: bf16, TF32
};

enum class Learning {
  Same,
  Other,      ///< it deviates by more than its changes may do
  NotJudged,  ///< nobody can tell
};
[[nodiscard]] std::string_view to_text(Learning learning);            ///< same, other, not judged
[[nodiscard]] Learning learning_from_text(std::string_view verdict);  ///< NotJudged where it is none of them

struct LearningJudgement {
  Learning learning = Learning::NotJudged;
  std::string sentence;  ///< the figures, or why it is not judged
  friend bool operator==(const LearningJudgement&, const LearningJudgement&) = default;
};

/// Steps of the paired start, and how often the reference begins: the second shows whether it repeats itself.
inline constexpr std::size_t kStartSteps = 5, kReferenceStarts = 2;
/// So many losses of the paired start are compared, and the movement behind so many steps: as few as show what a step
/// leaves to the next, for what is rounded otherwise grows from step to step.
inline constexpr std::size_t kComparedLosses = 3, kComparedMovements = 2;

/// `repeats`: at least one, the reference again; they widen the bands.
[[nodiscard]] LearningJudgement judge_start(const LearningRecord& reference, std::span<const LearningRecord> repeats,
                                            const LearningRecord& candidate, Arithmetic arithmetic);

/// Steps of the longer run, and which losses its mean is of. Where an epoch, and so a run, has fewer, all are judged by
/// the steps that each of them has, down to the fewest, and the mean is of the same share of them (40 losses of 52
/// steps): of fewer it would say more of chance than of the training.
inline constexpr std::size_t kLearningSteps = 130, kJudgedSteps = 100, kFewestLearningSteps = 52;
/// References with random streams of their own. Of runs that differ from them in nothing but chance 9 in 100 lie
/// outside the widened range of five, 2 in 100 outside that of ten (normal means, 200,000 draws): a run that lies
/// outside five is judged by ten.
inline constexpr std::size_t kLearningReferences = 5, kMostLearningReferences = 10;

/// Not judged where a loss is missing, or there are fewer than kLearningReferences or kFewestLearningSteps.
[[nodiscard]] LearningJudgement judge_longer_run(std::span<const LearningRecord> references,
                                                 const LearningRecord& candidate);

/// Both parts together: what one of them refuses is refused, and what was not seen is said.
[[nodiscard]] LearningJudgement joined(const LearningJudgement& start, const LearningJudgement& longer);

}  // namespace nocturne::measure
