#pragma once

/// What the database holds for and against a published result, of this machine alone, and what an interval says of it.
/// Measures nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "db/store.hpp"
#include "tuner/report/published_results.hpp"

namespace nocturne::report {

enum class Grade {
  Pairs,   ///< both alive in turns
  Trials,  ///< each measured by itself: not interleaved
  Epochs,  ///< whole epochs of single processes
};
[[nodiscard]] std::string_view to_text(Grade grade);  ///< pairs, trials, epochs

struct Evidence {
  Grade grade = Grade::Pairs;
  /// 100 · (T(reference) / T(candidate) − 1); of first epochs: what they take longer; of later ones: how far they
  /// scatter; of an interaction: what the gain of one network has beyond that of the other.
  double percent = 0;
  double low_percent = 0, high_percent = 0;
  std::int64_t repetitions = 0;  ///< pairs; processes of both trials; runs
  double epochs = 0;             ///< the horizon; of first epochs: 1
  std::string campaign;
  std::int64_t generation = 1;
};

/// The best there is: pairs before trials, more before fewer. Both sides are of one campaign with the published
/// result's network, measured on a machine with this fingerprint key, and differ as published; of an interaction, of
/// one campaign a network. Empty: nothing.
[[nodiscard]] std::optional<Evidence> find_evidence(const db::Store& store, const PublishedResult& published,
                                                    const std::string& fingerprint_key, const FrameworkLabels& known);

/// Why a side of the published result did not run when it was tried here: "tensorflow-1.14: unsupported: …"; empty: it
/// was not tried, or ran.
[[nodiscard]] std::string failure_of(const db::Store& store, const PublishedResult& published,
                                     const std::string& fingerprint_key, const FrameworkLabels& known);

/// How far the epochs of a process scatter about its own mean: one standard deviation, in percent of an epoch, over
/// processes, with its 95 % interval (the chi-square interval of a variance, which takes epochs for independent).
/// `log_seconds`: of each process, one value an epoch. Empty: no process has two.
struct Scatter {
  double percent = 0, low_percent = 0, high_percent = 0;
  std::int64_t processes = 0;  ///< that have two epochs or more
};
[[nodiscard]] std::optional<Scatter> scatter_of(const std::vector<std::vector<double>>& log_seconds);

enum class ReplicationOutcome {
  Confirmed,      ///< the whole interval lies on the published side
  Reversed,       ///< the whole interval lies on the other side
  Undecided,      ///< neither; or what was measured was not interleaved, which decides nothing
  NotMeasured,    ///< there is nothing
  NotMeasurable,  ///< nor can there be on this machine
};
/// confirmed, reversed, undecided, not measured, not measurable here
[[nodiscard]] std::string_view to_text(ReplicationOutcome finding);

/// Where the published size lies.
enum class Size {
  Inside,   ///< in the interval: it may be as published
  Smaller,  ///< the whole interval is smaller than published, or of the other sign
  Larger,   ///< the whole interval is larger than published
  Unknown,  ///< no size was published, or nothing decides
};
[[nodiscard]] std::string_view to_text(Size size);  ///< inside, smaller, larger, unknown

struct Judgement {
  ReplicationOutcome finding = ReplicationOutcome::NotMeasured;
  Size size = Size::Unknown;
  Reading reading = Reading::Speed;  ///< of the published percentage: the one nearer to the interval
  friend bool operator==(const Judgement&, const Judgement&) = default;
};

/// `published_percent`: as the paper writes it, not 0; empty: a gain above 0, of no particular size. `low_percent` and
/// `high_percent`: ends of the interval of the gain that was measured; interleaved: from pairs that were alive
/// together. Both readings of the percentage are looked at, and the size is judged by the nearer.
[[nodiscard]] Judgement judge(std::optional<double> published_percent, double low_percent, double high_percent,
                              bool interleaved);
/// By the kind of the published result: same, far behind, stable and interactions by its margin.
[[nodiscard]] Judgement judge(const PublishedResult& published, double low_percent, double high_percent,
                              bool interleaved);

/// "confirmed, but smaller", "undecided, the published size is excluded".
[[nodiscard]] std::string sentence_of(const Judgement& judgement);

}  // namespace nocturne::report
