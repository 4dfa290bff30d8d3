#pragma once

/// Another process that uses the store (child_main.cpp), under the test's control.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nocturne::db::test {

class Child {
 public:
  /// Starts it: COMMAND DATABASE ARGUMENTS….
  Child(const std::string& command, const std::filesystem::path& database, std::vector<std::string> arguments = {});
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  ///< killed if it still runs

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// The next line of its output; empty: it ended.
  [[nodiscard]] std::optional<std::string> line();
  /// All that is left of its output.
  [[nodiscard]] std::string rest();
  void kill() const;  ///< with SIGKILL; it stays a zombie until wait()
  struct End {
    int exit_code = -1;
    int signal = 0;
  };
  End wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string buffer_;
  std::optional<End> end_;
};

}  // namespace nocturne::db::test
