#include "tuner/cli/exit_codes.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace nocturne::cli {
namespace {

struct Row {
  ExitCode code;
  std::string_view name;
  std::string_view explanation;
};

// At most 57 characters: with their names they fit a terminal.
constexpr std::array kRows = {
    Row{ExitCode::Ok, "ok", "done; where something was asked: yes"},
    Row{ExitCode::Negative, "negative", "the answer is no: nothing trained, a check failed"},
    Row{ExitCode::Usage, "usage", "wrong option or value, or a file that makes no sense"},
    Row{ExitCode::NotFound, "not_found", "no such campaign, trial, profile; or nothing measured yet"},
    Row{ExitCode::Database, "database", "the database cannot be opened or written"},
    Row{ExitCode::Unavailable, "unavailable", "cannot be made or measured here: something is missing"},
    Row{ExitCode::PreflightFailed, "preflight_failed", "tune --preflight: a stack cannot be prepared, or trained"},
    Row{ExitCode::Internal, "internal", "a defect in nocturne"},
    Row{ExitCode::OutputFailed, "output_failed", "standard output could not be written to its end"},
    Row{ExitCode::Refused, "refused", "apply: refused or failed before the command ran"},
    Row{ExitCode::NotExecutable, "not_executable", "apply: the command cannot be executed"},
    Row{ExitCode::NoCommand, "no_command", "apply: there is no such command"},
    Row{ExitCode::Interrupted, "interrupted", "ended by Ctrl-C; what was measured is kept"},
    Row{ExitCode::ReaderGone, "reader_gone", "who read standard output went away, as | head does"},
    Row{ExitCode::Terminated, "terminated", "ended by SIGTERM; what was measured is kept"},
};

}  // namespace

std::string exit_code_table() {
  std::string text = "Exit codes:\n";
  for (const Row& each : kRows)
    text += fmt::format("  {:>3}  {:<15} {}\n", number(each.code), each.name, each.explanation);
  return text;
}

}  // namespace nocturne::cli
