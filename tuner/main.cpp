#include <csignal>
#include <string>
#include <vector>

#include "tuner/cli/cli.hpp"

int main(int argc, char** argv) {
  // A reader that went away (`nocturne list | head -1`) must not end a campaign in the middle of a run; what is written
  // to it then is lost, and that is what it asked for. Whoever executes another program resets this.
  std::signal(SIGPIPE, SIG_IGN);
  nocturne::cli::Context context = nocturne::cli::process_context();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return nocturne::cli::number(nocturne::cli::run_command_line(arguments, context));
}
