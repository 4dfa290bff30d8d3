#pragma once

/// Measures two workers in alternation, both alive: what is compared closely must share the machine's noise, and a
/// machine drifts within seconds.
///
/// Each side is brought past its first step alone, then stopped. Then slices alternate, the order swapped every time
/// (A B, B A, A B, …), so that a steady drift cancels: SIGCONT, a turn, its samples, SIGSTOP (a pool of spinning
/// threads would otherwise disturb the other side). At the end both are told that no more steps follow.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "measure/run/runner.hpp"
#include "space/run.hpp"

namespace nocturne::measure {

enum class Side { A = 0, B = 1 };

/// How a side is made to wait.
enum class TurnMode {
  Fifo,    ///< the worker reads the protocol's `turns`
  Signal,  ///< it never does: it trains `request.steps` on its own and is stopped and continued in between. The sample
           ///< across a stop is dropped, also from Run::samples. It must have steps enough (slices times slice_steps
           ///< plus a few samples a slice); when all slices are run it is ended by SIGTERM, and that is Ok
  Whole,   ///< nothing is known of it before its end: the sides run one after the other, and each is one slice
};

struct PairSide {
  RunPlan plan;                  ///< deadline counts only the time in which this side may run
  std::int64_t slice_steps = 4;  ///< chosen by the caller so that slices of both sides last about equally long
  TurnMode mode = TurnMode::Fifo;
};

struct PairPlan {
  std::array<PairSide, 2> sides;
  std::size_t slices = 25;                         ///< slices of each side
  std::chrono::milliseconds total_limit{600'000};  ///< limit of the whole pair, waiting included
};

/// One turn of one side. Blocks of two slices follow each other: slices[2k] and slices[2k+1] are neighbours in time.
struct Slice {
  Side side = Side::A;
  std::vector<space::Sample> samples;  ///< those of this turn, complete ones only
};

struct PairResult {
  std::array<space::Run, 2> runs;  ///< outcome and record of each side; samples holds what it reported
  std::vector<Slice> slices;       ///< in the order in which they were run; complete slices only
  /// Both sides Ok and every slice run. Otherwise a side's outcome says why; a side that was well but lost its partner
  /// is Killed with the partner's failure as its reason.
  [[nodiscard]] bool complete() const;
  /// Slices of each side that were asked for; fewer, at least half of them, where a command had no steps for more.
  std::size_t wanted = 0;
};

/// How the caller takes part; as RunControl.
struct PairControl {
  std::stop_token stop;
  std::function<void(std::size_t)> progress;  ///< how many slices of both sides are done
  std::filesystem::path supervisor;
  bool use_cgroup = true;
};

/// Blocks until both workers and all their descendants are gone.
[[nodiscard]] PairResult run_pair(const PairPlan& plan, const PairControl& control = {});

}  // namespace nocturne::measure
