#pragma once

/// Compilers: where they are, which one exactly, and what it makes of a flag on this machine.

#include <chrono>
#include <expected>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace nocturne::measure {

/// First executable of this name on PATH; an absolute path stands for itself. ccache in a compiler's clothes is passed
/// over: what a build is made of must not depend on a cache that is not in its key.
[[nodiscard]] std::optional<std::filesystem::path> find_program(std::string_view name);

/// g++, clang++ and their numbered names (g++-13, clang++-19) on PATH, sorted.
[[nodiscard]] std::vector<std::filesystem::path> find_compilers();

struct CompilerIdentity {
  std::filesystem::path path;
  std::string version;   ///< first line of --version
  std::string digest{};  ///< SHA-256 of the program, of the cc1plus behind it and of the text of --version
  bool clang = false;
};

/// The error is a sentence that names the package to install.
[[nodiscard]] std::expected<CompilerIdentity, std::string> identify_compiler(
    std::string_view name, std::chrono::steady_clock::time_point deadline, const std::stop_token& stop = {});

/// The machine the compiler generates code for under `arguments`, as it tells its own back end: each -m flag,
/// parameter, target CPU and feature, one a line. Equal on two machines exactly where `native` means the same on both.
[[nodiscard]] std::expected<std::string, std::string> spelled_out_target(const CompilerIdentity& compiler,
                                                                         const std::vector<std::string>& arguments,
                                                                         std::chrono::steady_clock::time_point deadline,
                                                                         const std::stop_token& stop = {});

/// SHA-256 of a file's contents; empty where it cannot be read.
[[nodiscard]] std::string file_digest(const std::filesystem::path& file);

}  // namespace nocturne::measure
