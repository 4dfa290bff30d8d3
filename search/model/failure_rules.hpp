#pragma once

/// What fails whatever else is set: a value, or two together ("allocator=tcmalloc with huge_pages").
///
/// Candidates are the conditions that a failed trial meets, alone and in pairs: a level; of an ordered parameter, its
/// level or more, its level or less. One trial that meets a candidate and works refutes it. For those that are left,
/// the odds that it is a rule are
///
///   prior · r^(-f),
///
/// f: the failures that meet it; r: the rate of failures among all others, which is how often they would have failed by
/// chance. The prior is one expected rule, shared by all candidates a trial has. Candidates that explain the same
/// failure compete: each gets its share of the odds, and what meets several of them gets the sum of their shares. So
/// two or three failures that have nothing else in common make a rule, also where they can be described in more than
/// one way, and where trials fail at random no number of them does.
///
/// Not thread-safe. The lattice must outlive it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "space/lattice.hpp"

namespace nocturne::search::model {

class FailureRules {
 public:
  explicit FailureRules(const space::Lattice& lattice)
      : lattice_(&lattice), worked_(lattice.width()), failed_(lattice.width()) {}

  /// A new trial; each point once.
  void tell(space::Point point, bool worked);
  void clear();
  /// P(no rule forbids it): 1 where there is no candidate.
  [[nodiscard]] double allows(space::Point point);

  enum class Relation : std::uint8_t { Any, Equal, AtLeast, AtMost };
  struct Condition {
    std::uint16_t parameter = 0;
    Relation relation = Relation::Any;  ///< Any: holds always
    space::Level level = 0;
    [[nodiscard]] bool holds(space::Point point) const;
  };
  struct Rule {
    std::array<Condition, 2> conditions{};
    std::vector<std::uint32_t> failures{};  ///< numbers of the failed trials that meet it
    double blame = 0;                       ///< probability that it is a rule
    [[nodiscard]] bool meets(space::Point point) const {
      return conditions[0].holds(point) && conditions[1].holds(point);
    }
  };
  /// Not refuted, the likeliest first.
  [[nodiscard]] const std::vector<Rule>& rules();

 private:
  void add_candidates(space::Point point);
  void consider(const Condition& first, const Condition& second);
  [[nodiscard]] std::vector<Condition> conditions_of(space::Point point) const;
  void update();

  static constexpr std::size_t kLooked = 64;  // rules that a prediction looks at, a bit each: the rest adds nothing

  /// Why a failure may have failed.
  struct Cause {
    std::uint64_t rules = 0;               // that explain it
    std::array<double, kLooked> shares{};  // of the odds
  };
  void find_causes(const std::vector<double>& odds, const std::vector<double>& explained_odds);
  [[nodiscard]] double allowed_under(std::uint64_t met) const;

  const space::Lattice* lattice_;
  space::PointList worked_, failed_;
  std::vector<Rule> rules_;
  std::vector<Cause> causes_;
  std::unordered_map<std::uint64_t, double> allowed_;  // by the rules that a point meets
  std::unordered_set<std::uint64_t> considered_;       // refuted ones too
  std::size_t candidates_ = 1;                         // of one trial
  bool stale_ = false;
};

}  // namespace nocturne::search::model
