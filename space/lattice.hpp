#pragma once

/// A space as a grid of levels: what models and candidate searches look at thousands of times a proposal.
///
/// A point has one level a parameter: the number of its value among the axis' levels, kNoLevel where it is inactive.
/// Booleans, lists and integer ranges have all their values as levels; an ordered axis of more than kSpread values has
/// kSpread of them, spread evenly and taken from values that occur in valid configurations (so that of 1 to 1000 under
/// `batch % 8 == 0` the multiples of eight are met); a real range has kRealSpread. The default is always a level.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "space/compiled_space.hpp"
#include "space/configuration.hpp"
#include "space/random.hpp"
#include "space/space.hpp"

namespace nocturne::space {

using Level = std::uint16_t;
inline constexpr Level kNoLevel = std::numeric_limits<Level>::max();

/// One level a parameter, in the order of Space::parameters().
using Point = std::span<const Level>;

/// Points side by side in one block of memory.
class PointList {
 public:
  explicit PointList(std::size_t width) : width_(width) {}
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Point operator[](std::size_t i) const { return std::span(levels_).subspan(i * width_, width_); }
  void push_back(Point point) {
    levels_.insert(levels_.end(), point.begin(), point.end());
    ++size_;
  }
  void set(std::size_t i, Point point);
  void pop_back() {
    levels_.resize(levels_.size() - width_);
    --size_;
  }
  void clear() {
    levels_.clear();
    size_ = 0;
  }

 private:
  std::size_t width_;
  std::size_t size_ = 0;
  std::vector<Level> levels_;
};

/// Equal for equal points, on every machine.
[[nodiscard]] std::uint64_t hash_of(Point point);

/// Holds the space alive. Not thread-safe (it works in buffers of its own); one serves one strategy or compiled.
class Lattice {
 public:
  static constexpr std::size_t kSpread = 64;
  static constexpr std::size_t kRealSpread = 21;

  struct Axis {
    std::size_t levels = 0;
    bool ordered = false;      ///< neighbouring levels are similar
    bool conditional = false;  ///< may be inactive
    bool complete = true;      ///< every value is a level
    Level default_level = 0;
    std::vector<Value> values;    ///< one for each level
    std::vector<double> numbers;  ///< one for each level; empty unless all values are numbers (booleans: 0 and 1)
  };

  explicit Lattice(const Space& space);

  [[nodiscard]] std::size_t width() const { return axes_.size(); }
  [[nodiscard]] const Axis& axis(std::size_t parameter) const { return axes_[parameter]; }
  [[nodiscard]] const Parameter& parameter(std::size_t index) const { return compiled_->parameters[index]; }
  /// Whether every valid configuration is a point.
  [[nodiscard]] bool complete() const { return complete_; }

  /// Writes a valid point, uniform over the valid configurations (rounded to levels on axes that are not complete).
  /// False: none was found.
  bool sample(Random& random, std::span<Level> point);
  /// Makes inactive parameters kNoLevel and gives newly active ones their defaults; then says whether all constraints
  /// hold.
  bool settle(std::span<Level> point);
  /// Whether activity is as it must be and all constraints hold.
  [[nodiscard]] bool valid(Point point);
  /// Appends the valid points that differ from this one in one active parameter (any of its levels), and in what that
  /// activates or deactivates.
  void neighbours(Point point, PointList& found);

  [[nodiscard]] Configuration configuration(Point point) const;
  /// The point of a configuration, rounded to the nearest levels. Empty: a value is missing, inactive, or no value of
  /// its parameter.
  [[nodiscard]] std::optional<std::vector<Level>> point_of(const Configuration& configuration) const;

 private:
  void make_axis(std::size_t parameter, const std::vector<Assignment>& drawn);
  [[nodiscard]] std::uint64_t index_of(std::size_t parameter, const Operand& operand) const;
  [[nodiscard]] Level nearest(std::size_t parameter, double position) const;
  [[nodiscard]] Level level_of(std::size_t parameter, const Operand& operand) const;
  void assign(Point point);

  std::shared_ptr<const Space::Compiled> compiled_;
  std::vector<Axis> axes_;
  std::vector<std::vector<Operand>> operands_;  // by axis and level
  std::vector<std::vector<double>> positions_;  // by axis and level, ascending: number of the value; a real: itself
  std::vector<std::unordered_map<std::uint64_t, std::uint64_t>>
      numbers_;  // of long lists: a value's hash to its number
  bool complete_ = true;
  Assignment assignment_;     // of the point in hand
  std::vector<Level> moved_;  // a neighbour in the making
};

}  // namespace nocturne::space
