#pragma once

/// Standard output and standard error as the program writes them.
///
/// Every byte for the user goes through here, whoever made it: a log's line, a campaign's name, a worker's message,
/// what another user left in a lock file. A terminal is shown no control sequences but our own: the colours of
/// `coloured` and the rewriting of the progress line; of all others it is shown the bytes, as \xNN. And no error of
/// writing is lost: a stream says only that it failed, this buffer also why.

#include <iosfwd>
#include <mutex>
#include <streambuf>
#include <string>
#include <string_view>

#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

/// `text` with all control characters but newline and tab shown as \xNN, except for the sequences that we write.
[[nodiscard]] std::string for_terminal(std::string_view text);

/// Writes to a descriptor. Thread-safe: the answer to a signal is said from a thread of its own.
class OutputBuffer : public std::streambuf {
 public:
  enum class Reader { Program, Terminal };
  /// For the user what is written goes out at each newline, and passes for_terminal().
  OutputBuffer(int descriptor, Reader reader);
  ~OutputBuffer() override;
  OutputBuffer(const OutputBuffer&) = delete;
  OutputBuffer& operator=(const OutputBuffer&) = delete;

  /// errno of the first write that failed; 0: none. Later ones are tried all the same: the descriptor may have changed.
  [[nodiscard]] int error() const;
  /// Writes what is left and closes the descriptor: some file systems say only then that a file is not complete. The
  /// first error of all, or 0.
  int close();

 protected:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize length) override;
  int sync() override;

 private:
  bool write_all(std::string_view text);
  bool write_waiting();

  mutable std::mutex mutex_;
  int descriptor_;
  Reader reader_;
  int error_ = 0;
  std::string waiting_;
};

/// What a run that ended with `code` ends with, given the error of its output: a reader that went away (`| head`) is
/// told nothing and seen in the code, all else is a sentence on `err`. An error of the run itself has precedence.
[[nodiscard]] ExitCode with_output_error(ExitCode code, int error, std::ostream& err);

}  // namespace nocturne::cli
