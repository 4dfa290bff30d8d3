#pragma once

/// What `tune --on-finish PROGRAM` does when a session is over: one program, started directly, never through a shell,
/// with the result in its environment.

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

/// How a session came out. What is empty is not known.
struct Finish {
  std::string campaign;
  std::optional<std::int64_t> generation;
  std::string database;
  std::string ending = "error";  ///< word_of() an ending (tune_report.hpp), or this
  std::string because;           ///< a sentence
  std::optional<std::int64_t> best_trial;
  std::optional<double> best_seconds;  ///< at the campaign's primary horizon
  std::string verdict;                 ///< best against the default: faster, slower, same, undecided
  std::optional<double> gain_percent, gain_low_percent, gain_high_percent;  ///< only where both were measured again
  std::string profile;                                                      ///< the file that was written
  std::string report;                                                       ///< likewise

  void know(const tuner::Answer& answer);
};

/// The program as the user named it.
struct OnFinish {
  std::string program;  ///< empty: none
  std::vector<std::string> arguments;
};

/// --on-finish and --on-finish-arg.
void add_on_finish(CLI::App& subcommand, OnFinish& on_finish);

/// The program's path, as execvp(3) would find it, so that a slip of the pen is found in the evening and not in the
/// morning; empty: none is wanted. The error is a sentence.
[[nodiscard]] std::expected<std::string, std::string> find_on_finish(const OnFinish& on_finish);

/// Starts it and waits ten minutes at most; where no session had begun (`finish` names no campaign), does nothing. What
/// goes wrong is a line on context.err.
void run_on_finish(const Context& context, const OnFinish& on_finish, const std::string& path, const Finish& finish,
                   ExitCode code);

/// NOCTURNE_CAMPAIGN, NOCTURNE_ENDING and so on, all of them: those not known have an empty value and are to be removed
/// from what the program inherits.
[[nodiscard]] std::map<std::string, std::string> finish_variables(const Finish& finish, ExitCode code);

/// Starts a program with an empty standard input and its standard output on standard error, and waits. The error is a
/// sentence: not started, ended with another code than 0, or not ended within `patience` (it is then left to itself).
[[nodiscard]] std::expected<void, std::string> run_program(const std::string& path,
                                                           const std::vector<std::string>& arguments,
                                                           const std::map<std::string, std::string>& variables,
                                                           std::chrono::milliseconds patience);

}  // namespace nocturne::cli
