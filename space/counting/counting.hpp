#pragma once

/// A space divided into parts that can be counted and sampled alone. Internal to space.
///
/// A component is a set of parameters joined by rules, with its diagram. Constraints that no diagram takes (they read a
/// real range, a parameter of more than kMaxRead values, or would pass the limits) are tested after drawing; a group is
/// a set of components joined by such constraints, and is drawn again as a whole until they hold.

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "space/compiled_space.hpp"
#include "space/counting/diagram.hpp"

namespace nocturne::space {

class Counting {
 public:
  /// Values of a parameter that a diagram's rule may read; create() refuses more in an active_if.
  static constexpr std::uint64_t kMaxRead = 1'000'000;

  /// The compiled space must outlive it. Throws std::length_error where the conditions of activity alone pass all
  /// limits.
  explicit Counting(const Space::Compiled& compiled);

  [[nodiscard]] Size count() const;
  [[nodiscard]] Effort effort() const;
  /// Uniform over the valid assignments; empty: none found in Space::kSampleTries tries a group.
  [[nodiscard]] std::optional<Assignment> sample(Random& random) const;
  /// REQUIRES: number < count().count, and that is exact.
  [[nodiscard]] Assignment at(Count number) const;

 private:
  struct Component {
    std::vector<std::size_t> members;
    Diagram diagram;
    const TableConstraint* rows = nullptr;  // in place of a diagram

    [[nodiscard]] Count total() const { return rows == nullptr ? diagram.total() : Count(rows->table.rows()); }
    void at(Count number, std::span<Choice> choices) const;
  };
  struct Group {
    std::vector<std::size_t> components;
    std::vector<std::size_t> tested;  // constraints
  };

  void take_rows(std::vector<std::size_t>& members, std::vector<Rule>& rules);
  void build(const std::vector<std::size_t>& members, std::vector<Rule> rules, int attempt);
  void build_connected(const std::vector<std::size_t>& members, std::vector<Rule> rules, int attempt);
  void reject(const Rule& rule);
  void make_groups();
  [[nodiscard]] std::vector<double> sizes() const;
  void draw(const Group& group, Random& random, std::span<Choice> choices, Assignment& assignment) const;
  void fill(std::span<const std::size_t> members, std::span<const Choice> choices, Assignment& assignment) const;
  [[nodiscard]] bool passes(const Group& group, const Assignment& assignment) const;
  [[nodiscard]] Size measure() const;

  const Space::Compiled& compiled_;
  std::vector<std::vector<Operand>> values_;  // of parameters that rules read; freed after building
  std::vector<std::uint64_t> value_counts_;
  std::vector<Component> components_;
  std::vector<Rule> rejecting_;
  std::vector<Group> groups_;
  mutable std::once_flag measured_;
  mutable Size size_;
};

}  // namespace nocturne::space
