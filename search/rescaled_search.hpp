#pragma once

/// Anybody's objective for strategies, which minimise times: positive numbers that are judged by their ratios.
///
/// Logarithmic: values are positive and their ratios count, as of times, memory or losses; told as they are, or where
/// the larger is better as 1 / value. Linear: differences count, and values may be zero or negative; told as
/// exp((cost - centre) / unit), where cost is ±value and centre and unit are the median and the spread of what was told
/// so far. Where the spread has doubled or halved since, a strategy is made anew and told everything in the new unit:
/// so the same tells in the same order give the same proposals, in this process or in the next.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "search/strategy.hpp"

namespace nocturne::search {

enum class Direction { Minimise, Maximise };
enum class ValueScale { Logarithmic, Linear };

[[nodiscard]] std::string_view to_text(Direction direction);  ///< minimise, maximise
[[nodiscard]] std::optional<Direction> direction_from_text(std::string_view text);
[[nodiscard]] std::string_view to_text(ValueScale scale);  ///< logarithmic, linear
[[nodiscard]] std::optional<ValueScale> value_scale_from_text(std::string_view text);

/// How values of an objective are judged.
struct ValueRule {
  Direction direction = Direction::Minimise;
  ValueScale scale = ValueScale::Logarithmic;
  [[nodiscard]] bool is_better(double a, double b) const { return direction == Direction::Minimise ? a < b : a > b; }
  /// Finite; logarithmic: above 0.
  [[nodiscard]] bool admits(double value) const;
  friend bool operator==(const ValueRule&, const ValueRule&) = default;
};

/// Not thread-safe. Trials are told with the user's own values; parts of a time are ignored.
class RescaledSearch : public Strategy {
 public:
  using Maker = std::function<std::unique_ptr<Strategy>()>;
  /// `make`: a strategy that was told nothing, the same each time.
  RescaledSearch(ValueRule rule, Maker make);
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  /// REQUIRES: the rule admits the values.
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override;

  /// How often the unit has changed.
  [[nodiscard]] std::size_t renewals() const { return renewals_; }

 private:
  /// Median and spread of the costs; 0 and 1 where nothing is known of them.
  struct Unit {
    double centre = 0, size = 1;
  };
  [[nodiscard]] double cost(double value) const;
  [[nodiscard]] Unit unit_of_all() const;
  [[nodiscard]] space::Trial rescaled(space::Trial trial) const;
  void renew(Unit unit);

  ValueRule rule_;
  Maker make_;
  std::unique_ptr<Strategy> inner_;
  Unit unit_;
  std::size_t renewals_ = 0;
  std::map<std::int64_t, space::Trial> told_;  // by number, as the user told them; linear only
};

}  // namespace nocturne::search
