#pragma once

/// One order as one step of a job: `srun` starts it on a node, hands it the order and brings its answer.
///
/// A whole answer is success, whatever srun ends with: it says 0 where a node dies, where it is told to end and where
/// the job is queued again. And it can hang for ever: where a node's daemon dies between taking a step and starting it,
/// or comes back without the daemon of the step. So a step has a deadline of ours, and gives signs of life.
///
/// Order, answer and complaints lie in memory, not on the shared folder, which may be full, or slow.

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tuner/executor/order.hpp"
#include "tuner/executor/slurm/allocation.hpp"
#include "tuner/executor/slurm/rhythm.hpp"

namespace nocturne::tuner {

struct SlurmStep {
  std::string job{}, node{};
  std::string name{};                ///< what accounting shows: trial-17
  std::vector<std::string> words{};  ///< what runs on the node; prints an answer (order_json.hpp)
  std::string input{};               ///< what it reads on its standard input
  /// It prints an empty line to standard error that often, and is ended where it is silent (`execute --beat`). Empty:
  /// it does not.
  std::optional<Rhythm> beats{};
};

struct StepResult {
  enum class End {
    Answered,
    NoAnswer,        ///< it ended, the node is lost, or something killed it
    NeverRan,        ///< Slurm could not start it: again a minute later
    DeadlinePassed,  ///< it was ended, and so was what it ran
    Silent,          ///< likewise: it gave no sign of life, or none came through
    Stopped,         ///< likewise, as was wanted
  };
  End end = End::NoAnswer;
  std::string reason{};                 ///< a sentence without a full stop; Answered: empty
  std::optional<OrderAnswer> answer{};  ///< set exactly where it answered
};

/// The environment of a job describes its batch step. These variables of it the steps would inherit, and do not want;
/// nor shall what they say be broken into lines. Where this process is in a part of its node steps are in none.
[[nodiscard]] std::vector<std::string> unset_for_steps();

/// The last line of what srun and its task said, before what srun says of every step, or of every task that fails.
/// Empty: nothing was said.
[[nodiscard]] std::string last_word_of_srun(const std::string& text);

/// Its command. Overlap: our slots exclude each other, and a second step of the coordinator's own node must not wait
/// for it. No binding: under task/affinity a step that overlaps may be bound to one CPU.
[[nodiscard]] std::vector<std::string> srun_words(const SlurmCommands& commands, const SlurmStep& step);

/// Blocks until it has ended.
[[nodiscard]] StepResult run_step(const SlurmCommands& commands, const SlurmStep& step,
                                  std::chrono::steady_clock::time_point deadline, const std::stop_token& stop);

}  // namespace nocturne::tuner
