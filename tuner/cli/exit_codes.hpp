#pragma once

/// What `nocturne` tells the shell. One meaning a number, for every subcommand: the sentences stand in exit_codes.cpp,
/// where
/// `--help` has them from, and in README.md, which a test holds to them. `apply` that starts its command ends as that
/// does.

#include <string>

namespace nocturne::cli {

enum class ExitCode : int {
  Ok = 0,
  Negative = 1,
  Usage = 2,
  NotFound = 3,
  Database = 4,
  Unavailable = 5,
  PreflightFailed = 6,
  Internal = 70,      ///< sysexits' EX_SOFTWARE
  OutputFailed = 74,  ///< sysexits' EX_IOERR
  Refused = 125,      ///< as env, nice and timeout say it
  NotExecutable = 126,
  NoCommand = 127,
  Interrupted = 130,  ///< 128 and the signal, as a shell says it
  ReaderGone = 141,
  Terminated = 143,
};

[[nodiscard]] constexpr int number(ExitCode code) {
  return static_cast<int>(code);
}
/// The table of all codes, one a line with its name and a sentence, for the end of `--help`.
[[nodiscard]] std::string exit_code_table();

}  // namespace nocturne::cli
