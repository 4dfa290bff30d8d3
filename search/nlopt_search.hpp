#pragma once

/// NLopt's derivative-free methods on the encoded space, with restarts.
///
/// A method wants to call a function; a strategy is asked and told. So a *run* of the method is begun anew at each ask
/// and given the values that it was given before (its log, in the order of its calls); with the same seed it goes the
/// same way, up to the first call without a value: that point is the proposal. No thread, no state but the log.
///
/// A point of [0, 1]ⁿ (the columns of space::Encoding but those of activity) becomes a configuration by decode(),
/// which rounds and normalises; one that constraints forbid is repaired towards the best known configuration. What is
/// known already answers from memory. A run ends when the method says so, or when it has met only known configurations
/// for long; the next begins at a random new one, so that in the end a finite space is used up. While a run waits for
/// its value, random configurations fill the time.
///
/// The methods see the logarithm of the time. A failed trial counts as slower than all that worked: the methods need a
/// number, and this is the mildest that still turns them away.
///
/// Steven G. Johnson, The NLopt nonlinear-optimization package, https://nlopt.readthedocs.io (the methods and their
/// papers are listed there).

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "search/asked_configurations.hpp"
#include "search/strategy.hpp"
#include "space/encoding.hpp"
#include "space/random.hpp"
#include "space/space.hpp"

namespace nocturne::search {

enum class NloptMethod {
  Cobyla,      ///< Powell's linear approximations in a trust region: local
  NelderMead,  ///< the simplex: local
  Sbplx,       ///< the simplex on subspaces (Rowan's Subplex): local, many parameters
  Crs,         ///< controlled random search with local mutation (Kaelo, Ali): global
  Direct,      ///< dividing rectangles, locally biased, randomised (Jones; Gablonsky): global
  Esch,        ///< an evolution strategy (da Silva Santos): global
};

struct NloptSearchOptions {
  std::uint64_t seed = 1;
  NloptMethod method = NloptMethod::Sbplx;
};

class NloptSearch : public Strategy {
 public:
  NloptSearch(const space::Space& space, NloptSearchOptions options);
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override {
    for (const auto& each : in_flight) asked_.insert(each);
  }

  /// Runs begun so far.
  [[nodiscard]] std::size_t runs() const { return runs_; }

 private:
  struct Observation {
    space::Configuration configuration;
    std::optional<double> log_value;  // empty: failed
  };

  std::optional<space::Configuration> propose(space::Random& random);
  /// Goes on with the run. Empty: it has ended.
  std::optional<space::Configuration> advance();
  [[nodiscard]] space::Configuration configuration_at(const std::vector<double>& point) const;
  [[nodiscard]] space::Configuration repair(space::Configuration configuration) const;
  [[nodiscard]] double value_of(const Observation& told) const;
  [[nodiscard]] const Observation* told(const space::Configuration& configuration) const;
  void begin(const space::Configuration& start, space::Random& random);

  const space::Space& space_;
  NloptSearchOptions options_;
  space::Encoding encoding_;
  std::vector<Eigen::Index> free_;  // columns that the method moves
  std::uint64_t asks_ = 0;
  std::size_t runs_ = 0;
  AskedConfigurations asked_;
  std::map<std::string, Observation> told_;
  std::optional<space::Configuration> first_, best_;
  double best_value_ = 0, worst_value_ = 0;  // logarithms

  bool running_ = false;
  std::vector<double> start_;
  std::uint64_t run_seed_ = 0;
  std::vector<double> log_;                      // values given to the run, by number of the call
  std::size_t stale_ = 0;                        // calls in a row that met only known configurations
  std::optional<space::Configuration> awaited_;  // proposed and not told yet
  bool awaited_by_run_ = false;                  // it answers the run's next call
};

}  // namespace nocturne::search
