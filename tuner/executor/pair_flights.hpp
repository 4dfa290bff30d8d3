#pragma once

/// Pairs under way on the nodes of an executor, each on one of them, up to three at once.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/executor/order.hpp"
#include "tuner/executor/pair_driver.hpp"

namespace nocturne::tuner {

/// Three nodes tell whether a gain is the same on each; a fourth would measure no pair more, only fewer on each.
inline constexpr std::size_t kMostPairNodes = 3;

/// Not thread-safe.
class PairFlights {
 public:
  /// `known`: nodes that measured earlier pairs, the first ones first; they go on where they are there still.
  /// `avoided`: nodes that come after all others. The executor outlives it.
  explicit PairFlights(OrderExecutor& executor, std::vector<std::string> known = {},
                       std::vector<std::string> avoided = {});

  [[nodiscard]] bool empty() const { return flights_.empty(); }
  /// Whether no node is free; false where there is none at all.
  [[nodiscard]] bool is_full();
  /// A free node for one more pair of the series, of which so many are wanted in all: the one that has measured fewest
  /// of them, and less than its share. Empty: there is none.
  [[nodiscard]] std::optional<std::string> node_for(const PairSeries& series, std::int64_t wanted = kAnyNumber);
  /// `key`: whatever names the pair to the caller. The series outlives its pairs.
  void begin(const std::string& node, std::size_t key, PairSeries& series);

  struct Landed {
    std::size_t key = 0;
    PairSeries* series = nullptr;
    PairOnNode pair{};  ///< for the series to take
  };
  /// Blocks until one has ended. REQUIRES: not empty.
  [[nodiscard]] Landed next();

 private:
  static constexpr std::int64_t kAnyNumber = 1'000'000;
  struct Flight {
    std::size_t key = 0;
    PairSeries* series = nullptr;
  };
  /// Those in use, as the executor has them now.
  [[nodiscard]] const std::vector<std::string>& nodes();

  OrderExecutor& executor_;
  std::vector<std::string> nodes_, avoided_;
  std::map<std::string, Flight> flights_;  ///< by node
};

}  // namespace nocturne::tuner
