#pragma once

/// The strategy behind `auto`: measure where the linear model expects the largest improvement.
///
/// 1. Start: the default (told by the campaign), points that lie far apart among a few of the pool, and the farthest of
///    all of it, its corners: kStart together; where preparation or compiling costs, with the environment, the build
///    and the compiler of the first.
/// 2. Then, at each ask: the model is updated, candidates are gathered (candidates.hpp), and the one with the largest
///    expected improvement (Jones, Schonlau, Welch, "Efficient global optimization of expensive black-box functions",
///    1998, equation 15; standard deviations half as large again as the model's) times P(works) is proposed; divided by
///    its expected seconds where preparation or compiling costs.
/// 3. When nothing new is found: uniform draws until the space is used up.
///
/// P(works) is that of failures by parameter and interaction, times that of fitting into memory, where the batch size
/// and the limit are known (memory_guard.hpp). What is nearly sure not to fit is never proposed; what a rule of failure
/// forbids (model/failure_rules.hpp) only when nothing else is left.
///
/// With history (history/prior.hpp) it begins where earlier campaigns were best, in half as many points, and the model
/// knows their trials of this machine and workload, as long as what is measured agrees with them.

#include <cstdint>
#include <functional>
#include <memory>

#include "search/memory_guard.hpp"
#include "search/model/feasibility.hpp"
#include "search/model/linear_model.hpp"
#include "search/registry.hpp"
#include "search/strategy.hpp"
#include "space/space.hpp"

namespace nocturne::search::history {
class Prior;
}

namespace nocturne::search {

class ModelSearch : public Strategy {
 public:
  static constexpr std::size_t kStart = 6;
  static constexpr std::size_t kTries = 12;

  /// Keeps a reference to the space.
  ModelSearch(const space::Space& space, const Options& options);
  ~ModelSearch() override;
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override;

  /// What is to come last: `whole`, asked of every candidate, only where there is nothing else; `single`, expensive to
  /// ask, where the kTries best of the others are all such.
  void defer(std::function<bool(space::Point)> whole, std::function<bool(space::Point)> single);

  /// What it has learnt, for reports. Valid until the next call.
  [[nodiscard]] space::Lattice& lattice();
  [[nodiscard]] model::LinearModel& times();
  [[nodiscard]] model::Feasibility& feasibility();
  [[nodiscard]] MemoryGuard& memory();
  [[nodiscard]] const history::Prior& prior() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nocturne::search
