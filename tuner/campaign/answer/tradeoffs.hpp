#pragma once

/// What is best depends on what is wanted: time for N epochs, throughput, memory, time to an accuracy. From the trials
/// of one campaign: the best for each wish, and those that none beats in all of them (the Pareto front). Pure but for
/// the sensor that energy asks for.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/records.hpp"
#include "db/store.hpp"
#include "measure/comparison/break_even.hpp"
#include "space/workload.hpp"

namespace nocturne::tuner {

/// One thing that may be wanted.
struct Wish {
  enum class Kind {
    Time,        ///< seconds for `number` epochs
    Throughput,  ///< examples a second, steady
    Memory,      ///< bytes that a run held at most
    Accuracy,    ///< seconds until the test accuracy is `number` (0 to 1)
  };
  Kind kind = Kind::Time;
  double number = 0;
  std::string text;  ///< as it was written: "time:12"
};

/// "time:N", "throughput", "memory", "accuracy:SHARE". The error is a sentence with what is allowed. "energy" is
/// refused: nothing here measures it, and a guess from power ratings is none.
[[nodiscard]] std::expected<Wish, std::string> parse_wish(std::string_view text);

/// A test accuracy that a trial reached after so many epochs.
struct ReachedAccuracy {
  db::TrialId trial = 0;
  double epochs = 0;
  double accuracy = 0;
};

struct TradeoffRow {
  db::StoredTrial trial;
  std::vector<std::optional<double>> values;  ///< in the order of the wishes, in their units; empty: not measured
};

struct Tradeoffs {
  std::vector<TradeoffRow> front;                ///< by the first wish, best first
  std::vector<std::optional<std::size_t>> best;  ///< for each wish, in front; empty: no trial has a value
  std::size_t considered = 0;                    ///< trials with a value for every wish
  std::size_t incomplete = 0;                    ///< trials that trained and lack one
};

/// Trials that are not ok are passed over. Equal ones: the first by number stands for all.
[[nodiscard]] Tradeoffs weigh(std::span<const db::StoredTrial> trials, std::span<const Wish> wishes,
                              std::span<const ReachedAccuracy> reached, const space::Workload& workload);

/// Positions of the points that no other is at least as good as in everything and better in something; smaller is
/// better. Equal points: the first only. In ascending order.
[[nodiscard]] std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points);

/// Whether the second row can be told from the first in nothing: their times are within noise, their memory within a
/// fiftieth. REQUIRES: both have a value for every wish.
[[nodiscard]] bool alike(const TradeoffRow& a, const TradeoffRow& b, std::span<const Wish> wishes);
/// The same for one wish alone.
[[nodiscard]] bool alike(const TradeoffRow& a, const TradeoffRow& b, std::span<const Wish> wishes, std::size_t wish);

/// Rows of the front, each with those behind it that are alike; in order, each row once.
[[nodiscard]] std::vector<std::vector<std::size_t>> groups_of(std::span<const TradeoffRow> front,
                                                              std::span<const Wish> wishes);

/// A stretch of epochs with its fastest trial.
struct Reign {
  double from = 0;        ///< epochs
  std::size_t trial = 0;  ///< position in the trials given
};

/// Who is fastest for how many epochs: the lower envelope of the lines T(N), N ≥ 0. Trials without parts are passed
/// over.
[[nodiscard]] std::vector<Reign> reigns(std::span<const db::StoredTrial> trials);

/// Those that matter: they begin with whole epochs, the first with one; a trial reigns only where, at the end of its
/// stretch, it is faster than the one before it beyond noise.
[[nodiscard]] std::vector<Reign> reigns_beyond_noise(std::span<const db::StoredTrial> trials);

/// From how many epochs on one trial beats another that it was compared with in pairs.
struct TrialBreakEven {
  std::int64_t baseline = 0, candidate = 0;  ///< numbers of the trials
  std::int64_t pairs = 0;
  double confidence = 0;  ///< confidence of the interval, 0 to 1
  measure::BreakEven result;
};

/// "trial 3 is faster from 2.1 epochs on (95 %: 1.8 to 2.6; 6 pairs)": who leads when, and how sure that is.
[[nodiscard]] std::string to_text(const TrialBreakEven& each);

/// From comparisons between two of `trials` with at least two pairs that can be judged, in the order they were begun.
[[nodiscard]] std::vector<TrialBreakEven> stored_break_evens(const db::Store& store,
                                                             const db::CampaignSummary& campaign,
                                                             std::span<const db::StoredTrial> trials);

}  // namespace nocturne::tuner
