#include "tuner/cli/output/output_buffer.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ostream>
#include <sstream>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {

using Catch::Matchers::ContainsSubstring;
using Reader = OutputBuffer::Reader;

TEST_CASE("a terminal is shown our own colours and progress, and the bytes of every other control sequence", "[cli]") {
  for (const Style style : {Style::Good, Style::Bad, Style::Warning, Style::Faint, Style::Strong})
    CHECK(for_terminal(coloured("faster", style, true)) == coloured("faster", style, true));
  CHECK(for_terminal("\r\x1b[K3 of 4") == "\r\x1b[K3 of 4");
  CHECK(for_terminal("a\tb\n") == "a\tb\n");
  CHECK(for_terminal("\x1b]0;title\a") == "\\x1B]0;title\\x07");
  CHECK(for_terminal("\x1b[2J\x1b[8mhidden\x1b[") == "\\x1B[2J\\x1B[8mhidden\\x1B[");
  CHECK(for_terminal("over\rwritten\b\x7f") == "over\\x0Dwritten\\x08\\x7F");
  CHECK(for_terminal("\u009b2J \u00e9 –") == "\\x9B2J \u00e9 –");
}

TEST_CASE("what is written for a program arrives byte by byte, for the user tamed and at each end of line", "[cli]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "out";
  const std::string bytes = "a\x1b[2J\n" + std::string(200'000, 'x') + "\xff";
  {
    OutputBuffer buffer(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), Reader::Program);
    std::ostream(&buffer) << "a\x1b[2J" << '\n' << bytes.substr(6);
    CHECK(buffer.close() == 0);
  }
  CHECK(test::read_file(file) == bytes);
  OutputBuffer buffer(::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC), Reader::Terminal);
  std::ostream out(&buffer);
  out << "one\x1b[2J" << '\n' << "two";
  CHECK(test::read_file(file) == "one\\x1B[2J\n");
  out << std::flush;
  CHECK(test::read_file(file) == "one\\x1B[2J\ntwo");
  CHECK(buffer.close() == 0);
}

TEST_CASE("the first error of writing is kept, and becomes a sentence and an exit code", "[cli]") {
  OutputBuffer full(::open("/dev/full", O_WRONLY | O_CLOEXEC), Reader::Program);
  std::ostream(&full) << "result\n";
  CHECK(full.error() == 0);  // waits
  CHECK(full.close() == ENOSPC);
  std::ostringstream err;
  CHECK(with_output_error(ExitCode::Ok, ENOSPC, err) == ExitCode::OutputFailed);
  CHECK_THAT(err.str(), ContainsSubstring("standard output") && ContainsSubstring("No space left on device"));
  CHECK(with_output_error(ExitCode::NotFound, ENOSPC, err) == ExitCode::NotFound);
  CHECK(with_output_error(ExitCode::Ok, 0, err) == ExitCode::Ok);
}

TEST_CASE("a reader that went away is told nothing and seen in the exit code", "[cli]") {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  ::close(ends[0]);
  OutputBuffer gone(ends[1], Reader::Terminal);
  std::ostream out(&gone);
  out << "one\n" << "two\n";
  CHECK(out.bad());
  CHECK(gone.close() == EPIPE);
  std::ostringstream err;
  CHECK(with_output_error(ExitCode::Ok, EPIPE, err) == ExitCode::ReaderGone);
  CHECK(with_output_error(ExitCode::Negative, EPIPE, err) == ExitCode::Negative);
  CHECK(err.str().empty());
}

TEST_CASE("an output that is full for now is waited for", "[cli]") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  const std::string much(1 << 20, 'x');  // more than a pipe holds
  const pid_t writer = ::fork();
  if (writer == 0) {
    OutputBuffer buffer(ends[1], Reader::Program);
    std::ostream(&buffer) << much;
    ::_exit(buffer.close());
  }
  ::close(ends[1]);
  ::fcntl(ends[0], F_SETFL, 0);
  std::size_t arrived = 0;
  std::array<char, 4096> piece;
  for (ssize_t count = 0; (count = ::read(ends[0], piece.data(), piece.size())) > 0;)
    arrived += static_cast<std::size_t>(count);
  ::close(ends[0]);
  int status = -1;
  CHECK(::waitpid(writer, &status, 0) == writer);
  CHECK(status == 0);
  CHECK(arrived == much.size());
}

}  // namespace nocturne::cli
