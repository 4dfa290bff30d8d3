#pragma once

/// What `nocturne` tells the shell. One meaning a number, for every verb; `--help` prints the same table.

#include <string>
#include <string_view>

namespace nocturne::cli {

enum class ExitCode : int {
  Ok = 0,
  Negative = 1,         ///< the answer is no: doctor found nothing that runs, a check failed
  Usage = 2,            ///< wrong option, wrong value, a file that cannot be understood
  NotFound = 3,         ///< no such campaign, trial or profile; or nothing measured yet
  Database = 4,         ///< the database cannot be opened or written, is not ours or from a newer version
  Unavailable = 5,      ///< this machine lacks what is needed: a program, a permission, space on the disk
  NoGo = 6,             ///< tune --rehearse: at least one row cannot be prepared, or does not train
  Internal = 70,        ///< a defect in Nocturne (sysexits' EX_SOFTWARE)
  Refused = 125,        ///< apply itself refused or failed, as env, nice and timeout say it; the command did not run
  NotExecutable = 126,  ///< apply: the command was found and cannot be executed
  NoCommand = 127,      ///< apply: there is no such command
  Interrupted = 130,    ///< ended by Ctrl-C; what was measured is kept
  Terminated = 143,     ///< ended by SIGTERM; what was measured is kept
};

[[nodiscard]] constexpr int number(ExitCode code) {
  return static_cast<int>(code);
}
[[nodiscard]] std::string_view to_text(ExitCode code);      ///< its name: ok, negative, usage, …
[[nodiscard]] std::string_view explanation(ExitCode code);  ///< one sentence for the table
/// The table of all codes, one a line, for the end of `--help`.
[[nodiscard]] std::string exit_code_table();

}  // namespace nocturne::cli
