#pragma once

/// Measures the pairs that a comparison asks for, whoever wants to know: the finals of a campaign, the user who
/// compares, a profile that is verified, the candidate causes of a slowdown. The one place that starts pairs; which
/// one is next and what they say is decided in measure/comparison: sequential_comparison.hpp judges pairs, race.hpp
/// chooses by them. Where an executor has nodes, up to three pairs are measured at once, each on a node of its own
/// (pair_flights.hpp), and what they say is told as it comes.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/comparison/race.hpp"
#include "measure/comparison/sequential_comparison.hpp"
#include "tuner/executor/order.hpp"
#include "tuner/executor/order_observer.hpp"

namespace nocturne::tuner {

class PairFlights;  // pair_flights.hpp

/// How measuring a pair came out.
enum class PairEnd {
  Stored,
  BaselineFailed,   ///< that side did not end well
  CandidateFailed,  ///< likewise
  Lost,       ///< to an interruption, another hand's kill, a slot that cannot be had: no word about the configurations
  Suspended,  ///< likewise to a suspension that is over: to be measured again
};

/// The pairs of one member of a comparison.
class PairSeries {
 public:
  virtual ~PairSeries() = default;

  /// Measures and stores one more pair. A full disk and images that are gone throw db::Error: they say nothing of the
  /// configurations.
  [[nodiscard]] virtual PairEnd measure_pair() = 0;
  /// The order of one more pair, for a node. Every order is taken back by take(), in whichever order they end.
  [[nodiscard]] virtual PairOrder next_order(bool candidate_first) = 0;
  /// What came of it; stores it. Throws as measure_pair() does.
  [[nodiscard]] virtual PairEnd take(PairOnNode ended) = 0;
  /// ln(T(baseline) / T(candidate)) of each stored pair that can be judged, in the order in which they were stored.
  [[nodiscard]] virtual std::vector<double> log_ratios() const = 0;
  /// Name of the node of each of them; an empty one is not known.
  [[nodiscard]] virtual std::vector<std::string> nodes() const = 0;
  /// Mean time of the pairs measured in this session; zero: none yet.
  [[nodiscard]] virtual std::chrono::nanoseconds pair_time() const = 0;
  /// Stores what the pairs say, judged with this confidence (which planned looks ask for, each more than all of them
  /// keep together: measure/comparison/planned_looks.hpp).
  virtual void save_verdicts(double confidence) const = 0;
  /// Whether the user or the system wants no more pairs.
  [[nodiscard]] virtual bool interrupted() const = 0;
  [[nodiscard]] virtual OrderObserver& observer() const = 0;
};

/// How measuring ended.
enum class PairsEnd {
  Complete,     ///< every member is decided, has its most pairs, or has left
  OutOfTime,    ///< `time_for` said so
  Interrupted,  ///< the user or the system wants no more
};

/// How the caller takes part. `member`: its index.
struct PairsControl {
  /// Whether a pair that takes about that long (of those measured now; zero: none yet) may be begun. Asked once a pair.
  std::function<bool(std::size_t member, std::chrono::nanoseconds pair)> time_for = [](auto...) { return true; };
  /// Before each pair.
  std::function<void(std::size_t member)> measuring = [](auto...) {};
  bool keep_verdicts = true;       ///< store what each look says
  OrderExecutor* nodes = nullptr;  ///< measures the pairs on its nodes; null, or it has none: they are measured here
  std::vector<std::string> avoided{};  ///< nodes that measure only where there are too few others
};

/// Not thread-safe.
class PairDriver {
 public:
  /// Takes up what the members' earlier pairs say. They outlive it, and are of campaigns with one interruption.
  [[nodiscard]] static PairDriver open(std::vector<PairSeries*> members, const measure::ComparisonPolicy& policy,
                                       std::uint64_t seed = 1);

  /// Measures, stores and judges pairs until the comparison is over. Pairs that are ended from outside or suspended are
  /// measured again and not held against anybody. What a member said that left is stored by stop() alone. Blocks.
  [[nodiscard]] PairsEnd run(const PairsControl& control = {});
  /// Judges and stores what there is, where time or the user has ended it; nothing more to judge where it is complete.
  void stop();

  [[nodiscard]] const measure::SequentialComparison& comparison() const { return comparison_; }

 private:
  PairDriver(std::vector<PairSeries*> members, measure::SequentialComparison comparison);
  [[nodiscard]] PairsEnd run_on_nodes(const PairsControl& control);
  /// Gives pairs to nodes while there are both. Set: no further one is begun, and why.
  [[nodiscard]] std::optional<PairsEnd> begin_pairs(PairFlights& flights, const PairsControl& control);
  /// Measures the pair of this member that the comparison wants now.
  void measure_next(std::size_t index);
  void say_progress(std::size_t index) const;
  /// Tells the comparison what became of a pair of this member.
  void tell(std::size_t index, PairEnd end);
  /// What is new; `of_all`: of members that left, too.
  void save_verdicts(bool of_all);

  std::vector<PairSeries*> members_;
  measure::SequentialComparison comparison_;
  std::vector<std::pair<int, double>> saved_;  ///< each member's stored verdict: pairs, confidence
  std::vector<int> in_flight_;                 ///< pairs of each member that are under way on nodes
};

/// How the caller takes part in a race. Pairs of a member that cannot be measured make it leave (three failures in a
/// row), as in a comparison.
struct RaceControl {
  /// The series in which `first` is the candidate and `second` the baseline.
  std::function<PairSeries&(const measure::RacePair& pair)> pairs_of;
  /// Whether a pair of these two may be begun.
  std::function<bool(const measure::RacePair& pair)> time_for = [](auto...) { return true; };
  int most_pairs = 0;              ///< said to who watches
  OrderExecutor* nodes = nullptr;  ///< as in PairsControl
};

/// Measures the pairs that the race asks for until it is over; one that is lost to other hands ten times ends it.
/// Blocks.
[[nodiscard]] PairsEnd run_race(measure::Race& race, const RaceControl& control);

}  // namespace nocturne::tuner
