#pragma once

/// Iterated local search (Lourenço, Martin, Stützle, "Iterated Local Search", Handbook of Metaheuristics, 2003, section
/// 2): walk to the first neighbour that is better; from where none is, jump a few steps away from the best known and
/// walk again.
///
/// A walk tries the near neighbours first (adjacent values of ordered parameters), then all that differ in one
/// parameter. Every second jump starts from a uniformly drawn configuration instead, so that no basin is a prison.
/// Failed trials are neighbours that are not better.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "search/asked.hpp"
#include "search/strategy.hpp"
#include "space/random.hpp"
#include "space/space.hpp"

namespace nocturne::search {

class LocalSearch final : public Strategy {
 public:
  /// Steps of a jump: one or two fall back into the same basin, many forget the best.
  static constexpr int kJumpSteps = 3;

  /// Walks from the best trial told before the first ask(), else from the space's default.
  /// REQUIRES: the space outlives the strategy.
  LocalSearch(const space::Space& space, std::uint64_t seed) : space_(space), seed_(seed) {}

  [[nodiscard]] std::vector<space::Configuration> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;

 private:
  struct Point {
    space::Configuration configuration;
    double value = 0;
  };
  [[nodiscard]] std::optional<space::Configuration> next(space::Random& random);
  [[nodiscard]] std::optional<space::Configuration> jump(space::Random& random);
  /// Fills the queue with unknown neighbours in random order; false: there are none.
  bool look_around(space::Random& random);
  void stand_on(const Point& point);

  const space::Space& space_;
  std::uint64_t seed_;
  std::uint64_t asks_ = 0;
  std::uint64_t jumps_ = 0;
  Asked known_;
  std::unordered_map<std::string, Point> points_;  ///< trials that were ok, by identity
  std::optional<Point> current_;                   ///< where the walk stands
  std::optional<Point> best_;
  std::optional<std::string> landing_;  ///< identity of a jump's end that was asked: the walk goes on from there
  enum class Ring { Near, All, Done } ring_ = Ring::Near;
  std::deque<space::Configuration> queue_;  ///< neighbours of current_ still to ask
};

}  // namespace nocturne::search
