#pragma once

/// Where a proposal is looked for: valid points near the best and everywhere.

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <vector>

#include "search/model/level_kernel.hpp"
#include "space/lattice.hpp"
#include "space/random.hpp"

namespace nocturne::search {

/// Which points have been seen, by their hash. Open addressing: thousands are looked up a proposal.
class PointSet {
 public:
  /// Whether it was new.
  bool insert(std::uint64_t hash);
  [[nodiscard]] bool contains(std::uint64_t hash) const;

 private:
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1024);  // 0: empty
  std::size_t size_ = 0;
};

/// Uniform draws from the space, kept from one proposal to the next and renewed in turn, as a draw costs as much as
/// judging a candidate.
class Pool {
 public:
  static constexpr std::size_t kSize = 1000;
  static constexpr std::size_t kRenewed = 150;  ///< a proposal: all of them in seven

  explicit Pool(std::size_t width) : points_(width), drawn_(width) {}
  void renew(space::Lattice& lattice, space::Random& random);
  [[nodiscard]] const space::PointList& points() const { return points_; }

 private:
  space::PointList points_;
  std::vector<space::Level> drawn_;
  std::size_t next_ = 0;
};

/// Distinct points that are not among `taken`.
class Candidates {
 public:
  Candidates(space::Lattice& lattice, const PointSet& taken);

  void add(const space::PointList& points);
  void add_neighbours(space::Point point);
  /// Children that take each level from one of two parents at random; those that constraints forbid are dropped.
  void add_crossovers(const space::PointList& parents, std::size_t count, space::Random& random);
  [[nodiscard]] const space::PointList& points() const { return points_; }

 private:
  space::Lattice& lattice_;
  const PointSet& taken_;
  PointSet listed_;
  space::PointList points_;
  space::PointList found_;
};

// Where to begin: points far from each other, so that every parameter shows several of its levels soon.

/// Sum of d_i over the parameters (model/level_kernel.hpp).
[[nodiscard]] double distance(const model::LevelKernels& kernels, space::Point a, space::Point b);

/// The number of the candidate that lies farthest from the nearest of `chosen` (Johnson, Moore, Ylvisaker, "Minimax and
/// maximin distance designs", J. Statistical Planning and Inference 26, 1990); where there is none yet, of the most
/// central one: the least sum of squared distances to all candidates. The first of equals.
/// REQUIRES: candidates is not empty.
[[nodiscard]] std::size_t next_spread(const model::LevelKernels& kernels, const space::PointList& chosen,
                                      const space::PointList& candidates);

}  // namespace nocturne::search
