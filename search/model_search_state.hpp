#pragma once

/// What a ModelSearch remembers. Internal to it: model_search.cpp learns, model_search_choice.cpp chooses.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/asked.hpp"
#include "search/candidates.hpp"
#include "search/history/prior.hpp"
#include "search/memory_guard.hpp"
#include "search/model/level_kernel.hpp"
#include "search/model_search.hpp"
#include "space/random.hpp"

namespace nocturne::search {

struct ModelSearch::State {
  State(const space::Space& space_used, const Options& options_used);

  struct Choice {
    std::vector<space::Level> point;
    std::string reason;
  };
  std::optional<Choice> choose(space::Random& random);
  std::optional<Choice> choose_spread(space::Random& random);
  /// Once, where no history speaks: what could be fastest by the machine's bound alone.
  std::optional<Choice> choose_least_bound();
  /// What a start may choose from: prepared like the first trial, where preparation costs.
  [[nodiscard]] Candidates start_candidates();
  std::optional<Choice> choose_by_model(space::Random& random);
  [[nodiscard]] space::PointList prepared_like_the_first(const space::PointList& points);
  /// Uniform over what was not asked; of that which fits into memory.
  [[nodiscard]] std::optional<space::Configuration> sample_other(space::Random& random);
  void score(const space::PointList& points);
  [[nodiscard]] std::vector<std::size_t> best_trials(std::size_t count) const;
  [[nodiscard]] std::size_t most_worthwhile(const space::PointList& points);
  [[nodiscard]] std::size_t cheapest(const space::PointList& points);
  [[nodiscard]] std::uint64_t preparation_key(space::Point point) const;
  [[nodiscard]] std::string explain(std::size_t candidate);
  void fit();
  void learn(space::Point point, double log_value);

  const space::Space& space;
  Options options;
  space::Lattice lattice;
  model::LevelKernels kernels;
  history::Prior prior;
  std::vector<model::Feature> bound;  // one, or none
  model::LinearModel times;
  model::Feasibility feasibility;
  MemoryGuard memory;

  Asked asked;            // configurations
  PointSet taken;         // points asked or told
  PointSet told_points;   // of them, told
  space::PointList told;  // in order, failed ones too
  space::PointList pending;
  Pool pool;
  std::vector<double> trial_seconds;
  std::uint64_t asks = 0;
  std::size_t suggested = 0;  // times that history was asked where to begin
  bool bound_asked = false;   // the bound was, likewise
  std::size_t fitted = 0;     // trials in the model when its scales were last chosen

  std::function<bool(space::Point)> deferred_whole, deferred;

  double best = 0;                               // what is to be improved on, model units
  std::vector<float> means, sds, works, values;  // of the candidates; values: expected improvement times P(works)
};

}  // namespace nocturne::search
