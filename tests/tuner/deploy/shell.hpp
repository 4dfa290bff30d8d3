#pragma once

/// Runs real shells for tests.

#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace nocturne::test {

struct ShellResult {
  int code = -1;
  std::string output;  ///< standard output
};

/// `sh -c SCRIPT`
inline ShellResult shell(const std::string& script) {
  FILE* pipe = ::popen(script.c_str(), "r");
  ShellResult result;
  std::array<char, 4096> buffer{};
  std::size_t count = 0;
  while (pipe != nullptr && (count = ::fread(buffer.data(), 1, buffer.size(), pipe)) > 0)
    result.output.append(buffer.data(), count);
  const int status = pipe != nullptr ? ::pclose(pipe) : -1;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void make_file(const std::filesystem::path& path, const std::string& text, bool executable = false) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  if (executable) std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace nocturne::test
