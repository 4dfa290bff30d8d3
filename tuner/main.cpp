#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ostream>
#include <string>
#include <vector>

#include "tuner/cli/cli.hpp"
#include "tuner/cli/output/output_buffer.hpp"

int main(int argc, char** argv) {
  using nocturne::cli::OutputBuffer;
  // A reader that went away (`nocturne list | head -1`) must not end a campaign in the middle of a run; what is written
  // to it then is lost, and that is what it asked for. Whoever executes another program resets this.
  std::signal(SIGPIPE, SIG_IGN);
  nocturne::cli::Context context = nocturne::cli::process_context();
  OutputBuffer out_buffer(STDOUT_FILENO,
                          context.out_is_terminal ? OutputBuffer::Reader::Terminal : OutputBuffer::Reader::Program);
  OutputBuffer err_buffer(STDERR_FILENO, OutputBuffer::Reader::Terminal);
  std::ostream out(&out_buffer), err(&err_buffer);
  context.out = &out;
  context.err = &err;
  if (argc > 0) context.program = argv[0];
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const auto code = nocturne::cli::run_command_line(arguments, context);
  return nocturne::cli::number(nocturne::cli::with_output_error(code, out_buffer.close(), err));
}
