#pragma once

/// The strategy behind `auto`: measure where the linear model expects the largest improvement.
///
/// 1. Start: the default (told by the campaign) and spread points, kStart together; where preparation costs, with the
///    environment and the build of the first.
/// 2. Then, at each ask: the model is updated, candidates are gathered (candidates.hpp), and the one with the largest
///    expected improvement (Jones, Schonlau, Welch, "Efficient global optimization of expensive black-box functions",
///    1998, equation 15) times P(works) is proposed; divided by its expected seconds where preparation costs.
/// 3. When nothing new is found: uniform draws until the space is used up.

#include <cstdint>
#include <memory>

#include "search/model/feasibility.hpp"
#include "search/model/linear_model.hpp"
#include "search/registry.hpp"
#include "search/strategy.hpp"
#include "space/space.hpp"

namespace nocturne::search {

class ModelSearch : public Strategy {
 public:
  static constexpr std::size_t kStart = 8;

  /// Keeps a reference to the space.
  ModelSearch(const space::Space& space, const Options& options);
  ~ModelSearch() override;
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;

  /// For reports: what it has learnt. Valid until the next call.
  [[nodiscard]] space::Lattice& lattice();
  [[nodiscard]] model::LinearModel& times();
  [[nodiscard]] model::Feasibility& feasibility();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nocturne::search
