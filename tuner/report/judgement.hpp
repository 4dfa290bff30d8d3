#pragma once

/// What an interval says of a published result. Pure.

#include <optional>
#include <string>
#include <string_view>

namespace nocturne::report {

enum class ReplicationOutcome {
  Confirmed,    ///< the whole interval lies on the claimed side of 0
  Reversed,     ///< the whole interval lies on the other side
  Undecided,    ///< 0 is inside; or what was measured was not interleaved, which decides nothing
  NotMeasured,  ///< there is nothing
};
[[nodiscard]] std::string_view to_text(ReplicationOutcome finding);  ///< confirmed, reversed, undecided, not measured

/// Where the published size lies.
enum class Size {
  Inside,   ///< in the interval: it may be as published
  Smaller,  ///< the whole interval is smaller than claimed, or of the other sign
  Larger,   ///< the whole interval is larger than claimed
  Unknown,  ///< no size was claimed, or nothing decides
};
[[nodiscard]] std::string_view to_text(Size size);  ///< inside, smaller, larger, unknown

struct Judgement {
  ReplicationOutcome finding = ReplicationOutcome::NotMeasured;
  Size size = Size::Unknown;
  friend bool operator==(const Judgement&, const Judgement&) = default;
};

/// `published_percent`: of the gain, not 0; empty: a gain above 0, of no particular size. `low_percent` and
/// `high_percent`: ends of the interval of the gain that was measured; interleaved: from pairs that were alive
/// together.
[[nodiscard]] Judgement judge(std::optional<double> published_percent, double low_percent, double high_percent,
                              bool interleaved);

/// "confirmed, but smaller", "undecided, the published size is excluded".
[[nodiscard]] std::string sentence_of(const Judgement& judgement);

}  // namespace nocturne::report
