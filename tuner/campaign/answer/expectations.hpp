#pragma once

/// What the model adds to the answer of a stored campaign; it is fitted once for all of it, and kept
/// (kept/kept_document.hpp) for whoever asks the same again.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "search/model/changes.hpp"
#include "space/configuration.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/learned_campaign.hpp"

namespace nocturne::tuner {

struct NamedValue {
  std::string parameter, value;
};

/// Another value of a parameter, and what it does.
struct OtherValue {
  std::string value;
  search::model::LevelChange change;
  /// Log ratio of what differs from the best by just this, where it was measured: by pairs, or as trials took.
  std::optional<double> measured{};
  std::int64_t pairs = 0;  ///< that say so; 0: single trials
  /// Values of other parameters that differ from the best's too, because a constraint forbids this value beside them.
  std::vector<NamedValue> along{};
};

/// One parameter of the best configuration.
struct Matter {
  std::string parameter;
  std::string value;               ///< the best configuration's value
  std::vector<OtherValue> others;  ///< against the best; of which a trial is known; the least slow first; never empty
};

/// What matters on this machine, and what was not worth trying: what one other setting would make of the best
/// configuration, as the model has learnt it.
struct Matters {
  /// Another value surely changes it by more than kHardly; the one that changes it most comes first.
  std::vector<Matter> much;
  /// Every other value surely changes it by less than kHardly, either way.
  std::vector<Matter> hardly;
  /// Neither is known.
  std::vector<Matter> unsure;
  /// Values with which nothing can win, so far as the report's model knows: with the spread between processes, at the
  /// campaign's primary horizon. What the search itself leaves out, at all horizons, is `model`'s to say. Of
  /// environment and build parameters; those of one parameter together.
  std::vector<NamedValue> ruled_out;
  double ruled_out_share = 0;  ///< share of all configurations, estimated by uniform draws
};

/// Less than this, either way, is not worth the user's time: 2 %.
inline constexpr double kHardly = 0.02;
/// Confidence of all intervals of the page, as of the verdicts in pairs that it begins with.
inline constexpr double kPageConfidence = 0.95;

/// Empty lists where the configuration is none of the space's, or nothing else was tried.
[[nodiscard]] Matters matters(LearnedCampaign& learned, const space::Configuration& best);

/// A trial as the model predicts it from all the others, beside what it took: seconds at the primary horizon.
struct LeftOutTrial {
  std::int64_t trial = 0;
  double predicted = 0;
  double low = 0, high = 0;  ///< 90 % interval of a measurement
  double measured = 0;
};

/// Each is empty where nothing can be said yet.
struct Expectations {
  std::optional<Matters> matters;
  std::optional<ValueOfContinuing> continuing;  ///< for another hour
  std::vector<LeftOutTrial> left_out;           ///< each trial that the model rests on
  std::vector<std::string> without;             ///< sentences: constraints that are not in force (stored_document.hpp)
};

[[nodiscard]] Expectations expectations_of(const db::Store& store, const Answer& answer);

}  // namespace nocturne::tuner
